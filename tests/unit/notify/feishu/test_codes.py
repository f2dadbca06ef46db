"""The table of codes, row by row."""

from datetime import timedelta

import pytest

from costguard.notify.feishu.codes import CODES, meaning


@pytest.mark.parametrize(
    ("code", "reason", "wait", "hint"),
    [
        (19001, "auth", None, "webhook"), (19021, "auth", None, "clock"), (19022, "auth", None, "IP"),
        (19024, "auth", None, "keyword"), (9499, "payload", None, ""), (19036, "payload", None, ""),
        (11232, "rate", 60, ""), (424242, "server", None, ""),
    ],
)  # fmt: skip
def test_every_row(code: int, reason: str, wait: int | None, hint: str) -> None:
    """J05."""
    found = meaning(code)
    assert found.reason == reason
    assert found.wait == (timedelta(seconds=wait) if wait else None)
    assert hint in (found.hint or "")


def test_the_table_above_is_whole() -> None:
    assert len(CODES) == 7
