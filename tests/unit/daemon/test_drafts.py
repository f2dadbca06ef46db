"""What people read of a box that is left alone: that it is, and why, in the message itself."""

from datetime import timedelta

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.resource import Kind, ResourceRef
from costguard.domain.snapshot import PowerEvent
from costguard.store import power
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
