"""A command line that cannot be understood, or asks for what makes no sense, and what ends a command: Click's words,
and ours. A placeholder's name says how its value is carried over (:mod:`costguard.cli.chinese`).
"""

from costguard.rules.reasons import Pair

CLICK: tuple[Pair, ...] = (
    ("No such option: {option}", "没有这个选项：{option}"),
    ("No such option: {option} (Possible options: {list})", "没有这个选项：{option}（是不是想写 {list}？）"),
    ("No such option: {option} Did you mean {list}?", "没有这个选项：{option}（是不是想写 {list}？）"),
    ("No such command {name}.", "没有这个命令：{name}"),
    ("No such command {name}. Did you mean {list}?", "没有这个命令：{name}（是不是想写 {list}？）"),
    ("Missing command.", "缺少命令"),
    ("Missing argument '{metavar}'.", "缺少参数：{metavar}"),
    ("Missing option {option}.", "缺少选项 {option}"),
    ("Invalid value for '{metavar}': {why}", "{metavar}的值不对：{why}"),
    ("Invalid value for {option}: {why}", "{option} 的值不对：{why}"),
    ("Invalid value: {why}", "值不对：{why}"),
    ("Option {option} requires an argument.", "选项 {option} 要带一个值"),
    ("Option {option} does not take a value.", "选项 {option} 不带值"),
    ("Got unexpected extra argument(s) ({words})", "多余的参数：{words}"),
    ("Got unexpected extra argument ({words})", "多余的参数：{words}"),
    ("Got unexpected extra arguments ({words})", "多余的参数：{words}"),
    ("Input should be a valid integer, unable to parse string as an integer", "要写整数"),
    ("Input should be a valid number, unable to parse string as a number", "要写数字"),
    ("Input should be greater than or equal to {n}", "最小是 {n}"),
    ("Input should be less than or equal to {n}", "最大是 {n}"),
    ("Input should be a finite number", "要写有限的数"),
    ("path {path} does not exist.", "{path} 不存在"),
    ("file {path} does not exist.", "文件 {path} 不存在"),
)

LINE: tuple[Pair, ...] = (
    ("{name} is zh or en, not {value}", "{name} 只能是 zh 或 en，不能是 {value}"),
    ("--format is one of {list}", "--format 只能是 {list} 之一"),
    ("say one of --for 4h, --until TIME, --until-idle", "--for 4h、--until 时间、--until-idle 三者写一个"),
    ("--max goes with --until-idle", "--max 只能与 --until-idle 同用"),
    ("--account and --known-only exclude each other", "--account 与 --known-only 不能同时用"),
    ("--month and --since exclude each other", "--month 与 --since 不能同时用"),
    ("explain needs a RESOURCE (perhaps with --at), or --action ID", "explain 要写资源（可加 --at），或 --action 编号"),
    (
        "--until is a time like 2026-12-01T09:00+08:00, not {value}",
        "--until 要写成 2026-12-01T09:00+08:00 这样的时间，不能是 {value}",
    ),
    (
        "--until needs its zone: write {value} for Beijing time",
        "--until 要带时区：北京时间写 {value}",
    ),
    (
        "--since is a day like 2026-11-01 or a span like 30d, not {value}",
        "--since 要写日期（如 2026-11-01）或时长（如 30d），不能是 {value}",
    ),
    ("--since is longer than an hour", "--since 要大于 1 小时"),
    ("spend is summed by {list}; not by {value}", "spend 可以按 {list} 汇总，不能按 {value}"),
    ("not a month: {value}; write it like 2026-11", "不是月份：{value}，写成 2026-11 这样"),
    ("that has not begun", "还没开始"),
    ("{month} has not begun", "{month} 还没开始"),
    ("that moment is still to come: explain tells of now and of what was", "那一刻还没到：explain 只说现在和过去"),
    (
        "--server is a URL like http://127.0.0.1:8787, not {value}",
        "--server 要写网址，如 http://127.0.0.1:8787，不能是 {value}",
    ),
    ("{value} is not HOST:PORT, like 127.0.0.1:8787", "{value} 不是“地址:端口”，要写成 127.0.0.1:8787 这样"),
    (
        "{listen} is taken ({why}); try --listen 127.0.0.1:8788",
        "{listen} 被占用（{why}），可以试试 --listen 127.0.0.1:8788",
    ),
    ("no adapter for {list}", "没有 {list} 的适配器"),
    ("no adapter for {list} in this version", "本版本没有 {list} 的适配器"),
    ("already there, nothing was written: {list}", "已经存在，什么都没写：{list}"),
    ("{path} cannot be written: {why}; choose another folder", "{path} 写不了：{why}。请换一个目录"),
    ("{path} cannot be written: {why}", "{path} 写不了：{why}"),
    ("{path} cannot be read: {why}", "{path} 读不了：{why}"),
    ("{file} exists: name another file, or say --force", "{file} 已存在：换个文件名，或加 --force"),
    ("no such file or folder: {list}", "没有这个文件或目录：{list}"),
    ("{path} is no policy file and no folder with one", "{path} 不是策略文件，也不是放策略的目录"),
    ("no account {name}", "没有账号 {name}"),
    ("no account is called {name}", "没有账号 {name}"),
    ("no channel {name}: none is configured", "没有渠道 {name}：还没有配置任何渠道"),
    ("no channel {name}; channels:", "没有渠道 {name}。已有的渠道："),
    ("no channel {name} ({why}); channels:", "没有渠道 {name}（{why}）。已有的渠道："),
    ("did you mean {name}?", "是不是想写 {name}？"),
    (
        "the bill is of accounts that are not configured: set account_id, or give their rows to one with --account "
        "NAME (configured: {accounts}), or leave them out with --known-only. Found:",
        "账单里有没配置的账号：写上 account_id，或用 --account 名称 把这些行归到一个账号（已配置：{accounts}），"
        "或用 --known-only 跳过。未配置的有：",
    ),
    ("{account}: {n} rows", "{account}：{n} 行"),
    (
        "{verb} is for SQLite; for Postgres use pg_dump and pg_restore",
        "{verb} 只用于 SQLite；Postgres 请用 pg_dump 和 pg_restore",
    ),
)

LEVERS: tuple[Pair, ...] = (
    (
        "no resource is called {name}; {meant}`costguard fleet` lists what is known",
        "没有名为 {name} 的资源；{meant}用 `costguard fleet` 看已知的资源",
    ),
    ("{name} fits {n} resources; write one of these in full", "{name} 对得上 {n} 个资源，请写完整："),
    ("say why: --reason is what the others will read", "请用 --reason 写明原因，大家会看到"),
    ("say why: --reason is what the next reader learns from", "请用 --reason 写明错在哪里，给后来的人看"),
    ("{at} is in the past", "{at} 已经过去"),
    ("at most {span} at a time (notify.keep_max)", "一次最多保留 {span}（notify.keep_max）"),
    ("{name} is not kept", "{name} 没有被保留"),
    (
        "{name} is {owner}'s; they or an operator may give it away",
        "{name} 的负责人是 {owner}，只有本人或管理员能转给别人",
    ),
    ("a heartbeat holds for up to 24h", "心跳最长 24 小时"),
    ("nothing is paused", "现在没有紧急暂停"),
    ("action {id} is {state}; there is nothing to cancel", "动作 {id} {state}，没有什么可取消"),
    (
        "action {id} has already called the provider; use `costguard undo {again}`",
        "动作 {id} 已经向云厂商发出；停好以后用 `costguard undo {again}` 重新启动",
    ),
    ("action {id} does not wait for an approval", "动作 {id} 没有在等批准"),
    ("action {id} is {state}; there is nothing to bring forward", "动作 {id} {state}，没有什么可提前"),
    ("action {id} announces no stop", "动作 {id} 不是关机"),
    ("action {id} stopped nothing; there is nothing to dispute", "动作 {id} 没有关过机器，没有误关机可标记"),
    ("no action {id}; `costguard actions` lists them", "没有动作 {id}；用 `costguard actions` 查看"),
    ("no action {id}", "没有动作 {id}"),
    ("{person} may not act for a resource without owner", "{person} 不能操作没有负责人的资源"),
    ("{person} may not act for {owner}", "{person} 不能替 {owner} 操作"),
    ("{person} may not pause or resume; an operator may", "{person} 不能暂停或恢复，只有管理员可以"),
    ("{person} may not act on {name}", "{person} 不能操作 {name}"),
    (
        "action {id} is no finished stop; only what costguard stopped can be started again",
        "动作 {id} 不是已完成的关机；只能重新启动 costguard 关掉的机器",
    ),
    ("account {account} is no longer configured", "账号 {account} 已不在配置里"),
    ("{provider} cannot start anything", "{provider} 不支持启动"),
    (
        "this process cannot start anything; use the command line where costguard runs",
        "这个进程不能启动机器；请到 costguard 运行的地方用命令行",
    ),
    ("no cycle has finished yet", "还没有跑完一轮"),
    ("{key} is needed, as text", "要写 {key}，是一段文字"),
    (
        "{key} is an instant with a zone, like 2026-12-01T09:00:00+08:00",
        "{key} 是带时区的时刻，如 2026-12-01T09:00:00+08:00",
    ),
    ("{key}: {mistake}", "{key}：{mistake}"),
    ("{why} (set COSTGUARD_TOKEN)", "{why}（请设置 COSTGUARD_TOKEN）"),
)

ENDS: tuple[Pair, ...] = (
    ("{server} does not answer: {why}", "{server} 没有应答：{why}"),
    (
        "{server} is no costguard: it answered {status} without JSON",
        "{server} 不是 costguard：返回 {status}，且不是 JSON",
    ),
    ("{server} is no costguard: its answer is no object", "{server} 不是 costguard：应答不是对象"),
    ("it answered {status}", "返回 {status}"),
    (
        "web.listen {address} cannot be used: {why}. Another costguard may run there: end it, or set web.listen to a "
        "free port",
        "web.listen {address} 用不了：{why}。可能已有一个 costguard 在那里运行：请先停掉它，"
        "或给 web.listen 换一个空闲端口",
    ),
    (
        "the database's schema is {found}, this version needs {head}: run `costguard db upgrade`",
        "数据库的表结构是 {found}，本版本需要 {head}：请运行 `costguard db upgrade`",
    ),
    (
        "the database's schema {found} is unknown here: a newer costguard has used it; install that version",
        "不认识数据库的表结构 {found}：它被更新版本的 costguard 用过，请安装那个版本",
    ),
    ("the database is not a URL like sqlite:///costguard.db", "database 不是网址，要写成 sqlite:///costguard.db 这样"),
    (
        "unknown database {name}: sqlite:/// or postgresql+psycopg://",
        "不支持数据库 {name}：请用 sqlite:/// 或 postgresql+psycopg://",
    ),
    (
        "a database in memory is empty in every thread: name a file, like sqlite:///costguard.db",
        "内存数据库在每个线程里都是空的：请写一个文件，如 sqlite:///costguard.db",
    ),
    ("{path} is not a folder: the database cannot be made there", "{path} 不是目录：没法在那里建数据库"),
    (
        "{path} lies on a network file system ({kind}): SQLite is not safe there; use a local disk, or Postgres for "
        "several machines",
        "{path} 在网络文件系统（{kind}）上：SQLite 在那里不安全，请用本地盘；多台机器请用 Postgres",
    ),
    (
        "{path}: write-ahead logging cannot be switched on here (journal mode {mode})",
        "{path}：这里开不了预写日志（journal 模式是 {mode}）",
    ),
    ("another thread held the database for {n} s", "数据库被另一个线程占用了 {n} 秒"),
    ("{address}: no connection within {n} s", "{address}：{n} 秒内没有连上"),
    (
        "the migration would leave rows that refer to nothing; nothing was changed",
        "升级会留下指向空处的行；什么都没有改",
    ),
    ("cannot write {path}: {why}", "{path} 写不了：{why}"),
    ("cannot copy {source} to {path}: {why}", "没能把 {source} 复制到 {path}：{why}"),
    ("{path} is not a file", "{path} 不是文件"),
    ("{path} is damaged", "{path} 已损坏"),
    ("{path} is not a costguard database: {why}", "{path} 不是 costguard 的数据库：{why}"),
    ("{holder} is running (lease {lease}): stop it first", "{holder} 正在运行（租约 {lease}）：请先停掉它"),
    ("another process took over while this one polled", "轮询期间，另一个进程接手了"),
    (
        "the stored rows of {account} add up to {stored}, those read to {read}",
        "{account} 存入的行合计 {stored}，读到的行合计 {read}，对不上",
    ),
    (
        "Parquet needs pyarrow: pip install 'costguard[parquet]', or export the bill as CSV",
        "读 Parquet 要有 pyarrow：pip install 'costguard[parquet]'，或把账单导出成 CSV",
    ),
    # What the system says.
    ("No such file or directory", "没有这个文件或目录"),
    ("Permission denied", "没有权限"),
    ("Is a directory", "是目录"),
    ("Not a directory", "不是目录"),
    ("No space left on device", "磁盘满了"),
    ("Read-only file system", "文件系统只读"),
    ("Address already in use", "地址已被占用"),
    ("Cannot assign requested address", "本机没有这个地址"),
)

BILLS: tuple[Pair, ...] = (
    ("is a zip archive: unpack it first", "是 zip 压缩包：请先解压"),
    ("is UTF-16: export it as CSV in UTF-8", "是 UTF-16：请导出成 UTF-8 的 CSV"),
    ("has the column {column} twice", "{column} 列出现了两次"),
    ("ends in the middle: it is cut short", "中途断了：文件不完整"),
    ("is damaged: it cannot be unpacked", "已损坏：解压不了"),
    ("cannot be read: {why}", "读不了：{why}"),
    ("has {n} cells, the header has {of}", "有 {n} 个单元格，表头有 {of} 个"),
    ("is not CSV: {why}", "不是 CSV：{why}"),
    ("is not UTF-8, here or soon after", "从这里或稍后起不是 UTF-8"),
    ("the file ends in the middle of this row: it is cut short", "文件断在这一行中间：不完整"),
    ("the file is damaged here: it cannot be unpacked", "文件从这里起已损坏：解压不了"),
    ("is damaged Parquet: {why}", "是损坏的 Parquet：{why}"),
    (
        "is neither FOCUS (BilledCost, ChargeCategory, …) nor an AWS CUR (lineItem/UnblendedCost, …): its columns are "
        "{list}",
        "既不是 FOCUS（BilledCost、ChargeCategory……），也不是 AWS CUR（lineItem/UnblendedCost……）：它的列是 {list}",
    ),
    ("is no complete CUR: it has no column {list}", "不是完整的 CUR：没有 {list} 列"),
    ("is no FOCUS bill: it has no column {list}", "不是 FOCUS 账单：没有 {list} 列"),
    ("is empty", "是空的"),
    ("{value} is none of {list}", "{value} 不在 {list} 之中"),
    ("{value} is not a number", "{value} 不是数字"),
    ("{value} is more than an amount can be (9.2 billion)", "{value} 超过了金额的上限（92 亿）"),
    ("{value} is not a currency like CNY or USD", "{value} 不是 CNY、USD 这样的币种"),
    ("{value} is not a time like 2026-11-01T00:00:00Z", "{value} 不是 2026-11-01T00:00:00Z 这样的时间"),
    ("{value} is not a time", "{value} 不是时间"),
    ("ends before it begins ({at})", "结束早于开始（{at}）"),
    ("is not a map of tags", "不是标签的键值表"),
    ("{value} is not a JSON object", "{value} 不是 JSON 对象"),
)

PAIRS: tuple[Pair, ...] = (*CLICK, *LINE, *LEVERS, *ENDS, *BILLS)
