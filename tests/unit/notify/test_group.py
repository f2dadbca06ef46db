"""Group: digests that name every box and repeat under the same key."""

from dataclasses import replace
from datetime import timedelta

from costguard.domain.decision import Response
from costguard.domain.notice import Notice, NoticeKind
from costguard.notify.facts import warning_facts
from costguard.notify.group import covers, digest, groups, is_group, to_fold
from costguard.notify.render import render
from costguard.notify.samples import SAMPLE_NOW, SAMPLE_ZONE, sample_action, sample_resource
from costguard.notify.settings import DeliverySettings
from costguard.testing.builders import make_notice

SETTINGS = DeliverySettings()


def warning(number: int, **fields: object) -> Notice:
    box = sample_resource(f"box-{number:03d}-空闲的训练机", f"i-bp{number:06d}")
    facts = warning_facts(
        action=sample_action(box), resource=box, do=Response.STOP, now=SAMPLE_NOW, timezone=SAMPLE_ZONE,
        due_in=timedelta(minutes=30), owner="zhangwei",
    )  # fmt: skip
    return make_notice(
        f"n-{number}", facts=facts, idem_key=f"k{number}@ops", alert_key=f"a{number}", created_at=SAMPLE_NOW,
        language="zh", mention=("zhangwei",), **fields,
    )  # fmt: skip


def test_urgent_messages_are_folded_only_when_the_queue_is_long() -> None:
    assert not to_fold([warning(i) for i in range(8)], 18, SETTINGS)
    assert to_fold([warning(i) for i in range(9)], 18, SETTINGS)
    assert to_fold([warning(i) for i in range(5)], 4, SETTINGS)


def test_calm_messages_of_one_kind_are_put_together_soon() -> None:
    """J06: twelve boxes found idle in one tick are one message."""
    notes = [replace(warning(i), kind=NoticeKind.NOTIFY) for i in range(3)]
    assert to_fold(notes, 18, SETTINGS)
    assert not to_fold(notes[:2], 18, SETTINGS)


def test_groups_are_of_one_kind_and_language_and_not_too_large() -> None:
    queue = [*(warning(i) for i in range(65)), replace(warning(70), language="en"), make_notice(kind=NoticeKind.TEST)]
    assert [len(members) for members in groups(queue, 30)] == [30, 30, 5]


def test_what_has_an_answer_of_its_own_stays_alone() -> None:
    """Each is told with its own way back."""
    queue = [replace(warning(i), kind=NoticeKind.UNSEEN_WORK) for i in range(20)]
    assert not to_fold(queue, 4, SETTINGS)
    assert groups(queue, 30) == []


def test_a_digest_covers_its_children_and_nothing_else() -> None:
    members = [warning(i) for i in range(3)]
    whole = digest(members, SAMPLE_NOW)
    assert is_group(whole)
    assert whole.kind is NoticeKind.WARN
    assert whole.mention == ("zhangwei",)
    assert [(told.notice_id, told.alert_key) for told in covers(whole)] == [("n-0", "a0"), ("n-1", "a1"), ("n-2", "a2")]
    assert [told.notice_id for told in covers(members[0])] == ["n-0"]


def test_the_same_children_make_the_same_digest() -> None:
    """J16: a crash while it is sent repeats it under the same key."""
    members = [warning(i) for i in range(5)]
    assert digest(members, SAMPLE_NOW).idem_key == digest(members[::-1], SAMPLE_NOW + timedelta(hours=1)).idem_key
    assert digest(members, SAMPLE_NOW).idem_key != digest(members[1:], SAMPLE_NOW).idem_key


def test_every_box_of_the_largest_digest_is_named_everywhere() -> None:
    """J06, J12: thirty boxes with long names fit into one message of each platform."""
    members = [warning(i) for i in range(SETTINGS.digest_size)]
    whole = digest(members, SAMPLE_NOW)
    for fmt, handle in (("slack", "U012"), ("dingtalk", "13800000000"), ("plain", "x")):
        for language in ("zh", "en"):
            message = render(
                whole.facts, fmt=fmt, language=language, now=SAMPLE_NOW, idem_key=whole.idem_key,
                mentions={"zhangwei": handle},
            )  # fmt: skip
            for number in range(SETTINGS.digest_size):
                assert f"i-bp{number:06d}" in message.body, (fmt, language)
            assert len(message.body) < 10_000
            assert len(message.body.encode()) < 19_000


def test_a_digest_dies_with_the_last_of_its_children() -> None:
    soon, late = SAMPLE_NOW + timedelta(minutes=10), SAMPLE_NOW + timedelta(minutes=20)
    assert digest([warning(1, not_after=soon), warning(2, not_after=late)], SAMPLE_NOW).not_after == late
    assert digest([warning(1, not_after=soon), warning(2)], SAMPLE_NOW).not_after is None
