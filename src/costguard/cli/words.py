"""The words of the terminal that no page, message or report has, each in Chinese and English.

What those have is said in their words: ``costguard.web.words``, ``costguard.notify.words``,
``costguard.app.reports`` and ``costguard.app.replay_page``. Placeholders are ``str.format`` names, the same in both
languages (a test compares them).
"""

from datetime import timedelta

from costguard.domain.time import format_duration
from costguard.notify.words import terms_zh, words
from costguard.web.words import Language

WORDS: dict[str, tuple[str, str]] = {
    # ── what several commands say ──
    "account": ("账号", "ACCOUNT"),
    "source": ("来源", "SOURCE"),
    "policy": ("策略", "POLICY"),
    "rule": ("规则", "RULE"),
    "box": ("机器", "BOX"),
    "seconds": ("{n} 秒", "{n}s"),
    "wrote": ("已写入 {path}", "wrote {path}"),
    "warning": ("注意：{text}", "warning: {text}"),
    "banner.until": ("到 {until} 为止", "until {until}"),
    "banner.open": ("运行 `costguard resume` 才恢复", "until somebody runs `costguard resume`"),
    "banner": (
        "紧急暂停中：{by} 暂停，{ends}{why}。期间什么都不会关。",
        "PAUSED by {by} {ends}{why}. Nothing is stopped.",
    ),
    "banner.why": ("；原因：{reason}", ": {reason}"),
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
    "backfill.no_use": ("这家云平台不提供用量数据", "this provider tells no use"),
    "backfill.no_market": ("这家云平台不提供竞价行情", "this provider tells no market prices"),
    "backfill.no_spot": ("没有竞价实例", "no spot boxes"),
    "backfill.no_power": (
        "这家云平台不提供开关机记录：有采样的时间算作在运行",
        "this provider tells no starts and stops: a box counts as running where it has samples",
    ),
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
}  # fmt: skip


_BY_ENGLISH = {en: zh for zh, en in WORDS.values()}


def say(key: str, language: Language, **values: object) -> str:
    """The text of ``key`` in a language. Raises KeyError for an unknown key."""
    text = WORDS[key][0 if language == "zh" else 1]
    return text.format(**values) if values else text


def told(sentence: str, language: Language) -> str:
    """A sentence that a function below tells in English, in a language where it is known in that."""
    return _BY_ENGLISH.get(sentence, sentence) if language == "zh" else sentence


def source(name: str, language: Language) -> str:
    """What a source of data is called; in English by its own name."""
    return terms_zh.SOURCES.get(name, name).strip() if language == "zh" else name


def span(length: timedelta, language: Language) -> str:
    """``2h30m``, ``45m``, ``30s``; ``2 小时 30 分钟``: seconds only below a minute."""
    length = max(timedelta(0), length)
    if language == "zh" and length < timedelta(minutes=1):
        return say("seconds", language, n=int(length.total_seconds()))
    if length >= timedelta(minutes=1):
        length -= timedelta(seconds=length.total_seconds() % 60)
    return words(language).duration(length) if language == "zh" else format_duration(length)
