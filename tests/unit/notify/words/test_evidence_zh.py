"""Why, in Chinese numbers, per rule."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from costguard.domain.codec import encode
from costguard.domain.finding import Finding
from costguard.domain.money import Money
from costguard.notify.doc import Doc
from costguard.notify.words.en import En
from costguard.notify.words.evidence_en import sentence as english
from costguard.notify.words.evidence_zh import sentence
from costguard.notify.words.zh import Zh
from costguard.rules.registry import RULES, parse_policy
from costguard.testing.builders import NOW, make_resource, make_snapshot

ZONE = ZoneInfo("Asia/Shanghai")


def both(rule: str, evidence: dict[str, object], since: datetime | None = None) -> tuple[str, str]:
    facts = {"rule": rule, "evidence": encode(evidence), "at": encode(NOW), "since": encode(since or NOW)}
    return sentence(Zh(), Doc(facts), NOW, ZONE), english(En(), Doc(facts), NOW, ZONE)


def test_lifetime() -> None:
    evidence: dict[str, object] = {
        "age": timedelta(hours=50), "max_age": timedelta(hours=48), "counted_from": NOW - timedelta(hours=50),
        "since": "start", "over_by": timedelta(hours=2), "price": Money.of("3", "CNY"), "cost": Money.of("6", "CNY"),
        "ttl": "48h",
    }  # fmt: skip
    assert both("lifetime", evidence) == (
        "启动已 2 天 2 小时，上限 2 天（标签写的 48h），超出 2 小时，超时以来约 ¥6.00",
        "started 2 days 2 h ago, allowed 2 days (its tag says 48h), 2 h over, about ¥6.00 since",
    )
    zh, en = both("lifetime", evidence | {"timer_missed": NOW - timedelta(hours=1)})
    assert zh.endswith("¥6.00；云厂商的自动释放定时（北京时间 19:00）没有执行")
    assert en.endswith("¥6.00 since; the provider's own release timer of 19:00 UTC+8 did not act")


def test_untagged() -> None:
    assert both("untagged", {"missing": ("owner", "team"), "creator": "ram/li\nlei"}) == (
        "缺少标签 owner、team，创建者 ram/li lei",
        "tags missing: owner, team, created by ram/li lei",
    )


def test_idle_with_some_cards_and_without_a_gpu() -> None:
    zh, en = both("idle", {"window": timedelta(minutes=45), "gpu_util_max": 1.0, "gpu_util_below": 5.0,
                           "cards_expected": 8, "cards_idle": 7}, NOW - timedelta(minutes=45))  # fmt: skip
    assert "8 张卡中 7 张空闲" in zh
    assert "7 of 8 cards idle" in en
    zh, en = both("idle", {"window": timedelta(hours=2), "cpu_cores_max": 0.5, "network_max": 2_500_000.0},
                  NOW - timedelta(hours=2))  # fmt: skip
    assert zh == "空闲 2 小时，CPU 最高 0.5 核，网络最高 2.5 MB/s"
    assert en == "idle for 2 h, CPU at most 0.5 cores, network at most 2.5 MB/s"


def test_an_unknown_rule_lists_what_it_has() -> None:
    zh, en = both("novel", {"days_left": timedelta(days=2), "auto_renew": False, "zones": ("a", "b"), "at_utc": NOW})
    assert zh == "还能用 2 天，自动续费 否，zones a、b，at_utc 北京时间 20:00"
    assert en == "days left 2 days, auto renew no, zones a, b, at utc 20:00 UTC+8"


def test_no_evidence_is_no_sentence() -> None:
    assert both("idle", {}) == ("空闲 0 分钟", "idle for 0 min")
    assert both("novel", {}) == ("", "")
    assert both("lifetime", {}) == ("", "")


def test_what_the_rules_really_find_is_told() -> None:
    """The keys are the rules' own: what fires on a box that is too old and untagged has a sentence."""
    box = make_resource(started_at=datetime(2026, 3, 1, tzinfo=UTC))
    for name, when in (("lifetime", {"max_age": "1h"}), ("untagged", {})):
        policy = parse_policy({"name": "p", "rule": name, "match": "all", "when": when, "respond": [{"do": "notify"}]})
        (judged,) = RULES[name].judge(policy.when, [box], make_snapshot(box))
        assert judged.since is not None
        finding = Finding("p", "h", name, judged.subject, judged.since, judged.evidence, None, None)
        zh, en = both(name, dict(finding.evidence), finding.since)
        assert zh.startswith(("启动已", "缺少标签"))
        assert en.startswith(("started", "tags missing"))
