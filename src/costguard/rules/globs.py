"""Globs and folded keys: how texts that people write are compared. ``*`` is the only wildcard."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache


def glob(patterns: Iterable[str], *, fold: bool = False) -> re.Pattern[str]:
    """One compiled pattern that matches a text which any of the globs matches as a whole.

    ``fold`` ignores case: for fences, which err to protect. No patterns match nothing.
    """
    return _compiled(tuple(patterns), fold)


@lru_cache(maxsize=4096)
def _compiled(patterns: tuple[str, ...], fold: bool) -> re.Pattern[str]:
    parts = ["".join(".*" if c == "*" else re.escape(c) for c in p) for p in patterns]
    return re.compile(rf"(?:{'|'.join(parts)})\Z" if parts else r"(?!)", re.DOTALL | (re.IGNORECASE if fold else 0))


@lru_cache(maxsize=8192)
def folded(text: str) -> str:
    """A reserved tag key or value in one spelling: no case, no spaces, ``-`` ``:`` ``.`` as ``_``.

    Clouds differ in what a tag may hold (some allow only lower case, some no colon), and people differ
    in how they write it.
    """
    return "".join(text.split()).casefold().replace("-", "_").replace(":", "_").replace(".", "_")


def folded_tag(tags: Mapping[str, str], key: str) -> tuple[str, str] | None:
    """The tag written exactly ``key``, else the first, by its written key, that folds to the same: (key, value)."""
    if key in tags:
        return key, tags[key]
    wanted = folded(key)
    for written in sorted(tags):
        if folded(written) == wanted:
            return written, tags[written]
    return None
