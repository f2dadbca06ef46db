"""Matching: what a policy speaks of, with every doubt on the protecting side."""

from decimal import Decimal
from typing import Any

import pytest

from costguard.domain.resource import UNKNOWN_GPUS, ChargeType, Gpus, Kind
from costguard.rules.match import compile_match, matches
from costguard.rules.policy import Match
from costguard.testing.builders import make_account, make_resource


def matched(document: dict[str, Any], **fields: Any) -> bool:
    resource = make_resource(**fields)
    account = make_account("prod", owner="boss", team="infra")
    match = Match.model_validate(document)
    result = matches(match, resource, account)
    assert bool(compile_match(match).select([(resource, account)])) is result.matched
    assert (result.why_not == "") is result.matched
    return result.matched


@pytest.mark.parametrize(
    ("document", "fields", "expected"),
    [
        ({"accounts": ["pr*"]}, {}, True),
        ({"accounts": ["dev*", "prod"]}, {}, True),
        ({"accounts": ["dev*"]}, {}, False),
        ({"providers": ["simulated"]}, {}, True),
        ({"providers": ["sim*"]}, {}, False),
        ({"regions": ["cn-north"]}, {}, True),
        ({"kinds": ["disk"]}, {}, False),
        ({"kinds": ["vm", "disk"]}, {}, True),
        ({"names": ["train-*"]}, {"name": "train-a800-03"}, True),
        ({"names": ["train"]}, {"name": "train-a800-03"}, False),
        ({"names": ["*[x]*"]}, {"name": "a[x]b"}, True),
        ({"names": ["*[x]*"]}, {"name": "axb"}, False),
        ({"skus": ["gpu.*"]}, {}, True),
        ({"skus": ["gpu.*"]}, {"sku": None}, False),
        ({"charge": ["on_demand"]}, {}, True),
        ({"charge": ["spot", "prepaid"]}, {}, False),
        ({"charge": ["on_demand"]}, {"charge_type": ChargeType.UNKNOWN}, False),
        ({"gpus": {"min": 8}}, {}, True),
        ({"gpus": {"min": 9}}, {}, False),
        ({"gpus": {"max": 7}}, {}, False),
        ({"gpus": {"min": 1}}, {"cards": 0}, False),
        ({"gpus": {"min": 0.1}}, {"gpus": UNKNOWN_GPUS}, False),
        ({"gpus": {"max": 8}}, {"gpus": UNKNOWN_GPUS}, False),
        ({"gpus": {"models": ["unknown"]}}, {"gpus": UNKNOWN_GPUS}, False),
        ({"gpus": {"models": ["a1*"]}}, {}, True),
        ({"tags": {"role": ["dev"]}}, {"tags": {"role": "dev"}}, True),
        ({"tags": {"role": ["dev", "ci"], "team": ["x"]}}, {"tags": {"role": "dev"}}, False),
        ({"tags": {"role": ["dev"]}}, {"tags": {}}, False),
        ({"tags": {"role": ["dev"]}}, {"tags": None}, False),
        ({"owners": ["li"]}, {"owner": "li"}, True),
        ({"owners": ["li"]}, {"owner": None}, False),
        ({"owners": ["boss"]}, {"owner": None}, True),
        ({"teams": ["infra"]}, {"team": None}, True),
        ({"teams": ["vision"]}, {"team": "vision"}, True),
        ({"names": ["a*"], "kinds": ["vm"]}, {"name": "b"}, False),
    ],
)
def test_keys_and_lists_or(document: dict[str, Any], fields: dict[str, Any], expected: bool) -> None:
    """C19, C21: an unknown or missing value never matches a positive test."""
    assert matched(document, **fields) is expected


@pytest.mark.parametrize(
    ("excluded", "fields", "expected"),
    [
        ({"tags": {"env": ["prod"]}}, {"tags": {"env": "prod"}}, False),
        ({"tags": {"env": ["prod"]}}, {"tags": {"env": "dev"}}, True),
        ({"tags": {"env": ["prod"]}}, {"tags": {}}, True),
        ({"tags": {"env": ["prod"]}}, {"tags": None}, False),
        ({"charge": ["spot"]}, {"charge_type": ChargeType.UNKNOWN}, False),
        ({"skus": ["big.*"]}, {"sku": None}, False),
        ({"owners": ["li"]}, {"tags": None}, True),  # the account's owner is known, and is not li
        ({"gpus": {"min": 1}}, {"cards": 0}, True),
        ({"gpus": {"min": 1}}, {}, False),
        ({"gpus": {"min": 1}}, {"gpus": UNKNOWN_GPUS}, False),
        ({"names": ["a*"], "kinds": ["disk"]}, {"name": "a1"}, True),
        ({"names": ["a*"], "tags": {"env": ["prod"]}}, {"name": "b1", "tags": None}, True),
        ({"names": ["a*"], "tags": {"env": ["prod"]}}, {"name": "a1", "tags": None}, False),
        ({"names": ["a*"], "not": {"names": ["ab*"]}}, {"name": "abc"}, True),
        ({"names": ["a*"], "not": {"names": ["ab*"]}}, {"name": "acd"}, False),
    ],
)
def test_not_leaves_alone_what_it_may_mean(excluded: dict[str, Any], fields: dict[str, Any], expected: bool) -> None:
    """C21: a `not` test that cannot be decided means not matched; what is readable and absent is a no."""
    assert matched({"kinds": ["vm"], "not": excluded}, **fields) is expected


def test_everything_matches_all_and_nothing() -> None:
    resource = make_resource(tags=None)
    assert matches("all", resource).matched
    assert matches(None, resource).matched


def test_an_owner_is_unknown_while_tags_are_unreadable_and_nobody_is_named() -> None:
    resource = make_resource(tags=None)
    match = Match.model_validate({"not": {"owners": ["li"]}})
    assert not matches(match, resource, make_account()).matched
    assert "left alone" in matches(match, resource, make_account()).why_not


def test_explain_says_which_key_and_why() -> None:
    match = Match.model_validate({"tags": {"role": ["dev"]}, "names": ["a*"]})
    assert "tags.role is not known" in matches(match, make_resource(tags=None)).why_not
    assert "names differs" in matches(match, make_resource(name="b", tags={"role": "dev"})).why_not
    assert "excludes" in matches(Match.model_validate({"not": {"kinds": ["vm"]}}), make_resource()).why_not


def test_a_fractional_gpu_counts_as_it_is() -> None:
    slice_of_one = make_resource(gpus=Gpus("A10", Decimal("0.25")))
    assert matches(Match.model_validate({"gpus": {"max": 0.25}}), slice_of_one).matched
    assert not matches(Match.model_validate({"gpus": {"min": 0.5}}), slice_of_one).matched
    assert slice_of_one.ref.kind is Kind.VM
