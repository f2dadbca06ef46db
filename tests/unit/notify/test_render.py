"""Rendering: every kind of message word by word, and the plain one when something is wrong."""

import json
import logging
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.notice import NoticeKind
from costguard.notify.render import last_resort, render, tell
from costguard.notify.samples import SAMPLE_NOW, sample_facts
from costguard.ports import Message

EXPECTED = Path(__file__).parent / "expected"
HANDLES = {
    "slack": "U012ZHANG",
    "dingtalk": "13800000000",
    "feishu": "ou_012zhang",
    "wecom": "zw",
    "webhook": "",
    "email": "zw@example.com",
    "plain": "",
}


def rendered(name: str, fmt: str, language: str, **options: object) -> Message:
    mentions = {"zhangwei": HANDLES[fmt]} if HANDLES[fmt] else {}
    return render(
        sample_facts()[name], fmt=fmt, language=language, now=SAMPLE_NOW, idem_key=name, mentions=mentions, **options  # type: ignore[arg-type]
    )  # fmt: skip


@pytest.mark.parametrize("fmt", HANDLES)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_words_are_those_that_were_read_and_approved(
    fmt: str, language: str, caplog: pytest.LogCaptureFixture
) -> None:
    """COSTGUARD_UPDATE_EXPECTED=1 rewrites the files; read them before you commit them."""
    parts = []
    for name in sample_facts():
        message = rendered(name, fmt, language)
        parts.append(f"════ {name}\n[{message.title}]\n{message.body}\n")
    assert caplog.messages == [], "the plain one, for want of the right one"
    text, file = "\n".join(parts), EXPECTED / f"{fmt}.{language}.txt"
    if os.environ.get("COSTGUARD_UPDATE_EXPECTED"):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


def test_every_kind_has_a_sample() -> None:
    assert {facts["kind"] for facts in sample_facts().values()} == {kind.value for kind in NoticeKind}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_warnings_title_alone_is_enough(language: str) -> None:
    """Verb, minutes, name, money."""
    title = rendered("warning", "plain", language).title
    assert "30" in title
    assert "train-a800-03" in title
    assert "¥34.74/h" in title
    assert ("关机" if language == "zh" else "Stopping") in title


_ORDER = {
    "zh": "北京时间 21:30|i-bp1a2b3c4d5e|负责人|最高 1.5%|¥34.74/小时|节省停机|costguard keep|编号",
    "en": "21:30 UTC+8|i-bp1a2b3c4d5e|Owner|max 1.5%|¥34.74/h (|still billed|costguard keep|alert",
}


@pytest.mark.parametrize(("language", "order"), _ORDER.items())
def test_the_parts_of_a_warning_come_in_their_order(language: str, order: str) -> None:
    body = rendered("warning", "plain", language).body
    places = [body.index(part) for part in order.split("|")]
    assert places == sorted(places)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_dry_run_says_so_first_and_offers_nothing_to_press(language: str) -> None:
    message = rendered("warning_dry_run", "plain", language)
    assert message.title.startswith("【演练】" if language == "zh" else "[DRY RUN]")
    assert message.body.splitlines()[0].startswith("这是演练" if language == "zh" else "This is a dry run")
    assert "costguard keep" not in message.body


@pytest.mark.parametrize("fmt", HANDLES)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_zone_is_abbreviated_and_money_has_two_digits(fmt: str, language: str) -> None:
    """D16: local time with its offset; CST is four zones."""
    for name in sample_facts():
        text = str(rendered(name, fmt, language))
        assert "CST" not in text
        assert "¥1204" not in text
        assert "¥16412" not in text


def test_the_first_warnings_time_counts_from_the_sending() -> None:
    late = SAMPLE_NOW + timedelta(minutes=45)
    facts = sample_facts()["warning"]
    message = render(facts, fmt="plain", language="zh", now=late, idem_key="k")
    assert message.title.startswith("30 分钟后关机")
    assert "22:15" in message.body


def test_a_later_warnings_time_is_fixed() -> None:
    message = render(
        sample_facts()["warning_unowned"],
        fmt="plain",
        language="en",
        now=SAMPLE_NOW + timedelta(minutes=4),
        idem_key="k",
    )
    assert message.title.startswith("Stopping in 6 min")


def test_nobody_is_mentioned_who_cannot_be() -> None:
    message = render(sample_facts()["warning"], fmt="slack", language="zh", now=SAMPLE_NOW, idem_key="k")
    assert message.mentions == ()
    assert "zhangwei" in message.body
    assert "<@" not in message.body


def test_a_repeat_after_a_doubtful_send_is_marked() -> None:
    assert rendered("warning", "slack", "en", repeat=True).title.endswith("(repeat)")
    assert rendered("warning", "dingtalk", "zh", repeat=True).title.endswith("（重发）")


def test_the_platforms_key_is_short_and_only_the_notices() -> None:
    first, second = rendered("warning", "slack", "zh"), rendered("warning", "dingtalk", "en")
    assert first.idem_key == second.idem_key
    assert len(first.idem_key) == 32


def test_a_failure_to_render_falls_back_to_the_plain_message(caplog: pytest.LogCaptureFixture) -> None:
    """A message that nobody can render is still a message: kind, name, id, that it is a warning."""
    broken = {**sample_facts()["warning"], "timezone": "Not/AZone"}
    with caplog.at_level(logging.ERROR):
        message = render(broken, fmt="slack", language="zh", now=SAMPLE_NOW, idem_key="k")
    assert message.plain
    assert "warn" in message.body
    assert "train-a800-03" in message.body
    assert "i-bp1a2b3c4d5e" in message.body
    assert "could not be rendered" in caplog.text


def test_the_plain_message_still_reaches_the_owner_by_mail() -> None:
    """A mail goes where it is addressed to; elsewhere the plain message mentions nobody."""
    broken = {**sample_facts()["warning"], "timezone": "Not/AZone"}
    for fmt, mentions in (("email", ("zw@example.com",)), ("feishu", ())):
        message = render(
            broken, fmt=fmt, language="zh", now=SAMPLE_NOW, idem_key="k", mentions={"zhangwei": HANDLES["email"]}
        )
        assert message.plain
        assert message.mentions == mentions


@given(
    st.dictionaries(
        st.sampled_from(["kind", "subject", "do", "due_at", "dry_run", "error", "channel", "evidence", "timezone"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
    )
)
def test_no_facts_can_lose_a_message(facts: dict[str, object]) -> None:
    logging.disable(logging.ERROR)
    try:
        message = render(facts, fmt="dingtalk", language="zh", now=SAMPLE_NOW, idem_key="k")
    finally:
        logging.disable(logging.NOTSET)
    assert message.title.strip()
    assert message.fallback.strip()
    assert last_resort(facts, "k").title.strip()


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_name_and_reason_can_be_told(name: str, reason: str) -> None:
    facts = sample_facts()["kept"]
    hostile = {**facts, "subject": {**facts["subject"], "name": name}, "reason": reason}
    for fmt in HANDLES:
        message = render(hostile, fmt=fmt, language="zh", now=SAMPLE_NOW, idem_key="k")
        assert not message.plain
        assert "\n" not in message.title
        json.dumps(message.payload, ensure_ascii=False).encode()


def test_an_unknown_rule_is_still_told_in_numbers() -> None:
    facts = {**sample_facts()["warning"], "rule": "novel", "evidence": {"some_thing": 3, "flag": True, "share": 0.5}}
    assert "some thing 3, flag yes, share 50%" in tell(facts, language="en", now=SAMPLE_NOW).lines[3].plain
    assert "some_thing 3，flag 是，占比 50%" in tell(facts, language="zh", now=SAMPLE_NOW).lines[3].plain


def test_a_story_can_be_retold_without_its_mention() -> None:
    story = tell(sample_facts()["warning"], language="zh", now=SAMPLE_NOW, mentions={"zhangwei": "U1", "other": "U2"})
    assert story.mentions == {"zhangwei": "U1"}
    assert replace(story, mentions={}).title == story.title


@pytest.mark.parametrize(
    ("language", "words"), [("en", "no stock when you start it again"), ("zh", "再启动时可能没有库存")]
)
def test_a_warning_says_that_a_scarce_box_may_not_come_back(language: str, words: str) -> None:
    """C12: said where the stop risks it, and nowhere else."""
    facts = dict(sample_facts()["warning"])
    assert words in render(facts, fmt="plain", language=language, now=SAMPLE_NOW, idem_key="k").body
    effect = facts["effect"]
    assert isinstance(effect, dict)
    plenty = {**facts, "effect": {**effect, "restart_risk": False}}
    assert words not in render(plenty, fmt="plain", language=language, now=SAMPLE_NOW, idem_key="k").body
