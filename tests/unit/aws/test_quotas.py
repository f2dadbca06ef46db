"""vCPU quotas and their use."""

from datetime import timedelta

from costguard.ports import Quota
from costguard.testing.clock import NOON
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.server import AwsServer
from tests.unit.aws.helpers import HOME

G_AND_VT = "L-DB2E81BA"


def used(server: AwsServer, vcpus: float) -> None:
    dimensions = {"Type": "Resource", "Resource": "vCPU", "Service": "EC2", "Class": G_AND_VT}
    points = {NOON - timedelta(minutes=10): 1.0, NOON - timedelta(minutes=5): vcpus}
    server.cloudwatch.put("AWS/Usage", "ResourceCount", dimensions, points)


def test_the_newest_use_is_told(aws: AwsConnection, server: AwsServer) -> None:
    server.quotas.values = {G_AND_VT: 192.0}
    used(server, 96.0)
    assert aws.quotas(HOME) == [Quota("G and VT on-demand", HOME, 192.0, 96.0, "vCPU")]


def test_a_use_that_is_not_known_is_not_zero(aws: AwsConnection, server: AwsServer) -> None:
    """G05."""
    server.quotas.values = {G_AND_VT: 192.0}
    assert [q.used for q in aws.quotas(HOME)] == [None]
    used(server, 96.0)
    server.fail(Fault.FORBIDDEN, on=server.on(Calls.USAGE))
    assert [q.used for q in aws.quotas(HOME)] == [None]


def test_a_class_that_the_region_does_not_rent_has_no_quota(aws: AwsConnection, server: AwsServer) -> None:
    assert aws.quotas(HOME) == []
