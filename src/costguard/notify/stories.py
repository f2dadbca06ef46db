"""Facts → story: which parts a message has and in which order, the same in every language.

A warning has nine parts, in this order: dry run said first; what and when; which box; whose; why, in
numbers; money; what happens and what is lost; how to keep it; link and number.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from costguard.domain.money import Money, total
from costguard.domain.notice import NoticeKind
from costguard.notify.buttons import buttons
from costguard.notify.doc import Doc
from costguard.notify.story import Line, Span, Story, clean, code, joined, text
from costguard.notify.words.base import Words
from costguard.notify.words.sentences import translated


class Teller:
    """One message being told: facts, language, the moment of sending, who can be mentioned."""

    def __init__(self, doc: Doc, words: Words, now: datetime, mentions: Mapping[str, str]) -> None:
        self.doc, self.words, self.now, self.mentions = doc, words, now, mentions
        self.zone = ZoneInfo(doc.text("timezone") or "UTC")

    def story(self) -> Story:
        """The whole story. Raises KeyError for a kind that nobody tells."""
        title, lines, items = _TELL[NoticeKind(self.doc.text("kind"))](self)
        if self.doc.flag("dry_run"):
            title = self.words.dry_run(title)
            lines = [Line("", text(Span(self.words.dry_run_line(), "bold"))), *lines]
        shown = buttons(self.doc, self.words)
        # Of several boxes there are no buttons: which one is meant is written.
        several = self.doc.text("what") == "group" and self.doc.text("of") == NoticeKind.WARN
        name = "ID" if several else clean(self.doc.name)
        used = {span.target for line in (*lines, *items) for span in line.spans if span.style == "mention"}
        return Story(
            title=title, lines=tuple(line for line in lines if line.spans), items=tuple(items), footer=self.footer(),
            more=self.words.more, separator=self.words.separator,
            mentions={name: handle for name, handle in self.mentions.items() if name in used},
            buttons=shown,
            spoken=self.words.spoken(name) if shown or several else (),
            slash=self.words.slash(name) if several else (),
        )  # fmt: skip

    def line(self, label: str, *parts: object) -> Line:
        """A labelled line; an unlabelled one for an empty label."""
        return Line(self.words.labels[label] if label else "", text(*parts))

    def sentence(self, english: str) -> str:
        """What the engine says in English, in the words of this message."""
        return clean(translated(english, self.words.language))

    def footer(self) -> tuple[Span, ...]:
        parts: list[tuple[Span, ...] | str] = []
        if alert := self.doc.text("alert"):
            parts.append(self.words.number(alert))
        if page := self.doc.part("links").text("page"):
            parts.append(text(Span(self.words.link("page"), "link", page)))
        return joined(parts, " · ")

    # ── the parts that several kinds share ──────────────────────────────────────────────────────────────

    def which(self) -> Line:
        subject, resource = self.doc.part("subject"), self.doc.part("resource")
        place = "/".join(clean(subject.text(key)) for key in ("provider", "account", "region") if subject.text(key))
        same = subject.text("name") in ("", subject.text("id"))
        named = () if same else text(code(subject.text("name")))
        parts: list[tuple[Span, ...] | str] = [
            named, text(code(subject.text("id"))), place, self.words.hardware(resource),
        ]  # fmt: skip
        return self.line("resource", *joined(parts, " · "))

    def whose(self) -> Line:
        owner = self.doc.text("owner")
        if not owner:
            return self.line("owner", *self.words.no_owner(self.doc))
        return self.line("owner", *self.person(owner), self.words.owner_found(self.doc.text("owner_found_by")))

    def person(self, owner: str) -> tuple[Span, ...]:
        """The owner, mentioned where this channel can."""
        return text(Span(clean(owner), "mention", owner) if owner in self.mentions else clean(owner))

    def why(self) -> Line:
        policy = self.words.policy(self.doc.text("policy")) if self.doc.text("policy") else ()
        return self.line("why", *joined([self.words.evidence(self.doc, self.now, self.zone), policy], self.words.comma))


# The words of these say all that the guard's sentence says.
_SAID_WHOLE = frozenset({"protected", "cooldown"})
OTHERS = 20  # names in one line; more are counted

Told = tuple[str, list[Line], list[Line]]


def _warn(t: Teller) -> Told:
    due = t.doc.due(t.now)
    lines = [
        t.line("time", *t.words.deadline(t.doc, due, t.now, t.zone)),
        t.which(),
        t.whose(),
        t.why(),
        t.line("cost", *t.words.cost(t.doc, t.now, t.zone)),
        t.line("happens", *t.words.happens(t.doc)),
    ]
    if not t.doc.flag("dry_run"):
        lines.append(t.line("keep", *t.words.keep(t.doc)))
    return t.words.warn_title(t.doc, due - t.now if due else None), lines, []


def _notify(t: Teller) -> Told:
    if held := t.doc.part("held").text("code"):
        return _held(t, held)
    lines = [t.why()]
    if t.doc.part("subject").text("type") == "resource":
        lines = [t.which(), t.whose(), *lines]
    if price := t.doc.money("price"):
        lines.append(t.line("cost", t.words.per_hour(price)))
    return t.words.notify_title(t.doc), lines, []


def _held(t: Teller, code_: str) -> Told:
    """Something does not happen, and why: whoever waits for it, or should know, hears the guard's own sentence."""
    held, lines = t.doc.part("held"), [t.which(), t.whose(), t.why()]
    if code_ not in _SAID_WHOLE:
        lines.append(t.line("held", t.sentence(held.text("reason"))))
    lines.append(t.line("check", code(f"costguard explain {t.doc.id}")))
    return t.words.held_title(t.doc, t.words.held(held)), lines, []


def _approval(t: Teller) -> Told:
    lines = [t.which(), t.whose(), t.why(), t.line("happens", *t.words.happens(t.doc))]
    if not t.doc.flag("dry_run"):
        lines.append(t.line("approve", *t.words.approve(t.doc)))
    return t.words.approval_title(t.doc), lines, []


def _result(t: Teller) -> Told:
    done = t.doc.at("done_at")
    lines = [
        t.line("time", t.words.when(done, t.now, t.zone) if done else ""),
        t.which(),
        t.whose(),
        t.line("saved", t.words.saved(t.doc, t.now, t.zone)),
        t.line("billed", t.words.still_billed(t.doc.part("effect"), t.doc.provider)),
        t.why(),
    ]
    if t.doc.text("do") == "stop" and not t.doc.flag("dry_run"):
        lines.append(t.line("again", *t.words.again(t.doc)))
    return t.words.result_title(t.doc, t.now, t.zone), lines, []


def _unseen_work(t: Teller) -> Told:
    when, seen, why = t.words.unseen_lines(t.doc, t.now, t.zone)
    lines = [t.line("time", when), t.which(), t.whose(), t.line("seen", seen), t.line("why", why)]
    if t.doc.text("do") == "stop":
        lines.append(t.line("again", *t.words.again(t.doc)))
    return t.words.unseen_title(t.doc), lines, []


def _failed(t: Teller) -> Told:
    lines = [
        t.which(),
        t.whose(),
        t.line("error", t.sentence(t.doc.text("error"))),
        t.line("attempts", t.words.attempts(t.doc, t.now, t.zone)),
        t.line("output", code(output) if (output := t.doc.text("hook_output")[-300:]) else ""),
        t.line("check", code(f"costguard explain {t.doc.id}")),
    ]
    return t.words.failed_title(t.doc), lines, []


def _kept(t: Teller) -> Told:
    lines = [t.line("kept", *t.words.kept_line(t.doc, t.now, t.zone)), t.which()]
    return t.words.kept_title(t.doc, t.now, t.zone), lines, []


def _cleared(t: Teller) -> Told:
    seen = t.line("why", t.sentence(seen)) if (seen := t.doc.text("seen")) else Line("", ())
    return t.words.cleared_title(t.doc), [seen, t.which()], []


def _no_data(t: Teller) -> Told:
    lines = [t.line("why", t.words.no_data_line(t.doc, t.now, t.zone)), t.which(), t.whose()]
    if price := t.doc.money("price"):
        lines.append(t.line("cost", t.words.per_hour(price)))
    others = t.doc.texts("others")
    named: list[tuple[Span, ...] | str] = [text(code(name)) for name in others[:OTHERS]]
    rest = t.words.more.format(n=len(others) - OTHERS) if len(others) > OTHERS else ""
    lines.append(t.line("others", *joined(named, t.words.list_comma), rest))
    return t.words.no_data_title(t.doc, t.now), lines, []


def _source(t: Teller) -> Told:
    if t.doc.text("what") == "channel":
        return t.words.channel_title(t.doc), _labelled(t, t.words.channel_lines(t.doc)), []
    return t.words.source_title(t.doc), _labelled(t, t.words.source_lines(t.doc, t.now, t.zone)), []


def _budget(t: Teller) -> Told:
    lines = _labelled(t, t.words.budget_lines(t.doc, t.now, t.zone))
    return t.words.budget_title(t.doc, t.now, t.zone), lines, []


def _digest(t: Teller) -> Told:
    if t.doc.text("what") == "group":
        return _group(t)
    items = [Line("", text("· ", t.words.digest_item(item))) for item in t.doc.parts("items")]
    return t.words.dry_run_digest_title(t.doc), [], items


def _group(t: Teller) -> Told:
    """Several messages of one kind in one: each keeps its own title, so every box is named."""
    of, docs = t.doc.text("of"), t.doc.parts("items")
    told = [Teller(doc, t.words, t.now, t.mentions) for doc in docs]
    dues = [due for doc in docs if (due := doc.due(t.now)) is not None]
    prices: Iterable[Money] = (money for doc in docs if (money := doc.money("waste") or doc.money("price")))
    common = {
        key: value
        for key in ("do", "rule")
        if len({doc.text(key) for doc in docs}) == 1 and (value := docs[0].get(key))
    }
    if len({doc.provider for doc in docs}) == 1:
        common["subject"] = docs[0].get("subject")
    first = t.words.when(min(dues), t.now, t.zone) if dues else ""
    items = []
    for inner in told:
        owner = inner.doc.text("owner")
        parts: list[tuple[Span, ...] | str] = [
            inner.story().title,
            text(code(inner.doc.id)) if inner.doc.id else "",
            inner.person(owner) if owner else "",
        ]
        items.append(Line("", text("· ", *joined(parts, " · "))))
    lines = [Line("", t.words.group_hint(of))]
    return t.words.group_title(of, Doc(common), len(docs), total(prices), first), lines, items


def _reminder(t: Teller) -> Told:
    items = [Line("", text("· ", t.words.reminder_box(box))) for box in t.doc.parts("boxes")]
    owner = t.doc.text("owner")
    return (
        t.words.reminder_title(t.doc),
        [t.line("owner", *t.person(owner)), t.line("", *t.words.reminder_hint())],
        items,
    )


def _report(t: Teller) -> Told:
    lines = [t.line(label, *said) for label, said in t.words.report_lines(t.doc, t.zone)]
    return t.words.report_title(t.doc, t.zone), lines, []


def _test(t: Teller) -> Told:
    return t.words.test_title(t.doc), [t.line("", t.words.test_line())], []


def _labelled(t: Teller, lines: Iterable[tuple[str, str]]) -> list[Line]:
    return [t.line(label, sentence) for label, sentence in lines]


_TELL: Mapping[NoticeKind, Callable[[Teller], Told]] = {
    NoticeKind.WARN: _warn,
    NoticeKind.NOTIFY: _notify,
    NoticeKind.APPROVAL: _approval,
    NoticeKind.RESULT: _result,
    NoticeKind.UNSEEN_WORK: _unseen_work,
    NoticeKind.FAILED: _failed,
    NoticeKind.KEPT: _kept,
    NoticeKind.CLEARED: _cleared,
    NoticeKind.NO_DATA: _no_data,
    NoticeKind.SOURCE: _source,
    NoticeKind.BUDGET: _budget,
    NoticeKind.DIGEST: _digest,
    NoticeKind.REMINDER: _reminder,
    NoticeKind.REPORT: _report,
    NoticeKind.TEST: _test,
}
