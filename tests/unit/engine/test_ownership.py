"""Ownership: whose it is and how that is known."""

import pytest

from costguard.domain.resource import Resource
from costguard.engine.ownership import owner_of, with_owner, with_owners
from costguard.engine.settings import Owner
from costguard.testing.builders import make_account, make_resource, make_snapshot

OWNERS = (
    Owner("zhangwei", names=("zw-*",), tags={"owner": ("zhangwei", "zw"), "user": ("zw",)}, team="vision"),
    Owner("li", names=("li-*",)),
)


@pytest.mark.parametrize(
    ("resource", "claimed", "expected"),
    [
        (make_resource(tags={"owner": "zw"}), None, ("zhangwei", "tag owner=zw")),
        (make_resource(tags={"Owner": "ZW"}), None, ("zhangwei", "tag Owner=ZW")),
        (make_resource(tags={"user": "zw", "owner": "li"}), None, ("zhangwei", "tag user=zw")),
        (make_resource(tags={"owner": "LI"}), None, ("li", "tag owner=LI")),
        (make_resource(tags={"owner": "wang"}), None, ("wang", "tag owner=wang")),
        (make_resource(name="zw-1"), None, ("zhangwei", "name zw-*")),
        (make_resource(name="zw-1", tags={"owner": "li"}), None, ("li", "tag owner=li")),
        (make_resource(name="zw-1", tags=None), None, ("zhangwei", "name zw-*")),
        (make_resource(name="zw-1"), "li", ("li", "claim")),
        (make_resource(owner="told"), None, ("told", "provider")),
        (make_resource(), None, ("boss", "account")),
        (make_resource(tags={"owner": " "}), None, ("boss", "account")),
    ],
)
def test_a_claim_beats_tags_beat_names(resource: Resource, claimed: str | None, expected: tuple[str, str]) -> None:
    assert owner_of(resource, OWNERS, make_account(owner="boss"), claimed) == expected


def test_nobody_is_nobody() -> None:
    assert owner_of(make_resource(), OWNERS, make_account()) == (None, "")


def test_what_rules_read_leaves_the_accounts_owner_out() -> None:
    """I24: an untagged box stays untagged although its account has an owner."""
    box = make_resource()
    assert with_owner(box, OWNERS) is box
    named = with_owner(make_resource(name="zw-1"), OWNERS)
    assert (named.owner, named.team) == ("zhangwei", "vision")
    assert with_owner(make_resource(tags={"team": "ads"}), OWNERS).team == "ads"
    snapshot = with_owners(make_snapshot(box), OWNERS, {box.ref: "li"})
    assert snapshot.resources[box.ref].owner == "li"
