"""Who started and stopped a box."""

from datetime import timedelta

import pytest

from costguard.domain.snapshot import PowerEvent
from costguard.testing.clock import NOON
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import HOME, ref

HOUR = timedelta(hours=1)
SINCE = NOON - 24 * HOUR


def test_cloudtrail_names_people(aws: AwsConnection, server: AwsServer) -> None:
    """C33."""
    box = server.ec2.add(HOME, "c6i.xlarge", launched=NOON - HOUR)
    server.trail.events = [
        (box.id, "RunInstances", NOON - 50 * HOUR, "zhangwei"),
        (box.id, "StopInstances", NOON - 9 * HOUR, "costguard"),
        (box.id, "CreateTags", NOON - 8 * HOUR, "lina"),
        (box.id, "StartInstances", NOON - HOUR, "zhangwei"),
        ("i-2", "StopInstances", NOON - HOUR, "nobody"),
    ]
    assert aws.power_events(ref(box.id), SINCE) == [
        PowerEvent(ref(box.id), NOON - 9 * HOUR, "stop", False, "costguard"),
        PowerEvent(ref(box.id), NOON - HOUR, "start", False, "zhangwei"),
    ]


@pytest.mark.parametrize(
    ("code", "actor"),
    [
        ("Client.UserInitiatedShutdown", "user"),
        ("Client.InstanceInitiatedShutdown", "guest"),
        ("Server.SpotInstanceShutdown", "aws"),
        ("Server.ReasonOf2027", None),
    ],
)
def test_without_cloudtrail_the_last_stop_and_start_are_told(
    aws: AwsConnection, server: AwsServer, code: str, actor: str | None
) -> None:
    server.trail.denied = True
    box = server.ec2.add(
        HOME, "c6i.xlarge", state="stopped", launched=NOON - 5 * HOUR, reason_code=code,
        reason=f"User initiated ({NOON - HOUR:%Y-%m-%d %H:%M:%S} GMT)",
    )  # fmt: skip
    assert aws.power_events(ref(box.id), SINCE) == [
        PowerEvent(ref(box.id), NOON - 5 * HOUR, "start", False),
        PowerEvent(ref(box.id), NOON - HOUR, "stop", False, actor),
    ]


def test_what_is_older_is_left_out(aws: AwsConnection, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge", launched=NOON - 100 * HOUR)
    assert aws.power_events(ref(box.id), SINCE) == []


def test_a_box_that_is_gone_has_what_cloudtrail_knows(aws: AwsConnection, server: AwsServer) -> None:
    id = "i-0123456789abcdef0"
    server.trail.events = [(id, "StopInstances", NOON - HOUR, "lina")]
    assert aws.power_events(ref(id), SINCE) == [PowerEvent(ref(id), NOON - HOUR, "stop", False, "lina")]
