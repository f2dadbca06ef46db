"""What people read of a box that is left alone: that it is, and why, in the message itself."""

from datetime import timedelta

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.daemon.drafts import Drafter
from costguard.domain.action import ActionState
from costguard.domain.decision import Response
from costguard.domain.finding import Subject, SubjectType
from costguard.domain.notice import Notice, NoticeKind
from costguard.domain.resource import Kind, ResourceRef
from costguard.domain.snapshot import PowerEvent
from costguard.engine.notices import request
from costguard.engine.settings import EngineSettings
from costguard.notify.doc import Doc
from costguard.notify.route import Place, Routing
from costguard.notify.stories import Teller
from costguard.notify.words import words
from costguard.store import power
from costguard.testing.builders import NOW, cny, make_action, make_finding, make_snapshot
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, REGION, Cloud
from tests.fakes.slack import SlackServer

HOUR = timedelta(hours=1)


def test_a_box_that_people_start_again_and_again_is_told_with_who_does(
    app: App, cloud: Cloud, slack: SlackServer, clock: FakeClock
) -> None:
    """C33: after the second time it is left alone."""
    cloud.boxes["a"].started_at = clock.now() - 4.5 * HOUR
    ref = ResourceRef("simulated", "prod", REGION, Kind.VM, "a")
    happened = ((9.0, "stop", None), (8.5, "start", "li"), (5.0, "stop", None), (4.5, "start", "he"))
    with app.database.write() as conn:
        power.record(
            conn,
            [PowerEvent(ref, clock.now() - hours * HOUR, what, what == "stop", who) for hours, what, who in happened],
        )
    _twice(app, clock)
    (message,) = slack.delivered()
    assert message.text.startswith("No stop: box-a: li, he started it again 2 times in 24 h")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"tags": {"costguard:keep-until": "tomorrow"}},
            "No stop: box-a: the tag costguard:keep-until=tomorrow cannot be read, so it is kept",
        ),
        ({"group": "asg/x"}, "No stop: box-a: it belongs to a group"),
    ],
)
def test_what_is_left_alone_is_told_once_with_the_reason(
    fields: dict[str, object], said: str, app: App, cloud: Cloud, slack: SlackServer, clock: FakeClock
) -> None:
    """C26, M06, C04."""
    cloud.boxes.clear()
    cloud.add("a", **fields)
    _twice(app, clock)
    (message,) = slack.delivered()
    assert message.text.startswith(said)


def _twice(app: App, clock: FakeClock) -> None:
    run_once(app)
    clock.advance(MINUTE)
    run_once(app)


def test_a_step_of_a_budget_that_is_over_is_told_in_its_own_numbers() -> None:
    """I12: not as a stop that is called off."""
    subject = Subject(SubjectType.BUDGET, "2026-06", name="2026-06")
    evidence = {
        "spent": cny("350"), "amount": cny("1000"), "period": "month", "period_start": NOW, "period_end": NOW + HOUR,
        "basis": "payable", "forecast": None, "gone_at": None, "estimated": False, "drivers": (),
    }  # fmt: skip
    finding = make_finding(subject=subject, rule="budget", policy="team-month", evidence=evidence, threshold="50%")
    action = make_action(finding, response=Response.NOTIFY)
    told = request(action, finding, NoticeKind.CLEARED, "n", "cleared", price=None, now=NOW)
    (notice,) = DRAFTER.notices(told, make_snapshot())
    assert said(notice, "en") == "Budget team-month is fine again: ¥350.00 of ¥1,000.00 used (35%)"
    assert said(notice, "zh") == "预算 team-month 恢复正常：本月已用 ¥350.00 / ¥1,000.00（35%）"


def test_what_was_only_told_is_over_and_no_stop_called_off() -> None:
    finding = make_finding(subject=Subject(SubjectType.ACCOUNT, "prod", "prod", name="prod"), rule="balance")
    action = make_action(finding, response=Response.NOTIFY, clear_count=2, state=ActionState.SUPERSEDED)
    told = request(action, finding, NoticeKind.CLEARED, "n", "cleared", price=None, now=NOW, why="busy")
    (notice,) = DRAFTER.notices(told, make_snapshot())
    assert (said(notice, "en"), said(notice, "zh")) == ("Over: Balance is low: prod", "已恢复：余额不足：prod")


DRAFTER = Drafter(Routing({"ops": Place("ops", "slack")}, default=("ops",)), EngineSettings(), timedelta(days=7))


def said(notice: Notice, language: str) -> str:
    return Teller(Doc(notice.facts), words(language), NOW, {}).story().title
