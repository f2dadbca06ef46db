"""Remarks: the sentences of reports, in both languages. What a number leaves out is said beside it."""

from collections.abc import Mapping
from typing import Literal

Language = Literal["zh", "en"]

_TEXTS: Mapping[str, tuple[str, str]] = {
    "no_rate": (
        "no exchange rate for {currency}: {amount} is not in the totals",
        "没有 {currency} 的汇率：{amount} 未计入合计",
    ),
    "unpriced": (
        "{count} running resources have no known price and are not in the totals",
        "{count} 个运行中的资源没有已知价格，未计入合计",
    ),
    "assumed": (
        "{amount} of the estimate was not observed ({count} intervals) and is assumed from the last start or look",
        "估算中的 {amount} 没有观测到（{count} 段），按上次开机或上次查看时的状态推算",
    ),
    "otherwise": (
        "{counted} of the estimate ({count} resources) was counted before the price book had this price; by the book "
        "it is {booked}. What is past is not counted anew: its bill replaces it",
        "估算中的 {counted}（{count} 个资源）在价格表写入新价之前就已计入，按现在的价格表是 {booked}。"
        "过去的估算不会重算，账单到了以账单为准",
    ),
    "source": ("{account}/{region} {source}: {state}: {error}", "{account}/{region} {source}：{state}：{error}"),
    "no_bill": (
        "{account}: no bill of this time is known; its money is an estimate (price x hours)",
        "{account}：这段时间还没有账单，金额为估算（单价 × 时长）",
    ),
    "other_currency": (
        "{account}: the bill is in {bill}, the account is set to {currency}",
        "{account}：账单币种为 {bill}，账号设置为 {currency}",
    ),
    "left_from_earlier": (
        "{account}: {count} rows of the period from {period} are from an earlier import and not in these files; "
        "--replace takes them out",
        "{account}：{period} 起的账期中有 {count} 行来自之前的导入，不在这些文件中；用 --replace 移除",
    ),
    "repeated_rows": (
        "{count} rows stand in more than one of the files and count once",
        "{count} 行在多个文件中重复出现，只计一次",
    ),
    "left_out": (
        "{count} rows of accounts that are not configured were left out: {ids}",
        "有 {count} 行属于未配置的账号，未导入：{ids}",
    ),
    "failed": ("{name}: {policy} failed and holds: {error}", "{name}：{policy} 执行失败，等待人工处理：{error}"),
    "approval": ("{name}: {policy} waits for an approval ({id})", "{name}：{policy} 等待批准（{id}）"),
    "no_owner": (
        "{count} running resources have no owner: tag or claim them",
        "{count} 个运行中的资源没有负责人：请打标签或认领",
    ),
    "over_budget": (
        "{policy}: {spent} of {amount} spent ({used}%)",
        "{policy}：已用 {spent}，预算 {amount}（{used}%）",
    ),
    "budget_risk": (
        "{policy}: at this pace {forecast} by the end of the period, the budget is {amount}",
        "{policy}：按现速预测期末 {forecast}，预算 {amount}",
    ),
    "no_budgets": (
        "no budget is set: there is no configuration; `costguard init` makes one with budgets to change",
        "没有设置预算：当前没有配置文件；`costguard init` 会生成一份，其中的预算可修改",
    ),
    "stopped_still_costs": (
        "{count} stopped boxes still cost {amount} per hour (disks, addresses): release what nobody needs",
        "{count} 台已关机的机器每小时仍花费 {amount}（云盘、IP）：不用的请释放",
    ),
}


def remark(language: Language, code: str, **values: object) -> str:
    """The sentence of a code. Money, counts and names are formatted as they are."""
    return _TEXTS[code][1 if language == "zh" else 0].format(**values)
