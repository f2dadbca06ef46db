from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.daemon.commands import Command, Verb, duration, parse

HOUR = timedelta(hours=1)
BEIJING = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 3, 5, 13, 0, tzinfo=UTC)  # 21:00 in Beijing


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("keep train-03 2h", Command(Verb.KEEP, "train-03", span=2 * HOUR)),
        ("保留 train-03 2小时", Command(Verb.KEEP, "train-03", span=2 * HOUR)),
        ("保留train-03 2个小时", Command(Verb.KEEP, "train-03", span=2 * HOUR)),
        ("Keep Train-03 for 90 min", Command(Verb.KEEP, "Train-03", span=1.5 * HOUR)),
        ("保留 train-03 半小时", Command(Verb.KEEP, "train-03", span=HOUR / 2)),
        ("keep i-1 1d12h", Command(Verb.KEEP, "i-1", span=36 * HOUR)),
        ("keep train-03", Command(Verb.KEEP, "train-03")),
        ("keep", Command(Verb.KEEP)),
        ("keep train-03 until 09:00", Command(Verb.KEEP, "train-03", wall=clock_time(9))),
        ("保留 train-03 到 09：00", Command(Verb.KEEP, "train-03", wall=clock_time(9))),
        ("保留 train-03 到明天9:30", Command(Verb.KEEP, "train-03", wall=clock_time(9, 30), tomorrow=True)),
        ("keep train-03 until idle", Command(Verb.KEEP, "train-03", until_idle=True)),
        ("保留 train-03 到空闲", Command(Verb.KEEP, "train-03", until_idle=True)),
        ("keep train-03 a while", Command(Verb.KEEP, "train-03", unclear="a while")),
        ("keep train-03 25:00", Command(Verb.KEEP, "train-03", unclear="25:00")),
        ("取消保留 train-03", Command(Verb.UNKEEP, "train-03")),
        ("状态", Command(Verb.STATUS)),
        ("  STATUS ", Command(Verb.STATUS)),
        ("@costguard 状态", Command(Verb.STATUS)),
        ("/costguard status", Command(Verb.STATUS)),
        ("why train-03?", Command(Verb.WHY, "train-03")),
        ("为什么 train-03？", Command(Verb.WHY, "train-03")),
        ("who is burning", Command(Verb.BURNING)),
        ("谁在烧钱？", Command(Verb.BURNING)),
        ("claim test1", Command(Verb.CLAIM, "test1")),
        ("认领 test1", Command(Verb.CLAIM, "test1")),
        ("pause", Command(Verb.PAUSE)),
        ("暂停 2小时", Command(Verb.PAUSE, span=2 * HOUR)),
        ("恢复", Command(Verb.RESUME)),
        ("", Command(Verb.HELP)),
        ("help", Command(Verb.HELP)),
        ("？", Command(Verb.HELP)),
        ("kep train-03 2h", Command(Verb.UNKNOWN, unclear="kep train-03 2h", near="keep")),
        ("keeper train-03", Command(Verb.UNKNOWN, unclear="keeper train-03", near="keep")),
        ("请问状态怎么样", Command(Verb.UNKNOWN, unclear="请问状态怎么样", near="状态")),
        ("xyzzy", Command(Verb.UNKNOWN, unclear="xyzzy")),
    ],
)  # fmt: skip
def test_what_people_write(text: str, command: Command) -> None:
    assert parse(text) == command


def test_a_wall_clock_time_is_the_next_one_of_the_configured_zone() -> None:
    nine = Command(Verb.KEEP, "a", wall=clock_time(9))
    assert nine.until(NOW, BEIJING) == datetime(2026, 3, 6, 1, 0, tzinfo=UTC)
    assert Command(Verb.KEEP, "a", wall=clock_time(23)).until(NOW, BEIJING) == datetime(2026, 3, 5, 15, 0, tzinfo=UTC)
    late = Command(Verb.KEEP, "a", wall=clock_time(23), tomorrow=True)
    assert late.until(NOW, BEIJING) == datetime(2026, 3, 6, 15, 0, tzinfo=UTC)
    assert Command(Verb.KEEP, "a", span=2 * HOUR).until(NOW, BEIJING) == NOW + 2 * HOUR
    assert Command(Verb.KEEP, "a").until(NOW, BEIJING) is None


@pytest.mark.parametrize("text", ["", "0h", "2", "h", "2 fortnights", "-2h", "2h and a bit", "99999h"])
def test_what_is_no_duration(text: str) -> None:
    assert duration(text) is None


@given(st.text(max_size=200))
def test_nothing_that_anybody_writes_breaks_it(text: str) -> None:
    command = parse(text)
    command.until(NOW, BEIJING)
    assert isinstance(command.verb, Verb)
