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
    timer = f"；云厂商的自动释放定时（{v.at('timer_missed')}）没有执行" if "timer_missed" in v else ""
    return f"{begin}已 {v.span('age')}，上限 {v.span('max_age')}{ttl}，超出 {v.span('over_by')}{cost}{timer}"


def _joined(word: str, moment: str) -> str:
    """A word and a moment: a space stands between a character and a digit, none between two characters."""
    return f"{word} {moment}" if moment[:1].isdigit() else f"{word}{moment}"


def _to(moment: str) -> str:
    return _joined("到", moment)


def _budget(v: Values, doc: Doc) -> str:
    if "spent" not in v:
        return ""
    limit, step = v.money("amount"), v.plain("threshold")
    ends = v.at("period_end")
    if step.startswith("forecast:"):
        parts = [f"按现速预测{_to(ends)} 约 {v.money('forecast')}，预算 {limit}，已用 {v.money('spent')}"]
    else:
        parts = [f"已用 {v.money('spent')}，占预算 {limit} 的 {v.percent('used')}，周期{_to(ends)} 结束"]
        if "forecast" in v:
            parts.append(f"届时预测约 {v.money('forecast')}")
    if "gone_at" in v:
        parts.append(f"{_joined('按现速', v.at('gone_at'))} 用完")
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
    until = f"，{_to(v.at('off_until'))}" if "off_until" in v else ""
    cost = f"，开到那时约 {v.money('cost_until_on')}" if "cost_until_on" in v else ""
    weekdays = "；没有今年的节假日数据，按星期判断" if "holidays_unknown" in v else ""
    return f"{v.at('off_since')} 起为关机时段{until}，{v.at('started_at')} 启动后一直在运行{cost}{weekdays}"


def _stuck(v: Values, doc: Doc) -> str:
    if "gpu_util_mean" not in v:
        return ""
    cards, stuck = v.number("cards_expected") or 0, v.number("cards_stuck") or 0
    which = f"{cards:g} 张卡中 {stuck:g} 张" if cards > 1 else "GPU "
    cost = f"，已花约 {v.money('cost')}" if "cost" in v else ""
    return (
        f"{which}连续 {v.span('window')}利用率 {v.percent('gpu_util_mean')}，功耗最高只有上限的 "
        f"{v.percent('gpu_power_max')}（干活的卡高于 {v.percent('gpu_power_below')}），没有心跳{cost}："
        "请看任务是否在空等"
    )


def _underused(v: Values, doc: Doc) -> str:
    if "advice" not in v:
        return ""
    used = f"{v.span('window')}内在用的卡平均利用率 {v.percent('gpu_util_mean')}"
    match v.plain("advice"):
        case "fewer_cards":
            unused, cards = v.plain("cards_unused"), v.plain("cards_expected")
            return f"{cards} 张卡中 {unused} 张没人用，{used}；可换卡数更少的规格"
        case "starved":
            cpu = f"，CPU {v.cores('cpu_cores_mean')}/{v.plain('vcpus')} 核" if "cpu_cores_mean" in v else ""
            disk = f"，磁盘 {v.rate('disk_mean')}" if "disk_mean" in v else ""
            return f"{used}{cpu}{disk}；显卡在等数据：可增加加载进程、换更快的盘或加缓存"
        case _:
            return f"{used}，低于 {v.percent('gpu_util_below')}；可换更小的卡或规格"


def _spot_price(v: Values, doc: Doc) -> str:
    if "market_price" not in v:
        return "没有设置出价上限，市场价可能涨到甚至超过按量价" if "sku" in v else ""
    zone = f"（{v.plain('zone')}）" if "zone" in v else ""
    parts = [f"市场价 {v.money('market_price')}/h{zone}"]
    if "limit" in v:
        parts.append(f"限价 {v.money('limit')}/h")
    if "on_demand_limit" in v:
        parts.append(f"按量价折算的限价 {v.money('on_demand_limit')}/h")
    if "above_for" in v:
        parts.append(f"已超过 {v.span('above_for')}")
    if "cap" in v:
        parts.append(f"出价上限 {v.money('cap')}/h")
    if "cheaper_zone" in v:
        parts.append(f"{v.plain('cheaper_zone')} 更便宜：{v.money('cheaper_price')}/h")
    return "，".join(parts)


def _balance(v: Values, doc: Doc) -> str:
    if "available" not in v:
        return ""
    frozen = f"（已扣除冻结 {v.money('frozen')}）" if "frozen" in v else ""
    parts = [f"余额 {v.money('available')}{frozen}"]
    if "burn_per_day" in v:
        parts.append(f"按现在运行的每天消耗 {v.money('burn_per_day')}")
    if "days_left" in v:
        parts.append(f"还能用 {v.span('days_left')}" + (f"，{_to(v.at('empty_at'))}" if "empty_at" in v else ""))
    if "amount_below" in v:
        parts.append(f"下限 {v.money('amount_below')}")
    if "needed_until" in v:
        parts.append(f"需撑{_to(v.at('needed_until'))}")
    if v.number("unpriced"):
        parts.append(f"{v.plain('unpriced')} 台运行中的机器价格未知，未计入")
    return "，".join(parts)


def _anomaly(v: Values, doc: Doc) -> str:
    if "limit" in v:
        creator = f"，创建者 {v.plain('creator')}" if "creator" in v else ""
        return f"{v.at('created_at')} 新建，{v.money('price')}/h，超过 {v.money('limit')}/h{creator}"
    if "median" not in v:
        return ""
    most = f"；花费最多：{v.pairs('drivers')}" if "drivers" in v else ""
    return (
        f"{v.at('day')} 起的一天 {v.money('spent')}，同类日子通常 {v.money('median')}"
        f"（{v.plain('days')} 天的中位数），多出 {v.money('over')}{most}"
    )


def _waste(v: Values, doc: Doc) -> str:
    if "reason" not in v:
        return ""
    size = f"（{v.plain('size_gib')} GiB）" if "size_gib" in v else ""
    told = {
        "unattached": f"未挂载 {v.span('unattached_for')}{size}",
        "orphan": f"源云盘 {v.plain('source')} 已不存在，快照已 {v.span('age')}{size}",
        "stopped": f"已停机 {v.span('stopped_for')}",
        "no_requests": f"{v.span('window')}内没有任何请求",
    }.get(v.plain("reason"), "")
    parts = f"，仍保留 {v.listed('parts')}" if "parts" in v else ""
    cost = f"，每天 {v.money('cost_per_day')}，至今 {v.money('cost')}" if "cost_per_day" in v else ""
    return f"{told}{parts}{cost}"


def _still_billed(v: Values, doc: Doc) -> str:
    if "stop_again" not in v:
        return ""
    off = f"已停机 {v.span('stopped_for')}" if "stopped_for" in v else "已停机"
    cost = f"，停机以来约 {v.money('cost')}" if "cost" in v else ""
    again, never = _ENDS_BILL.get(v.plain("provider"), _ENDS_BILL[""])
    return f"{off}，计算费用仍在收{cost}；{again if v.evidence.get('stop_again') else never}"


def _unmonitored(v: Values, doc: Doc) -> str:
    if "cards_expected" not in v:
        return ""
    seen, cards = v.number("cards_seen") or 0, v.number("cards_expected") or 0
    what = f"{cards:g} 张卡中 {cards - seen:g} 张的用量" if seen else "GPU 用量"
    share = f"，占这些 GPU 机器花费的 {v.fraction('share')}" if "share" in v else ""
    agent = _AGENTS.get(v.plain("provider"), "可把 DCGM 接入 Prometheus，或让任务发送 `costguard heartbeat`")
    return f"{v.span('window')}没有 {what}{share}，无法判断是否空闲；{agent}"


def _quota(v: Values, doc: Doc) -> str:
    if "share" not in v:
        return ""
    unit = f" {v.plain('unit')}" if "unit" in v else ""
    where = f"（{v.plain('region')}）" if "region" in v else ""
    used, limit = v.plain("used") or "0", v.plain("limit")
    return f"{v.plain('quota')}{where}已用 {used}/{limit}{unit}，占 {v.fraction('share')}，剩余 {v.plain('free')}"


def _expiry(v: Values, doc: Doc) -> str:
    if "expires_at" not in v:
        return ""
    left = v.evidence.get("left")
    when = f"{v.at('expires_at')} 到期"
    parts = [
        f"{when}，还有 {v.span('left')}" if isinstance(left, timedelta) and left > timedelta() else f"{when}，已过期"
    ]
    renews = v.evidence.get("auto_renew")
    parts.append("自动续费未知" if renews is None else "自动续费已开" if renews else "自动续费未开")
    parts.append(f"最近 30 天显卡平均利用率 {v.percent('use_mean')}" if "use_mean" in v else "没有用量数据")
    if "month_cost" in v:
        parts.append(f"每月 {v.money('month_cost')}")
    return "，".join(parts)


# 怎样停止一台已停机器的计费：换一种方式再停一次；以及无论怎么停都照收的。
_ENDS_BILL = {
    "aliyun": (
        "请启动后选“节省停机”模式重新停机",
        "它的规格或网络不支持节省停机：请备份数据后释放，或者用起来",
    ),
    "tencent": (
        "请开机后选“关机不收费”重新关机",
        "竞价实例和带本地盘的机型关机也照收：请备份数据后销毁/退还，或者用起来",
    ),
    "": (
        "请启动后换成能停止计费的方式重新停机",
        "怎么停都照收：请备份数据后释放，或者用起来",
    ),
}
_AGENTS = {
    "aliyun": "请安装 NVIDIA 驱动和云监控插件",
    "tencent": "请安装 GPU 驱动和云监控组件",
    "aws": "请安装 CloudWatch agent 并开启 nvidia_gpu",
}


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
    "stuck": _stuck,
    "underused": _underused,
    "lifetime": _lifetime,
    "schedule": _schedule,
    "spot_price": _spot_price,
    "budget": _budget,
    "balance": _balance,
    "anomaly": _anomaly,
    "waste": _waste,
    "still_billed": _still_billed,
    "untagged": _untagged,
    "unmonitored": _unmonitored,
    "quota": _quota,
    "expiry": _expiry,
}
