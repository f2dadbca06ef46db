from typing import Any

import pytest

from costguard.domain.press import Press
from costguard.notify.buttons import buttons, presses
from costguard.notify.doc import Doc
from costguard.notify.render import tell
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.notify.words import LANGUAGES, words

KEEP = (Press.KEEP_2H, Press.KEEP_MORNING)


def facts(name: str, **changes: Any) -> dict[str, Any]:
    return {**sample_facts()[name], **changes}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (facts("warning"), (*KEEP, Press.WHEN_IDLE, Press.STOP_NOW, Press.FALSE_ALARM)),
        (facts("warning", owner=None), (*KEEP, Press.WHEN_IDLE, Press.STOP_NOW, Press.MINE, Press.FALSE_ALARM)),
        (facts("warning", do="release"), (*KEEP, Press.WHEN_IDLE, Press.FALSE_ALARM)),
        (facts("warning", dry_run=True), ()),
        (facts("approval"), (Press.APPROVE, *KEEP, Press.FALSE_ALARM)),
        (facts("result"), (Press.START_AGAIN, Press.FALSE_ALARM)),
        (facts("result", do="release"), ()),
        (facts("unseen_work"), (Press.START_AGAIN, Press.FALSE_ALARM)),
        (facts("unseen_work_release"), ()),
        (facts("notify_untagged", action_id="a-1", owner=None), (Press.MINE,)),
        (facts("notify_untagged", action_id="a-1", owner="zhangwei"), ()),
        (facts("kept"), ()),
        (facts("failed"), ()),
    ],
)
def test_which_buttons_a_message_has(document: dict[str, Any], expected: tuple[Press, ...]) -> None:
    assert presses(Doc(document)) == expected


@pytest.mark.parametrize("name", sample_facts())
def test_a_dry_run_and_a_digest_have_none(name: str) -> None:
    assert presses(Doc({**sample_facts()[name], "dry_run": True})) == ()
    if sample_facts()[name]["kind"] in ("digest", "reminder", "report", "test", "source", "budget"):
        assert presses(Doc(sample_facts()[name])) == ()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_button_has_a_short_label_and_carries_the_action_alone(language: str) -> None:
    assert set(words(language).buttons) == set(Press)
    assert all(0 < len(label) <= 30 for label in words(language).buttons.values())
    story = tell(facts("warning"), language=language, now=SAMPLE_NOW)
    assert {button.value for button in story.buttons} == {"act-7f3c"}
    confirmed = [button.press for button in story.buttons if button.confirm is not None]
    assert confirmed == [Press.STOP_NOW]
    confirm = story.buttons[3].confirm
    assert confirm is not None
    assert "train-a800-03" in confirm.text
    assert buttons(Doc(facts("kept")), words(language)) == ()
