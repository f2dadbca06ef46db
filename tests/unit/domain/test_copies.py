"""Copies of frozen dataclasses say the same as dataclasses.replace."""

from dataclasses import replace

import pytest

from costguard.domain.copies import copy_with
from costguard.domain.resource import State
from costguard.testing.builders import NOW, make_resource


def test_a_copy_differs_in_what_was_asked_for_and_in_nothing_else() -> None:
    one = make_resource("i-1", cards=2)
    changes = {"state": State.STOPPED, "stopped_at": NOW}
    assert copy_with(one, **changes) == replace(one, **changes)  # type: ignore[arg-type]
    assert copy_with(one) == one


def test_a_field_that_is_not_there_is_an_error() -> None:
    with pytest.raises(KeyError, match="colour"):
        copy_with(make_resource("i-1"), colour="red")
