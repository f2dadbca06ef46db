"""The errcode table, row by row."""

from datetime import timedelta

import pytest

from costguard.notify.wecom.errcodes import ERRCODES, meaning


@pytest.mark.parametrize(
    ("errcode", "reason", "wait"),
    [
        (-1, "server", 30), (93000, "auth", None), (45009, "rate", 60), (40058, "payload", None),
        (40008, "payload", None), (424242, "server", None),
    ],
)  # fmt: skip
def test_every_row(errcode: int, reason: str, wait: int | None) -> None:
    """J05."""
    assert meaning(errcode).reason == reason
    assert meaning(errcode).wait == (timedelta(seconds=wait) if wait else None)


def test_the_table_above_is_whole() -> None:
    assert len(ERRCODES) == 5
