"""Route: the owner first, then the rung's channels, then the default; when it counts as delivered."""

from dataclasses import replace
from datetime import timedelta

import pytest

from costguard.domain.notice import Notice, NoticeKind, NoticeState
from costguard.notify.route import Draft, Person, Place, Routing, delivered_at, fallback_copy, route
from costguard.testing.builders import NOW

PLACES = {
    "ops": Place("ops", "dingtalk", fallback="team"),
    "team": Place("team", "slack", language="en"),
    "hook": Place("hook", "slack"),
}
ZW = Person("zhangwei", "zh", slack="U012", dingtalk_mobile="13800000000")
LI = Person("lilei", "en", slack="U013")
NOBODY = Person("unreachable")
ROUTING = Routing(PLACES, {p.name: p for p in (ZW, LI, NOBODY)}, default=("ops",), dry_run=("hook",), language="zh")


def drafted(**fields: object) -> list[Notice]:
    values: dict[str, object] = {
        "kind": NoticeKind.WARN, "alert_key": "a", "key": "act-1/warn/0", "facts": {"kind": "warn"}, "created_at": NOW,
    }  # fmt: skip
    return route(Draft(**{**values, **fields}), ROUTING)  # type: ignore[arg-type]


def summary(notices: list[Notice]) -> list[tuple[str, tuple[str, ...], bool, str | None]]:
    return [(n.channel, n.mention, n.owner_route, n.language) for n in notices]


@pytest.mark.parametrize(
    ("to", "owner", "expected"),
    [
        (("owner", "ops"), "zhangwei", [("ops", ("zhangwei",), True, "zh")]),
        (("owner", "team"), "zhangwei", [("team", ("zhangwei",), True, "en")]),
        (("owner",), "lilei", [("team", ("lilei",), True, "en")]),
        (("owner", "ops"), "lilei", [("team", ("lilei",), True, "en"), ("ops", (), False, "zh")]),
        (("owner", "ops"), None, [("ops", (), False, "zh")]),
        (("owner",), None, [("ops", (), False, "zh")]),
        (("owner",), "unreachable", [("ops", (), False, "zh")]),
        (("team",), "zhangwei", [("team", (), False, "en")]),
        ((), "zhangwei", [("ops", ("zhangwei",), True, "zh")]),
        ((), None, [("ops", (), False, "zh")]),
        (("gone",), None, [("ops", (), False, "zh")]),
        (("lilei", "ops"), "zhangwei", [("team", ("lilei",), False, "en"), ("ops", (), False, "zh")]),
        (("zhangwei",), "zhangwei", [("ops", ("zhangwei",), True, "zh")]),
        (("owner", "lilei", "hook"), "zhangwei", [("hook", ("zhangwei", "lilei"), True, "zh")]),
    ],
)
def test_where_a_message_goes(
    to: tuple[str, ...], owner: str | None, expected: list[tuple[str, tuple[str, ...], bool, str | None]]
) -> None:
    assert summary(drafted(to=to, owner=owner)) == expected


def test_the_owners_own_channel_comes_first() -> None:
    routing = replace(ROUTING, people={"zhangwei": replace(ZW, channels=("hook",))})
    notices = route(Draft(NoticeKind.WARN, "a", "k", {}, NOW, to=("owner", "ops"), owner="zhangwei"), routing)
    assert [(n.channel, n.owner_route) for n in notices] == [("hook", True), ("ops", False)]


def test_a_dry_run_never_goes_to_owners() -> None:
    assert summary(drafted(to=("owner", "ops"), owner="zhangwei", dry_run=True)) == [("hook", (), False, "zh")]


def test_the_same_fact_has_the_same_row() -> None:
    first, again = drafted(owner="zhangwei"), drafted(owner="zhangwei", created_at=NOW + timedelta(minutes=1))
    assert [(n.id, n.idem_key) for n in first] == [(n.id, n.idem_key) for n in again]


def test_what_is_not_urgent_waits_for_others() -> None:
    assert drafted(kind=NoticeKind.WARN)[0].next_at == NOW
    assert drafted(kind=NoticeKind.NOTIFY)[0].next_at == NOW + timedelta(seconds=30)


def sent(notice: Notice, minutes: int) -> Notice:
    return replace(notice, state=NoticeState.SENT, sent_at=NOW + timedelta(minutes=minutes))


def test_delivered_is_what_the_owners_route_accepted() -> None:
    """M13, J20: another channel's acceptance starts no grace while the owner does not know."""
    own, other = drafted(to=("owner", "ops"), owner="lilei")
    assert delivered_at([own, sent(other, 1)]) is None
    assert delivered_at([sent(own, 5), sent(other, 1)]) == NOW + timedelta(minutes=5)


def test_delivered_without_an_owner_is_any_channel() -> None:
    ops, team = drafted(to=("ops", "team"))
    assert delivered_at([ops, team]) is None
    assert delivered_at([ops, sent(team, 2)]) == NOW + timedelta(minutes=2)
    assert delivered_at([]) is None


def test_the_fallback_of_the_owners_route_counts() -> None:
    own = drafted(to=("owner", "team"), owner="zhangwei")[0]
    copy = fallback_copy(own, "hook", NOW + timedelta(minutes=3), "zh")
    assert copy.fallback_of == own.id
    assert copy.created_at == own.created_at
    assert copy.id != own.id
    assert delivered_at([own, sent(copy, 4)]) == NOW + timedelta(minutes=4)


def test_a_fallback_copy_that_the_channel_already_has_is_the_same_message() -> None:
    """Without an owner to be told there is no second copy in a channel that already got one."""
    ops, team = drafted(to=("ops", "team"))
    assert fallback_copy(ops, "team", NOW, None).idem_key == team.idem_key


@pytest.mark.parametrize(
    ("to", "owner", "personal"),
    [
        (("owner",), "zhangwei", {"ops": True}),
        (("owner",), "lilei", {"team": True}),
        (("lilei",), "zhangwei", {"team": True}),
        (("owner", "ops"), "lilei", {"team": True, "ops": False}),
        (("owner", "team"), "lilei", {"team": False}),
        ((), "zhangwei", {"ops": False}),
        ((), "lilei", {"team": True}),
        (("owner",), None, {"ops": False}),
    ],
)
def test_what_only_one_person_asked_for_is_personal(
    to: tuple[str, ...], owner: str | None, personal: dict[str, bool]
) -> None:
    """A conversation that the rung or the default names is everybody's, also when it can mention the owner."""
    assert {n.channel: n.personal for n in drafted(to=to, owner=owner)} == personal


def test_a_channel_that_finds_people_by_address_is_a_route() -> None:
    places = {"mute": Place("mute", "slack"), "bot": Place("bot", "slack", by_email=True)}
    he = Person("he", email="he@example.com")
    routing = Routing(places, {"he": he}, default=("mute",))
    (found,) = route(Draft(NoticeKind.WARN, "a", "k", {}, NOW, to=("owner",), owner="he"), routing)
    assert (found.channel, found.personal, found.mention) == ("bot", True, ("he",))
