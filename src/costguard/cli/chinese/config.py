"""Mistakes in any file: its YAML, the shape and kind of a value, and what to write instead. Keys and what is written
for them stay as they are.
"""

import re

from costguard.notify.words.sentences import translated
from costguard.rules.reasons import Pair

# What the places of a configuration name.
THINGS = {
    "account": "账号", "owner": "负责人", "channel": "渠道", "name": "名称", "policy": "策略", "provider": "云厂商",
    "rule": "规则", "subject": "对象",
}  # fmt: skip
_UNITS = {"second": "秒", "minute": "分钟", "hour": "小时", "day": "天"}
_AMOUNT = re.compile(r"(\d+) (second|minute|hour|day)s?")
_SUPPORT = {"impossible": "不支持", "not_written": "的这一项 costguard 还没有支持", "unknown": "支不支持还不知道"}
_SAYS = re.compile(r", (?=\S+ says )")

SHAPE: tuple[Pair, ...] = (
    ("unknown key", "没有这个键"),
    ("this key is required", "必须写这个键"),
    ("the key {key} is required", "必须写 {key} 键"),
    ("duplicate key", "键重复了"),
    ("first on line {n}", "第一次出现在第 {n} 行"),
    ("first on line {n} of {file}", "第一次出现在 {file} 第 {n} 行"),
    ("duplicate policy name {name}", "策略名 {name} 重复"),
    ("unknown channel or owner {name}", "没有渠道或负责人 {name}"),
    ("duplicate {thing} {name}", "{thing} {name} 重复"),
    ("unknown {thing} {name}", "没有{thing} {name}"),
    ("no channel or owner is configured", "还没有配置任何渠道或负责人"),
    ("no {thing} is configured", "还没有配置任何{thing}"),
    ("known: {list}", "已有：{list}"),
    ("installed: {list}", "已安装：{list}"),
    ("rules: {list}", "可用的规则：{list}"),
    ("subjects: {list}", "可用的对象：{list}"),
    ("one of {list}", "可选：{list}"),
    ("write {what}", "应写 {what}"),
    ("write for: {span}", "应写 for: {span}"),
    ("a whole number is expected", "要写整数"),
    ("a whole number", "整数"),
    ("a number is expected", "要写数字"),
    ("a number", "数字"),
    ("true or false is expected", "要写 true 或 false"),
    ("true or false", "true 或 false"),
    ("a list is expected, like [a, b]", "要写列表，如 [a, b]"),
    ("a list, like [a, b]", "列表（如 [a, b]）"),
    ("a mapping is expected, like {{key: value}}", "要写映射，如 {{key: value}}"),
    ("a mapping, like {{key: value}}", "映射（如 {{key: value}}）"),
    ("a date is expected, like 2026-01-31", "要写日期，如 2026-01-31"),
    ("a date, like 2026-01-31", "日期（如 2026-01-31）"),
    ("must not be empty", "不能为空"),
    ("a value is missing here", "缺少值"),
    ("text", "文字"),
    ("text is expected here: put it in quotes", "要写文字：请加引号"),
    ("text is expected here, not a list or a mapping", "要写文字，不能是列表或映射"),
    ("expected here: {wanted}", "这里要写{wanted}"),
    ("{value} is not one of {list}", "不能写 {value}，可选：{list}"),
    ("this must be one of {list}", "只能是其中之一：{list}"),
    ("must be at least {amount}", "不能小于 {amount}"),
    ("must be more than {amount}", "必须大于 {amount}"),
    ("must be at most {amount}", "不能大于 {amount}"),
    ("must be less than {amount}", "必须小于 {amount}"),
    ("at least {n} is needed here", "至少要写 {n} 个"),
    (
        "may hold only letters, digits, - _ and . (at most 64), and starts with a letter or digit",
        "只能用字母、数字和 - _ .，最多 64 个字符，以字母或数字开头",
    ),
    ("does not have the form {pattern}", "格式不对，应符合 {pattern}"),
    ("string should have at most {n} characters", "最多 {n} 个字符"),
    ("input should be a finite number", "要写有限的数"),
)

YAML: tuple[Pair, ...] = (
    ("no such file", "没有这个文件"),
    ("{path}: no such file", "{path}：没有这个文件"),
    ("make one with `costguard init`, or name another with -c", "用 `costguard init` 生成一个，或用 -c 指定别的文件"),
    ("not UTF-8 text (byte {n})", "不是 UTF-8 文本（第 {n} 字节）"),
    ("not UTF-8 text", "不是 UTF-8 文本"),
    ("one document is expected in this file", "这个文件只能有一个 YAML 文档"),
    ("too large or too deeply nested; aliases may repeat without end", "太大，或嵌套太深：别名可能没完没了地重复"),
    ("a key must be plain text", "键必须是普通文字"),
    ("<< takes a mapping or a list of mappings", "<< 只能合并映射，或映射的列表"),
    ("YAML tags like {tag} are not used here", "这里不能用 {tag} 这样的 YAML 标签"),
    ("${{{name}}} is not a reference", "${{{name}}} 不是引用"),
    ("write ${{env:{name}}}, or $${{{text_}}} as text", "应写 ${{env:{name}}}；若就是这几个字，写 $${{{text_}}}"),
    ("environment variable {name} is not set", "环境变量 {name} 没有设置"),
    ("file {name}: {why}", "文件 {name}：{why}"),
    ("a tab cannot indent YAML", "YAML 不能用制表符缩进"),
    ("use spaces", "请用空格"),
    ("a full-width colon ： is not a colon; write : and a space", "全角冒号“：”不算冒号，要写半角 : 加空格"),
    ("put the text in quotes", "请给这段文字加引号"),
    ('a reference inside {{…}} needs quotes: "${{env:X}}"', '写在 {{…}} 里的引用要加引号："${{env:X}}"'),
    ("not YAML", "不是 YAML"),
    # The parser's own.
    ("could not find expected ':'", "缺少冒号 ':'"),
    ("mapping values are not allowed here", "这里不能再写“键: 值”：看看缩进，或给文字加引号"),
    ("mapping keys are not allowed here", "这里不能写键"),
    ("sequence entries are not allowed here", "这里不能写列表项“- …”：看看缩进"),
    ("found character {c} that cannot start any token", "{c} 不能用在开头"),
    ("found unexpected end of stream", "文件突然结束：引号或括号没有配对"),
    ("found unexpected document separator", "文档分隔符出现在引号里"),
    ("found undefined alias {name}", "没有定义别名 {name}"),
    ("found undefined tag handle {name}", "没有定义标签前缀 {name}"),
    ("found unknown escape character {c}", "不认识转义字符 {c}"),
    ("expected <block end>, but found {token}", "缩进不对，或少了符号：这里不该出现 {token}"),
    ("expected ',' or ']', but got {token}", "列表里缺少 ',' 或 ']'，却出现 {token}"),
    ("expected ',' or '}}', but got {token}", "映射里缺少 ',' 或 '}}'，却出现 {token}"),
    ("expected the node content, but found {token}", "缺少内容，却出现 {token}"),
    ("expected alphabetic or numeric character, but found {c}", "要写字母或数字，却出现 {c}"),
    ("expected a comment or a line break, but found {c}", "要换行或写注释，却出现 {c}"),
    ("expected chomping or indentation indicators, but found {c}", "| 或 > 后面不能写 {c}"),
    ("special characters are not allowed", "有不允许的特殊字符"),
    ("while constructing a mapping", "映射写得不对"),
)

# What people mean by another key (costguard.config.hints).
MEANT: tuple[Pair, ...] = (
    ("skus (machine types) or kinds (vm, disk …)", "skus（机型）或 kinds（vm、disk……）"),
    ("do: stop, in a rung of respond", "do: stop，放在 respond 的一个梯级里"),
    ("after: 30m on the rung that stops", "after: 30m，放在关机的那个梯级上"),
    ("not: {{…}}, inside match", "not: {{…}}，放在 match 里"),
    ("mode: dry_run | enforce", "mode: dry_run 或 mode: enforce"),
    (
        "access_key_secret (aliyun), secret_key (tencent) or secret_access_key (aws)",
        "access_key_secret（aliyun）、secret_key（tencent）或 secret_access_key（aws）",
    ),
    ("write ${{env:X}}", "应写 ${{env:X}}"),
)

VALUES: tuple[Pair, ...] = (
    (
        "not a duration: {value}; write a number and a unit, like 45m, 8h or 7d",
        "{value} 不是时长，要写数字加单位，如 45m、8h、7d",
    ),
    ("a duration needs a unit: write {m}, {h} or {d}", "时长要有单位：写 {m}、{h} 或 {d}"),
    ("{value} is more than 100 years", "{value} 超过了 100 年"),
    ("a percentage needs its sign: write {one} or {two}", "百分比要有百分号：写 {one} 或 {two}"),
    ("a percentage needs its sign: write {one}", "百分比要有百分号：写 {one}"),
    ("not a percentage: {value}; write it like 5%", "{value} 不是百分比，要写成 5% 这样"),
    ("money is text with a currency: write {value}", "金额要带币种：写 {value}"),
    ('not an amount: {value}; write it like "12.50 CNY"', '{value} 不是金额，要写成 "12.50 CNY" 这样'),
    (
        'not a rate: {value}; write it like "12 CNY/h" or "1.5 CNY/gpu/h"',
        '{value} 不是单价，要写成 "12 CNY/h" 或 "1.5 CNY/gpu/h" 这样',
    ),
    (
        'not a number of cores: {value}; write it like "1 core", or off',
        '{value} 不是核数，要写成 "1 core" 这样，或写 off',
    ),
    ("not a data rate: {value}; write it like 1MB/s, or off", "{value} 不是流量，要写成 1MB/s 这样，或写 off"),
    (
        "{value} is not a time zone name; write the IANA name, like {zone}",
        "{value} 不是时区名，要写 IANA 名称，如 {zone}",
    ),
    (
        "unknown time zone {value}; write an IANA name, like Asia/Shanghai",
        "没有时区 {value}，要写 IANA 名称，如 Asia/Shanghai",
    ),
    (
        'not a time of day: {value}; write it like "20:00", in quotes',
        '{value} 不是钟点，要写成 "20:00" 这样，带引号',
    ),
    ("from and to are equal; leave both out for the whole day", "from 与 to 相同；要表示全天，就都不写"),
    (
        "unknown days {value}; write workdays, restdays, daily, mon-fri or a list like [sat, sun]",
        "看不懂日子 {value}，可以写 workdays、restdays、daily、mon-fri，或 [sat, sun] 这样的列表",
    ),
    ("{value} is not an ISO 4217 currency; write {code}", "{value} 不是 ISO 4217 币种，应写 {code}"),
    (
        "{value} is not an ISO 4217 currency; write three capital letters, like CNY",
        "{value} 不是 ISO 4217 币种，要写三个大写字母，如 CNY",
    ),
    ("not an ISO 4217 currency: {value}", "{value} 不是 ISO 4217 币种"),
    ("not a finite amount: {value}", "{value} 不是有限的金额"),
    ("not a decimal amount: {value}", "{value} 不是十进制金额"),
    ("a rate is exact text: write {value}, in quotes", "汇率要写精确的文字：写 {value}，带引号"),
    (
        'not a rate: write a positive decimal number in quotes, like "7.10"',
        '不是汇率：要写正的小数，带引号，如 "7.10"',
    ),
    ("must be at least 1s", "不能小于 1s"),
    ("not GPUs: {value}; write them like 8xA800", "{value} 看不懂，GPU 要写成 8xA800 这样"),
    ("not a time: {value}; write it like 2026-06-11T20:30", "{value} 不是时间，要写成 2026-06-11T20:30 这样"),
    ("{n} cards have use, and the box has {of}", "写了 {n} 张卡的用量，而机器只有 {of} 张卡"),
)

PAIRS: tuple[Pair, ...] = (*SHAPE, *YAML, *MEANT, *VALUES)


def amount(text: str) -> str:
    """``1 day`` as ``1 天``."""
    return _AMOUNT.sub(lambda found: f"{found[1]} {_UNITS[found[2]]}", text)


def says(text: str) -> str:
    """What providers say of a capability: ``aws says impossible: why, tencent says not_written``."""
    return " " + "；".join(_said(*one.split(" says ", 1)) for one in _SAYS.split(text))


def _said(provider: str, support: str) -> str:
    level, colon, why = support.partition(": ")
    return f"{provider} {_SUPPORT.get(level, level)}" + (f"：{translated(why, 'zh')}" if colon else "")
