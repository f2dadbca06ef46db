"""Mistakes in a configuration, and what to write instead. Keys and what is written for them stay as they are."""

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

SETTINGS: tuple[Pair, ...] = (
    ("costguard.yaml is a mapping that starts with version: 1", "costguard.yaml 是一个映射，开头写 version: 1"),
    ("no such file or folder: {path}", "没有这个文件或目录：{path}"),
    ("no such file: {path}", "没有这个文件：{path}"),
    (
        "a database is sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME",
        "数据库要写 sqlite:///文件 或 postgresql+psycopg://用户:密码@主机/库名",
    ),
    ("{value} is not a region: no spaces, like cn-beijing", "{value} 不是地域：不能有空格，如 cn-beijing"),
    ("an endpoint starts with https:// or http://", "endpoint 要以 https:// 或 http:// 开头"),
    ("an address starts with https:// or http://", "网址要以 https:// 或 http:// 开头"),
    (
        "not an address: it starts with https:// (or http://) and a host",
        "不是网址：要以 https://（或 http://）加主机名开头",
    ),
    (
        "is too short to be safe: use at least 16 random characters",
        "太短，不安全：至少用 16 个随机字符",
    ),
    (
        "{host} is reachable from other machines: web.tokens needs at least one token",
        "{host} 能从别的机器访问：web.tokens 至少要有一个 token",
    ),
    (
        "http:// shows the messages, and the secret in this address, to everybody on the way",
        "http:// 会让沿途的人看到消息和网址里的密钥",
    ),
    (
        "no owner has a dingtalk user id, so nobody may press a button or write a command here",
        "没有哪个负责人写了钉钉 UserID，所以这里谁都不能点按钮或发命令",
    ),
    (
        "no owner has a slack member id or an email, so nobody may press a button or write a command here",
        "没有哪个负责人写了 Slack 成员 ID 或邮箱，所以这里谁都不能点按钮或发命令",
    ),
    ("falls back to itself: {path}", "备用渠道绕回了自己：{path}"),
    (
        "an account in enforce_accounts needs account_id, which is compared with who the credentials are",
        "enforce_accounts 里的账号必须写 account_id，用来核对凭据属于谁",
    ),
    (
        "the same account as {name}: its resources are counted twice unless the regions differ",
        "与 {name} 是同一个账号：除非地域不同，否则资源会算两遍",
    ),
    ("nothing acts: enforce_accounts is empty", "什么都不会执行：enforce_accounts 是空的"),
    (
        "{currency} is the reporting currency itself; give the rates of the others",
        "{currency} 就是报表币种；请写其他币种的汇率",
    ),
    (
        "no exchange rate for {currency}: its money is shown on its own, never added",
        "没有 {currency} 的汇率：它的金额单独显示，不计入合计",
    ),
    ("1 {currency} counts as {rate}: set exchange_rates", "1 {currency} 按 {rate} 计：请设置 exchange_rates"),
    (
        "from and to are equal; leave quiet_hours out to have none",
        "from 与 to 相同；不要静默时段，就写 quiet_hours: null",
    ),
    (
        "a report is monthly or weekly: weekday does not go with {keys}",
        "报告要么按月，要么按周：weekday 不能与 {keys} 同用",
    ),
    (
        "says nothing: give accounts, services, names, tags, teams or unallocated",
        "什么都没写：请写 accounts、services、names、tags、teams 或 unallocated",
    ),
    (
        "an empty map divides nothing: name the parts, or write even or by_cost",
        "空映射没法分摊：请写各方的份额，或写 even、by_cost",
    ),
    ("the parts are {n}% of the whole: at most 100%", "各方份额合计 {n}%，不能超过 100%"),
    (
        "among goes with even and by_cost; a map of parts names them itself",
        "among 只与 even、by_cost 同用；写了份额就已经点了名",
    ),
    (
        "{value} is no label: letters, digits and _, like instance_id",
        "{value} 不是标签名：只能用字母、数字和 _，如 instance_id",
    ),
    ("the address before /api/v1, without ? or #", "要写 /api/v1 之前的网址，不带 ? 和 #"),
    ("the address before /api/v1, without {path}", "要写 /api/v1 之前的网址，不带 {path}"),
    ("whole seconds, from 10s to 10m", "要写整秒数，从 10s 到 10m"),
    ("at most 30m: use that is older cannot speak of now", "最多 30m：更旧的用量说明不了现在"),
    ("username and password go together", "username 与 password 要一起写"),
    ("one of username, bearer_token, or a user in the url", "username、bearer_token、网址里的用户，只能写一种"),
    ("{path} holds no certificate (PEM)", "{path} 里没有证书（PEM）"),
    ("write the price of the whole machine, like {value}", "要写整台机器的价格，如 {value}"),
    ("a price is more than 0; leave the line out when it is not known", "价格要大于 0；不知道就不写这一行"),
    (
        "a price book is a list of {{provider, region, sku, price, from}}",
        "价格表是 {{provider, region, sku, price, from}} 的列表",
    ),
    (
        "a holidays file is {{CN: {{off: [DATE], work: [DATE]}}}}",
        "节假日文件要写成 {{CN: {{off: [日期], work: [日期]}}}}",
    ),
    ("not a country code of two capital letters, like CN", "不是国家代码：要写两个大写字母，如 CN"),
    ("{day} is both off and work", "{day} 既写在 off 里，又写在 work 里"),
    ("no public holidays of {country} are known", "没有 {country} 的节假日数据"),
    (
        "known are {list}; write the days of {country} in a holidays_file, or holidays: null",
        "已有 {list}；请把 {country} 的日子写进 holidays_file，或写 holidays: null",
    ),
    (
        "no adapter is installed for provider {name}; installed: {list}",
        "没有安装云厂商 {name} 的适配器；已安装：{list}",
    ),
    ("provider {name} cannot be used: {why}", "云厂商 {name} 用不了：{why}"),
    ("the adapter of provider {name} cannot be loaded: {why}", "云厂商 {name} 的适配器加载不了：{why}"),
    ("entry point {point} of provider {name} is not an Adapter", "云厂商 {name} 的入口 {point} 不是 Adapter"),
    ("its package {name} is not installed", "它的包 {name} 没有安装"),
    ("this version has no adapter for it yet", "本版本还没有它的适配器"),
    ("its manifest is that of {name}", "它的清单文件是 {name} 的"),
    ("provider {name} needs {list}: pip install {extra}", "云厂商 {name} 需要 {list}：pip install {extra}"),
    ("account {name}: no cloud {cloud} in scenario {scenario}", "账号 {name}：剧本 {scenario} 里没有云 {cloud}"),
    # Credentials.
    ("access_key_id and access_key_secret belong together", "access_key_id 与 access_key_secret 要一起写"),
    (
        "security_token needs access_key_id and access_key_secret",
        "写 security_token 就要写 access_key_id 和 access_key_secret",
    ),
    ("write one of access_key_id, profile and ecs_role", "access_key_id、profile、ecs_role 只能写一个"),
    ("external_id needs role_arn", "写 external_id 就要写 role_arn"),
    ("access_key_id and secret_access_key belong together", "access_key_id 与 secret_access_key 要一起写"),
    (
        "session_token needs access_key_id and secret_access_key",
        "写 session_token 就要写 access_key_id 和 secret_access_key",
    ),
    ("write either profile or access_key_id, not both", "profile 与 access_key_id 只能写一个"),
    ("secret_id and secret_key belong together", "secret_id 与 secret_key 要一起写"),
    ("token needs secret_id and secret_key", "写 token 就要写 secret_id 和 secret_key"),
    ("write one of secret_id, profile and role", "secret_id、profile、role 只能写一个"),
)

CHANNELS: tuple[Pair, ...] = (
    (
        "slack needs either url (incoming webhook) or token and channel (bot)",
        "slack 要写 url（incoming webhook），或 token 加 channel（机器人）",
    ),
    ("a slack bot needs channel, the id of the conversation (C…)", "slack 机器人要写 channel，即频道的 ID（C…）"),
    ("a webhook has no {list}: those are of a bot (token)", "webhook 没有 {list}：那是机器人（token）的"),
    (
        "token is the bot's (xoxb-…); this is the app-level token, which belongs into app_token",
        "token 要写机器人的（xoxb-…）；这是应用级 token，应写在 app_token",
    ),
    (
        "app_token is the app-level token (xapp-…); this is the bot's, which belongs into token",
        "app_token 要写应用级 token（xapp-…）；这是机器人的，应写在 token",
    ),
    ("a dingtalk robot needs url, the address with access_token", "钉钉群机器人要写 url，即带 access_token 的地址"),
    ("the robot's url must hold its access_token", "群机器人的 url 要带 access_token"),
    ("only mode: stream has {list}", "只有 mode: stream 才有 {list}"),
    ("dingtalk stream mode needs client_id and client_secret", "钉钉 Stream 模式要写 client_id 和 client_secret"),
    ("mode: stream has no {list}: those are of a group robot", "mode: stream 没有 {list}：那是群机器人的"),
    (
        "the bot's url must end in /open-apis/bot/v2/hook/ and its token",
        "机器人的 url 要以 /open-apis/bot/v2/hook/ 加 token 结尾",
    ),
    (
        "the robot's url must hold its key (…/cgi-bin/webhook/send?key=…)",
        "群机器人的 url 要带 key（…/cgi-bin/webhook/send?key=…）",
    ),
    ("proxy does not apply to e-mail: SMTP goes through no HTTP proxy", "邮件不能用 proxy：SMTP 不走 HTTP 代理"),
    (
        "slack's Socket Mode needs the extra: pip install {extra}",
        "Slack 的 Socket Mode 要装附加包：pip install {extra}",
    ),
    ("dingtalk stream mode needs the extra: pip install {extra}", "钉钉 Stream 模式要装附加包：pip install {extra}"),
    ("not a robot's webhook; it ends in {end}", "不是群机器人的 webhook；它以 {end} 结尾"),
    ("not a bot's webhook; it ends in {end}", "不是机器人的 webhook；它以 {end} 结尾"),
    ("not a URL; write the whole webhook address, {url}", "不是网址；请写完整的 webhook 地址，{url}"),
    ("not a URL; it starts with https:// (or http://)", "不是网址；要以 https://（或 http://）开头"),
    ("a proxy is an http:// or https:// URL", "proxy 要写 http:// 或 https:// 网址"),
    (
        "not an SMTP address; encode / ? # [ ] in the password as %2F %3F %23 %5B %5D",
        "不是 SMTP 地址；密码里的 / ? # [ ] 要写成 %2F %3F %23 %5B %5D",
    ),
    (
        "not an SMTP address: smtps://user:password@host:465, or smtp:// and port 587 for STARTTLS",
        "不是 SMTP 地址：要写 smtps://用户:密码@主机:465；STARTTLS 写 smtp:// 和端口 587",
    ),
    (
        "nothing follows the port; encode / ? # in the password as %2F %3F %23",
        "端口后面不能再有内容；密码里的 / ? # 要写成 %2F %3F %23",
    ),
    ("a user needs a password, and a password a user", "用户和密码要一起写"),
    ("user and password must be ASCII", "用户和密码只能用 ASCII 字符"),
    ("to needs at least one address", "to 至少要写一个地址"),
    ("{value} is not an e-mail address", "{value} 不是邮箱地址"),
    ("from is needed, like costguard@example.com: {why}", "要写 from，如 costguard@example.com：{why}"),
    ("the SMTP user is no e-mail address", "SMTP 用户不是邮箱地址"),
    ("smtp names no user", "smtp 里没有用户"),
    (
        "from must be an e-mail address, perhaps with a name, not {value}",
        "from 要写邮箱地址，可以带名字，不能是 {value}",
    ),
    ("the secret must be whsec_ and base64", "secret 要写成 whsec_ 加 base64"),
    ("the secret must be whsec_ and the base64 of 24 to 64 bytes", "secret 要写成 whsec_ 加 24 至 64 字节的 base64"),
    ("the secret is empty", "secret 是空的"),
    ("channel {name} cannot send in this version", "本版本还不能用渠道 {name} 发消息"),
)

POLICIES: tuple[Pair, ...] = (
    ("{path} holds no policy file", "{path} 里没有策略文件"),
    ("holds no policy", "里面没有策略"),
    ("a policy file needs the key policies", "策略文件要有 policies 键"),
    ('a file starts with "policies:" and a list', '文件开头写 "policies:" 和一个列表'),
    (
        "unknown key; a policy file has only policies (and keys that start with x-, for anchors)",
        "没有这个键；策略文件只有 policies（以及 x- 开头的键，用来放锚点）",
    ),
    ("a list of policies is expected", "要写策略的列表"),
    (
        "a policy is a mapping with name, rule, match, when and respond",
        "策略是一个映射，有 name、rule、match、when 和 respond",
    ),
    ("the name of a rule is expected", "要写规则的名称"),
    ("matches no configured account", "没有匹配到任何已配置的账号"),
    ("no account fits {name}", "没有账号符合 {name}"),
    ("policy {policy} needs {capability}; {says}", "策略 {policy} 需要 {capability}，而{says}"),
    (
        "policy {policy} needs {capability}; {says}: it will not work in {list}",
        "策略 {policy} 需要 {capability}，而{says}：在 {list} 里不起作用",
    ),
    (
        "{what} destroys, and no matched account says allow_release: true",
        "{what} 会销毁资源，而匹配到的账号都没有写 allow_release: true",
    ),
    (
        "{what} destroys, and is refused in {list}: no allow_release",
        "{what} 会销毁资源，{list} 没有写 allow_release，会被拦下",
    ),
    (
        "enforce without any channel: nobody would be warned, so nothing would ever be stopped",
        "写了 enforce 却没有渠道：没人会收到预警，所以什么都不会关",
    ),
    ("configure channels and notify.default", "请配置 channels 和 notify.default"),
    (
        "reaches nobody when the owner is not known: name a channel, or set notify.default",
        "不知道负责人时，谁都收不到：请写一个渠道，或设置 notify.default",
    ),
    ("rungs ascend: {later} comes after {earlier}", "梯级要按时间先后排：{later} 排在 {earlier} 后面了"),
    ("at names a step of a budget; use after", "at 是预算的档位；请用 after"),
    ("no step {step}: when.at has {list}", "没有 {step} 这一档：when.at 里是 {list}"),
    ("rule {rule} only tells; it never ends anything", "规则 {rule} 只提醒，从不关停"),
    ("the provider's timer destroys: it is at least 24h away", "云厂商的定时释放会销毁资源：至少设在 24 小时之后"),
    ("warn announces an action, and none follows", "warn 是动作的预告，而后面没有动作"),
    ("a policy that can stop or release needs match", "能关机或释放的策略必须写 match"),
    ("write match: all if you mean everything", "确实要管全部，就写 match: all"),
    ("an empty match is everything", "空的 match 就是全部"),
    ("nobody is warned before this {do}", "{do}之前没有预警"),
    (
        "put {{do: warn, to: [owner]}} before it, or say unwarned: true",
        "在它前面加 {{do: warn, to: [owner]}}，或写 unwarned: true",
    ),
    ("put {{do: warn, to: [owner]}} before it", "在它前面加 {{do: warn, to: [owner]}}"),
    (
        "this {do} comes {span} after the warning, and people need at least 10m",
        "预警后 {span}就{do}，而人至少需要 10 分钟",
    ),
    ("write after: {after}, or unwarned: true", "应写 after: {after}，或 unwarned: true"),
    ("{key} belongs to {one} or {two}", "{key} 只用于 {one} 或 {two}"),
    ("{key} belongs to do: {do_}", "{key} 只用于 do: {do_}"),
    ("do: {do_} needs no approval", "do: {do_} 不需要批准"),
    (
        "a stop waits until the box has been quiet for {span}, however short for is",
        "不论 for 多短，关机都要等机器安静满{span}",
    ),
    (
        "a provider takes a spot machine back with as little as 2m notice; a longer hook may be cut off",
        "抢占式/竞价实例回收前最少只有 2 分钟通知；脚本更长，可能跑不完",
    ),
    ("where is reserved for a later version; use the other keys", "where 留给以后的版本；请用其他键"),
    ("run is empty", "run 是空的"),
    ("a webhook's run is an http:// or https:// address", "webhook 的 run 要写 http:// 或 https:// 网址"),
    ("run cannot be split into words: {why}", "run 拆不成命令和参数：{why}"),
    ("no closing quotation", "引号没有配对"),
    ("no escaped character", "反斜杠后面没有字符"),
    ("do: tag needs key and value", "do: tag 要写 key 和 value"),
    ("do: set_release_time needs in: (like 24h)", "do: set_release_time 要写 in:（如 24h）"),
    ("do: run needs hook", "do: run 要写 hook"),
    ("accept_loss belongs to do: stop, not to do: {do_}", "accept_loss 只用于 do: stop，不用于 do: {do_}"),
    ("a hook belongs to a rung that acts, not to do: {do_}", "hook 只用于会动手的梯级，不用于 do: {do_}"),
    # The rules' own.
    ("spot_price needs above, above_on_demand or require_cap", "spot_price 要写 above、above_on_demand 或 require_cap"),
    ("above is a price of more than zero", "above 要写大于 0 的价格"),
    (
        "cards is all, any, or a share above 0% and up to 100%, not {value}",
        "cards 要写 all、any，或大于 0%、不超过 100% 的比例，不能是 {value}",
    ),
    (
        "cpu_only needs cpu_below: without it nothing tells an idle box from a busy one",
        "写 cpu_only 就要写 cpu_below：否则分不出空闲和忙碌",
    ),
    ("for is zero; write how long the box must be idle, like 2h", "for 是 0；要写机器空闲多久才算，如 2h"),
    ("catch_up is at least {span}: a cycle may be late without being a gap", "catch_up 至少{span}：一轮晚一点不算漏看"),
    ("unattached_for and stopped_for are more than zero, like 7d", "unattached_for 和 stopped_for 要大于 0，如 7d"),
    ("balance needs days_left_below or amount_below", "balance 要写 days_left_below 或 amount_below"),
    ("cover_holidays needs days_left_below", "写 cover_holidays 就要写 days_left_below"),
    ("lifetime needs max_age, or tag: costguard:ttl", "lifetime 要写 max_age，或 tag: costguard:ttl"),
    ("quota needs used_above or free_below", "quota 要写 used_above 或 free_below"),
    ("amount is what a period may cost: more than zero", "amount 是一个周期的预算，要大于 0"),
    ("steps ascend, each once, and are more than 0%", "档位要从小到大、不重复，且大于 0%"),
    ('a rate of more than zero, not per GPU, like "200 CNY/day"', '要写大于 0 的单价，不按 GPU 计，如 "200 CNY/day"'),
    # Tests of policies.
    ("a test is a mapping with policy, now, fleet and expect", "测试是一个映射，有 policy、now、fleet 和 expect"),
)

PAIRS: tuple[Pair, ...] = (*SHAPE, *YAML, *MEANT, *VALUES, *SETTINGS, *CHANNELS, *POLICIES)


def amount(text: str) -> str:
    """``1 day`` as ``1 天``."""
    return _AMOUNT.sub(lambda found: f"{found[1]} {_UNITS[found[2]]}", text)


def says(text: str) -> str:
    """What providers say of a capability: ``aws says impossible: why, tencent says not_written``."""
    return " " + "；".join(_said(*one.split(" says ", 1)) for one in _SAYS.split(text))


def _said(provider: str, support: str) -> str:
    level, colon, why = support.partition(": ")
    return f"{provider} {_SUPPORT.get(level, level)}" + (f"：{translated(why, 'zh')}" if colon else "")
