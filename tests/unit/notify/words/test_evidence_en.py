"""Why, in numbers, from what the rules themselves say: the keys of evidence and of sentences are the same."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.budget import Spend
from costguard.domain.charge import Balance
from costguard.domain.codec import encode
from costguard.domain.finding import Evidence, Outcome, Subject, SubjectType
from costguard.domain.quota import QuotaFact
from costguard.domain.resource import ChargeType, Ends, Kind, Resource, State, StopEffect
from costguard.domain.snapshot import Snapshot
from costguard.domain.time import local_midnight
from costguard.domain.usage import Metric
from costguard.notify.doc import Doc
from costguard.notify.words.en import En
from costguard.notify.words.evidence_en import sentence as english
from costguard.notify.words.evidence_zh import sentence as chinese
from costguard.notify.words.zh import Zh
from costguard.rules.registry import RULES
from costguard.testing.builders import HOUR, NOW, cny, make_price, make_resource, make_snapshot, make_windows, usd

ZONE = ZoneInfo("Asia/Shanghai")
DAY = timedelta(days=1)
TODAY = NOW.astimezone(ZONE).date()
Sentences = tuple[str, str]


def told(rule: str, evidence: Evidence) -> Sentences:
    facts = Doc({"rule": rule, "evidence": encode(evidence), "at": encode(NOW), "since": encode(NOW)})
    return chinese(Zh(), facts, NOW, ZONE), english(En(), facts, NOW, ZONE)


def fired(rule: str, when: Mapping[str, Any], snapshot: Snapshot, threshold: str = "") -> Sentences:
    """What both languages say of the rule's first firing answer (of that threshold)."""
    kind = RULES[rule]
    typed = kind.when.model_validate(when)
    answers = kind.judge(typed, list(snapshot.resources.values()), replace(snapshot, timezone="Asia/Shanghai"))
    answer = next(a for a in answers if a.outcome is Outcome.FIRES and a.threshold == threshold)
    return told(rule, answer.evidence)


def seen(box: Resource, values: Mapping[Metric, Any], length: timedelta = HOUR, **fields: Any) -> Snapshot:
    return make_snapshot(box, usage={box.ref: make_windows(box, values, length=length)}, **fields)


def spent(back: int, amount: str, **fields: Any) -> Spend:
    start = local_midnight(TODAY - back * DAY, ZONE)
    defaults = {"account": "prod", "ref": None, "service": "compute", "estimated": False, "money": cny(amount)}
    return Spend(start=start, end=start + DAY, **{**defaults, **fields})


def test_stuck() -> None:
    box = make_resource(cards=2, price=cny("30"))
    snapshot = seen(box, {Metric.GPU_UTIL: [100.0, 0.0], Metric.GPU_POWER: [18.8, 17.0]})
    assert fired("stuck", {}, snapshot) == (
        "2 张卡中 1 张连续 1 小时利用率 100%，功耗最高只有上限的 18.8%（干活的卡高于 40%），"
        "没有心跳，已花约 ¥30.00：请看任务是否在空等",
        "1 of 2 cards at 100% for 1 h, yet power at most 18.8% of its limit (a working card draws over 40%), "
        "no heartbeat, about ¥30.00 so far: look whether the job waits for a peer",
    )


@pytest.mark.parametrize(
    ("util", "cpu", "zh", "en"),
    [
        ([90.0, 0.0], 1.0, "2 张卡中 1 张没人用", "1 of 2 cards unused"),
        ([20.0, 20.0], 90.0, "CPU 90/96 核；显卡在等数据", "CPU 90 of 96 cores; the cards wait for data"),
        ([20.0, 20.0], 1.0, "可换更小的卡或规格", "a smaller card or box would do"),
    ],
)
def test_underused(util: list[float], cpu: float, zh: str, en: str) -> None:
    box = make_resource(cards=2, started_at=NOW - 3 * DAY)
    found = fired("underused", {}, seen(box, {Metric.GPU_UTIL: util, Metric.CPU_CORES: cpu}, DAY))
    assert zh in found[0]
    assert en in found[1]


def test_schedule() -> None:
    evening = local_midnight(TODAY, ZONE) + 20.5 * HOUR
    box = make_resource(started_at=evening - 11 * HOUR, price=cny("10"))
    when = {"off": [{"days": "daily", "from": "20:00", "to": "08:00"}], "holidays": None}
    zh, en = fired("schedule", when, make_snapshot(box, now=evening))
    assert "起为关机时段" in zh
    assert "开到那时约 ¥115.00" in zh
    assert en.startswith("off time since ")
    assert en.endswith("¥115.00 until then")


def test_schedule_without_holiday_data() -> None:
    zh, en = told("schedule", {"off_since": NOW, "started_at": NOW, "holidays_unknown": True})
    assert zh.endswith("；没有今年的节假日数据，按星期判断")
    assert en.endswith("; the year's public holidays are not known, weekdays count")


def test_spot_price() -> None:
    box = make_resource(charge_type=ChargeType.SPOT, attributes={"zone": "a"}, spot_cap=cny("40"))
    key = {"charge_type": ChargeType.SPOT, "source": "spot"}
    prices = (
        make_price(cny("36"), zone="a", since=NOW - 2 * HOUR, **key),
        make_price(cny("9"), zone="b", **key),
    )
    assert fired("spot_price", {"above": "12 CNY/h"}, make_snapshot(box, spot_prices=prices)) == (
        "市场价 ¥36.00/h（a），限价 ¥12.00/h，已超过 2 小时，出价上限 ¥40.00/h，b 更便宜：¥9.00/h",
        "market price ¥36.00/h in a, limit ¥12.00/h, above for 2 h, your maximum ¥40.00/h, cheaper in b: ¥9.00/h",
    )
    capless = replace(box, spot_cap=None, attributes={"spot_cap": "none"})
    zh, en = fired("spot_price", {"require_cap": True}, make_snapshot(capless))
    assert "没有设置出价上限" in zh
    assert "no maximum price" in en


def test_budget() -> None:
    box = make_resource(name="train", price=cny("1"), started_at=NOW - 3 * DAY)
    rows = (spent(0, "600", ref=box.ref), spent(0, "0", money=usd("5")))
    zh, en = fired("budget", {"amount": "1000 CNY", "at": "50%"}, make_snapshot(box, spend=rows), "50%")
    assert zh.startswith("已用 ¥600.00，占预算 ¥1,000.00 的 60%，周期到")
    assert "花费最多：train ¥600.00" in zh
    assert "$5.00 没有汇率，未计入" in zh
    assert en.startswith("¥600.00 of ¥1,000.00 used (60%), period ends ")
    assert "$5.00 not counted: no exchange rate" in en
    zh, en = fired("budget", {"amount": "610 CNY"}, make_snapshot(box, spend=rows), "forecast:100%")
    assert zh.startswith("按现速预测到")
    assert en.startswith("about ¥")


def test_budget_with_an_odd_day_and_boxes_without_a_price() -> None:
    rows = (*(spent(n, "10") for n in (4, 3, 2)), spent(1, "1000000"))
    snapshot = make_snapshot(make_resource(price=None), spend=rows)
    zh, en = fired("budget", {"amount": "100 CNY", "at": "100%"}, snapshot, "100%")
    assert "疑似账单有误，不因此关机" in zh
    assert "1 台运行中的机器价格未知，未计入" in zh
    assert "¥1,000,000.00 on one day" in en
    assert "so it stops nothing" in en


def test_balance() -> None:
    purse = Balance("prod", cny("600"), cny("120"), NOW)
    box = make_resource(price=cny("10"))
    zh, en = fired("balance", {"days_left_below": "3d"}, make_snapshot(box, balances=(purse,)))
    assert zh.startswith("余额 ¥480.00（已扣除冻结 ¥120.00），按现在运行的每天消耗 ¥240.00，还能用 2 天，到")
    assert en.startswith(
        "¥480.00 left (frozen ¥120.00 taken off), ¥240.00 a day at what runs now, lasts 2 days, until "
    )


def test_anomaly() -> None:
    rows = (*(spent(n, "1000") for n in range(2, 30)), spent(1, "1500"))
    zh, en = fired("anomaly", {}, make_snapshot(spend=rows))
    assert "起的一天 ¥1,500.00，同类日子通常 ¥1,000.00（4 天的中位数），多出 ¥500.00；花费最多：compute ¥1,500.00" in zh
    assert "such days usually ¥1,000.00 (over 4 days): ¥500.00 more; most of it: compute ¥1,500.00" in en
    box = make_resource(created_at=NOW - HOUR, price=cny("80"), creator="ram/li")
    zh, en = fired("anomaly", {"new_above": "50 CNY/h"}, make_snapshot(box))
    assert zh.endswith("新建，¥80.00/h，超过 ¥50.00/h，创建者 ram/li")
    assert en.endswith(": ¥80.00/h, limit ¥50.00/h, created by ram/li")


def test_waste() -> None:
    disk = make_resource(kind=Kind.DISK, cards=0, price=cny("0.5"), size_gib=500)
    snapshot = make_snapshot(disk, unattached_since={disk.ref: NOW - 8 * DAY})
    assert fired("waste", {}, snapshot) == (
        "未挂载 8 天（500 GiB），每天 ¥12.00，至今 ¥96.00",
        "attached to nothing for 8 days (500 GiB), costs ¥12.00 a day, ¥96.00 since",
    )
    box = make_resource(state=State.STOPPED, stopped_at=NOW - 20 * DAY)
    part = make_resource("d-1", kind=Kind.DISK, cards=0, depends_on="i-1", name="data", price=cny("1"))
    assert fired("waste", {}, make_snapshot(box, part)) == (
        "已停机 20 天，仍保留 data，每天 ¥24.00，至今 ¥480.00",
        "stopped for 20 days, still there: data, costs ¥24.00 a day, ¥480.00 since",
    )


@pytest.mark.parametrize(
    ("provider", "again", "zh", "en"),
    [
        ("aliyun", True, "请启动后选“节省停机”模式重新停机", "start it and stop it again in economical mode"),
        ("aliyun", False, "不支持节省停机：请备份数据后释放，或者用起来", "save its data and release it"),
        ("tencent", True, "请开机后选“关机不收费”重新关机", "stop it again with 'No charges when shut down'"),
        ("tencent", False, "请备份数据后销毁/退还，或者用起来", "save its data and terminate it"),
        ("simulated", True, "请启动后换成能停止计费的方式重新停机", "stop it again in the way that ends the bill"),
        ("simulated", False, "怎么停都照收：请备份数据后释放，或者用起来", "no stop ends its bill"),
    ],
)
def test_still_billed(provider: str, again: bool, zh: str, en: str) -> None:
    effect = StopEffect(Ends.NO, ("compute", "disks"), stop_again=again)
    box = make_resource(provider=provider, state=State.STOPPED, stop_effect=effect, price=cny("30"))
    found = fired("still_billed", {}, make_snapshot(replace(box, stopped_at=NOW - 3 * HOUR)))
    assert found[0].startswith("已停机 3 小时，计算费用仍在收，停机以来约 ¥90.00；")
    assert found[1].startswith("off for 3 h, and compute is still billed, about ¥90.00 since; ")
    unpriced = fired("still_billed", {}, make_snapshot(replace(box, price=None, stopped_at=None)))
    assert unpriced[0].startswith("已停机，计算费用仍在收；")
    assert unpriced[1].startswith("off, and compute is still billed; ")
    for told_zh, told_en in (found, unpriced):
        assert zh in told_zh
        assert en in told_en


def test_unmonitored() -> None:
    box = make_resource(provider="aliyun")
    assert fired("unmonitored", {}, make_snapshot(box)) == (
        "2 小时没有 GPU 用量，占这些 GPU 机器花费的 100%，无法判断是否空闲；请安装 NVIDIA 驱动和云监控插件",
        "GPU use not seen for 2 h, 100% of what these GPU boxes cost, so idleness can't be told; "
        "install the NVIDIA driver and the CloudMonitor agent",
    )
    small = told("unmonitored", {"window": 2 * HOUR, "cards_seen": 0, "cards_expected": 1, "share": 0.006})
    assert all("0.6%" in text for text in small)
    some = make_resource(cards=2)
    zh, en = fired("unmonitored", {}, seen(some, {Metric.GPU_UTIL: [5.0]}, 2 * HOUR))
    assert zh.startswith("2 小时没有 2 张卡中 1 张的用量")
    assert en.startswith("use of 1 of 2 cards not seen")
    assert "costguard heartbeat" in en


def test_quota() -> None:
    quota = QuotaFact("prod", "cn-north", "GPU cards", 100, 96, "cards", NOW)
    assert fired("quota", {"used_above": "80%"}, make_snapshot(quotas=(quota,))) == (
        "GPU cards（cn-north）已用 96/100 cards，占 96%，剩余 4",
        "GPU cards in cn-north: 96 of 100 cards used (96%), 4 free",
    )


@pytest.mark.parametrize(
    ("renew", "zh", "en"),
    [
        ({"auto_renew": "yes"}, "自动续费已开", "renews by itself"),
        ({"auto_renew": "no"}, "自动续费未开", "does not renew by itself"),
        ({}, "自动续费未知", "renewal unknown"),
    ],
)
def test_expiry(renew: dict[str, str], zh: str, en: str) -> None:
    box = make_resource(charge_type=ChargeType.PREPAID, expires_at=NOW + 3 * DAY, attributes=renew)
    found = fired("expiry", {}, make_snapshot(box, month_use={box.ref: 3.25}))
    assert f"还有 3 天，{zh}，最近 30 天显卡平均利用率 3.2%，每月 ¥" in found[0]
    assert f", in 3 days, {en}, cards at 3.2% over the last 30 days, ¥" in found[1]
    unseen = fired("expiry", {}, make_snapshot(replace(box, expires_at=NOW - DAY)))
    assert "已过期" in unseen[0]
    assert "没有用量数据" in unseen[0]
    assert "over, " in unseen[1]
    assert "use not seen" in unseen[1]


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "idle"])
def test_evidence_of_an_older_version_is_listed_and_never_breaks(rule: str) -> None:
    zh, en = told(rule, {"something": 5})
    assert zh == "something 5"
    assert en == "something 5"


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_name_in_both_languages(rule: str) -> None:
    subject = Subject(SubjectType.BUDGET, "x", name="x")
    facts = Doc({"rule": rule, "subject": {"type": subject.type.value, "id": "x", "name": "x"}})
    assert rule not in Zh().notify_title(facts)
    assert not En().notify_title(facts).startswith(rule)
