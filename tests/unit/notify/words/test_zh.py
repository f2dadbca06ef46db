"""Chinese times, spans and terms; that every technical sentence of a channel has its Chinese one."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from costguard.domain.codec import encode
from costguard.domain.money import Money
from costguard.notify.dingtalk.errcodes import ERRCODES, security_hint
from costguard.notify.doc import Doc
from costguard.notify.email import channel as email
from costguard.notify.feishu.codes import CODES
from costguard.notify.slack import channel as slack
from costguard.notify.slack import words as slack_words
from costguard.notify.webhook import channel as webhook
from costguard.notify.wecom import errcodes as wecom
from costguard.notify.words import terms_zh, words
from costguard.notify.words.en import En
from costguard.notify.words.zh import Zh

NOW = datetime(2026, 3, 5, 13, 0, tzinfo=UTC)
SHANGHAI = ZoneInfo("Asia/Shanghai")


@pytest.mark.parametrize(
    ("at", "zone", "expected"),
    [
        (NOW, "Asia/Shanghai", "北京时间 21:00"),
        (NOW + timedelta(hours=12), "Asia/Shanghai", "北京时间明天 09:00"),
        (NOW - timedelta(days=1), "Asia/Shanghai", "北京时间昨天 21:00"),
        (NOW + timedelta(days=20), "Asia/Shanghai", "北京时间 3月25日 21:00"),
        (NOW + timedelta(days=400), "Asia/Shanghai", "北京时间 2027年4月9日 21:00"),
        (NOW, "America/New_York", "08:00 UTC-5"),
        (NOW, "Asia/Kolkata", "18:30 UTC+5:30"),
        (NOW, "UTC", "13:00 UTC"),
        (NOW, "Pacific/Kiritimati", "03:00 UTC+14"),
    ],
)
def test_times_name_their_zone(at: datetime, zone: str, expected: str) -> None:
    """D16."""
    assert Zh().when(at, NOW, ZoneInfo(zone)) == expected


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [(0, "0 分钟"), (1, "1 分钟"), (62, "1 小时 2 分钟"), (60, "1 小时"), (1440, "1 天"), (1500, "1 天 1 小时")],
)
def test_spans(minutes: int, expected: str) -> None:
    assert Zh().duration(timedelta(minutes=minutes)) == expected


@pytest.mark.parametrize(
    ("provider", "stop", "release", "charge"),
    [
        ("aliyun", "节省停机", "释放", "抢占式实例"),
        ("tencent", "关机不收费", "销毁", "竞价实例"),
        ("aws", "关机", "终止", "竞价实例"),
        ("simulated", "关机", "释放", "竞价实例"),
    ],
)
def test_the_providers_own_words(provider: str, stop: str, release: str, charge: str) -> None:
    facts = {
        "subject": {"provider": provider, "name": "a"}, "do": "stop",
        "effect": {"ends": "yes", "still_billed": ["disks"]},
        "resource": {"charge_type": "spot"}, "price": {"amount": "1", "currency": "CNY"}, "due_in": {"seconds": 600},
    }  # fmt: skip
    speech = Zh()
    happens = "".join(span.text for span in speech.happens(Doc(facts)))
    assert happens.startswith(stop)
    assert ("云硬盘" if provider == "tencent" else "云盘") in happens
    assert charge in "".join(span.text for span in speech.cost(Doc(facts), NOW, SHANGHAI))
    assert speech.warn_title(Doc({**facts, "do": "release"}), timedelta(minutes=10)).startswith(f"10 分钟后{release}")


def test_a_stop_that_saves_nothing_says_so() -> None:
    effect = {"ends": "no", "lost": ["local_disk"], "still_billed": ["compute"]}
    told = "".join(span.text for span in Zh().happens(Doc({"do": "stop", "effect": effect})))
    assert "不省钱" in told
    assert "会失去本地盘上的数据" in told


def test_currencies_are_named_one_by_one() -> None:
    assert Zh().several((Money.of("1200", "CNY"), Money.of("3.5", "USD"))) == "¥1,200.00 + $3.50"


def test_every_technical_sentence_has_its_chinese_one() -> None:
    known = terms_zh.TECHNICAL
    sentences = {m.detail for m in ERRCODES.values()} | {m.hint for m in ERRCODES.values() if m.hint}
    sentences |= {text for m in (*CODES.values(), *wecom.ERRCODES.values()) for text in (m.detail, m.hint) if text}
    sentences |= {text for m in slack_words.WORDS.values() for text in (m.detail, m.hint) if text}
    sentences |= set(email.HINTS)
    sentences |= {*webhook._THEIRS.values(), webhook.REDIRECTED}
    sentences |= {security_hint(text) for text in ("keyword", "sign", "IP", "")} | set(slack._THEIRS.values())
    assert sorted(sentences - set(known)) == []


def test_an_unknown_language_is_an_error() -> None:
    assert words("zh").language == "zh"
    with pytest.raises(KeyError):
        words("fr")


def test_a_timer_at_the_provider_says_that_it_destroys() -> None:
    wait = encode(timedelta(hours=25))
    for do, fails in (("stop", True), ("set_release_time", False)):
        doc = Doc({"do": do, "effect": None, "release_in": wait})
        zh, en = ("".join(span.text for span in speech.happens(doc)) for speech in (Zh(), En()))
        assert zh.endswith("云厂商的定时会在 1 天 1 小时后连同云盘一起释放")
        assert en.endswith("the provider's timer destroys it and its disks after 1 day 1 h")
        assert ("万一没有成功，" in zh, "should that fail, " in en) == (fails, fails)
