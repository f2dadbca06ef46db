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
