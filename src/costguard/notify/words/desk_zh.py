"""值班台：点按钮、写命令的人得到的回答，中文。"""

from datetime import timedelta

from costguard.notify.words import terms_zh as t
from costguard.notify.words.desk import DeskWords
from costguard.notify.words.zh import Zh

_EXAMPLES = {
    "keep": "保留 train-03 2小时", "unkeep": "取消保留 train-03",
    "why": "为什么 train-03", "claim": "认领 test1",
}  # fmt: skip


class DeskZh(DeskWords):
    words = Zh()
    reason = "在聊天里点的保留"
    false_alarm = "误报"
    examples = _EXAMPLES
    help = """可以这样说：
保留 train-03 2小时 · 保留 train-03 到 09:00 · 保留 train-03 到空闲
取消保留 train-03
状态 · 谁在烧钱 · 为什么 train-03
认领 test1
暂停 · 暂停 2小时 · 恢复（管理员）"""

    def stranger(self, shown: str, handle: str) -> str:
        return f"costguard 不认识 {shown}。请管理员在 costguard.yaml 的 owners 里写上 {handle}。"

    def not_yours(self, name: str, owner: str, admins: str) -> str:
        also = f"或管理员（{admins}）" if admins else ""
        return f"{name} 的负责人是 {owner}，只有本人{also}可以这样做。"

    def unowned(self, name: str, admins: str) -> str:
        also = f"，或者请管理员（{admins}）处理" if admins else ""
        return f"{name} 还没有负责人。是你的就先认领：点“是我的”，或写“认领 {name}”{also}。"

    def admins_only(self, admins: str) -> str:
        return (
            f"只有管理员可以这样做：{admins}。" if admins else "只有管理员可以这样做；costguard.yaml 里还没有 admins。"
        )

    def kept(self, who: str, name: str, until: str) -> str:
        return f"{who} 保留 {name} 到{until}"

    def kept_until_idle(self, who: str, name: str, until: str) -> str:
        return f"{who} 让 {name} 跑完：空闲之后再预警、再关机（最晚保留到{until}）"

    def unkept(self, who: str, name: str) -> str:
        return f"{who} 取消了 {name} 的保留"

    def stopping(self, who: str, name: str) -> str:
        return f"{who} 要求现在关机 {name}：再看一次，没人在用就关"

    def claimed(self, owner: str, name: str) -> str:
        return f"{name} 由 {owner} 认领；要关机的话会重新预警"

    def disputed(self, who: str, name: str) -> str:
        return f"{who}：误报，已记入台账；{name} 7 天内只演练、不关机"

    def alarmed(self, who: str, name: str, until: str) -> str:
        return f"{who}：误报，已记入台账；{name} 保留到{until}"

    def approved(self, who: str, name: str) -> str:
        return f"{who} 批准：{name}；动手前会再看一次"

    def started(self, who: str, name: str) -> str:
        return f"{who} 要求重新启动 {name}，已向云平台发出"

    def paused(self, who: str, until: str) -> str:
        return f"{who} 紧急暂停：{f'{until} 之前' if until else '有人恢复之前'}什么都不会关"

    def resumed(self, who: str) -> str:
        return f"{who} 恢复：所有预警从头开始，重新预警、重新计宽限期"

    def already_kept(self, by: str, name: str, until: str, until_idle: bool) -> str:
        return f"{name} 已由 {by} 保留到{'空闲为止，最晚' if until_idle else ''}{until}"

    def under_way(self, name: str) -> str:
        return f"来不及了：{name} 正在关机。关好之后可以点“重新启动”。"

    def already_stopped(self, name: str, at: str) -> str:
        return f"{name} 已在{at} 关机；要用就点结果消息里的“重新启动”"

    def already_asked(self, by: str, name: str) -> str:
        return f"{by} 已要求现在关机 {name}，正在处理"

    def already_owned(self, owner: str, name: str) -> str:
        return f"{name} 的负责人已经是 {owner}"

    def already_disputed(self, by: str, name: str) -> str:
        return f"{by} 已标记误报：{name}"

    def already_approved(self, by: str, name: str) -> str:
        return f"{by} 已批准：{name}"

    def already_started(self, by: str, name: str) -> str:
        return f"{by} 已要求重新启动 {name}"

    def runs_again(self, name: str) -> str:
        return f"{name} 已经在运行"

    def over(self, name: str) -> str:
        return f"这条消息已经失效：{name} 的情况变了，现在没有要做的事"

    def not_waiting(self, name: str) -> str:
        return f"{name} 现在不需要批准"

    def not_paused(self) -> str:
        return "现在没有暂停"

    def not_kept(self, name: str) -> str:
        return f"{name} 现在没有保留"

    def busy(self, name: str) -> str:
        return f"{name} 正在使用，不关。可以点“空闲后关机”。"

    def no_use_known(self, name: str) -> str:
        return f"看不到 {name} 的用量，按使用中对待，不关。"

    def blocked(self, name: str, code: str) -> str:
        return f"{name} 现在不会关：{self.guard(code)}。"

    def guard(self, code: str) -> str:
        return t.CODES.get(code, code)

    def gone(self) -> str:
        return "costguard 已经没有这条消息的记录。"

    def not_done(self) -> str:
        return "没有执行：costguard 暂时读写不了数据库，请过一分钟再试。"

    def not_started(self, name: str, error: str) -> str:
        return f"没能重新启动 {name}：{error}"

    def too_long(self, longest: str) -> str:
        return f"一次最长保留 {longest}。"

    def no_such(self, text: str, near: str) -> str:
        return f"没有叫 {text} 的资源" + (f"；是不是 {near}？" if near else "。写“谁在烧钱”可以看到在运行的。")

    def several(self, text: str, refs: str) -> str:
        return f"叫 {text} 的不止一台，请写编号：{refs}"

    def unknown_command(self, text: str, near: str) -> str:
        start = f"看不懂“{text}”。" + (f"是不是“{near}”？" if near else "")
        return f"{start}\n{self.help}"

    def needs_resource(self, example: str) -> str:
        return f"要写是哪一台，比如：{example}"

    def bad_time(self, text: str) -> str:
        return f"看不懂时间“{text}”。写 2小时、30分钟、1天、到 09:00 或 到空闲。"

    def here(self) -> str:
        return "从现在起，costguard 的通知发到这个群。"

    def conversation(self, shown: str) -> str:
        return f"这个群的编号是 {shown}，请管理员把它写到这个渠道的 conversation。"

    def status_title(self, running: int, idle: int, unknown: int, cost: str, paused: str | None, dry_run: bool) -> str:
        parts = [
            f"{running} 台在运行",
            f"{idle} 台空闲" if idle else "",
            f"{unknown} 台没有用量数据" if unknown else "",
        ]
        first = "，".join(part for part in parts if part) + (f"，合计 {cost}" if cost else "")
        notes = ["【演练】什么都不会真的关机" if dry_run else "", _paused(paused)]
        return "\n".join([first, *(note for note in notes if note)])

    def status_box(self, name: str, verb: str, due: str) -> str:
        return f"· {name} {due or '预警送达后'} {verb}"

    def nothing_due(self) -> str:
        return "没有要关机的。"

    def burning_title(self, cost: str, wasted: str) -> str:
        return f"现在每小时 {cost}" + (f"，其中空闲的 {wasted}" if wasted else "，没有空闲的")

    def burning_box(self, name: str, cost: str, activity: str, owner: str) -> str:
        return f"· {name} {cost or '单价未知'} · {activity} · {owner or '无负责人'}"

    def nothing_runs(self) -> str:
        return "没有在运行的机器。"

    def why_title(self, name: str, activity: str, cost: str, owner: str) -> str:
        return f"{name}：{activity}" + (f"，{cost}" if cost else "") + f"，负责人 {owner or '未知'}"

    def why_kept(self, by: str, until: str, reason: str) -> str:
        return f"{by} 保留到{until}" + (f"，理由：{reason}" if reason else "")

    def why_ladder(self, policy: str, evidence: str, verb: str, due: str, held: str) -> str:
        what = f"{due} {verb}" if due else f"将{verb}" if verb else "只提醒"
        blocked = f"，但会被拦下：{held}" if held else ""
        return f"· 策略 {policy}：{evidence or '符合条件'}；{what}{blocked}"

    def why_nothing(self) -> str:
        return "没有策略要对它做什么。"

    def activity(self, activity: str, idle_for: timedelta | None = None) -> str:
        if activity == "idle" and idle_for:
            return f"空闲 {self.words.duration(idle_for)}"
        return "已停止" if activity == "off" else t.ACTIVITY.get(activity, t.ACTIVITY["unknown"])


def _paused(until: str | None) -> str:
    if until is None:
        return ""
    return f"紧急暂停中，到{until}" if until else "紧急暂停中"
