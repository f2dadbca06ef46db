from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Connection, create_engine

from costguard.daemon.documents import FleetRow
from costguard.domain.action import ActionState
from costguard.domain.decision import GuardCode
from costguard.domain.resource import State
from costguard.rules.currency import Rates
from costguard.testing.builders import MINUTE, NOW, make_action, make_resource
from costguard.web.rows import Lines
from costguard.web.settings import PageSettings
from costguard.web.speech import Speech

PAGE = PageSettings(ZoneInfo("Asia/Shanghai"), "CNY", "enforce", Rates("CNY", {}), ())
BOX = make_resource()


@pytest.fixture
def conn() -> Iterator[Connection]:
    with create_engine("sqlite://").connect() as connection:
        yield connection


@pytest.mark.parametrize(
    ("due_at", "code", "zh", "en"),
    [
        (None, GuardCode.NOT_DUE, "等待：预警还没送达", "Waiting: the warning is not delivered yet"),
        (None, GuardCode.NOT_WARNED, "等待：预警还没送达", "Waiting: the warning is not delivered yet"),
        (NOW + 30 * MINUTE, GuardCode.NOT_DUE, "20:30 关机（30 分钟后）", "Stops at 20:30 (in 30 min)"),
        (NOW - MINUTE, GuardCode.NOT_DUE, "已到期，下一轮再看", "Due: looked at next"),
    ],
)
def test_what_waits_is_not_called_due(
    conn: Connection, due_at: datetime | None, code: GuardCode, zh: str, en: str
) -> None:
    action = make_action(state=ActionState.PROPOSED, code=code, due_at=due_at)
    row = FleetRow(replace(BOX, state=State.STOPPED), "off", action=action)
    assert Lines(conn, Speech(PAGE, NOW, "zh")).line(row).pill == zh
    assert Lines(conn, Speech(PAGE, NOW, "en")).line(row).pill == en
