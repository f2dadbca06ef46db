"""Stops, starts, releases, timers, tags: what is sent, and what the box says afterwards."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.domain.resource import Ends, Kind, State
from costguard.errors import InvalidState, NotFound, ProviderError, QuotaExceeded, Unsupported
from costguard.ports import PowerResult
from costguard.testing.cloud import Fault
from costguard_tencent.connection import TencentConnection
from tests.fakes.server import Answer
from tests.fakes.tencent.server import OWNER, TencentServer
from tests.unit.tencent.helpers import CPU, HOME, connect, ref, spec


def sent(server: TencentServer, action: str) -> list[Any]:
    return [call.params for call in server.calls if call.action == action]


def ends(tencent: TencentConnection, id: str) -> Ends:
    effect = tencent.get(ref(id)).stop_effect
    assert effect is not None
    return effect.compute_billing_ends


def test_a_stop_without_charges(server: TencentServer, tencent: TencentConnection) -> None:
    """C06, C08: accepted is not done; the box itself says when it is, and that its bill ended."""
    box = server.cvm.add(HOME, CPU, public_ip="43.1.1.1")
    assert tencent.stop(ref(box.id), "t") is PowerResult.ACCEPTED
    assert sent(server, "StopInstances") == [
        {"InstanceIds": [box.id], "StopType": "SOFT", "StoppedMode": "STOP_CHARGING"}
    ]
    assert tencent.get(ref(box.id)).state is State.STOPPING
    assert tencent.stop(ref(box.id), "t") is PowerResult.ALREADY
    server.cvm.settle()
    assert ends(tencent, box.id) is Ends.YES
    assert "public_ip" not in tencent.get(ref(box.id)).attributes
    assert tencent.stop(ref(box.id), "t") is PowerResult.ALREADY
    assert len(server.mutations()) == 1


@pytest.mark.parametrize("fields", [{"charge": "PREPAID"}, {"charge": "SPOTPAID"}, {"local_data_disk": True}])
def test_where_it_is_not_real_it_is_not_asked_for(
    server: TencentServer, tencent: TencentConnection, fields: dict[str, Any]
) -> None:
    """C07: the stop works and the bill goes on, which the box says before and after."""
    box = server.cvm.add(HOME, CPU, **fields)
    assert ends(tencent, box.id) is Ends.NO
    tencent.stop(ref(box.id), "t")
    assert sent(server, "StopInstances")[0]["StoppedMode"] == "KEEP_CHARGING"
    server.cvm.settle()
    assert tencent.get(ref(box.id)).state is State.STOPPED
    assert ends(tencent, box.id) is Ends.NO


def test_an_answer_is_not_a_stop(server: TencentServer, tencent: TencentConnection) -> None:
    """A soft stop that the guest ignores, and a cloud that says yes and does nothing: the box runs on."""
    deaf, calm = server.cvm.add(HOME, CPU, deaf=True), server.cvm.add(HOME, CPU)
    tencent.stop(ref(deaf.id), "t")
    server.say_yes.add("StopInstances")
    assert tencent.stop(ref(calm.id), "t") is PowerResult.ACCEPTED
    server.cvm.settle()
    for box in (deaf, calm):
        assert tencent.get(ref(box.id)).state is State.RUNNING
    assert tencent.get(ref(deaf.id)).attributes["latest_operation_state"] == "FAILED"


def test_somebody_elses_stop_is_already(server: TencentServer, tencent: TencentConnection) -> None:
    """Between our look and our call."""
    box = server.cvm.add(HOME, CPU)
    server.refusals["StopInstances"] = "UnsupportedOperation.InstanceStateStopping"
    assert tencent.stop(ref(box.id), "t") is PowerResult.ALREADY


@pytest.mark.parametrize(
    "code",
    [
        "OperationDenied.InstanceOperationInProgress",
        "MutexOperation.TaskRunning",
        "UnsupportedOperation.InstanceStateRebooting",
    ],
)
def test_a_busy_box_is_in_the_wrong_state(server: TencentServer, tencent: TencentConnection, code: str) -> None:
    box = server.cvm.add(HOME, CPU)
    server.refusals["StopInstances"] = code
    with pytest.raises(InvalidState) as caught:
        tencent.stop(ref(box.id), "t")
    assert caught.value.code == code


def test_a_start_that_finds_no_stock(server: TencentServer, tencent: TencentConnection) -> None:
    """C12."""
    box = server.cvm.add(HOME, CPU)
    tencent.stop(ref(box.id), "t")
    server.cvm.settle()
    server.cvm.sold_out.add(CPU)
    with pytest.raises(QuotaExceeded):
        tencent.start(ref(box.id), "t")
    server.cvm.sold_out.clear()
    assert tencent.start(ref(box.id), "t") is PowerResult.ACCEPTED
    assert tencent.start(ref(box.id), "t") is PowerResult.ALREADY
    server.cvm.settle()
    assert tencent.start(ref(box.id), "t") is PowerResult.ALREADY


@pytest.mark.parametrize("kind", [Kind.DISK, Kind.ADDRESS, Kind.SNAPSHOT])
def test_only_instances_have_power(server: TencentServer, tencent: TencentConnection, kind: Kind) -> None:
    about = ref("x-1", kind)
    for call in (tencent.stop, tencent.start):
        with pytest.raises(Unsupported):
            call(about, "t")
    with pytest.raises(Unsupported):
        tencent.set_release_time(about, None)
    assert server.request_count() == 0


def test_nothing_is_destroyed_without_leave(server: TencentServer, tencent: TencentConnection) -> None:
    box = server.cvm.add(HOME, CPU)
    with pytest.raises(Unsupported, match="does not allow"):
        tencent.release(ref(box.id), "t")
    with pytest.raises(Unsupported, match="does not allow"):
        tencent.set_release_time(ref(box.id), server.clock.now() + timedelta(days=2))
    assert server.mutations() == []


def test_release(server: TencentServer) -> None:
    tencent = connect(server, allow_release=True)
    box = server.cvm.add(HOME, CPU)
    assert tencent.release(ref(box.id), "t") is PowerResult.ACCEPTED
    server.cvm.settle()
    with pytest.raises(NotFound):
        tencent.get(ref(box.id))
    guarded, paid = server.cvm.add(HOME, CPU, protected=True), server.cvm.add(HOME, CPU, charge="PREPAID")
    for refused in (guarded, paid):
        with pytest.raises(InvalidState):
            tencent.release(ref(refused.id), "t")
    assert paid.state == "RUNNING"
    with pytest.raises(Unsupported):
        tencent.release(ref("nb-1", Kind.NOTEBOOK), "t")


@pytest.mark.parametrize(
    ("kind", "product", "action", "body"),
    [
        (Kind.DISK, "cbs", "TerminateDisks", {"DiskIds": ["x-1"]}),
        (Kind.SNAPSHOT, "cbs", "DeleteSnapshots", {"SnapshotIds": ["x-1"]}),
        (Kind.ADDRESS, "vpc", "ReleaseAddresses", {"AddressIds": ["x-1"]}),
    ],
)
def test_what_is_left_of_a_box_is_released_by_its_own_call(
    server: TencentServer, kind: Kind, product: str, action: str, body: dict[str, Any]
) -> None:
    tencent = connect(server, allow_release=True)
    server.answer_next(Answer(200, b'{"Response": {"RequestId": "r"}}'))
    assert tencent.release(ref("x-1", kind), "t") is PowerResult.ACCEPTED
    (request,) = server.requests
    assert (request.headers["x-tc-action"], f"/{product}/" in request.headers["authorization"]) == (action, True)
    assert request.body.decode() == repr(body).replace("'", '"')


def test_a_timer_is_moved_and_removed(server: TencentServer) -> None:
    """CVM takes one timer a box. Should the new one be refused, none is left: the earlier one would destroy."""
    tencent = connect(server, allow_release=True)
    box = server.cvm.add(HOME, CPU)
    day = server.clock.now() + timedelta(days=1)
    tencent.set_release_time(ref(box.id), day)
    tencent.set_release_time(ref(box.id), day + timedelta(days=1))
    assert [timer.at for timer in server.cvm.timers.values()] == [day + timedelta(days=1)]
    with pytest.raises(ProviderError):
        tencent.set_release_time(ref(box.id), server.clock.now() + timedelta(minutes=1))
    assert not server.cvm.timers
    tencent.set_release_time(ref(box.id), day)
    connect(server).set_release_time(ref(box.id), None)
    assert not server.cvm.timers


def test_tags_are_set_beside_the_others(server: TencentServer, tencent: TencentConnection) -> None:
    """C36. The name of the resource holds the root account's number, which is asked once."""
    box = server.cvm.add(HOME, CPU, tags={"owner": "zw"})
    many = {f"k{n}": str(n) for n in range(12)}
    tencent.tag(ref(box.id), many)
    assert box.tags == {"owner": "zw", **many}
    calls = sent(server, "TagResources")
    assert [len(call["Tags"]) for call in calls] == [9, 3]
    assert calls[0]["ResourceList"] == [f"qcs::cvm:{HOME}:uin/{OWNER}:instance/{box.id}"]
    tencent.tag(ref(box.id), {"k0": "again"})
    assert server.actions().count("GetCallerIdentity") == 1
    known = TencentConnection(spec(server, account_id=OWNER), server.clock)
    server.calls.clear()
    known.tag(ref(box.id), {"k0": "z"})
    assert server.actions() == ["TagResources"]
    with pytest.raises(Unsupported):
        tencent.tag(ref("nb-1", Kind.NOTEBOOK), {"a": "b"})


def test_a_tag_that_did_not_take_is_an_error(server: TencentServer, tencent: TencentConnection) -> None:
    """Inside a good answer."""
    with pytest.raises(ProviderError):
        tencent.tag(ref("ins-0000ffff"), {"a": "b"})


def test_a_lost_answer_is_looked_after_and_not_repeated(server: TencentServer, tencent: TencentConnection) -> None:
    """C11."""
    box = server.cvm.add(HOME, CPU)
    server.fail(Fault.LOST_ANSWER, on=server.action("StopInstances"))
    with pytest.raises(ProviderError):
        tencent.stop(ref(box.id), "t")
    assert len(server.mutations()) == 1
    assert tencent.get(ref(box.id)).state is State.STOPPING
