from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.press import Press
from costguard.notify.slack.interaction import Pressed, StrangePayload, Typed, Who, pressed, typed


def press(**changes: Any) -> dict[str, Any]:
    return {
        "type": "block_actions",
        "user": {"id": "U1", "username": "zw", "name": "zhangwei"},
        "container": {"type": "message", "message_ts": "1.2", "channel_id": "C1"},
        "message": {"text": "t", "blocks": [{"type": "header"}, "nonsense"]},
        "response_url": "https://hooks.slack.com/actions/T/1/secret",
        "actions": [{"action_id": "keep_2h", "value": "a-1", "action_ts": "3.4", "type": "button"}],
        **changes,
    }


def test_a_press() -> None:
    found = pressed(press())
    assert found == Pressed(
        Who("U1", "zhangwei"), "C1", "1.2", Press.KEEP_2H, "a-1", "C1/1.2/U1/keep_2h/3.4",
        "https://hooks.slack.com/actions/T/1/secret", "t", [{"type": "header"}],
    )  # fmt: skip
    assert "secret" not in repr(found)


def test_what_is_not_ours_is_nothing() -> None:
    assert pressed(press(type="view_submission")) is None
    assert pressed(press(actions=[{"action_id": "of_another_app", "value": "x", "action_ts": "1"}])) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"actions": []}, {"actions": None}, {"actions": [7]}, {"user": None}, {"user": {}}, {"container": {}},
        {"actions": [{"action_id": "keep_2h", "action_ts": "1"}]}, {"container": {"channel_id": 7, "message_ts": "1"}},
    ],
)  # fmt: skip
def test_a_press_of_another_shape_says_what_is_missing(changes: dict[str, Any]) -> None:
    with pytest.raises(StrangePayload, match="in what Slack sent"):
        pressed(press(**changes))


def test_a_command() -> None:
    form = {
        "user_id": "U1",
        "user_name": "zw",
        "channel_id": "C1",
        "text": "status",
        "trigger_id": "9",
        "response_url": "u",
    }
    assert typed(form) == Typed(Who("U1", "zw"), "C1", "status", "9", "u")
    assert typed({**form, "text": ""}).text == ""
    with pytest.raises(StrangePayload):
        typed({**form, "trigger_id": ""})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(press())), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*press(), "user_id", "channel_id", "trigger_id"]), _JSON))
def test_nothing_that_is_sent_breaks_it(payload: dict[str, Any]) -> None:
    for read in (pressed, typed):
        try:
            read({**payload, "type": "block_actions"})
        except StrangePayload:
            continue
