"""The checkout as the tests of the repository see it: its root and the files that are, or are about to be, tracked."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


@cache
def tracked() -> tuple[Path, ...]:
    """Files that git tracks or would offer to add, as they are on disk; relative to the root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return tuple(sorted(path for name in listed.split("\0") if name and (ROOT / (path := Path(name))).is_file()))


def python(*roots: str) -> list[Path]:
    """Tracked Python files under the given folders."""
    return [path for path in tracked() if path.suffix == ".py" and path.parts[0] in roots]
