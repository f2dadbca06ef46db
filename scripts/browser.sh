#!/bin/sh
# Makes sure that the browser tests have a Chromium and Chinese fonts; says loudly when they cannot have them.
set -u
have_browser() { command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; }
have_fonts() { command -v fc-list >/dev/null 2>&1 && [ -n "$(fc-list :lang=zh-cn 2>/dev/null | head -n 1)" ]; }
have_browser && have_fonts && exit 0

as_root=
[ "$(id -u)" = 0 ] || as_root="sudo -n"
if command -v apt-get >/dev/null 2>&1 && { [ -z "$as_root" ] || sudo -n true 2>/dev/null; }; then
    echo "Installing Chromium and Chinese fonts for the browser tests"
    export DEBIAN_FRONTEND=noninteractive
    install="$as_root apt-get install -y -q --no-install-recommends chromium fontconfig fonts-noto-cjk"
    $install >/dev/null 2>&1 || { $as_root apt-get update -q >/dev/null 2>&1; $install >/dev/null 2>&1; }
fi
if ! have_browser; then
    echo "**********************************************************************" >&2
    echo "**  NO CHROMIUM: THE BROWSER TESTS WILL BE SKIPPED.                  **" >&2
    echo "**  sudo apt-get install -y chromium fonts-noto-cjk                  **" >&2
    echo "**********************************************************************" >&2
elif ! have_fonts; then
    echo "** No Chinese fonts: screenshots will show boxes. sudo apt-get install -y fonts-noto-cjk **" >&2
fi
exit 0
