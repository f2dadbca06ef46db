"""The eight lines of a monthly and a weekly report, in Chinese."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.notify.doc import Doc
from costguard.notify.story import Span, bold, clean, code, text
from costguard.notify.words.base import Words

OWNERS = 3
DECISIONS = 2


def title(w: Words, doc: Doc, zone: ZoneInfo) -> str:
    amount, saved, was = doc.money("amount"), doc.money("saved"), doc.money("was")
    kind = "周报" if doc.text("period") == "week" else "月报"
    spent = f"花费 {w.money(amount)}" if amount is not None else "花费未知"
    if doc.text("stage") == "revised":
        before = f"（初稿 {w.money(was)}）" if was is not None and was != amount else "（总额同初稿）"
        return f"【{kind}定稿】{_period(doc, zone)} {spent}{before}"
    tail = f"，已确认节省 {w.money(saved)}" if saved else ""
    draft = "（初稿）" if kind == "月报" and doc.text("stage") == "draft" else ""
    return f"【{kind}】{_period(doc, zone)} {spent}{tail}{draft}"


def lines(w: Words, doc: Doc, zone: ZoneInfo) -> tuple[tuple[str, tuple[Span, ...]], ...]:
    revised = doc.text("stage") == "revised"
    return (
        ("changed", text(_changed(w, doc))) if revised else ("spent", _spent(w, doc)),
        ("bill", text(_bill(w, doc))),
        ("saved", text(_saved(w, doc))),
        ("wasted", text(_wasted(w, doc))),
        ("owners", text(_owners(w, doc))),
        ("false_stops", text(f"{doc.number('false_stops')} 次")),
        ("decide", text(_decide(doc))),
        ("next", _next(w, doc)),
    )


def _period(doc: Doc, zone: ZoneInfo) -> str:
    start, end = doc.at("start"), doc.at("end")
    if start is None or end is None:
        return ""
    first, last = start.astimezone(zone), (end - timedelta(seconds=1)).astimezone(zone)
    return f"{_day(first)}至{_day(last)}" if doc.text("period") == "week" else f"{first.year}年{first.month}月"


def _day(at: datetime) -> str:
    return f"{at.month}月{at.day}日"


def _spent(w: Words, doc: Doc) -> tuple[Span, ...]:
    amount, previous = doc.money("amount"), doc.money("previous")
    if amount is None:
        return text("未知")
    before = "前一周" if doc.text("period") == "week" else "前一个月"
    if previous is None or previous.currency != amount.currency:
        return text(bold(w.money(amount)), f"；没有{before}的数据可比")
    if amount == previous:
        return text(bold(w.money(amount)), f"，和{before}一样")
    more = amount - previous
    share = f"（{_percent(more, previous)}）" if previous.nanos > 0 else ""
    way = "多" if more.nanos > 0 else "少"
    return text(bold(w.money(amount)), f"，比{before}{way} {w.money(_size(more))}{share}")


def _bill(w: Words, doc: Doc) -> str:
    billed, estimated, difference = doc.money("billed"), doc.money("estimated"), doc.money("difference")
    guess = w.money(estimated) if estimated is not None else "未知"
    if billed is None:
        said = f"还没有账单；按单价 × 时长估算 {guess}"
    else:
        through = f"（出到 {_date(doc.text('through'))}）" if doc.text("through") else ""
        said = f"账单 {w.money(billed)}{through}，估算 {guess}"
        if difference:
            way = "多" if difference.nanos > 0 else "少"
            said += f"；同样的日子账单比估算{way} {w.money(_size(difference))}"
    gaps = doc.number("gaps")
    whole = "，见完整报告" if doc.text("command") or doc.get("attachment") else ""
    return said + (f"；有 {gaps} 处没算进来或看不到{whole}" if gaps else "")


def _saved(w: Words, doc: Doc) -> str:
    saved, lost, would = doc.money("saved"), doc.money("lost"), doc.money("would_save")
    stops = doc.number("stops")
    said = f"已确认 {w.money(saved)}（关机 {stops} 次）" if saved else f"没有确认的节省（关机 {stops} 次）"
    if lost:
        said += f"，已扣掉误关机的 {w.money(lost)}"
    if count := doc.number("would_stops"):
        said += f"；演练里本可关机 {count} 次" + (f"，约省 {w.money(would)}" if would else "")
    return said


def _wasted(w: Words, doc: Doc) -> str:
    found = [(one.text("name"), one.money("amount"), one.span("span")) for one in doc.parts("wasted")]
    told = [f"{clean(name)} 约 {w.money(money)}（{w.duration(span)}）" for name, money, span in found if money and span]
    return w.list_comma.join(told) or "没有发现"


def _owners(w: Words, doc: Doc) -> str:
    found = [(one.text("key"), one.money("amount")) for one in doc.parts("owners")]
    named = [(_owner(key), money) for key, money in found if money]
    told = w.list_comma.join(f"{name} {w.money(money)}" for name, money in named[:OWNERS])
    return told + (f"，另有 {len(named) - OWNERS} 个" if len(named) > OWNERS else "") if told else "没有花费"


def _owner(key: str) -> str:
    return "没有负责人的" if key == "unallocated" else clean(key)


def _decide(doc: Doc) -> str:
    found = [clean(line) for line in doc.part("decisions").texts("zh")]
    if not found:
        return "没有"
    more = "……" if len(found) > DECISIONS else ""
    return f"{len(found)} 件：" + "；".join(found[:DECISIONS]) + more


def _next(w: Words, doc: Doc) -> tuple[Span, ...]:
    step = doc.part("next")
    name, count, amount = clean(step.text("name")), step.number("count"), step.money("amount")
    match step.text("code"):
        case "failed":
            said = text(f"{name} 没关掉，还在计费，先看原因：", code(f"costguard explain {step.text('id')}"))
        case "approve":
            said = text(f"{name} 在等批准：", code(f"costguard approve {step.text('action')}"))
        case "budget":
            said = text(f"预算 {name} 已超，看钱花在哪：", code("costguard spend --by owner"))
        case "owners":
            said = text(
                f"给 {count} 台没有负责人的机器找到主人，先从 {name}：", code(f"costguard claim {step.text('id')}")
            )
        case "enforce":
            worth = f"（这一期约省 {w.money(amount)}）" if amount else ""
            said = text(
                f"策略 {name} 还在演练；要让它真的关机{worth}：", code("mode: enforce"), " 并在 ",
                code("enforce_accounts"), " 写上账号",
            )  # fmt: skip
        case "release":
            said = text(f"{count} 台关着的机器还在收云盘或 IP 的钱，不用的请释放")
        case _:
            said = text("没有要做的")
    if attached := doc.part("attachment").text("name"):
        return text(*said, f"；完整报告见附件 {attached}")
    if command := doc.text("command"):
        return text(*said, "；完整报告 ", code(command))
    return said


def _changed(w: Words, doc: Doc) -> str:
    told = []
    for one in doc.parts("changes"):
        old, new = one.money("from"), one.money("to")
        name = {"amount": "花费", "billed": "账单", "saved": "节省"}.get(one.text("what")) or _owner(one.text("key"))
        told.append(f"{name} {w.money(old) if old else '无'} → {w.money(new) if new else '无'}")
    return "；".join(told)


def _date(day: str) -> str:
    _, month, number = day.split("-")
    return f"{int(month)}月{int(number)}日"


def _size(money: Money) -> Money:
    return -money if money.nanos < 0 else money


def _percent(part: Money, whole: Money) -> str:
    return f"{round(100 * part.nanos / whole.nanos):+d}%"
