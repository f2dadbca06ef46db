"""Evidence in Chinese: per rule one sentence in numbers; anything else is listed key by key."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.notify.doc import Doc
from costguard.notify.story import clean
from costguard.notify.words.base import Words
from costguard.notify.words.terms_zh import EVIDENCE
from costguard.notify.words.values import Values


def sentence(words: Words, doc: Doc, now: datetime, zone: ZoneInfo) -> str:
    """Why, in numbers. Never empty when there is any evidence."""
    values = Values(doc.evidence(), words, doc.at("at") or now, zone)
    tell = _RULES.get(doc.text("rule"))
    return (tell(values, doc) if tell else "") or _listed(values)


def _idle(v: Values, doc: Doc) -> str:
    since, told = doc.at("since"), doc.at("at")
    length = v.words.duration(told - since) if since and told else v.span("window")
    if "gpu_util_max" in v:
        parts = [f"GPU 空闲 {length}，最高 {v.percent('gpu_util_max')}"]
        if "gpu_util_mean" in v:
            parts.append(f"平均 {v.percent('gpu_util_mean')}")
        parts.append(f"阈值 {v.percent('gpu_util_below')}")
    else:
        parts = [f"空闲 {length}"]
    if "cards_expected" in v:
        idle, cards = v.number("cards_idle"), v.number("cards_expected")
        if cards and cards > 1:
            parts.append(f"{cards:g} 张卡全部空闲" if idle == cards else f"{cards:g} 张卡中 {idle or 0:g} 张空闲")
    if "cpu_cores_max" in v:
        parts.append(f"CPU 最高 {v.cores('cpu_cores_max')} 核")
    if "network_max" in v:
        parts.append(f"网络最高 {v.rate('network_max')}")
    if "gpu_memory_max" in v:
        parts.append(f"显存最高 {v.percent('gpu_memory_max')}")
    if "gpu_power_max" in v:
        parts.append(f"功耗最高 {v.percent('gpu_power_max')}")
    if "samples" in v:
        parts.append(f"{v.plain('samples')} 个采样（应有 {v.plain('expected')} 个），最新在 {v.ago('last_at')}前")
    return "，".join(parts)


def _lifetime(v: Values, doc: Doc) -> str:
    if "age" not in v:
        return ""
    begin = "创建" if v.evidence.get("since") == "creation" else "启动"
    ttl = f"（标签写的 {v.plain('ttl')}）" if "ttl" in v else ""
    cost = f"，超时以来约 {v.money('cost')}" if "cost" in v else ""
    return f"{begin}已 {v.span('age')}，上限 {v.span('max_age')}{ttl}，超出 {v.span('over_by')}{cost}"


def _budget(v: Values, doc: Doc) -> str:
    if "spent" not in v:
        return ""
    limit, step = v.money("amount"), v.plain("threshold")
    ends = v.at("period_end")
    if step.startswith("forecast:"):
        parts = [f"按现速预测到 {ends} 约 {v.money('forecast')}，预算 {limit}，已用 {v.money('spent')}"]
    else:
        parts = [f"已用 {v.money('spent')}，占预算 {limit} 的 {v.percent('used')}，周期到 {ends} 结束"]
        if "forecast" in v:
            parts.append(f"届时预测约 {v.money('forecast')}")
    if "gone_at" in v:
        parts.append(f"按现速 {v.at('gone_at')} 用完")
    if "drivers" in v:
        parts.append(f"花费最多：{v.pairs('drivers')}")
    if "apart" in v:
        parts.append(f"{v.any('apart')} 没有汇率，未计入")
    if v.number("unpriced"):
        parts.append(f"{v.plain('unpriced')} 台运行中的机器价格未知，未计入")
    if "odd_day" in v:
        odd = f"{v.at('odd_day')} 那天 {v.money('odd_amount')}，平时 {v.money('usual_day')}"
        parts.append(f"{odd}：疑似账单有误，不因此关机")
    return "，".join(parts)


def _schedule(v: Values, doc: Doc) -> str:
    if "off_since" not in v:
        return ""
    until = f"，到 {v.at('off_until')}" if "off_until" in v else ""
    cost = f"，开到那时约 {v.money('cost_until_on')}" if "cost_until_on" in v else ""
    weekdays = "；没有今年的节假日数据，按星期判断" if "holidays_unknown" in v else ""
    return f"{v.at('off_since')} 起为关机时段{until}，{v.at('started_at')} 启动后一直在运行{cost}{weekdays}"


def _untagged(v: Values, doc: Doc) -> str:
    if "missing" not in v:
        return ""
    creator = f"，创建者 {v.plain('creator')}" if "creator" in v else ""
    return f"缺少标签 {v.listed('missing')}{creator}"


def _listed(v: Values) -> str:
    shown = [(key, _shown(v, key, value)) for key, value in v.evidence.items()]
    parts = [f"{EVIDENCE.get(key, clean(key))} {value}" for key, value in shown if value]
    return "，".join(parts[:8])


def _shown(v: Values, key: str, value: object) -> str:
    if isinstance(value, bool):
        return "是" if value else "否"
    if key in ("coverage", "share") and isinstance(value, float):
        return f"{value:.0%}"
    return v.span(key) if isinstance(value, timedelta) else v.any(key)


_RULES: Mapping[str, Callable[[Values, Doc], str]] = {
    "idle": _idle,
    "lifetime": _lifetime,
    "schedule": _schedule,
    "budget": _budget,
    "untagged": _untagged,
}
