"""Reports: an audit document as a page, as Markdown or as CSV. The document is the truth; nothing is computed here.

The page is one file that loads nothing and runs no script, so it can be mailed and read on a phone.
"""

import csv
import io
import re
from collections.abc import Collection, Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from costguard.domain.money import Money
from costguard.engine.forecast import GROWING, METHOD
from costguard.engine.remarks import Language
from costguard.notify.story import clean
from costguard.notify.words import terms_zh

Document = Mapping[str, Any]
_RESOURCES = 50
_FORMULA = frozenset("=+@＝＋－＠")
# What Markdown reads as more than text: anywhere, at the edge of a word, or at the beginning of a line.
_MARKUP = re.compile(r"[\\`*\[\]|~]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
_BLOCK = re.compile(r"^(\d*)([#>+.)-])")
_MENTION = re.compile(r"(?<!\w)@(?=\w)")

WORDS: Mapping[str, tuple[str, str]] = {
    "title": ("Audit", "费用审计"),
    "draft": ("draft", "初稿"),
    "final": ("final", "定稿"),
    "provisional": ("provisional", "未出账"),
    "amount": ("Counted", "计入金额"),
    "billed": ("Billed", "账单应付"),
    "estimated": ("Estimated (price × hours)", "估算（单价 × 时长）"),
    "assumed": ("of it unseen", "其中未观测"),
    "difference": ("Bill − estimate, same days", "账单 − 估算（同日）"),
    "previous": ("Month before", "上月"),
    "forecast": ("Month's end", "月末预测"),
    "skill": ("skill against run rate", "相对现速的预测技巧"),
    "saved": ("Saved, confirmed", "已确认节省"),
    "lost": ("lost", "损失"),
    "false_stops": ("false stops", "误关机"),
    "no_bill": ("no bill known", "没有账单"),
    "decisions": ("To decide", "需要决定"),
    "by_day": ("By day", "按天"),
    "by_owner": ("By owner", "按负责人"),
    "by_team": ("By team", "按团队"),
    "by_project": ("By project", "按项目"),
    "by_account": ("By account", "按账号"),
    "by_service": ("By service", "按产品"),
    "unallocated": ("unallocated", "未分摊"),
    "payments": ("Payments", "支付方式"),
    "cash": ("cash", "现金"),
    "voucher": ("vouchers", "代金券"),
    "credit": ("credits", "抵扣/退款"),
    "stored_card": ("stored-value card", "储值卡"),
    "owed": ("owed", "欠费"),
    "not_told": ("not told", "未说明"),
    "invoiced": ("invoiced this month", "本月出账"),
    "drivers": ("What changed against the month before", "与上月相比的变化"),
    "change": ("Change", "变化"),
    "why_new": ("new", "新增"),
    "why_ended": ("ended", "已无"),
    "why_more": ("more", "增加"),
    "why_less": ("less", "减少"),
    "budgets": ("Budgets", "预算"),
    "budget": ("Budget", "预算"),
    "provider_budgets": ("Budgets kept at the provider", "云厂商侧的预算"),
    "account": ("Account", "账号"),
    "period_end": ("Period's end", "期末预测"),
    "read_at": ("Read at", "读取时间"),
    "period_day": ("daily", "每日"),
    "period_month": ("monthly", "每月"),
    "period_quarter": ("quarterly", "每季度"),
    "period_year": ("yearly", "每年"),
    "period_custom": ("once", "自定义"),
    "spent": ("Spent", "已用"),
    "budget_over": ("over", "超支"),
    "budget_at_risk": ("at risk", "有超支风险"),
    "budget_ok": ("within", "正常"),
    "budget_unknown": ("unknown", "未知"),
    "resources": ("Resources, the dearest first", "资源（按金额排序）"),
    "name": ("Name", "名称"),
    "type": ("Type", "规格"),
    "state": ("State", "状态"),
    "owner": ("Owner", "负责人"),
    "price": ("Price/h", "单价/小时"),
    "findings": ("Findings", "发现"),
    "would_have": ("Would have been stopped (dry run)", "演练：本可关机"),
    "ended_stands": ("still stands", "仍在节省"),
    "ended_restarted": ("runs again", "已重新开机"),
    "ended_released": ("released", "已释放"),
    "ended_undone": ("undone", "已撤销"),
    "ended_would_have_stopped": ("would have stopped anyway", "本来也会关机"),
    "ended_disputed": ("disputed: a loss", "有异议：计为损失"),
    "warnings": ("What the numbers leave out", "数字未包含的内容"),
    "metered": ("Billable API calls of this audit", "本次审计调用的计费 API"),
    "method": ("Forecast", "预测方法"),
    "nothing": ("nothing", "无"),
}

_METHODS = {
    METHOD: "在运行的算到计划关机为止，其余按 7 天或 28 天的水平 × 星期几",
    GROWING: "在运行的算到计划关机为止，其余按 28 天的趋势 × 星期几",
    "the month is over": "该月已结束",
    "the week is over": "该周已结束",
}

# What a week says otherwise than a month.
_WEEK: Mapping[str, tuple[str, str]] = {
    "title": ("Report", "费用报告"),
    "previous": ("Week before", "前一周"),
    "forecast": ("The week", "本周合计"),
    "drivers": ("What changed against the week before", "与前一周相比的变化"),
    "metered": ("Billable API calls", "计费 API 调用"),
}


def words(document: Document) -> dict[str, str]:
    """The words of a document's report, in its language."""
    told = {**WORDS, **(_WEEK if document.get("period") == "week" else {})}
    return {key: pair[1 if document["language"] == "zh" else 0] for key, pair in told.items()}


def word(key: str, language: Language) -> str:
    """One of the words of a month's report. Raises KeyError for an unknown key."""
    return WORDS[key][1 if language == "zh" else 0]


def rule(name: str, language: str) -> str:
    """What a rule finds; in English by its own name."""
    return terms_zh.RULES.get(name, name) if language == "zh" else name


def state(name: str, language: str) -> str:
    """The state of a resource; in English by its own name."""
    return terms_zh.LIFE.get(name, name) if language == "zh" else name


def method(text: str, language: str) -> str:
    """How a forecast was made, in words."""
    return _METHODS.get(text, text) if language == "zh" else text


def title(document: Document) -> str:
    """``Audit 2026-02 · draft``; a week has its days, and no stage: its bill is settled with the month's."""
    t, name = words(document), str(document["month"]).replace("/", " – ")
    return f"{t['title']} {name}" + ("" if document.get("period") == "week" else f" · {t[document['stage']]}")


def money_of(value: Mapping[str, str] | None) -> Money | None:
    return None if value is None else Money.of(value["amount"], value["currency"])


def shown(value: Mapping[str, str] | None) -> str:
    """``¥34.74``; a dash when unknown."""
    money = money_of(value)
    return "–" if money is None else str(money)


def local(document: Document, instant: str) -> str:
    """A moment of the document in its own zone, to the minute."""
    return f"{datetime.fromisoformat(instant).astimezone(ZoneInfo(document['timezone'])):%Y-%m-%d %H:%M}"


@cache
def _template() -> Template:
    pages = Environment(
        loader=PackageLoader("costguard.app", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return pages.get_template("audit.html")


def html(document: Document) -> str:
    """One self-contained page in the document's own language."""
    days = [(line, Decimal(line["amount"]["amount"])) for line in document["spend"]["by_day"]]
    most = max((amount for _, amount in days), default=Decimal(0))
    bars = [
        {**line, "share": max(0, round(100 * amount / most)) if most > 0 else 0} for line, amount in days
    ]  # fmt: skip
    return _template().render(
        d=document,
        t=words(document),
        title=title(document),
        language=document["language"],
        amount=shown,
        local=local,
        rule=rule,
        state=state,
        method=method(document["forecast"]["method"], document["language"]),
        days=bars,
        resources=[r for r in document["resources"] if not _worthless(r)][:_RESOURCES],
    )


def _worthless(resource: Document) -> bool:
    return resource["amount"] is not None and resource["amount"]["amount"] == "0"


def as_csv(document: Document) -> str:
    """One line per resource, exact amounts."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["account", "provider", "region", "kind", "id", "name", "state", "sku", "charge_type", "owner", "team",
         "price_per_hour", "estimated", "billed", "amount", "currency", "price_currency"]
    )  # fmt: skip
    for r in document["resources"]:
        subject, price = r["subject"], r["price_per_hour"] or {}
        costs = [r[side] or {} for side in ("estimated", "billed", "amount")]
        writer.writerow(
            [_cell(v) for v in (
                subject["account"], subject["provider"], subject["region"], subject["kind"], subject["id"],
                subject.get("name", ""), r["state"], r["sku"], r["charge_type"], r["owner"], r["team"],
                price.get("amount", ""), *(cost.get("amount", "") for cost in costs), document["currency"],
                price.get("currency", ""),
            )]
        )  # fmt: skip
    return out.getvalue()


def _cell(value: object) -> str:
    """A spreadsheet must not run a name as a formula; a negative amount is a number and stays one."""
    text = "" if value is None else str(value)
    first = text.lstrip()[:1]
    formula = first in _FORMULA or (first == "-" and not _number(text)) or text[:1] in ("\t", "\r", "\n")
    return f"'{text}" if formula else text


def _number(text: str) -> bool:
    return text[1:].replace(".", "", 1).isdigit()


def markdown(document: Document) -> str:
    """For a ticket or a chat."""
    t, spend, forecast = words(document), document["spend"], document["forecast"]
    bounds = f", {shown(forecast['low'])} – {shown(forecast['high'])}" if forecast["low"] else ""
    lines = [
        f"# {title(document)}",
        "",
        f"- {t['amount']}: **{shown(spend['amount'])}**; {t['previous']}: {shown(spend['previous'])}",
        f"- {t['billed']}: {shown(spend['billed'])}; {t['estimated']}: {shown(spend['estimated'])}",
        f"- {t['forecast']}: {shown(forecast['amount'])}{bounds} ({method(forecast['method'], document['language'])})",
        f"- {t['saved']}: {shown(document['savings']['booked'])}",
        "",
        f"| {t['owner']} | {t['amount']} | {t['billed']} | {t['estimated']} |",
        "|---|---:|---:|---:|",
        *(
            f"| {_md(t['unallocated'] if line['key'] == 'unallocated' else line['key'])} | {shown(line['amount'])} "
            f"| {shown(line['billed'])} | {shown(line['estimated'])} |"
            for line in spend["by_owner"]
        ),
        "",
        *_table(
            [t["drivers"], t["change"], t["amount"], t["previous"]],
            [
                [d["name"], shown(d["change"]), shown(d["amount"]), shown(d["previous"])]
                for d in document["drivers"]
            ],
        ),
        *_table(
            [t["budgets"], t["spent"], t["budget"], "%"],
            [[b["policy"], shown(b["spent"]), shown(b["amount"]), f"{b['used']}"] for b in document["budgets"]],
        ),
        *_table(
            [t["provider_budgets"], t["account"], t["spent"], t["budget"], "%", t["period_end"], t["read_at"]],
            [_kept_at_provider(document, line, t) for line in document["provider_budgets"]],
            words={t["account"]},
        ),
        *_table(
            [t["name"], t["state"], t["owner"], t["price"], t["amount"]],
            [
                [r["subject"].get("name") or r["subject"]["id"], state(r["state"], document["language"]),
                 r["owner"] or "-",
                 shown(r["price_per_hour"]), shown(r["amount"])]
                for r in document["resources"]
            ],
            words={t["state"], t["owner"]},
        ),
        *(f"- {_sentence(line)}" for line in (*document["decisions_needed"], *document["warnings"])),
        *(f"- {t['metered']}: {_md(line)}" for line in document["metered_calls"]),
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _kept_at_provider(document: Document, line: Document, t: Mapping[str, str]) -> list[str]:
    period = t.get(f"period_{line['period']}", line["period"])
    used = "–" if line["used"] is None else str(line["used"])
    return [
        f"{line['name']} ({period})", line["account"], shown(line["spent"]), shown(line["amount"]), used,
        shown(line["forecast"]), local(document, line["read_at"]),
    ]  # fmt: skip


def _table(head: list[str], rows: list[list[str]], words: Collection[str] = ()) -> list[str]:
    """A table whose first column and ``words`` are text, and all others amounts."""
    if not rows:
        return []
    rule = ["---", *("---" if title in words else "---:" for title in head[1:])]
    lines = [head, rule, *(map(_md, row) for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def _sentence(text: str) -> str:
    """The same at the beginning of a line, where it could also begin a heading, a list or a quotation."""
    return _BLOCK.sub(r"\1\\\2", _md(text))


def _md(text: str) -> str:
    """Text that is no markup, link or mention, in one cell of a table."""
    plain = _MARKUP.sub(r"\\\g<0>", clean(text)).replace("<", "&lt;")
    return _MENTION.sub("@\u200b", plain)
