"""Attribution: whose money it was at the time."""

from dataclasses import replace
from datetime import timedelta
from zoneinfo import ZoneInfo

from costguard.domain.budget import Interval
from costguard.domain.resource import ChargeType, Kind, State
from costguard.engine.attribution import Attribution, Claimed
from costguard.engine.meter import spend
from costguard.engine.settings import Owner
from costguard.testing.builders import HOUR, NOW, cny, make_charge, make_ref, make_resource

OWNERS = (Owner("zhangwei", ("zw-*",), {"owner": ("zw",)}, team="nlp"),)
BOX = make_resource("i-1", tags={"owner": "zw", "team": "vision"})
DISK = make_resource("d-1", kind=Kind.DISK, depends_on="i-1", cards=0)
LOOSE = make_resource("d-2", kind=Kind.DISK, cards=0)


def attribution(**fields: object) -> Attribution:
    values: dict[str, object] = {"claims": {}, "history": {}, "accounts": {}} | fields
    return Attribution([BOX, DISK, LOOSE], OWNERS, **values)  # type: ignore[arg-type]


def test_tags_that_appear_in_mid_month_are_not_retroactive() -> None:
    """I24: before the tag the money is nobody's, and the cut is at the moment of the tag."""
    tagged = NOW - 10 * HOUR
    known = attribution(history={BOX.ref: [(tagged, {})]})
    assert known.at(BOX.ref, tagged - HOUR) == (None, None)
    assert known.at(BOX.ref, tagged) == ("zhangwei", "vision")
    running = Interval(BOX.ref, State.RUNNING, ChargeType.ON_DEMAND, NOW - 24 * HOUR, None, cny("10"))
    rows = list(spend(known.intervals([running], NOW), NOW - 24 * HOUR, NOW, ZoneInfo("UTC")))
    by_owner: dict[str | None, int] = {}
    for row in rows:
        by_owner[row.owner] = by_owner.get(row.owner, 0) + row.money.nanos
    assert by_owner == {None: cny("140").nanos, "zhangwei": cny("100").nanos}


def test_a_claim_counts_from_its_own_time() -> None:
    known = attribution(claims={LOOSE.ref: Claimed("li", NOW)})
    assert known.at(LOOSE.ref, NOW - HOUR) == (None, None)
    assert known.at(LOOSE.ref, NOW) == ("li", None)
    assert known.changes(LOOSE.ref) == [NOW]


def test_a_disk_goes_to_its_box_and_the_account_takes_the_rest() -> None:
    known = attribution(accounts={"prod": ("finance", None)})
    assert known.at(DISK.ref, NOW) == ("zhangwei", "vision")
    assert known.at(LOOSE.ref, NOW) == ("finance", None)
    assert known.at(make_ref("i-unseen"), NOW) == ("finance", None)
    moved = attribution(history={BOX.ref: [(NOW, {"owner": "li"})]})
    assert moved.at(DISK.ref, NOW - HOUR) == ("li", None)
    assert moved.changes(DISK.ref) == [NOW]


def test_a_bill_row_goes_by_its_own_tags_else_by_the_resource_at_that_time() -> None:
    """I24"""
    day = make_charge().charge_period_start
    known = attribution(history={BOX.ref: [(day + timedelta(days=1), {"owner": "li"})]})
    assert known.of_charge(make_charge(resource_id="i-1")) == ("li", None)
    assert known.of_charge(make_charge(resource_id="i-1", tags={"owner": "zw"})) == ("zhangwei", "nlp")
    assert (
        known.of_charge(make_charge(resource_id="i-unseen", resource_name="zw-old", tags={"a": "b"}))[0] == "zhangwei"
    )
    assert known.of_charge(make_charge()) == (None, None)
    unread = attribution(history={BOX.ref: [(day + timedelta(days=1), None)]})
    assert unread.of_charge(replace(make_charge(resource_id="i-1"))) == (None, None)


def test_projects_come_from_tags_of_the_time_from_the_box_and_from_the_account() -> None:
    """I24: a project tag that appears today says nothing of yesterday."""
    box = replace(BOX, tags={"Project": "chat"})
    found = Attribution(
        [box, DISK, LOOSE], OWNERS, {}, {box.ref: [(NOW, {"owner": "zw"})]}, {}, {LOOSE.ref.account: "rest"}
    )
    assert found.project(box.ref, NOW) == "chat"
    assert found.project(box.ref, NOW - timedelta(seconds=1)) == "rest"
    assert found.project(DISK.ref, NOW) == "chat", "a disk goes with the box it is attached to"
    assert found.project(LOOSE.ref, NOW) == "rest"
    row = make_charge(account=box.ref.account, resource_id=box.ref.id, charge_period_start=NOW)
    assert found.project_of(row) == "chat"
    assert found.project_of(replace(row, tags={"project": "own"})) == "own"
    assert found.project_of(replace(row, resource_id=None)) == "rest"


def test_what_a_bills_tags_leave_out_comes_from_the_resource_of_that_time() -> None:
    """A bill tells only the tags that were activated for it; a later claim is not retroactive."""
    found = attribution(claims={BOX.ref: Claimed("li", NOW)})
    row = make_charge(account=BOX.ref.account, resource_id=BOX.ref.id, tags={"Name": "x"})
    told = found.at(BOX.ref, NOW - timedelta(hours=1))
    assert found.of_charge(replace(row, charge_period_start=NOW - timedelta(hours=1))) == told
    assert found.of_charge(replace(row, charge_period_start=NOW))[0] == "li"
