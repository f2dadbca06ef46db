"""The errcode table, row by row, and the hints for what the code alone does not tell."""

from datetime import timedelta

import pytest

from costguard.notify.dingtalk.errcodes import ERRCODES, meaning, security_hint


@pytest.mark.parametrize(
    ("errcode", "reason", "wait"),
    [
        (-1, "server", 30), (130101, "rate", 600), (410100, "rate", 600), (310000, "auth", None),
        (300001, "auth", None), (300005, "auth", None), (400101, "auth", None), (400013, "auth", None),
        (400102, "auth", None), (400106, "auth", None), (40035, "payload", None), (43004, "payload", None),
        (400105, "payload", None), (430101, "payload", None), (430102, "payload", None), (430103, "payload", None),
        (430104, "payload", None), (460101, "payload", None), (101002, "payload", None), (424242, "server", None),
    ],
)  # fmt: skip
def test_every_row(errcode: int, reason: str, wait: int | None) -> None:
    """J05."""
    assert meaning(errcode).reason == reason
    assert meaning(errcode).wait == (timedelta(seconds=wait) if wait else None)


def test_the_table_above_is_whole() -> None:
    assert len(ERRCODES) == 19


@pytest.mark.parametrize(
    ("errmsg", "word"),
    [
        ("keywords not in content", "keyword"),
        ("description:关键词不匹配;solution:…", "keyword"),
        ("sign not match", "clock"),
        ("description:机器人发送签名过期;solution:…", "clock"),
        ("invalid timestamp", "clock"),
        ("ip 1.2.3.4 not in whitelist", "IP"),
        ("something new", "keyword, signature or IP"),
    ],
)
def test_which_security_setting(errmsg: str, word: str) -> None:
    """J09, J10."""
    assert word in security_hint(errmsg)
