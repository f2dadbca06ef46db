"""A real Chromium for the pages: any error on the console or on the way fails the test that looked."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

DESKTOP, PHONE = (1440, 900), (390, 844)
_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        text = "NO CHROMIUM: the pages are not looked at. sudo apt-get install -y chromium fonts-noto-cjk"
        print(f"\n{'*' * 80}\n** {text}\n{'*' * 80}")
        pytest.skip(text)
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=found, args=_FLAGS)
        yield chromium
        chromium.close()


Look = Callable[..., Any]


@pytest.fixture
def look(browser: Browser) -> Look:
    """``with look(url, size=PHONE, scheme="dark") as page:`` — and nothing may have gone wrong by its end."""

    @contextmanager
    def opened(
        url: str, *, size: tuple[int, int] = DESKTOP, scheme: str = "light", calm: bool = False, language: str = "zh-CN"
    ) -> Iterator[Page]:
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,  # type: ignore[arg-type]
            reduced_motion="reduce" if calm else "no-preference",
            locale=language,
        )
        page, wrong = context.new_page(), list[str]()
        page.on("console", lambda m: wrong.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "requestfailed", lambda r: wrong.append(f"failed: {r.url}") if r.failure != "net::ERR_ABORTED" else None
        )
        page.on("response", lambda r: wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        try:
            page.goto(url)
            yield page
        finally:
            context.close()
        assert wrong == []

    return opened
