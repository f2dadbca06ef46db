"""What makes a ladder sensible, beyond the bad files."""

from pathlib import Path

import pytest

from costguard.config import ladders, yaml
from costguard.errors import ConfigError
from costguard.rules.registry import parse_policy


def told(policy: str) -> tuple[list[str], list[str]]:
    errors: list[ConfigError] = []
    warnings: list[ConfigError] = []
    (document,) = yaml.parse(policy, {}, errors, file="f", folder=Path())
    ladders.check(parse_policy(document.data), document, (), errors, warnings)
    return [error.message for error in errors], [warning.message for warning in warnings]


def idle(respond: str, match: str = "all") -> str:
    return f"{{name: p, rule: idle, match: {match}, respond: {respond}}}"


@pytest.mark.parametrize(
    "respond",
    [
        "[{do: warn}, {after: 10m, do: stop}]",
        "[{do: stop, unwarned: true}]",
        "[{do: notify}, {after: 5m, do: warn}, {after: 15m, do: stop}]",
        "[{do: warn}, {after: 1m, do: tag, key: a, value: b}, {after: 1h, do: stop}]",
        "[{do: notify}, {do: notify}]",
    ],
)
def test_sensible_ladders_pass(respond: str) -> None:
    assert told(idle(respond)) == ([], [])


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        ("[{do: warn}, {after: 9m59s, do: stop}]", "9m59s after the warning"),
        ("[{do: warn}, {do: stop}]", "0s after the warning"),
        ("[{do: stop}]", "nobody is warned before this stop"),
        ("[{after: 1h, do: warn}, {after: 1h5m, do: stop}]", "5m after the warning"),
        ("[{do: warn}, {after: 1h, do: stop}, {after: 30m, do: notify}]", "rungs ascend: 30m comes after 1h"),
        ("[{do: stop, unwarned: true}, {do: warn}]", None),
        ("[{do: set_release_time, in: 24h}]", "nobody is warned before this set_release_time"),
        ("[{do: warn}, {do: set_release_time, in: 24h}]", None),
    ],
)
def test_a_stop_is_warned_of_in_time(respond: str, message: str | None) -> None:
    errors, _ = told(idle(respond))
    assert errors == [] if message is None else any(message in error for error in errors)


@pytest.mark.parametrize(
    "respond", ["[{do: warn}, {after: 1h, do: stop}]", "[{do: warn}, {do: set_release_time, in: 24h}]"]
)
def test_what_ends_boxes_says_which(respond: str) -> None:
    errors, _ = told(f"{{name: p, rule: idle, respond: {respond}}}")
    assert errors == ["a policy that can stop or release needs match"]


def test_a_long_hook_on_spot_is_warned_of() -> None:
    """C31: a hook of ten minutes where the provider gives two."""
    hook = "[{do: warn}, {after: 30m, do: stop, hook: {on: instance, run: ./save, timeout: 10m}}]"
    _, warnings = told(idle(hook, "{charge: spot}"))
    assert ["a longer hook may be cut off" in warning for warning in warnings] == [True]
    assert told(idle(hook.replace("10m", "2m"), "{charge: spot}")) == ([], [])
    assert told(idle(hook, "{charge: on_demand}")) == ([], [])


@pytest.mark.parametrize(("when_busy", "fine"), [("hold", True), ("stop", False)])
def test_a_look_and_a_stop_of_boxes_at_work_contradict_each_other(when_busy: str, fine: bool) -> None:
    respond = "[{do: warn}, {after: 30m, do: stop, look: true}]"
    when = f"{{max_age: 7d, when_busy: {when_busy}}}"
    errors, _ = told(f"{{name: p, rule: lifetime, match: all, when: {when}, respond: {respond}}}")
    assert errors == ([] if fine else [
        "look holds the stop while the box works, and when_busy: stop says that work does not matter"
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("rung", "message"),
    [
        ("{after: 30m, do: stop, look: true}", None),
        ("{after: 30m, do: stop, look: true, hook: {on: instance, run: ./save, timeout: 1m}}", None),
        ("{after: 30m, do: tag, key: a, value: b, look: true}", "look belongs to do: stop or do: release"),
        ("{after: 30m, do: stop, look: true, hook: {on: daemon, run: ./save, timeout: 1m}}", "one shell script"),
        ("{after: 30m, do: stop, look: true, hook: {on: instance, run: '#!/bin/py', timeout: 1m}}", "one shell script"),
    ],
)  # fmt: skip
def test_where_a_look_belongs(rung: str, message: str | None) -> None:
    policy = idle(f"[{{do: warn}}, {rung}]")
    if message is None:
        assert told(policy)[0] == []
    else:
        with pytest.raises(ValueError, match=message):
            told(policy)


def test_a_stop_sooner_than_the_busy_guard_can_be_sure_is_warned_of() -> None:
    stop = "[{do: warn}, {after: 10m, do: stop}]"
    quick = f"{{name: p, rule: idle, match: all, when: {{for: 10m}}, respond: {stop}}}"
    assert told(quick) == ([], ["a stop waits until the box has been quiet for 30m, however short for is"])
    assert told(quick.replace("for: 10m", "for: 20m")) == ([], [])
    assert told(quick.replace("do: stop", "do: notify").replace("do: warn", "do: notify")) == ([], [])


def test_a_warning_that_nothing_follows_is_told() -> None:
    _, warnings = told(idle("[{do: warn}]"))
    assert warnings == ["warn announces an action, and none follows"]


def test_only_what_can_stop_needs_a_match() -> None:
    assert told("{name: p, rule: idle, respond: [{do: notify}]}") == ([], [])
    errors, _ = told("{name: p, rule: idle, respond: [{do: warn}, {after: 1h, do: stop}]}")
    assert errors == ["a policy that can stop or release needs match"]


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        ("[{at: 50%, do: warn}, {at: 100%, after: 30m, do: stop}]", None),
        ("[{do: warn}, {at: 100%, after: 30m, do: stop}]", None),
        ("[{at: 100%, do: warn}, {after: 30m, do: stop}]", "nobody is warned before this stop"),
        ("[{at: 100%, do: warn}, {at: 50%, after: 30m, do: stop}]", "nobody is warned before this stop"),
        ("[{at: 90%, do: notify}]", "no step 90%: when.at has 50%, 80%, 100%"),
    ],
)
def test_steps_of_a_budget(respond: str, message: str | None) -> None:
    errors, _ = told(f"{{name: p, rule: budget, match: all, when: {{amount: 9 CNY}}, respond: {respond}}}")
    assert errors == ([] if message is None else [message])
