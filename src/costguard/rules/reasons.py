"""Reasons: what the code of a judgement means, as a plain English sentence without a full stop.

Codes are for programs: they stay in JSON and in policy tests. People read these; beside each stands its Chinese, which
messages and pages show (:mod:`costguard.notify.words.sentences` finds it by the English one, and says what the
placeholders mean). What a rule that fires rests on is told in numbers elsewhere, in both languages.
"""

from collections.abc import Mapping
from datetime import timedelta

from costguard.domain.finding import Evidence, EvidenceValue
from costguard.domain.time import format_duration

Pair = tuple[str, str]

METRIC_NAMES: Mapping[str, Pair] = {
    "gpu_util": ("GPU use", "GPU 利用率"), "gpu_memory": ("GPU memory", "显存占用"),
    "gpu_power": ("GPU power", "GPU 功耗"), "cpu_cores": ("CPU use", "CPU 用量"),
    "network": ("network traffic", "网络流量"), "disk": ("disk traffic", "磁盘流量"),
    "connections": ("connections", "连接数"), "requests": ("requests", "请求数"),
}  # fmt: skip
METRICS: Mapping[str, str] = {metric: name for metric, (name, _) in METRIC_NAMES.items()}

# What may be wrong with the samples of one metric.
_GAPS: Mapping[str, Pair] = {
    "no_samples": ("no samples of {metric} arrive", "收不到{metric}的采样"),
    "short_window": ("{metric} is known for too short a time", "{metric}的数据还不够长"),
    "stale_samples": ("the newest sample of {metric} is too old", "{metric}的最新采样太旧"),
    "low_coverage": ("too many samples of {metric} are missing", "{metric}缺的采样太多"),
    "mean_over_cards": (
        "of {metric} only the mean over all cards is known, and it may hide a card that works",
        "{metric}只有各卡的平均值，可能掩盖正在干活的卡",
    ),
    "cards_unknown": (
        "of {metric} it is not known how many cards there should be",
        "不知道应该有几张卡的{metric}",
    ),
    "cut": (
        "a card is cut into slices (MIG), and no source tells of {metric} of every slice",
        "有卡切成了 MIG 分片，而没有数据源给出每个分片的{metric}",
    ),
    "partial_samples": ("a part of {metric} may be missing", "{metric}的数据可能不全"),
    "card_without_samples": ("a card sends no samples of {metric}", "有一张卡没有{metric}的采样"),
}

# How the reading of a source went.
_SOURCES: Mapping[str, Pair] = {
    "denied": ("{source} may not be read", "没有权限读取{source}"),
    "failed": ("{source} could not be read", "读不到{source}"),
    "stale": ("{source} is old", "{source}已过期"),
    "skipped": ("{source} is not read", "没有读取{source}"),
    "ok": ("{source} is older than two polls", "{source}超过两次轮询没有更新"),
}
_USAGE = ("the usage of its account and region", "所在账号和地域的用量数据")

_WORK = ("{metric} saw work", "{metric}显示有负载")
_WORK_BY = ("{metric} reached {most} (idle is below {below})", "{metric}最高{most}（低于{below}才算空闲）")
_WORK_LATELY = (
    "{metric} reached {most} in the last {span} (idle is below {below})",
    "最近{span}{metric}最高{most}（低于{below}才算空闲）",
)

_SENTENCES: Mapping[str, Pair] = {
    "age_unknown": ("nobody knows how old it is", "不知道它存在了多久"),
    "amount_low": ("the balance is low", "余额低于下限"),
    "another_kind": ("the rule does not look at this kind of resource", "规则不管这种资源"),
    "attached": ("it is attached to something", "它已挂载"),
    "balance_stale": ("the balance was not read lately", "最近没有读到余额"),
    "below_limit": ("the market price is below the limit", "市场价低于上限"),
    "below_step": ("spending is below this step", "花费还没到这一档"),
    "billing_ended": ("it is off and its compute bill has ended", "已停机，计算费用已停止"),
    "billing_unknown": ("it is off, and whether it is still billed is not known", "已停机，不知道是否仍在计费"),
    "burn_unknown": (
        "what some of its boxes cost is not known, so neither is how long the balance lasts",
        "有机器单价未知，算不出余额还能用多久",
    ),
    "cap_unknown": ("its provider does not tell its maximum price", "云厂商没有给出它的出价上限"),
    "cards_undecided": ("how many cards are idle at the same time cannot be told", "判断不了同一时刻有几张卡空闲"),
    "cards_unused": ("some of its cards are never used", "有的卡从来没用过"),
    "charge_type_unknown": ("how it is paid for is not known", "不知道它的计费方式"),
    "cheap_enough": ("it costs less than the limit", "它的价格低于上限"),
    "day_quarantined": (
        "a day far above the usual looks like a mistake in the bill and is left out",
        "有一天远高于平时，疑似账单有误，未计入",
    ),
    "days_low": ("the balance does not last long enough", "余额撑不了那么久"),
    "disks_not_listed": (
        "the disks are not listed, so whether its disk still exists is not known",
        "没有读取云盘清单，不知道它的源云盘是否还在",
    ),
    "edge_missed": (
        "it should have been off, but nobody looked in time (catch_up), so it is left until the next edge",
        "本该已关机，但当时没有轮询（超过 catch_up），等下一个关机时段",
    ),
    "enough": ("there is enough left", "余量足够"),
    "expired": ("it has run out", "已到期"),
    "expiry_unknown": ("nobody knows when it ends", "不知道它何时到期"),
    "far_above_usual": ("spending is far above the usual", "花费远高于平时"),
    "forecast_reached": ("at this pace the step is reached", "按现速预测会到这一档"),
    "free_below": ("little of the quota is free", "配额所剩不多"),
    "gone": ("it is gone", "它已不存在"),
    "gpu_count_unknown": ("how many GPUs it has is not known", "不知道它有几张 GPU"),
    "gpu_not_busy": ("its GPUs are not busy all the time", "它的 GPU 并非一直繁忙"),
    "gpu_power_drawn": ("its GPUs draw the power of work", "它的 GPU 功耗说明在干活"),
    "gpus_unknown": (
        "how many GPUs it has is not known, and the limit is per GPU",
        "不知道它有几张 GPU，而上限是按每张 GPU 算的",
    ),
    "heartbeat": ("a job said that it is alive", "有任务报告自己在运行"),
    "idle": ("it is idle", "它空闲"),
    "just_started": ("it started too recently to be judged", "启动不久，还无法判断"),
    "limit_passed": ("the market price is above the limit", "市场价超过上限"),
    "low_mean": ("its cards are little used", "它的卡利用率低"),
    "market_price_stale": ("its market price was not read lately", "最近没有读到它的市场价"),
    "market_price_unknown": ("no market price is known for its type and zone", "不知道它的规格在该可用区的市场价"),
    "new_and_dear": ("it is new, and it costs more than the limit", "它是新建的，价格超过上限"),
    "no_cap": ("it has no maximum price", "它没有设置出价上限"),
    "no_gpu": ("it has no GPU that the rule could judge", "它没有这条规则能判断的 GPU"),
    "no_history": ("too few days are known for a forecast", "数据天数太少，无法预测"),
    "no_rate": ("an exchange rate is missing", "缺少汇率"),
    "no_requests": ("nobody asks it anything", "没有任何请求"),
    "no_spend": ("nothing is known of what was spent", "没有花费数据"),
    "no_ttl": ("no tag says how long it may run", "没有标签写明它可以运行多久"),
    "not_long_enough": ("not for long enough yet", "持续的时间还不够"),
    "not_prepaid": ("it is not prepaid", "它不是包年包月"),
    "not_running": ("it does not run", "它没有运行"),
    "not_soon": ("it does not end soon", "离到期还早"),
    "not_spot": ("it is no spot machine", "它不是竞价实例"),
    "not_stopped": ("it is not stopped", "它没有停机"),
    "nothing_granted": ("the quota is zero, so nothing of it can be used", "配额为零，完全不能用"),
    "off_time": ("it runs in off time", "它在关机时段运行"),
    "on_demand_limit_passed": ("the market price is near the list price or above it", "市场价接近或超过目录价"),
    "on_demand_price_unknown": ("its list price is not known", "不知道它的目录价"),
    "on_time": ("now is no off time", "现在不是关机时段"),
    "orphan": ("what it was made from is gone", "它的来源已不存在"),
    "paid_anyway": ("it is off, and what is paid for it no stop would end", "已停机，这笔费用怎么停都要付"),
    "price_unknown": ("its price is not known", "不知道它的单价"),
    "quota_stale": ("the quota was not read lately", "最近没有读到配额"),
    "requests": ("it is asked things", "有请求在用它"),
    "seen": ("the use of each card is seen", "每张卡的用量都看得到"),
    "short_history": ("too few days are known to say what is usual", "数据天数太少，不知道平时花多少"),
    "some_cards_unseen": ("the use of some cards is not seen", "有的卡看不到用量"),
    "soon": ("it ends soon", "即将到期"),
    "source_unknown": ("what it was made from is not known", "不知道它的来源"),
    "spend_stale": ("what was spent is not up to date", "花费数据不是最新的"),
    "start_unknown": ("nobody knows when it started", "不知道它何时启动"),
    "started_after": ("somebody started it after the off time had begun", "关机时段开始之后有人启动了它"),
    "state_unknown": ("whether it runs is not known now", "现在不知道它是否在运行"),
    "step_reached": ("spending has reached this step", "花费已到这一档"),
    "still_billed": ("it is off, and its compute is still billed", "已停机，计算费用仍在收"),
    "stopped": ("it has been off for long", "已停机很久"),
    "stopped_since_unknown": ("nobody knows since when it is off", "不知道它何时停机"),
    "stuck": ("its GPUs are busy on paper and draw no power", "它的 GPU 看似繁忙，功耗却很低"),
    "tagged": ("it has the tags that it must have", "该有的标签都有"),
    "tags_missing": ("tags that it must have are missing", "缺少该有的标签"),
    "tags_unreadable": ("its tags cannot be read", "读不到它的标签"),
    "too_old": ("it is older than allowed", "它超过了允许的时长"),
    "ttl_malformed": ("the tag that says how long it may run makes no sense", "写明可以运行多久的标签无法识别"),
    "unattached": ("it is attached to nothing", "它没有挂载"),
    "unattached_since_unknown": ("nobody knows since when it is attached to nothing", "不知道它何时起没有挂载"),
    "unseen": ("its GPU use is not seen", "看不到它的 GPU 用量"),
    "use_unknown": ("how much of the quota is used is not known", "不知道配额用了多少"),
    "used_above": ("much of the quota is used", "配额已用得很多"),
    "usual": ("spending is as usual", "花费与平时相当"),
    "well_used": ("it is well used", "它用得充分"),
    "young_enough": ("it is younger than allowed", "它还没到允许的时长"),
}


PAIRS: tuple[Pair, ...] = (
    *METRIC_NAMES.values(), *_GAPS.values(), *_SOURCES.values(), *_SENTENCES.values(), _USAGE,
    _WORK, _WORK_BY, _WORK_LATELY,
)  # fmt: skip


def sentence(reason: str, evidence: Evidence | None = None) -> str:
    """What ``reason`` means, with the numbers that the evidence has for it. A code from elsewhere is told as it is."""
    if reason in _SENTENCES:
        return _SENTENCES[reason][0]
    for metric, name in METRICS.items():
        code = reason.removeprefix(f"{metric}_") if reason.startswith(metric) else ""
        if code == "busy":
            return _busy(metric, name, evidence or {})
        if code in _GAPS:
            return _GAPS[code][0].format(metric=name)
    source, _, state = reason.rpartition("_")
    if state in _SOURCES:
        return _SOURCES[state][0].format(source=_USAGE[0] if source == "usage" else source)
    return reason


def _busy(metric: str, name: str, evidence: Evidence) -> str:
    """``GPU use reached 99.9% in the last 45m (idle is below 5%)``."""
    most, below, window = evidence.get(f"{metric}_max"), evidence.get(f"{metric}_below"), evidence.get("window")
    if not _number(most) or not _number(below):
        return _WORK[0].format(metric=name)
    numbers = {"metric": name, "most": amount(metric, most), "below": amount(metric, below)}
    if isinstance(window, timedelta):
        return _WORK_LATELY[0].format(**numbers, span=format_duration(window))
    return _WORK_BY[0].format(**numbers)


def _number(value: EvidenceValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def amount(metric: str, value: object) -> str:
    """A value of a metric with its unit: ``3.0%``, ``0.4 cores``, ``39.6 KB/s``."""
    assert isinstance(value, int | float), "a metric is a number"
    if metric in ("network", "disk"):
        for unit in ("B/s", "KB/s", "MB/s"):
            if value < 1000:
                return f"{value:.1f} {unit}"
            value /= 1000
        return f"{value:.1f} GB/s"
    return f"{value:.1f}{_UNITS.get(metric, '%')}"


_UNITS = {"cpu_cores": " cores", "connections": "/s", "requests": "/s"}
