"""Writes the generated pages of docs/ from the code they describe: `make docs`; `--check` fails when one is stale.

Each page is made by one function in `scripts/pages/`, from the objects that run, never from a second list.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.pages import cases, commands, metrics, policies, providers, settings  # noqa: E402

PAGES = {
    "cases.md": cases.page,
    "commands.md": commands.page,
    "metrics.md": metrics.page,
    "policies.md": policies.page,
    "providers.md": providers.page,
    "settings.md": settings.page,
}
HEADER = "<!-- Written by `make docs`; edit the code it is made from. -->\n"


def render(name: str) -> str:
    """The text that docs/NAME should have."""
    return HEADER + PAGES[name](ROOT).rstrip() + "\n"


def main() -> int:
    """Writes stale pages, or with --check names them and exits 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a page is stale")
    check = parser.parse_args().check
    stale = 0
    for name in PAGES:
        path, text = ROOT / "docs" / name, render(name)
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale += 1
        if check:
            print(f"docs/{name} is stale: run `make docs`", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
            print(f"docs/{name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
