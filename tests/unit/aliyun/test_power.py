"""Everything that changes something."""

from datetime import timedelta

import pytest

from costguard.domain.resource import Ends, Kind, State
from costguard.errors import InvalidState, NotFound, ProviderError, QuotaExceeded, Unsupported
from costguard.ports import PowerResult
from costguard_aliyun.connection import AliyunConnection
from tests.fakes.aliyun.server import AliyunServer
from tests.unit.aliyun.helpers import HOME, connect, ref

CPU = "ecs.g7.xlarge"


def test_a_stop_asks_for_economical_mode_and_reads_it_back(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU, public_ip="47.93.0.1")
    assert aliyun.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    (call,) = server.calls
    assert call.params == {"InstanceId": box.id, "StoppedMode": "StopCharging"}
    assert aliyun.get(ref(box.id)).state is State.STOPPING
    server.ecs.settle()
    stopped = aliyun.get(ref(box.id))
    assert stopped.stop_effect is not None
    assert (stopped.state, stopped.stop_effect.compute_billing_ends) == (State.STOPPED, Ends.YES)


def test_stopped_but_still_charged_is_seen(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """C07: no error from ECS; whoever looks again knows."""
    box = server.ecs.add(HOME, "ecs.gn5-c8g1.4xlarge")
    aliyun.stop(ref(box.id), "t")
    server.ecs.settle()
    stopped = aliyun.get(ref(box.id))
    assert stopped.stop_effect is not None
    assert stopped.stop_effect.compute_billing_ends is Ends.NO
    assert "still charged" in stopped.stop_effect.note


def test_a_spot_box_that_bills_on_is_seen(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.spot_stop_charging = False
    box = server.ecs.add(HOME, CPU, spot="SpotAsPriceGo")
    before = aliyun.get(ref(box.id)).stop_effect
    aliyun.stop(ref(box.id), "t")
    server.ecs.settle()
    after = aliyun.get(ref(box.id)).stop_effect
    assert before is not None
    assert after is not None
    assert (before.compute_billing_ends, after.compute_billing_ends) == (Ends.YES, Ends.NO)


def test_where_economical_mode_is_refused_nothing_else_is_tried(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.refuses_unfit = True
    box = server.ecs.add(HOME, CPU, network="classic")
    with pytest.raises(Unsupported) as caught:
        aliyun.stop(ref(box.id), "t")
    assert (caught.value.capability, len(server.mutations()), box.state) == ("stop", 1, "Running")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"state": "Starting"}, "IncorrectInstanceStatus"),
        ({"state": "Pending"}, "IncorrectInstanceStatus.Initializing"),
        ({"locks": ["security"]}, "InstanceLockedForSecurity"),
        ({"locks": ["financial"]}, "InstanceExpiredOrInArrears"),
        ({"locks": ["Recycling"]}, "IncorrectInstanceStatus"),
    ],
)
def test_a_refused_stop_is_no_success(
    aliyun: AliyunConnection, server: AliyunServer, fields: dict[str, object], code: str
) -> None:
    box = server.ecs.add(HOME, CPU, **fields)
    with pytest.raises(InvalidState) as caught:
        aliyun.stop(ref(box.id), "t")
    assert caught.value.code == code


def test_a_stop_that_answers_well_and_does_nothing_is_seen(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.say_yes.add("StopInstance")
    box = server.ecs.add(HOME, CPU)
    assert aliyun.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    assert aliyun.get(ref(box.id)).state is State.RUNNING


def test_a_start_of_a_sold_out_type(aliyun: AliyunConnection, server: AliyunServer) -> None:
    server.ecs.sold_out.add(CPU)
    box = server.ecs.add(HOME, CPU, state="Stopped", stopped_mode="StopCharging")
    with pytest.raises(QuotaExceeded):
        aliyun.start(ref(box.id), "t")


def test_a_start_of_what_starts_is_already(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU, state="Starting")
    assert aliyun.start(ref(box.id), "t") is PowerResult.ALREADY


def test_a_disk_has_no_power_state(aliyun: AliyunConnection) -> None:
    for act in (aliyun.stop, aliyun.start):
        with pytest.raises(Unsupported):
            act(ref("d-1", Kind.DISK), "t")


def test_nothing_is_destroyed_without_permission(aliyun: AliyunConnection, server: AliyunServer) -> None:
    """Neither at once nor by a timer."""
    box = server.ecs.add(HOME, CPU)
    with pytest.raises(Unsupported):
        aliyun.release(ref(box.id), "t")
    with pytest.raises(Unsupported):
        aliyun.set_release_time(ref(box.id), server.clock.now() + timedelta(days=1))
    assert server.requests == []


def test_a_release_of_each_kind(server: AliyunServer) -> None:
    aliyun = connect(server, allow_release=True)
    running = server.ecs.add(HOME, CPU)
    made = {
        Kind.VM: running.id,
        Kind.DISK: server.storage.add_disk(HOME),
        Kind.SNAPSHOT: server.storage.add_snapshot(HOME),
        Kind.ADDRESS: server.storage.add_eip(HOME),
    }
    for kind, id in made.items():
        assert aliyun.release(ref(id, kind), "t") is PowerResult.ACCEPTED
        with pytest.raises(NotFound):
            aliyun.get(ref(id, kind))
        with pytest.raises(NotFound):
            aliyun.release(ref(id, kind), "t")
    with pytest.raises(Unsupported):
        aliyun.release(ref("b-1", Kind.BUCKET), "t")
    aliyun.close()


@pytest.mark.parametrize("fields", [{"protected": True}, {"charge": "PrePaid"}, {"locks": ["security"]}])
def test_a_refused_release_destroys_nothing(server: AliyunServer, fields: dict[str, object]) -> None:
    box = server.ecs.add(HOME, CPU, **fields)
    with pytest.raises(InvalidState):
        connect(server, allow_release=True).release(ref(box.id), "t")
    assert box.id in server.ecs.boxes


def test_an_attached_disk_stays(server: AliyunServer) -> None:
    disk = server.storage.add_disk(HOME, instance="i-1")
    with pytest.raises(InvalidState):
        connect(server, allow_release=True).release(ref(disk, Kind.DISK), "t")


def test_the_release_timer_is_set_read_and_taken_back(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box, at = server.ecs.add(HOME, CPU), server.clock.now() + timedelta(days=2, seconds=17)
    connect(server, allow_release=True).set_release_time(ref(box.id), at)
    assert aliyun.get(ref(box.id)).auto_release_at == at.replace(second=0)
    aliyun.set_release_time(ref(box.id), None)  # taking it back destroys nothing
    assert aliyun.get(ref(box.id)).auto_release_at is None


def test_a_timer_that_is_too_near_is_refused(server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU)
    with pytest.raises(ProviderError) as caught:
        connect(server, allow_release=True).set_release_time(ref(box.id), server.clock.now() + timedelta(minutes=5))
    assert caught.value.code == "InvalidAutoReleaseTime.Malformed"


def test_tags_are_added_twenty_at_a_time(aliyun: AliyunConnection, server: AliyunServer) -> None:
    box = server.ecs.add(HOME, CPU, tags={"role": "dev"})
    aliyun.tag(ref(box.id), {"costguard:warned": "2026-03-05 中文", "x": ""})
    assert box.tags == {"role": "dev", "costguard:warned": "2026-03-05 中文", "x": ""}
    with pytest.raises(QuotaExceeded):
        aliyun.tag(ref(box.id), {f"k{n}": "v" for n in range(25)})
    assert [len(call.params["Tag"]) for call in server.calls] == [2, 20]


@pytest.mark.parametrize("key", ["acs:autoscaling:x", "aliyunX", "ACS:y"])
def test_reserved_tags_are_not_sent(aliyun: AliyunConnection, server: AliyunServer, key: str) -> None:
    with pytest.raises(InvalidState):
        aliyun.tag(ref("i-1"), {key: "v"})
    with pytest.raises(Unsupported):
        aliyun.tag(ref("b-1", Kind.BUCKET), {"k": "v"})
    assert server.requests == []
