"""Mistakes in costguard.yaml: accounts, prices, calendars, people and channels."""

from costguard.rules.reasons import Pair

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
    (
        "there is no scenario {name}: write {list}, or the path of a .yaml file",
        "没有剧本 {name}：请写 {list}，或一个 .yaml 文件的路径",
    ),
    ("not an ISO 8601 time with a zone: {value}", "不是带时区的 ISO 8601 时间：{value}"),
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

PAIRS: tuple[Pair, ...] = (*SETTINGS, *CHANNELS)
