"""The eight lines in both languages: every shape that the numbers can have."""

from typing import Any

import pytest

from costguard.notify.render import render
from costguard.notify.samples import SAMPLE_NOW, sample_facts


def told(language: str, **change: Any) -> list[str]:
    """Title and lines of the sample of a month, changed."""
    facts = {**sample_facts()["report"], **change}
    message = render(facts, fmt="plain", language=language, now=SAMPLE_NOW, idem_key="k")
    assert not message.plain, "rendered, not the last resort"
    return [message.title, *message.body.splitlines()]


def yuan(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "CNY"}


@pytest.mark.parametrize(
    ("change", "line", "zh", "en"),
    [
        ({"previous": None}, 1, "花费：¥16,412.00；没有前一个月的数据可比",
         "Spent: ¥16,412.00; nothing is known of the month before"),
        ({"previous": yuan("16412")}, 1, "花费：¥16,412.00，和前一个月一样",
         "Spent: ¥16,412.00, the same as the month before"),
        ({"previous": yuan("0")}, 1, "花费：¥16,412.00，比前一个月多 ¥16,412.00",
         "Spent: ¥16,412.00, ¥16,412.00 more than the month before"),
        ({"previous": {"amount": "1", "currency": "USD"}}, 1, "花费：¥16,412.00；没有前一个月的数据可比",
         "Spent: ¥16,412.00; nothing is known of the month before"),
        ({"billed": None, "difference": None, "gaps": 0}, 2, "对账：还没有账单；按单价 × 时长估算 ¥16,100.00",
         "Bill: no bill yet; estimated ¥16,100.00 (price × hours)"),
        ({"difference": yuan("200"), "gaps": 0}, 2,
         "对账：账单 ¥15,900.00（出到 2月27日），估算 ¥16,100.00；同样的日子账单比估算多 ¥200.00",
         "Bill: billed ¥15,900.00 (up to 27 Feb), estimated ¥16,100.00; for the same days the bill is ¥200.00 above "
         "the estimate"),
        ({"saved": yuan("-5"), "lost": yuan("5"), "stops": 1, "would_stops": 0}, 3,
         "节省：已确认 -¥5.00（关机 1 次），已扣掉误关机的 ¥5.00",
         "Saved: -¥5.00 confirmed (1 stop), less ¥5.00 for false stops"),
        ({"saved": yuan("0"), "lost": yuan("0"), "stops": 0, "would_stops": 1, "would_save": yuan("0")}, 3,
         "节省：没有确认的节省（关机 0 次）；演练里本可关机 1 次",
         "Saved: nothing confirmed (0 stops); the dry run would have made 1 stop"),
        ({"wasted": []}, 4, "浪费最多：没有发现", "Most wasted: nothing found"),
        ({"owners": []}, 5, "谁花得多：没有花费", "Who spent: nobody"),
        ({"decisions": {}}, 7, "要决定：没有", "To decide: nothing"),
        ({"decisions": {"zh": list("甲乙丙"), "en": list("abc")}}, 7, "要决定：3 件：甲；乙……",
         "To decide: 3: a; b; …"),
        ({"next": {"code": "nothing"}, "command": ""}, 8, "下一步：没有要做的", "Next step: nothing to do"),
        ({"next": {"code": "release", "count": 1}, "command": ""}, 8,
         "下一步：1 台关着的机器还在收云盘或 IP 的钱，不用的请释放",
         "Next step: 1 stopped box still costs money for disks or addresses: release what nobody needs"),
        ({"next": {"code": "owners", "count": 2, "name": "a", "id": "i-a"}, "command": ""}, 8,
         "下一步：给 2 台没有负责人的机器找到主人，先从 a：costguard claim i-a",
         "Next step: find the owner of 2 boxes, first of a: costguard claim i-a"),
        ({"next": {"code": "approve", "name": "a", "action": "act-1"}, "command": ""}, 8,
         "下一步：a 在等批准：costguard approve act-1", "Next step: a waits for approval: costguard approve act-1"),
        ({"next": {"code": "budget", "name": "month"}, "command": ""}, 8,
         "下一步：预算 month 已超，看钱花在哪：costguard spend --by owner",
         "Next step: budget month is overspent; see on what: costguard spend --by owner"),
    ],
)  # fmt: skip
def test_each_line_is_a_sentence_whatever_the_numbers(change: dict[str, Any], line: int, zh: str, en: str) -> None:
    assert (told("zh", **change)[line], told("en", **change)[line]) == (zh, en)


def test_a_final_first_report_is_no_draft() -> None:
    assert told("zh", stage="final")[0] == "【月报】2026年2月 花费 ¥16,412.00，已确认节省 ¥2,113.40"
    assert told("en", stage="final")[0] == "Monthly report, Feb 2026: ¥16,412.00 spent, ¥2,113.40 saved"


def test_a_week_over_two_months_and_years() -> None:
    week = {"period": "week", "start": "2025-12-28T16:00:00.000000Z", "end": "2026-01-04T16:00:00.000000Z"}
    assert told("zh", **week)[0].startswith("【周报】12月29日至1月4日 花费")
    assert told("en", **week)[0].startswith("Weekly report, 29 Dec–4 Jan 2026: ")


def test_a_hostile_name_stays_text() -> None:
    name = "<!channel> [x](https://evil.example) @所有人"
    change = {
        "wasted": [{"name": name, "amount": yuan("1"), "span": {"seconds": 3600}}],
        "owners": [{"key": name, "amount": yuan("1")}],
        "next": {"code": "owners", "count": 1, "name": name, "id": "`rm`"},
    }
    facts = {**sample_facts()["report"], **change}
    slack = render(facts, fmt="slack", language="zh", now=SAMPLE_NOW, idem_key="k")
    dingtalk = render(facts, fmt="dingtalk", language="en", now=SAMPLE_NOW, idem_key="k")
    assert "<!channel>" not in str(slack.payload)
    assert "](https://evil.example)" not in dingtalk.body
    assert not slack.plain
    assert not dingtalk.plain
