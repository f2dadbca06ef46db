"""One box under two names of its account."""

from dataclasses import replace

from costguard.daemon.namesakes import Namesakes
from costguard.testing.builders import make_resource

OLD = replace(make_resource().ref, account="old")
NEW, OTHER = replace(OLD, account="new"), replace(OLD, account="other")


def spread(said: dict[object, int], ids: dict[str, str | None]) -> dict[object, int]:
    known = frozenset(replace(OLD, account=name) for name in ids)
    return dict(Namesakes(known, ids).spread(said, int))  # type: ignore[arg-type]


def test_an_account_with_another_name_has_the_boxes_of_before() -> None:
    assert spread({OLD: 1}, {"new": "1"}) == {OLD: 1, NEW: 1}
    assert spread({OLD: 1, NEW: 2}, {"new": "1"}) == {OLD: 1, NEW: 2}
    assert spread({OLD: 3, NEW: 2}, {"new": "1"}) == {OLD: 3, NEW: 3}


def test_two_entries_for_one_account_have_the_same_boxes() -> None:
    assert spread({OLD: 1}, {"old": "1", "new": "1"}) == {OLD: 1, NEW: 1}


def test_other_accounts_have_other_boxes() -> None:
    assert spread({OLD: 1}, {"old": "1", "new": "2", "other": None}) == {OLD: 1}
    assert spread({OTHER: 1}, {"other": None, "new": None}) == {OTHER: 1}
    assert spread({replace(OLD, id="i-9"): 1}, {"new": "1"}) == {replace(OLD, id="i-9"): 1}
