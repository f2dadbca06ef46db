"""Every registered rule describes itself completely, and its example is a valid policy."""

from typing import Any

import pytest
from pydantic import ValidationError
from ruamel.yaml import YAML

from costguard.rules.policy import Policy
from costguard.rules.registry import RULES, kind_of, parse_policy, policy_model, policy_schema


def examples(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = YAML(typ="safe").load(RULES[name].example)["policies"]
    return loaded


@pytest.mark.parametrize("name", RULES)
def test_the_example_is_a_policy_of_its_rule(name: str) -> None:
    for document in examples(name):
        policy = parse_policy(document)
        assert isinstance(policy, policy_model(name))
        assert kind_of(policy) is RULES[name]
        assert isinstance(policy.when, RULES[name].when)
        assert not policy.can_end or RULES[name].may_stop


@pytest.mark.parametrize("name", RULES)
def test_a_rule_says_what_it_is_in_both_languages(name: str) -> None:
    kind = RULES[name]
    for words in (kind.title, kind.summary):
        assert words.en.isascii() or "ü" in words.en
        assert any("一" <= c <= "鿿" for c in words.zh)


@pytest.mark.parametrize("name", RULES)
def test_each_key_of_when_has_a_place_in_the_schema(name: str) -> None:
    text = str(policy_schema())
    for key, field in RULES[name].when.model_fields.items():
        assert f"'{field.alias or key}'" in text


@pytest.mark.parametrize("name", RULES)
def test_needs_and_capabilities_answer_for_the_example(name: str) -> None:
    policy = parse_policy(examples(name)[0])
    kind = kind_of(policy)
    assert all(spec.length for spec in kind.needs(policy.when))
    assert kind.capabilities(policy.when) <= {
        "instances", "gpu_inventory", "gpu_usage", "cpu_usage", "spot_price", "price", "charges_daily", "charges_final",
        "stop", "stop_keeps_disk", "stop_ends_billing", "release", "set_release_time", "start", "tags", "balance",
        "quota", "notebooks", "jobs", "endpoints",
    }  # fmt: skip


def test_a_mistake_is_reported_at_its_key() -> None:
    document = {"name": "x", "rule": "idle", "when": {"fro": "2h"}, "respond": [{"do": "warn"}]}
    with pytest.raises(ValidationError) as caught:
        parse_policy(document)
    assert [e["loc"] for e in caught.value.errors()] == [("idle", "when", "fro")]


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(ValidationError, match="'idle'"):
        parse_policy({"name": "x", "rule": "idel", "respond": [{"do": "warn"}]})


def test_when_may_be_left_out_only_if_everything_has_a_default() -> None:
    assert parse_policy({"name": "x", "rule": "idle", "respond": [{"do": "warn"}]}).rule == "idle"
    with pytest.raises(ValidationError, match="when"):
        parse_policy({"name": "x", "rule": "lifetime", "respond": [{"do": "warn"}]})


def test_the_hash_follows_what_could_change_a_verdict_only() -> None:
    def hashed(**changes: Any) -> str:
        base: dict[str, Any] = {"name": "x", "rule": "idle", "respond": [{"do": "warn"}]}
        policy: Policy = parse_policy({**base, **changes})
        return policy.content_hash

    assert hashed() == hashed(description="other words") == hashed(when={"for": "120m"})
    assert len({hashed(), hashed(when={"for": "3h"}), hashed(match="all"), hashed(mode="dry_run")}) == 4
