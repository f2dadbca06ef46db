"""When a run began, as far as the latest operation tells."""

from datetime import timedelta
from typing import Any

import pytest

from costguard.testing.clock import NOON
from costguard_tencent.starts import STARTS, Starts
from tests.unit.tencent.helpers import box

LATER = NOON + timedelta(minutes=3)


def item(operation: str, request: str) -> dict[str, Any]:
    return box(operation=operation, operation_request=request).described()


def test_a_box_that_was_only_created_runs_since_then() -> None:
    assert Starts().started_at(item("RunInstances", "r-1"), NOON) == NOON - timedelta(days=9)


@pytest.mark.parametrize("operation", [*sorted(STARTS), "StopInstances", "ResizeInstanceDisks", ""])
def test_what_was_there_before_the_first_look_is_not_dated(operation: str) -> None:
    starts = Starts()
    assert starts.started_at(item(operation, "r-1"), NOON) is None
    assert starts.started_at(item(operation, "r-1"), LATER) is None


@pytest.mark.parametrize("operation", sorted(STARTS))
def test_a_start_between_two_looks_is_a_new_run(operation: str) -> None:
    """M12: a box that a person restarted a minute ago was running at both looks."""
    starts = Starts()
    starts.started_at(item("RunInstances", "r-1"), NOON)
    assert starts.started_at(item(operation, "r-2"), LATER) == LATER
    assert starts.started_at(item(operation, "r-2"), LATER + timedelta(hours=1)) == LATER


def test_an_operation_that_starts_nothing_keeps_the_run() -> None:
    starts = Starts()
    starts.started_at(item("RunInstances", "r-1"), NOON)
    assert starts.started_at(item("ModifyInstancesAttribute", "r-2"), LATER) == NOON - timedelta(days=9)


def test_a_stop_ends_the_run() -> None:
    starts = Starts()
    starts.started_at(item("RunInstances", "r-1"), NOON)
    assert starts.started_at(item("StopInstances", "r-2"), LATER) is None


def test_who_is_no_longer_listed_is_forgotten() -> None:
    starts = Starts()
    starts.started_at(item("RunInstances", "r-1"), NOON)
    starts.keep(frozenset({"ins-00000001"}), frozenset())
    assert starts.started_at(item("StartInstances", "r-2"), LATER) is None
