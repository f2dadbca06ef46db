"""Stops, starts, releases and tags against the strict account."""

from typing import Any

import pytest

from costguard.domain.resource import Kind, State
from costguard.errors import ConfigError, InvalidState, NotFound, QuotaExceeded, TimedOut, Unavailable, Unsupported
from costguard.ports import PowerResult
from costguard.testing.cloud import Calls, Fault
from costguard_aws.connection import AwsConnection
from tests.fakes.aws.codec import encode_error
from tests.fakes.aws.server import AwsServer
from tests.fakes.server import Answer
from tests.unit.aws.helpers import HOME, connect, ref


def test_a_stop_names_one_box_and_nothing_more(aws: AwsConnection, server: AwsServer) -> None:
    """No Force, no Hibernate."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    assert aws.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    assert [dict(call.params) for call in server.calls] == [{"InstanceIds": [box.id]}]
    assert aws.get(ref(box.id)).state is State.STOPPING


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"protected": True}, InvalidState),
        ({"lifecycle": "spot", "spot_type": "one-time"}, Unsupported),
        ({"root": "instance-store"}, Unsupported),
        ({"state": "pending"}, InvalidState),
        ({"state": "terminated"}, InvalidState),
    ],
)
def test_refused_stops(aws: AwsConnection, server: AwsServer, fields: dict[str, Any], kind: type[Exception]) -> None:
    """C05, C29."""
    box = server.ec2.add(HOME, "c6i.xlarge", **fields)
    with pytest.raises(kind):
        aws.stop(ref(box.id), "t")


def test_an_answer_that_cannot_be_read_leaves_a_stop_in_doubt(aws: AwsConnection, server: AwsServer) -> None:
    """C11: the box may have been stopped."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    for fault in (Fault.TRUNCATED, Fault.LOST_ANSWER):
        server.fail(fault, on=server.on(Calls.MUTATION), times=1)
        with pytest.raises((Unavailable, TimedOut)):
            aws.stop(ref(box.id), "t")
        assert aws.get(ref(box.id)).state is State.STOPPING


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("InsufficientInstanceCapacity", QuotaExceeded),
        ("IncorrectSpotRequestState", InvalidState),
        ("VcpuLimitExceeded", QuotaExceeded),
    ],
)
def test_refused_starts(aws: AwsConnection, server: AwsServer, code: str, kind: type[Exception]) -> None:
    """C12: out of stock, or a spot box that only EC2 may start."""
    box = server.ec2.add(HOME, "c6i.xlarge", state="stopped")
    server.answer_next(encode_error("ec2", code, 400))
    with pytest.raises(kind):
        aws.start(ref(box.id), "t")


def test_a_start_during_a_stop_is_refused(aws: AwsConnection, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge")
    aws.stop(ref(box.id), "t")
    with pytest.raises(InvalidState):
        aws.start(ref(box.id), "t")


def test_disks_have_no_power_state(aws: AwsConnection, server: AwsServer) -> None:
    for call in (aws.stop, aws.start):
        with pytest.raises(Unsupported):
            call(ref("vol-1", Kind.DISK), "t")
    assert server.calls == []


def test_nothing_is_released_without_allow_release(aws: AwsConnection, server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge", state="stopped")
    server.ec2.add_thing(HOME, "Volumes", "vol-1", State="available")
    for target in (ref(box.id), ref("vol-1", Kind.DISK)):
        with pytest.raises(Unsupported):
            aws.release(target, "t")
    assert server.calls == []


def test_a_persistent_request_is_cancelled_before_its_box_is_terminated(server: AwsServer) -> None:
    """Otherwise a new box comes up in its place."""
    box = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="persistent")
    aws = connect(server, allow_release=True)
    assert aws.release(ref(box.id), "t") is PowerResult.ACCEPTED
    assert server.operations() == ["DescribeInstances", "CancelSpotInstanceRequests", "TerminateInstances"]
    server.ec2.settle()
    assert list(aws.list(Kind.VM, HOME)) == []
    with pytest.raises(NotFound):
        aws.get(ref(box.id))


def test_a_request_that_cannot_be_cancelled_keeps_the_box(server: AwsServer) -> None:
    box = server.ec2.add(HOME, "c6i.xlarge", lifecycle="spot", spot_type="persistent")
    server.fail(Fault.SERVER_ERROR, on=server.on(Calls.MUTATION))
    with pytest.raises(Unavailable):
        connect(server, allow_release=True).release(ref(box.id), "t")
    assert box.state == "running"


@pytest.mark.parametrize(
    ("kind", "key", "id"),
    [
        (Kind.DISK, "Volumes", "vol-1"),
        (Kind.SNAPSHOT, "Snapshots", "snap-1"),
        (Kind.ADDRESS, "Addresses", "eipalloc-1"),
        (Kind.GATEWAY, "NatGateways", "nat-1"),
    ],
)
def test_what_is_left_over_is_released(server: AwsServer, kind: Kind, key: str, id: str) -> None:
    server.ec2.add_thing(HOME, key, id, State="available") if key != "Addresses" else server.ec2.add_thing(
        HOME, key, id
    )
    aws = connect(server, allow_release=True)
    assert aws.release(ref(id, kind), "t") is PowerResult.ACCEPTED
    with pytest.raises(NotFound):
        aws.get(ref(id, kind))
    with pytest.raises(NotFound):
        aws.release(ref(id, kind), "t")


def test_a_disk_in_use_is_kept(server: AwsServer) -> None:
    server.ec2.add_thing(HOME, "Volumes", "vol-1", State="in-use")
    with pytest.raises(InvalidState):
        connect(server, allow_release=True).release(ref("vol-1", Kind.DISK), "t")


def test_a_kind_that_cannot_be_released_is_unsupported(server: AwsServer) -> None:
    with pytest.raises(Unsupported):
        connect(server, allow_release=True).release(ref("b-1", Kind.BUCKET), "t")


def test_there_is_no_release_timer(aws: AwsConnection) -> None:
    with pytest.raises(Unsupported):
        aws.set_release_time(ref("i-1"), None)


def test_tags_are_set_beside_the_others(aws: AwsConnection, server: AwsServer) -> None:
    """C36."""
    box = server.ec2.add(HOME, "c6i.xlarge", tags={"owner": "zw"})
    aws.tag(ref(box.id), {"costguard:stopped": "idle-dev"})
    assert box.tags == {"owner": "zw", "costguard:stopped": "idle-dev"}
    with pytest.raises(InvalidState):
        aws.tag(ref(box.id), {"aws:createdBy": "me"})


def test_an_answer_that_does_not_name_the_box_is_taken(aws: AwsConnection, server: AwsServer) -> None:
    """The caller reads the box back anyway."""
    box = server.ec2.add(HOME, "c6i.xlarge")
    body = b"<StopInstancesResponse><instancesSet/></StopInstancesResponse>"
    server.answer_next(Answer(200, body, {"Content-Type": "text/xml"}))
    assert aws.stop(ref(box.id), "t") is PowerResult.ACCEPTED


def test_a_box_that_could_hibernate_is_stopped_plainly(aws: AwsConnection, server: AwsServer) -> None:
    """C05: and its effect tells that memory is lost."""
    box = server.ec2.add(HOME, "c6i.xlarge", hibernation="configured")
    effect = aws.get(ref(box.id)).stop_effect
    assert effect is not None
    assert "memory" in effect.lost
    aws.stop(ref(box.id), "t")
    assert dict(server.calls[-1].params) == {"InstanceIds": [box.id]}
    assert aws.get(ref(box.id)).attributes["hibernated"] == "no"


@pytest.mark.parametrize(("hibernation", "hibernated"), [("configured", "yes"), ("fails", "no")])
def test_an_account_that_asks_for_it_hibernates(server: AwsServer, hibernation: str, hibernated: str) -> None:
    """What EC2 really did is read back: it shuts a box down where hibernating fails."""
    aws = connect(server, options={"hibernate": True})
    box = server.ec2.add(HOME, "c6i.xlarge", hibernation=hibernation)
    (listed,) = aws.list(Kind.VM, HOME)
    for read in (listed, aws.get(ref(box.id))):
        assert read.stop_effect is not None
        assert "memory" not in read.stop_effect.lost
        assert "hibernated" not in read.attributes
    assert aws.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    assert dict(server.calls[-1].params) == {"InstanceIds": [box.id], "Hibernate": True}
    server.ec2.settle()
    read = aws.get(ref(box.id))
    assert (read.state, read.attributes["hibernated"]) == (State.STOPPED, hibernated)
    aws.start(ref(box.id), "t")
    assert "hibernated" not in aws.get(ref(box.id)).attributes


def test_a_box_that_cannot_hibernate_is_stopped_plainly_in_any_account(server: AwsServer) -> None:
    aws = connect(server, options={"hibernate": True})
    box = server.ec2.add(HOME, "c6i.xlarge")
    assert aws.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    assert dict(server.calls[-1].params) == {"InstanceIds": [box.id]}


def test_a_box_that_is_not_ready_to_hibernate_is_left_running(server: AwsServer) -> None:
    """A plain stop in its place would lose what the account asks to keep."""
    box = server.ec2.add(HOME, "c6i.xlarge", hibernation="not ready")
    with pytest.raises(InvalidState):
        connect(server, options={"hibernate": True}).stop(ref(box.id), "t")
    assert box.state == "running"


@pytest.mark.parametrize("options", [{"hibernate": "yes"}, {"hibernat": True}])
def test_options_that_do_not_exist_are_a_mistake_of_the_configuration(
    server: AwsServer, options: dict[str, object]
) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(server, options=options)
    assert f"options.{next(iter(options))}" in caught.value.message
