"""What an action rested on, line by line: every value of its evidence by its name and in its unit.

The rule's own sentence says why; this is the rest of what was kept. Keys and raw values are in the JSON document.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from costguard.domain.money import Money
from costguard.engine.names import KINDS
from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words import terms_en, terms_zh, words
from costguard.notify.words.values import Values
from costguard.rules.reasons import METRIC_NAMES, amount
from costguard.web.words import Language

# Of a value: its name in Chinese and in English, in the order of the lines.
_NAMES: Mapping[str, tuple[str, str]] = {
    "cards": ("每张卡最高", "each card at most"), "cards_expected": ("应有卡数", "cards"),
    "cards_seen": ("看得到的卡数", "cards seen"), "cards_idle": ("空闲卡数", "idle cards"),
    "cards_unused": ("没人用的卡数", "unused cards"), "cards_stuck": ("疑似卡死的卡数", "hung cards"),
    "vcpus": ("CPU 核数", "CPU cores"), "use_mean": ("30 天平均利用率", "mean use, 30 days"),
    "samples": ("采样数", "samples"), "expected": ("应有采样", "samples due"), "coverage": ("覆盖率", "coverage"),
    "source": ("来源", "source"), "window": ("时间窗", "window"), "window_start": ("时间窗开始", "window begins"),
    "window_end": ("时间窗结束", "window ends"), "last_at": ("最新采样", "newest sample"),
    "heartbeat": ("心跳到", "heartbeat until"),
    "age": ("已有", "age"), "max_age": ("允许", "allowed"), "over_by": ("超出", "over by"),
    "since": ("从何算起", "counted from"),
    "counted_from": ("起算时间", "counted since"), "ttl": ("标签写的期限", "its tag says"),
    "timer_missed": ("没有执行的定时释放", "release timer missed"),
    "off_since": ("停机时段开始", "off time since"), "off_until": ("停机时段结束", "off time until"),
    "holidays_unknown": ("缺节假日数据", "holidays unknown"),
    "kind": ("类型", "kind"), "state": ("状态", "state"), "zone": ("可用区", "zone"), "sku": ("规格", "type"),
    "size_gib": ("容量 GiB", "size, GiB"), "attached_to": ("挂载在", "attached to"), "parts": ("仍保留", "still kept"),
    "unattached_for": ("未挂载", "unattached for"), "stopped_for": ("已停机", "off for"),
    "still_billed": ("照常计费的", "still billed"), "stop_again": ("换种方式停机能省", "another stop ends it"),
    "missing": ("缺少标签", "tags missing"), "creator": ("创建者", "created by"),
    "created_at": ("创建于", "created"), "started_at": ("启动于", "started"),
    "market_price": ("市场价", "market price"), "cap": ("出价上限", "price cap"),
    "on_demand_limit": ("按量价折算的限价", "limit by on-demand price"), "above_since": ("超过始于", "above since"),
    "above_for": ("已超过", "above for"), "cheaper_zone": ("更便宜的可用区", "cheaper zone"),
    "cheaper_price": ("那里的价格", "price there"),
    "period": ("周期", "period"), "period_start": ("周期开始", "period begins"),
    "period_end": ("周期结束", "period ends"),
    "basis": ("口径", "basis"), "service": ("服务", "service"), "day": ("日期", "day"), "spent": ("花费", "spent"),
    "amount": ("预算", "budget"), "used": ("已用", "used"), "threshold": ("这一档", "step"),
    "forecast": ("预测", "forecast"), "gone_at": ("预计用完", "used up"), "estimated": ("含估算", "partly estimated"),
    "drivers": ("花费最多", "most of it"), "apart": ("没有汇率，未计入", "not counted, no rate"),
    "unpriced": ("没有单价、未计入的机器", "boxes without a price"), "odd_day": ("异常的一天", "odd day"),
    "odd_amount": ("那天的金额", "on that day"), "usual_day": ("通常一天", "usual day"),
    "median": ("中位数", "median"), "days": ("比较的天数", "days compared"), "over": ("多出", "more by"),
    "score": ("偏离程度", "deviation"),
    "available": ("可用余额", "balance"), "frozen": ("冻结金额", "frozen"),
    "burn_per_day": ("每天消耗", "burn per day"),
    "days_left": ("还能用", "lasts"), "empty_at": ("用到", "lasts until"), "amount_below": ("下限", "lower limit"),
    "needed_until": ("需撑到", "needed until"),
    "quota": ("配额", "quota"), "region": ("地域", "region"), "limit": ("上限", "limit"), "unit": ("单位", "unit"),
    "share": ("占比", "share"), "free": ("剩余", "free"),
    "expires_at": ("到期时间", "expires"), "left": ("还有", "left"), "auto_renew": ("自动续费", "renews itself"),
    "month_cost": ("每月", "per month"),
    "price": ("单价", "price"), "idle_cost": ("空闲花费", "cost of the idle time"), "cost": ("已花", "cost so far"),
    "cost_per_day": ("每天花费", "cost per day"), "cost_until_on": ("到开机时段还要花", "cost until then"),
    "observed_at": ("读取于", "read at"),
}  # fmt: skip
# What the sentence has said in words of its own.
_TOLD = frozenset({"reason", "advice", "provider"})
_STATISTICS = {
    "max": ("最高", "max"), "mean": ("平均", "mean"), "below": ("阈值", "limit"), "above": ("阈值", "limit"),
}  # fmt: skip
_HOURLY = frozenset({"price", "market_price", "limit", "on_demand_limit", "cap", "cheaper_price"})
_FROM = {"start": ("启动", "its start"), "creation": ("创建", "its creation")}


def lines(evidence: Mapping[str, Any], language: Language, now: datetime, zone: ZoneInfo) -> Iterator[tuple[str, str]]:
    """(name, value) of everything that is known in the evidence of a document. ``now`` is when it was seen."""
    told = Values(Doc({"evidence": evidence}).evidence(), words(language), now, zone)
    side = 0 if language == "zh" else 1
    for metric, (english, chinese) in METRIC_NAMES.items():
        values = [
            f"{name[side]} {_metric(metric, value, language)}"
            for statistic, name in _STATISTICS.items()
            if (value := told.number(f"{metric}_{statistic}")) is not None
        ]
        if values:
            yield (chinese, english)[side], told.words.list_comma.join(values)
    metrics = {f"{metric}_{statistic}" for metric in METRIC_NAMES for statistic in _STATISTICS}
    order = {key: place for place, key in enumerate(_NAMES)}
    for key in sorted(told.evidence.keys() - metrics - _TOLD, key=lambda key: (order.get(key, len(order)), key)):
        if shown := _shown(told, key, language):
            yield _NAMES[key][side] if key in _NAMES else clean(key).replace("_", " "), shown


def _shown(told: Values, key: str, language: Language) -> str:
    """A value in its unit; empty where it is not known."""
    value, side = told.evidence[key], 0 if language == "zh" else 1
    match key, value:
        case _, bool():
            return (("否", "no"), ("是", "yes"))[value][side]
        case ("cards", tuple()):
            shown = (f"{card[0]}: {card[1]:.1f}%" for card in value if isinstance(card, tuple))
            return told.words.list_comma.join(shown)
        case ("use_mean", _):
            return told.percent(key)
        case ("used", _) if "amount" in told:  # of a budget; of a quota it is a number
            return told.percent(key)
        case ("coverage" | "share", _):
            return told.fraction(key)
        case ("drivers", _):
            return told.pairs(key)
        case ("since", str()):
            return _FROM.get(value, (value, value))[side]
        case ("kind", str()):
            return KINDS.get(value, value) if language == "zh" else value
        case ("basis", str()):
            return (terms_zh.BASES if language == "zh" else terms_en.BASES).get(value, value)
        case ("period", str()):
            return terms_zh.PERIODS.get(value, value) if language == "zh" else value
        case ("threshold", str()):
            return value.replace("forecast:", ("预测 ", "forecast ")[side])
        case (_, Money()) if key in _HOURLY:
            return f"{told.money(key)}/h"
        case (_, timedelta()):
            return told.span(key)
        case (_, int() | float()):
            return told.plain(key)
    return told.any(key)


def _metric(metric: str, value: float, language: Language) -> str:
    said = amount(metric, value)
    return said.replace(" cores", " 核") if language == "zh" else said
