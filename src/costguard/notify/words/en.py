"""English. Written by hand; short, because it is read on a phone in the evening."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.domain.notice import NoticeKind
from costguard.domain.press import Confirm
from costguard.notify.doc import Doc
from costguard.notify.story import Span, bold, clean, code, joined, text
from costguard.notify.words import report_en, unseen_en
from costguard.notify.words import terms_en as t
from costguard.notify.words.base import Words
from costguard.notify.words.evidence_en import sentence
from costguard.notify.words.times import minutes_of, offset

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class En(Words):
    language = "en"
    separator = ": "
    comma = ", "
    list_comma = ", "
    more = "… and {n} more"
    labels = t.LABELS
    buttons = t.BUTTONS

    def duration(self, span: timedelta) -> str:
        minutes = minutes_of(span)
        days, rest = divmod(minutes, 1440)
        hours, minutes = divmod(rest, 60)
        if days:
            return f"{days} day{'s' if days > 1 else ''}" + (f" {hours} h" if hours else "")
        if hours:
            return f"{hours} h" + (f" {minutes} min" if minutes else "")
        return f"{minutes} min"

    def when(self, at: datetime, now: datetime, zone: ZoneInfo) -> str:
        local, today = at.astimezone(zone), now.astimezone(zone)
        days = (local.date() - today.date()).days
        day = {0: "", 1: "tomorrow ", -1: "yesterday "}.get(days, f"{_day(local)} ")
        if local.year != today.year and abs(days) > 1:
            day = f"{_day(local)} {local.year} "
        return f"{day}{local:%H:%M} {offset(local)}"

    def dry_run(self, title: str) -> str:
        return f"[DRY RUN] {title}"

    def repeat(self, title: str) -> str:
        return f"{title} (repeat)"

    def warn_title(self, doc: Doc, left: timedelta | None) -> str:
        soon = left is not None and minutes_of(left) == 0
        when = " now" if soon else f" in {self.duration(left)}" if left is not None else " soon"
        return self._with_price(f"{self._doing(doc)}{when}: {clean(doc.name)}", doc.money("price"))

    def notify_title(self, doc: Doc) -> str:
        rule = doc.text("rule")
        return self._with_price(f"{t.RULES.get(rule, rule)}: {clean(doc.name)}", doc.money("waste"))

    def held_title(self, doc: Doc, why: str) -> str:
        now = " now" if doc.part("held").flag("asked") else ""
        return f"No {self.verb(doc)}{now}: {clean(doc.name)}: {why}"

    def held(self, held: Doc) -> str:
        code, who = held.text("code"), self.list_comma.join(map(clean, held.texts("by"))) or "somebody"
        if code == "cooldown":
            return f"{who} started it again {held.number('restarts')} times in 24 h"
        if tag := held.text("tag"):
            return f"the tag {clean(tag)} cannot be read, so it is kept"
        return t.CODES.get(code, code)

    def approval_title(self, doc: Doc) -> str:
        return self._with_price(f"Approval needed: {self._do(doc).lower()} {clean(doc.name)}", doc.money("price"))

    def result_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        done = f"{self._done(doc)} {clean(doc.name)}"
        saved, morning = doc.money("morning_saved"), doc.at("morning")
        if saved and morning:
            return f"{done} · about {self.money(saved)} saved by {morning.astimezone(zone):%H:%M}"
        return done if doc.flag("confirmed") else f"{done} · end of billing not confirmed yet"

    def unseen_title(self, doc: Doc) -> str:
        return unseen_en.title(self, doc, self._done(doc))

    def failed_title(self, doc: Doc) -> str:
        price = doc.money("price")
        still = f"still billing {self.per_hour(price)}" if price else "still billing"
        return f"{self._do(doc).upper()} FAILED, {still}: {clean(doc.name)}"

    def kept_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        until, reason = doc.at("until"), clean(doc.text("reason"))
        end = "until it is idle" if doc.flag("until_idle") or not until else f"until {self.when(until, now, zone)}"
        return f"Kept by {clean(doc.text('by'))} {end}: {clean(doc.name)}" + (f" ({reason})" if reason else "")

    def cleared_title(self, doc: Doc) -> str:
        why = t.CLEARED.get(doc.text("why"), t.CLEARED["changed"])
        by = f" by {clean(doc.text('by'))}" if doc.text("by") else ""
        if doc.text("do") == "notify":
            over = f"Over: {t.RULES.get(doc.text('rule'), doc.text('rule'))}: {clean(doc.name)}"
            return over if doc.text("why") == "busy" else f"{over} ({why}{by})"
        return f"Not {self._doing(doc).lower()} {clean(doc.name)}: {why}{by}"

    def no_data_title(self, doc: Doc, now: datetime) -> str:
        since = doc.at("since")
        gap = f"No metrics for {self.duration(now - since)}" if since else "No metrics ever"
        return f"{gap}, not stopping: {clean(doc.name)}"

    def source_title(self, doc: Doc) -> str:
        # "-" is the region of what has none.
        where = " ".join(p for p in (clean(doc.text("account")), clean(doc.text("region"))) if p not in ("", "-"))
        what = t.SOURCES.get(doc.text("source"), doc.text("source"))
        if doc.flag("recovered"):
            return f"Readable again: {what} of {where}"
        return f"Can't read {what} of {where}: {t.STATES.get(doc.text('state'), doc.text('state'))}"

    def channel_title(self, doc: Doc) -> str:
        name = clean(doc.text("channel"))
        if doc.flag("recovered"):
            return f"Channel {name} works again"
        return f"Channel {name} does not deliver: {t.REASONS.get(doc.text('reason'), doc.text('reason'))}"

    def budget_title(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        spent, amount, gone = doc.money("spent"), doc.money("amount"), doc.at("gone_at")
        name = clean(doc.text("name"))
        if spent is None or amount is None:
            return f"Budget {name}"
        title = f"{self.money(spent)} of {self.money(amount)} used ({_share(spent, amount)})"
        if doc.flag("recovered"):
            return f"Budget {name} is fine again: {title}"
        if gone:
            title += f"; at this rate gone on {_day(gone.astimezone(zone))}"
        return f"{title} · {name}"

    def dry_run_digest_title(self, doc: Doc) -> str:
        count, saved = len(doc.parts("items")), doc.moneys("per_night")
        return f"Would have acted on {count}" + (f", about {self.several(saved)} a night" if saved else "")

    def group_title(self, of: str, common: Doc, count: int, per_hour: tuple[Money, ...], first: str) -> str:
        money = f", {self.several(per_hour)}/h together" if per_hour else ""
        acts = self._forms(common)
        match of:
            case NoticeKind.WARN:
                return f"{acts[1]} {count} boxes{money}" + (f", the first at {first}" if first else "")
            case NoticeKind.FAILED:
                return f"{acts[0].upper()} FAILED on {count} boxes, still billing{money}"
            case NoticeKind.RESULT:
                return f"{acts[2]} {count} boxes{money}"
            case NoticeKind.NO_DATA:
                return f"No metrics from {count} boxes, not stopping them"
            case NoticeKind.CLEARED:
                return f"Not {acts[1].lower()} {count} boxes"
            case NoticeKind.KEPT:
                return f"{count} boxes are kept"
            case _ if rule := common.text("rule"):
                return f"{t.RULES.get(rule, rule)}: {count} boxes{money}"
            case _:
                return f"{count} notes{money}"

    def reminder_title(self, doc: Doc) -> str:
        count, tonight = len(doc.parts("boxes")), doc.moneys("tonight")
        cost = f", tonight costs about {self.several(tonight)}" if tonight else ""
        return f"You have {count} box{'es' if count != 1 else ''} running{cost}"

    def report_title(self, doc: Doc, zone: ZoneInfo) -> str:
        return report_en.title(self, doc, zone)

    def test_title(self, doc: Doc) -> str:
        return f"costguard test message · channel {clean(doc.text('channel'))}"

    def dry_run_line(self) -> str:
        return "This is a dry run: nothing will be done."

    def deadline(self, doc: Doc, due: datetime | None, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        if due is None:
            return text(f"{self._do(doc)}, at a time not yet fixed")
        return text(bold(self.when(due, now, zone)), f" (in {self.duration(due - now)}): {self._do(doc).lower()}")

    def hardware(self, resource: Doc) -> str:
        model, count = clean(resource.text("gpu_model")), resource.text("gpu_count")
        gpus = f"{count} × {model}".strip(" ×") if count and count != "0" else ""
        sku = clean(resource.text("sku"))
        return f"{sku} ({gpus})" if sku and gpus else sku or gpus

    def owner_found(self, found_by: str) -> str:
        return f" (by {clean(found_by)})" if found_by else ""

    def no_owner(self, doc: Doc) -> tuple[Span, ...]:
        return text("unknown; if it is yours: ", code(f"costguard claim {doc.id}"))

    def evidence(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        return sentence(self, doc, now, zone)

    def policy(self, name: str) -> tuple[Span, ...]:
        return text("policy ", code(name))

    def cost(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        price = doc.money("price")
        if price is None:
            return text("price unknown")
        parts: list[tuple[Span, ...] | str] = [text(bold(self.per_hour(price)), self._basis(doc))]
        since, morning = doc.money("since_cost"), doc.money("morning_cost")
        if since:
            start = doc.at("since")
            at = (
                "since it went idle"
                if doc.text("rule") == "idle" or not start
                else f"since {self.when(start, now, zone)}"
            )
            parts.append(f"about {self.money(since)} {at}")
        end = doc.at("morning")
        if morning and end:
            parts.append(f"about {self.money(morning)} more by {self.when(end, now, zone)} if nothing is done")
        return joined(parts, self.comma)

    def happens(self, doc: Doc) -> tuple[Span, ...]:
        parts: list[tuple[Span, ...] | str] = []
        effect, provider = doc.part("effect"), doc.provider
        act = self._do(doc).lower()
        if doc.flag("look"):
            parts.append("first try to look at the box itself (at work: left alone)")
        if hook := doc.text("hook"):
            limit = doc.span("hook_timeout")
            order = "then" if parts else "first"
            parts.append(text(f"{order} run ", code(hook), f" (at most {self.duration(limit)})" if limit else ""))
        act = f"then {act}" if parts else act
        if effect.facts:
            ends = {
                "yes": "compute billing ends", "no": "compute is still billed (stopping saves nothing)",
                "partly": "only part of compute billing ends",
            }.get(effect.text("ends"), "not known whether compute billing ends")  # fmt: skip
            parts += [act, ends]
            if billed := self.still_billed(effect, provider):
                parts.append(f"still billed: {billed}")
            if lost := self.list_comma.join(t.LOST.get(key, clean(key)) for key in effect.texts("lost")):
                parts.append(text("lost: ", bold(lost)))
            if effect.flag("restart_risk"):
                parts.append("there may be no stock when you start it again")
            if note := clean(effect.text("note")):
                parts.append(note)
        else:
            parts.append(act)
        if (wait := doc.span("release_in")) is not None:
            fails = "" if doc.text("do") == "set_release_time" else "should that fail, "
            after = f" after {self.duration(wait)}"
            parts.append(text(f"{fails}the provider's timer ", bold("destroys it and its disks"), after))
        return joined(parts, "; ")

    def still_billed(self, effect: Doc, provider: str) -> str:
        return self.list_comma.join(t.BILLED.get(key, clean(key)) for key in effect.texts("still_billed"))

    def keep(self, doc: Doc) -> tuple[Span, ...]:
        parts: list[tuple[Span, ...] | str] = []
        if url := doc.part("links").text("keep"):
            parts.append(text(Span("open the page", "link", url)))
        limit = doc.span("keep_max")
        most = f" (at most {self.duration(limit)})" if limit else ""
        parts.append(text("run ", code(f"costguard keep {doc.id} --for 2h"), most))
        if doc.text("rule") == "idle":
            parts.append("using it cancels this too")
        return joined(parts, "; ")

    def approve(self, doc: Doc) -> tuple[Span, ...]:
        command = code(f"costguard approve {doc.text('action_id') or doc.id}")
        return text("an admin or the owner runs ", command, "; without that nothing is done")

    def saved(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        saved, morning, price = doc.money("morning_saved"), doc.at("morning"), doc.money("price")
        if saved is None or morning is None:
            return (
                ""
                if doc.flag("confirmed")
                else "the provider has not confirmed that billing ended: no saving is booked yet"
            )
        basis = f" (estimate at {self.per_hour(price)})" if price else " (estimate)"
        return f"about {self.money(saved)} not spent by {self.when(morning, now, zone)}{basis}"

    def again(self, doc: Doc) -> tuple[Span, ...]:
        action = doc.text("action_id")
        return text(
            code(f"costguard undo {action}"), "; was it wrong? ", code(f"costguard dispute {action} --reason …")
        )  # fmt: skip

    def unseen_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[str, str, str]:
        return unseen_en.lines(self, doc, self._done(doc), now, zone)

    def attempts(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        retry, count = doc.at("retry_at"), doc.number("attempts")
        tried = f"tried {count} time{'s' if count != 1 else ''}"
        if retry:
            return f"{tried}, again at {self.when(retry, now, zone)}"
        return f"{tried}; costguard will not try again, somebody has to look"

    def kept_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[Span, ...]:
        until = doc.at("until")
        end = self.when(until, now, zone) if until else ""
        limit = f"until it is idle, {end} at the latest" if doc.flag("until_idle") else f"until {end}"
        reason = clean(doc.text("reason"))
        return text(f"{clean(doc.text('by'))}, ", bold(limit), f", because: {reason}" if reason else "")

    def no_data_line(self, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
        since = doc.at("since")
        last = (
            f"the last sample is of {self.when(since, now, zone)}"
            if since
            else "there never was a sample; the monitoring agent is probably missing"
        )
        return f"{last}; a box whose use can't be seen counts as busy: it is neither stopped nor called idle"

    def source_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]:
        if doc.flag("recovered"):
            return (("time", f"since {self.when(now, now, zone)}"),)
        lines = []
        last = doc.at("last_ok")
        lines.append(("time", f"last success {self.when(last, now, zone)}" if last else "it never worked"))
        if error := clean(doc.text("error")):
            lines.append(("error", error))
        if missing := clean(doc.text("missing")):
            lines.append(("check", f"the permission {missing} is missing"))
        lines.append(("happens", "until then every rule that needs it says unknown, and nothing is stopped by it"))
        return tuple(lines)

    def channel_lines(self, doc: Doc) -> tuple[tuple[str, str], ...]:
        if doc.flag("recovered"):
            return ()
        lines = [("error", clean(doc.text("detail")))]
        if hint := clean(doc.text("hint")):
            lines.append(("check", hint))
        waiting = doc.number("waiting")
        lines.append(("happens", f"messages waiting: {waiting}; a box whose warning was not delivered is not stopped"))
        return tuple(lines)

    def budget_lines(self, doc: Doc, now: datetime, zone: ZoneInfo) -> tuple[tuple[str, str], ...]:
        lines = []
        start, end, forecast = doc.at("period_start"), doc.at("period_end"), doc.money("forecast")
        basis = t.BASES.get(doc.text("basis"), doc.text("basis"))
        if start and end:
            first, last = start.astimezone(zone), (end - timedelta(seconds=1)).astimezone(zone)
            kind = "live estimates included" if doc.flag("estimated") else "as billed"
            lines.append(("time", f"{_day(first)} to {_day(last)}, {basis}, {kind}"))
        if forecast:
            lines.append(("cost", f"about {self.money(forecast)} by the end of the period at this rate"))
        drivers = [(d.text("key"), d.money("money")) for d in doc.parts("drivers")]
        if drivers:
            top = self.list_comma.join(f"{clean(key)} {self.money(money)}" for key, money in drivers[:5] if money)
            lines.append(("why", f"most of it: {top}"))
        return tuple(lines)

    def digest_item(self, item: Doc) -> str:
        price, owner, blocked = item.money("price"), clean(item.text("owner")), item.text("code")
        parts = [f"{self._do(item).lower()} {clean(item.name)}"]
        if price:
            parts.append(self.per_hour(price))
        parts.append(owner or "no owner")
        parts.append(f"policy {clean(item.text('policy'))}")
        if blocked and blocked not in ("ok", "dry_run", "not_armed"):
            parts.append(f"but held back: {t.CODES.get(blocked, blocked)}")
        return " · ".join(parts)

    def group_hint(self, of: str) -> tuple[Span, ...]:
        if of == NoticeKind.WARN:
            return text("To keep one: ", code("costguard keep ID --for 2h"))
        if of == NoticeKind.FAILED:
            return text("Why: ", code("costguard explain ID"))
        return ()

    def reminder_box(self, box: Doc) -> str:
        idle, tonight, activity = box.span("idle_for"), box.money("tonight"), box.text("activity")
        state = {"active": "is in use", "idle": "is idle"}.get(activity, "can't be seen")
        if activity == "idle" and idle:
            state = f"idle for {self.duration(idle)}"
        return f"{clean(box.name)} {state}" + (f", tonight about {self.money(tonight)}" if tonight else "")

    def reminder_hint(self) -> tuple[Span, ...]:
        return text("Stop what you don't need; keep what you do: ", code("costguard keep ID --for 12h"))

    def report_lines(self, doc: Doc, zone: ZoneInfo) -> tuple[tuple[str, tuple[Span, ...]], ...]:
        return report_en.lines(self, doc, zone)

    def test_line(self) -> str:
        return "If you can read this, the channel works. Nothing to do."

    def confirm_stop(self, name: str) -> Confirm:
        text = f"{name} is stopped now, without the rest of the grace. It is looked at once more: in use, it stays."
        return Confirm("Stop it now?", text, "Stop now", "Not yet")

    def slash(self, name: str) -> tuple[Span, ...]:
        return text("or here: ", code(f"/costguard keep {name} 2h"))

    def spoken(self, name: str) -> tuple[Span, ...]:
        return text(
            "write to the robot (in a group, @ it first): ",
            code(f"keep {name} 2h"),
            ", ",
            code(f"claim {name}"),
            ", ",
            code(f"why {name}"),
        )

    def number(self, alert: str) -> str:
        return f"alert {alert}"

    def link(self, key: str) -> str:
        return {"page": "details", "keep": "open the page"}.get(key, clean(key))

    def _forms(self, doc: Doc) -> tuple[str, str, str]:
        do = doc.text("do")
        if do == "release" and doc.provider == "aws":
            return t.VERBS["terminate"]
        return t.VERBS.get(do or "any", t.VERBS["stop"])

    def verb(self, doc: Doc) -> str:
        return self._do(doc).lower()

    def _do(self, doc: Doc) -> str:
        return self._forms(doc)[0]

    def _doing(self, doc: Doc) -> str:
        return self._forms(doc)[1]

    def _done(self, doc: Doc) -> str:
        return self._forms(doc)[2]

    def _with_price(self, title: str, price: Money | None) -> str:
        return f"{title} · {self.per_hour(price)}" if price else title

    def _basis(self, doc: Doc) -> str:
        resource = doc.part("resource")
        source = {"list": "list price", "book": "your price book", "spot": "market price"}
        found = (
            t.CHARGES.get(resource.text("charge_type"), ""), source.get(resource.text("price_source"), "")
        )  # fmt: skip
        inside = ", ".join(part for part in found if part)
        return f" ({inside})" if inside else ""


def _day(local: datetime) -> str:
    return f"{local.day} {_MONTHS[local.month - 1]}"


def _share(spent: Money, amount: Money) -> str:
    if spent.currency != amount.currency or amount.nanos <= 0:
        return "?"
    return f"{round(100 * spent.nanos / amount.nanos)}%"
