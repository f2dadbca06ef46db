"""The eight lines of a monthly and a weekly report, in English."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.notify.doc import Doc
from costguard.notify.story import Span, bold, clean, code, text
from costguard.notify.words.base import Words

OWNERS = 3
DECISIONS = 2
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def title(w: Words, doc: Doc, zone: ZoneInfo) -> str:
    amount, saved, was = doc.money("amount"), doc.money("saved"), doc.money("was")
    kind = "Weekly" if doc.text("period") == "week" else "Monthly"
    spent = f"{w.money(amount)} spent" if amount is not None else "spending unknown"
    if doc.text("stage") == "revised":
        before = f"the draft said {w.money(was)}" if was is not None and was != amount else "the total is the draft's"
        return f"{kind} report, final, {_period(doc, zone)}: {spent} ({before})"
    tail = f", {w.money(saved)} saved" if saved else ""
    draft = " (draft)" if kind == "Monthly" and doc.text("stage") == "draft" else ""
    return f"{kind} report, {_period(doc, zone)}: {spent}{tail}{draft}"


def lines(w: Words, doc: Doc, zone: ZoneInfo) -> tuple[tuple[str, tuple[Span, ...]], ...]:
    revised = doc.text("stage") == "revised"
    return (
        ("changed", text(_changed(w, doc))) if revised else ("spent", _spent(w, doc)),
        ("bill", text(_bill(w, doc))),
        ("saved", text(_saved(w, doc))),
        ("wasted", text(_wasted(w, doc))),
        ("owners", text(_owners(w, doc))),
        ("false_stops", text(str(doc.number("false_stops")))),
        ("decide", text(_decide(doc))),
        ("next", _next(w, doc)),
    )


def _period(doc: Doc, zone: ZoneInfo) -> str:
    start, end = doc.at("start"), doc.at("end")
    if start is None or end is None:
        return ""
    first, last = start.astimezone(zone), (end - timedelta(seconds=1)).astimezone(zone)
    if doc.text("period") != "week":
        return f"{_MONTHS[first.month - 1]} {first.year}"
    since = f"{first.day}" if first.month == last.month else _day(first)
    return f"{since}–{_day(last)} {last.year}"


def _day(at: datetime) -> str:
    return f"{at.day} {_MONTHS[at.month - 1]}"


def _spent(w: Words, doc: Doc) -> tuple[Span, ...]:
    amount, previous = doc.money("amount"), doc.money("previous")
    if amount is None:
        return text("unknown")
    before = "the week before" if doc.text("period") == "week" else "the month before"
    if previous is None or previous.currency != amount.currency:
        return text(bold(w.money(amount)), f"; nothing is known of {before}")
    if amount == previous:
        return text(bold(w.money(amount)), f", the same as {before}")
    more = amount - previous
    share = f" ({_percent(more, previous)})" if previous.nanos > 0 else ""
    way = "more" if more.nanos > 0 else "less"
    return text(bold(w.money(amount)), f", {w.money(_size(more))} {way} than {before}{share}")


def _bill(w: Words, doc: Doc) -> str:
    billed, estimated, difference = doc.money("billed"), doc.money("estimated"), doc.money("difference")
    guess = w.money(estimated) if estimated is not None else "unknown"
    if billed is None:
        said = f"no bill yet; estimated {guess} (price × hours)"
    else:
        through = f" (up to {_date(doc.text('through'))})" if doc.text("through") else ""
        said = f"billed {w.money(billed)}{through}, estimated {guess}"
        if difference:
            way = "above" if difference.nanos > 0 else "below"
            said += f"; for the same days the bill is {w.money(_size(difference))} {way} the estimate"
    gaps = doc.number("gaps")
    whole = ", see the whole report" if doc.text("command") or doc.get("attachment") else ""
    return said + (f"; {gaps} gap{'s' if gaps > 1 else ''} in the data{whole}" if gaps else "")


def _saved(w: Words, doc: Doc) -> str:
    saved, lost, would = doc.money("saved"), doc.money("lost"), doc.money("would_save")
    stops = _times(doc.number("stops"), "stop")
    said = f"{w.money(saved)} confirmed ({stops})" if saved else f"nothing confirmed ({stops})"
    if lost:
        said += f", less {w.money(lost)} for false stops"
    if count := doc.number("would_stops"):
        said += f"; the dry run would have made {_times(count, 'stop')}" + (
            f", about {w.money(would)}" if would else ""
        )
    return said


def _wasted(w: Words, doc: Doc) -> str:
    found = [(one.text("name"), one.money("amount"), one.span("span")) for one in doc.parts("wasted")]
    told = [
        f"{clean(name)} about {w.money(money)} ({w.duration(span)})" for name, money, span in found if money and span
    ]
    return w.list_comma.join(told) or "nothing found"


def _owners(w: Words, doc: Doc) -> str:
    found = [(one.text("key"), one.money("amount")) for one in doc.parts("owners")]
    named = [(_owner(key), money) for key, money in found if money]
    told = w.list_comma.join(f"{name} {w.money(money)}" for name, money in named[:OWNERS])
    return told + (f", and {len(named) - OWNERS} more" if len(named) > OWNERS else "") if told else "nobody"


def _owner(key: str) -> str:
    return "without an owner" if key == "unallocated" else clean(key)


def _decide(doc: Doc) -> str:
    found = [clean(line) for line in doc.part("decisions").texts("en")]
    if not found:
        return "nothing"
    more = "; …" if len(found) > DECISIONS else ""
    return f"{len(found)}: " + "; ".join(found[:DECISIONS]) + more


def _next(w: Words, doc: Doc) -> tuple[Span, ...]:
    step = doc.part("next")
    name, count, amount = clean(step.text("name")), step.number("count"), step.money("amount")
    match step.text("code"):
        case "failed":
            said = text(
                f"{name} was not stopped and still bills; see why: ", code(f"costguard explain {step.text('id')}")
            )
        case "approve":
            said = text(f"{name} waits for approval: ", code(f"costguard approve {step.text('action')}"))
        case "budget":
            said = text(f"budget {name} is overspent; see on what: ", code("costguard spend --by owner"))
        case "owners":
            boxes = "1 box" if count == 1 else f"{count} boxes"
            said = text(f"find the owner of {boxes}, first of {name}: ", code(f"costguard claim {step.text('id')}"))
        case "enforce":
            worth = f" (about {w.money(amount)} in this period)" if amount else ""
            said = text(
                f"policy {name} is still in dry run; to let it stop boxes{worth}: ", code("mode: enforce"),
                " and the account in ", code("enforce_accounts"),
            )  # fmt: skip
        case "release":
            boxes = "1 stopped box still costs" if count == 1 else f"{count} stopped boxes still cost"
            said = text(f"{boxes} money for disks or addresses: release what nobody needs")
        case _:
            said = text("nothing to do")
    if attached := doc.part("attachment").text("name"):
        return text(*said, f"; the whole report is attached: {attached}")
    if command := doc.text("command"):
        return text(*said, "; whole report: ", code(command))
    return said


def _changed(w: Words, doc: Doc) -> str:
    told = []
    for one in doc.parts("changes"):
        old, new = one.money("from"), one.money("to")
        names = {"amount": "spent", "billed": "billed", "saved": "saved"}
        name = names.get(one.text("what")) or _owner(one.text("key"))
        told.append(f"{name} {w.money(old) if old else 'nothing'} → {w.money(new) if new else 'nothing'}")
    return "; ".join(told)


def _times(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _date(day: str) -> str:
    _, month, number = day.split("-")
    return f"{int(number)} {_MONTHS[int(month) - 1]}"


def _size(money: Money) -> Money:
    return -money if money.nanos < 0 else money


def _percent(part: Money, whole: Money) -> str:
    return f"{round(100 * part.nanos / whole.nanos):+d}%"
