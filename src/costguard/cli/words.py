"""The words of the terminal that no page, message or report has, each in Chinese and English.

What those have is said in their words: ``costguard.web.words``, ``costguard.notify.words``,
``costguard.app.reports`` and ``costguard.app.replay_page``. Placeholders are ``str.format`` names, the same in both
languages (a test compares them).
"""

from datetime import timedelta
from zoneinfo import ZoneInfo

from costguard.domain.time import format_duration
from costguard.notify.doc import Doc
from costguard.notify.words import terms_zh, words
from costguard.notify.words.times import is_beijing
from costguard.web import words as pages
from costguard.web.words import Language

WORDS: dict[str, tuple[str, str]] = {
    # ── what several commands say ──
    "account": ("账号", "ACCOUNT"),
    "source": ("来源", "SOURCE"),
    "policy": ("策略", "POLICY"),
    "rule": ("规则", "RULE"),
    "box": ("机器", "BOX"),
    "seconds": ("{n} 秒", "{n}s"),
    "name": ("名称", "NAME"),
    "at": ("时间", "AT"),
    "status": ("状态", "STATE"),
    "wrote": ("已写入 {path}", "wrote {path}"),
    "warning": ("注意：{text}", "warning: {text}"),
    "banner.until": ("到 {until} 为止", "until {until}"),
    "banner.open": ("运行 `costguard resume` 才恢复", "until somebody runs `costguard resume`"),
    "banner": (
        "紧急暂停中：{by} 暂停，{ends}{why}。期间什么都不会关。",
        "PAUSED by {by} {ends}{why}. Nothing is stopped.",
    ),
    "banner.why": ("；原因：{reason}", ": {reason}"),
    "resource": ("资源", "RESOURCE"),
    "waste": ("浪费/小时", "WASTE/H"),
    "nothing": ("无", "nothing"),
    "aside": ("（{text}）", " ({text})"),
    "aside.wide": ("（{text}）", "  ({text})"),
    "state.pending": ("创建中", "pending"),
    "state.running": ("运行中", "running"),
    "state.stopping": ("停机中", "stopping"),
    "state.stopped": ("已停机", "stopped"),
    "state.deleting": ("释放中", "deleting"),
    "state.gone": ("已释放", "gone"),
    "state.unknown": ("状态未知", "unknown"),
    # ── init ──
    "init.set": (
        "请在环境变量里设置 {names}（或改用 ${{file:…}}）",
        "set {names} in the environment (or use ${{file:…}})",
    ),
    "init.next": ("下一步：costguard check{where}", "next: costguard check{where}"),
    # ── backfill ──
    "reading": ("读取中", "reading"),
    "backfill.new": ("新增", "NEW"),
    "backfill.answered": ("有数据", "ANSWERED"),
    "backfill.oldest": ("最早", "OLDEST"),
    "backfill.of": ("{n}/{of}", "{n} of {of}"),
    "backfill.none": ("没有配置账号。", "No accounts are configured."),
    "backfill.next": ("接着运行：costguard replay --since {since}", "now: costguard replay --since {since}"),
    # ── replay ──
    "replaying": ("回放中", "replaying"),
    "replay.own": ("当前配置", "configuration"),
    "replay.boxes": ("机器数", "BOXES"),
    "replay.told": ("提醒", "TOLD"),
    "replay.warned": ("预警", "WARNED"),
    "replay.stopped": ("关机", "STOPPED"),
    "replay.hour": ("1 小时内", "<1h"),
    "replay.day": ("24 小时内", "<24h"),
    "replay.saved": ("可省", "SAVED"),
    "replay.until": ("节省至", "UNTIL"),
    "replay.because": ("结束原因", "BECAUSE"),
    "replay.no_policies": ("没有策略。", "No policies."),
    "replay.unpriced": (
        "{n} 次关机的机器没有已知单价，省下多少未知，没有计入",
        "{n} stops of boxes without a known price save an unknown amount",
    ),
    "replay.stops": ("省得最多的关机", "the dearest stops"),
    "replay.none": ("不会有任何关机。", "Nothing would have been stopped."),
    "replay.notes": ("费用方面会收到的提醒", "what people would have been told of money"),
    "replay.times": ("{n} 次，最近一次 {at}", "{n} times, last {at}"),
    "replay.ahead": ("预测 {step}", "forecast {step}"),
    "replay.hits": (
        "1 小时内、24 小时内：关机后的这段时间里，机器又开始工作的次数",
        "<1h, <24h: stops whose box was at work again within an hour, a day",
    ),
    # ── doctor ──
    "doctor.ok": ("正常", "   ok"),
    "doctor.info": ("  - ", "    -"),
    "doctor.warning": ("注意", " warn"),
    "doctor.fault": ("错误", "FAULT"),
    "count.fault": ("{n} 个错误", "{n} fault"),
    "counts.fault": ("{n} 个错误", "{n} faults"),
    "count.warning": ("{n} 条注意", "{n} warning"),
    "counts.warning": ("{n} 条注意", "{n} warnings"),
    # ── check, policies, db, notify ──
    "check.later": (
        "看过一次机群之后，这里会显示每条策略匹配多少台：costguard run --once",
        "what each policy matches is shown here after a first look at the fleet: costguard run --once",
    ),
    "check.matches": ("不显示匹配数：{error}", "matches are not shown: {error}"),
    "mode.dry_run": ("演练", "dry_run"),
    "mode.enforce": ("执行", "enforce"),
    "policies.mode": ("模式", "MODE"),
    "policies.steps": ("步骤", "STEPS"),
    "policies.hook": ("（先运行脚本）", " after a hook"),
    "policies.approved": ("（要批准）", " once approved"),
    "policies.at_once": ("立即{do}", "{do} at once"),
    "policies.none": (
        "没有策略：在 policies/ 里加文件，或运行 `costguard init`。",
        "No policies: add files to policies/, or run `costguard init`.",
    ),
    "policies.fine": (" 通过  ", "   ok  "),
    "policies.wrong": (" 不符  ", " FAIL  "),
    "policies.row": ("{subject}：预期 {expected}；实际 {got}", "{subject}: expected {expected}; got {got}"),
    "policies.result": ("{passed} 个通过，{failed} 个失败", "{passed} passed, {failed} failed"),
    "policies.no_tests": (
        "没有找到测试：测试是策略旁边 tests/ 目录里的 YAML 文件",
        "no tests were found: they are YAML files in a folder tests/ beside the policies",
    ),
    "db.current": ("{address} 的表结构与本版本一致", "{address} is at this version's schema"),
    "db.restored": (
        "已恢复；未完成的动作已取消，costguard 处于紧急暂停。确认无误后运行 `costguard resume`",
        "restored; open actions are cancelled and costguard is paused. `costguard resume` when all is well",
    ),
    "kind": ("类型", "KIND"),
    "channel": ("渠道", "CHANNEL"),
    "notice.warn": ("预警", "warn"),
    "notice.notify": ("提醒", "notify"),
    "notice.result": ("结果", "result"),
    "notice.failed": ("失败", "failed"),
    "notice.kept": ("保留", "kept"),
    "notice.cleared": ("解除", "cleared"),
    "notice.no_data": ("无数据", "no_data"),
    "notice.budget": ("预算", "budget"),
    "notice.source": ("来源", "source"),
    "notice.digest": ("汇总", "digest"),
    "notice.test": ("测试", "test"),
    "notice.reminder": ("下班提醒", "reminder"),
    "notice.report": ("报告", "report"),
    "notice.approval": ("批准", "approval"),
    "notify.since": ("始于", "SINCE"),
    "notify.tries": ("次数", "TRIES"),
    "notify.none": ("没有发不出去的消息。", "No dead messages."),
    "notify.nothing": ("没有发不出去的消息，无需重发。", "No dead messages: nothing to send again."),
    "notify.again": (
        "{messages}重新排队；由守护进程发送，或运行 `costguard run --once`",
        "{messages} queued again; the daemon sends them, or `costguard run --once`",
    ),
    "count.message": ("{n} 条消息", "{n} message"),
    "counts.message": ("{n} 条消息", "{n} messages"),
    # ── bills ──
    "count.row": ("{n} 行", "{n} row"),
    "counts.row": ("{n} 行", "{n} rows"),
    "bills.files": ("文件", "FILES"),
    "bills.rows": ("行数", "ROWS"),
    "bills.billed": ("账单金额", "BILLED"),
    "bills.rounding": ("舍入差", "ROUNDING"),
    "bills.none": (
        "还没有导入过：costguard bills import FILE",
        "Nothing was imported yet: costguard bills import FILE",
    ),
    "bills.left_out": ("{n} 行未导入", "{n} left out"),
    "bills.period": ("账期起", "PERIOD FROM"),
    "bills.removed": ("移除", "REMOVED"),
    "bills.earlier": ("以前导入", "FROM EARLIER"),
    "bills.no_rows": ("没有数据行。", "No rows."),
    "bills.told": (
        "{account}：账单 {amount}（{currency}；文件合计 {exact}，逐行舍入造成的差为 {difference}）",
        "{account}: {amount} billed ({currency}; the files say {exact}, rounding rows to nanos makes {difference} of "
        "difference)",
    ),
    # ── fleet ──
    "fleet.hardware": ("配置", "HARDWARE"),
    "fleet.use": ("使用", "USE"),
    "fleet.price": ("单价/小时", "PRICE/H"),
    "fleet.up": ("已运行", "UP"),
    "fleet.status": ("说明", "STATUS"),
    "fleet.none": (
        "没有看到在运行的机器。先运行 `costguard run --once`，或看 `costguard sources`。",
        "Nothing is running that costguard knows of. Run `costguard run --once` first, or see `costguard sources`.",
    ),
    "fleet.burn": ("{n} 台运行，{costs}；其中 {idle} 台空闲，{waste}", "{n} running, {costs}; {idle} idle, {waste}"),
    "fleet.off": ("{n} 台已停机仍在计费，{costs}", "{n} off and still charged, {costs}"),
    "fleet.hidden": (
        "另有 {n} 项用 --all 查看（已停的机器、云盘、IP{also}）",
        "{n} more with --all (boxes that are off, disks, addresses{also})",
    ),
    "fleet.together": ("，合计 {costs}", ", together {costs}"),
    "fleet.unpriced": ("{n} 台单价未知", "{n} without a known price"),
    "fleet.and": ("，另有 ", " and "),
    "fleet.nothing": ("不花钱", "nothing"),
    "fleet.kept": ("{by} 保留到 {until}", "kept until {until} by {by}"),
    "fleet.charged": ("已停机仍在计费", "off, still charged"),
    "fleet.stopped": ("{policy}：{at} 已关机", "stopped {at} ({policy})"),
    "fleet.done": ("{policy}：{do}已完成", "{do} done ({policy})"),
    "fleet.failed": ("{do}失败：{error}", "{do} failed: {error}"),
    "fleet.told": ("{policy}：已提醒", "told: {policy}"),
    "fleet.and_told": ("；", "; "),
    "fleet.again": ("{policy}：{at} 再次{do}，上次失败：{error}", "{do} again {at} ({policy}): {error}"),
    "fleet.barred": ("{policy}：{why}", "{why} ({policy})"),
    "fleet.would": ("{policy}：演练，{at} 本应{do}", "would {do} at {at} ({policy})"),
    "fleet.due": ("{policy}：{at} {do}", "{do} at {at} ({policy})"),
    "fleet.warned": ("{policy}：{at} 已预警", "warned {at} ({policy})"),
    # ── findings, actions ──
    "findings.since": ("已持续", "SINCE"),
    "findings.none": ("没有发现：现在没有什么符合策略。", "No findings: nothing matches a policy right now."),
    "actions.id": ("编号", "ID"),
    "actions.do": ("动作", "DO"),
    "actions.warned": ("预警时间", "WARNED"),
    "actions.due": ("到期", "DUE"),
    "actions.none": ("还没有动作。", "No actions yet."),
    "action.proposed": ("待预警", "proposed"),
    "action.warned": ("已预警", "warned"),
    "action.deferred": ("推迟", "deferred"),
    "action.validating": ("复核中", "validating"),
    "action.preparing": ("脚本运行中", "preparing"),
    "action.revalidating": ("再次复核", "revalidating"),
    "action.executing": ("执行中", "executing"),
    "action.in_doubt": ("结果待查", "in doubt"),
    "action.verifying": ("等待确认", "verifying"),
    "action.done": ("已完成", "done"),
    "action.failed": ("失败", "failed"),
    "action.cancelled": ("已取消", "cancelled"),
    "action.superseded": ("已作废", "superseded"),
    "action.recorded": ("演练", "recorded"),
    # ── ledger ──
    "ledger.what": ("事件", "WHAT"),
    "ledger.text": ("内容", "TEXT"),
    "ledger.by": ("操作者", "BY"),
    "ledger.money": ("金额", "MONEY"),
    "ledger.none": ("台账是空的。", "The ledger is empty."),
    "ledger.finding": ("发现", "finding"),
    "ledger.cleared": ("恢复", "cleared"),
    "ledger.warning": ("预警", "warning"),
    "ledger.refused": ("不动它", "refused"),
    "ledger.deferred": ("推迟", "deferred"),
    "ledger.recorded": ("演练", "recorded"),
    "ledger.executed": ("执行", "executed"),
    "ledger.confirmed": ("确认", "confirmed"),
    "ledger.failed": ("失败", "failed"),
    "ledger.cancelled": ("取消", "cancelled"),
    "ledger.superseded": ("作废", "superseded"),
    "ledger.saving": ("节省", "saving"),
    "ledger.lever": ("人工", "lever"),
    "ledger.undo": ("重启", "undo"),
    "ledger.system": ("系统", "system"),
    # ── sources ──
    "sources.region": ("地域", "REGION"),
    "sources.count": ("数量", "COUNT"),
    "sources.age": ("多久前", "AGE"),
    "sources.error": ("错误", "ERROR"),
    "sources.none": (
        "还没有读取过。请运行 `costguard run --once`。",
        "Nothing was polled yet. Run `costguard run --once`.",
    ),
    "kind.vm": ("云主机", "vm"),
    "kind.notebook": ("开发机", "notebook"),
    "kind.job": ("任务", "job"),
    "kind.endpoint": ("在线服务", "endpoint"),
    "kind.disk": ("云盘", "disk"),
    "kind.address": ("公网 IP", "address"),
    "kind.snapshot": ("快照", "snapshot"),
    "kind.bucket": ("存储桶", "bucket"),
    "kind.gateway": ("网关", "gateway"),
    "kind.reservation": ("预留", "reservation"),
    # ── spend and audit ──
    "by.account": ("账号", "ACCOUNT"),
    "by.owner": ("负责人", "OWNER"),
    "by.team": ("团队", "TEAM"),
    "by.project": ("项目", "PROJECT"),
    "by.service": ("产品", "SERVICE"),
    "by.day": ("日期", "DAY"),
    "by.resource": ("资源", "RESOURCE"),
    "spend.estimate": ("估算", "ESTIMATE"),
    "spend.bill": ("账单", "BILL"),
    "spend.difference": ("差额", "DIFFERENCE"),
    "spend.known": ("依据", "KNOWN BY"),
    "spend.by_estimate": ("估算", "estimate"),
    "spend.by_bill": ("账单", "bill"),
    "spend.by_both": ("账单和估算", "bill and estimate"),
    "spend.total": ("合计", "total"),
    "spend.nothing": ("costguard 没有看到任何花费。", "Nothing was spent that costguard knows of."),
    "spend.legend": (
        "计入金额：一天过去满 72 小时以账单为准，此前取两者中较大的。差额：账单 − 估算，只比同样的日子。",
        "COUNTED: the bill once a day is over for 72 h, until then the larger. DIFFERENCE: bill - estimate, same days.",
    ),
    "spend.bill_of": ("{account} 的账单{reach}", "bill of {account}: {reach}"),
    "spend.reach": ("出到 {through}，{stage}", "to {through}, {stage}"),
    "spend.discount": ("差额中有 {amount} 是折扣", "discounts explain {amount} of the difference"),
    "spend.shared": ("按 `shared` 的规则分摊：{parts}", "by the rules of `shared`: {parts}"),
    "spend.assumed": ("估算中有 {amount} 没有观测到，是推算的", "not observed and assumed: {amount} of the estimate"),
    "spend.currencies": ("按币种：{parts}", "by currency: {parts}"),
    "spend.since": ("（{day} 起）", " since {day}"),
    "forecast": ("月末预测", "month's end"),
    "forecast.bounds": ("八成可能在 {low} 到 {high} 之间", "4 of 5 times {low} to {high}"),
    "forecast.dearer": (
        "以往实际花费都比这样的估算高",
        "until now it came out dearer than such an estimate",
    ),
    "forecast.cheaper": (
        "以往实际花费都比这样的估算低",
        "until now it came out cheaper than such an estimate",
    ),
    "forecast.closer": ("比{rate}准 {share}", "{share} closer than {rate}"),
    "forecast.further": ("比{rate}差 {share}", "{share} further off than {rate}"),
    "forecast.same": ("与{rate}一样准", "as close as {rate}"),
    "forecast.rate": ("按现速预测的 {amount} ", "the run rate of {amount}"),
    "forecast.a_rate": ("按现速预测", "the run rate"),
    "forecast.and": ("；", "; "),
    "budget": (
        "预算 {policy}（{key}）：已用 {spent} / {amount}（{used}%），{state}",
        "budget {policy} {key}: {spent} of {amount} ({used}%), {state}",
    ),
    "budget.ahead": ("，预测 {amount}", ", {amount} forecast"),
    "budget.elsewhere": (
        "{account} 在云厂商侧的预算 {name}（{period}）：已用 {spent} / {amount}{used}{ahead}，{state}，读取于 {read}",
        "budget {name} kept at {account} ({period}): {spent} of {amount}{used}{ahead}, {state}, read {read}",
    ),
    "audit.spent": ("已花费", "spent so far"),
    "audit.before": ("上月 {amount}", "month before: {amount}"),
    "audit.estimate": ("估算", "estimate"),
    "audit.price": ("单价 × 时长", "price x hours"),
    "audit.billed": ("账单", "billed"),
    "audit.invoiced": ("本月出账", "invoiced"),
    "audit.saved": ("已节省", "saved"),
    "audit.confirmed": ("已确认{lost}", "confirmed{lost}"),
    "audit.lost": ("，误关机损失 {amount}", ", {amount} lost to disputed stops"),
    "audit.resources": ("资源（{of} 个，列出最贵的 {n} 个）", "Resources (the {n} dearest of {of})"),
    "audit.no_resources": ("没有资源。", "No resources."),
    "audit.no_findings": ("没有发现浪费。", "No findings."),
    "audit.whole_days": ("只比两个月都完整的日子", "whole days of both"),
    "audit.why": ("原因", "WHY"),
    "audit.now": ("本月", "NOW"),
    "audit.then": ("上月", "BEFORE"),
    "audit.would": (
        "演练：{policy} 本可关机 {n} 次，少花 {amount}",
        "would have: {policy} {n} stops, {amount} not spent",
    ),
}  # fmt: skip


_BY_ENGLISH = {en: zh for zh, en in WORDS.values()}


def say(key: str, language: Language, /, **values: object) -> str:
    """The text of ``key`` in a language. Raises KeyError for an unknown key."""
    text = WORDS[key][0 if language == "zh" else 1]
    return text.format(**values) if values else text


def told(sentence: str, language: Language) -> str:
    """A sentence that a function below tells in English, in a language where it is known in that."""
    return _BY_ENGLISH.get(sentence, sentence) if language == "zh" else sentence


def source(name: str, language: Language) -> str:
    """What a source of data is called; in English by its own name."""
    if language == "en":
        return name
    whole, _, kind = name.partition(".")
    said = terms_zh.SOURCES.get(whole, whole).strip()
    return f"{said}（{say(f'kind.{kind}', language)}）" if kind else said


def rule(name: str, language: Language) -> str:
    """What a rule finds; in English by its own name."""
    return terms_zh.RULES.get(name, name) if language == "zh" else name


def reading(state: str, language: Language) -> str:
    """How the last reading of a source went; in English by its own name."""
    return terms_zh.STATES.get(state, "正常") if language == "zh" else state


def do(response: str, provider: str, language: Language) -> str:
    """What a rung does, in the provider's own word; in English as policies write it."""
    if language == "en":
        return response
    return (
        "预警" if response == "warn" else words(language).verb(Doc({"do": response, "subject": {"provider": provider}}))
    )


def step(text: str, language: Language) -> str:
    """A step of a policy, in English as ``check`` prints it (``stop at 2h30m``): ``2h30m 关机``."""
    if language == "en":
        return text
    said, notes = text, ""
    for key in ("policies.hook", "policies.approved"):
        zh, en = WORDS[key]
        if en in said:
            said, notes = said.replace(en, ""), notes + zh
    response, _, when = said.partition(" at ")
    what = do(response.replace(" ", "_"), "", language)
    return (say("policies.at_once", language, do=what) if when == "once" else f"{when} {what}") + notes


def activity(name: str, language: Language) -> str:
    """Whether a box is in use; in English by its own name."""
    return pages.word(f"activity.{name}", language) if language == "zh" else name


def state(name: str, language: Language) -> str:
    """The state of a resource."""
    return say(f"state.{name}", language)


def zone_name(zone: ZoneInfo, language: Language) -> str:
    """北京时间 where it is that, else the zone's own name."""
    return "北京时间" if language == "zh" and is_beijing(zone) else zone.key


def span(length: timedelta, language: Language) -> str:
    """``2h30m``, ``45m``, ``30s``; ``2 小时 30 分钟``: seconds only below a minute."""
    length = max(timedelta(0), length)
    if language == "zh" and length < timedelta(minutes=1):
        return say("seconds", language, n=int(length.total_seconds()))
    if length >= timedelta(minutes=1):
        length -= timedelta(seconds=length.total_seconds() % 60)
    return words(language).duration(length) if language == "zh" else format_duration(length)
