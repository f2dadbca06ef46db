"""``--help``: the paragraph of a command or the line of an option in English, as the code has it, and Chinese."""

import re

from costguard.rules.reasons import Pair

_METAVARS = {
    "OPTIONS": "选项", "COMMAND": "命令", "ARGS": "参数", "FILE": "文件", "DIR": "目录", "PATH": "路径",
    "RESOURCE": "资源", "ACTION": "动作", "NAME": "名称", "ID": "编号", "TIME": "时间", "DATE": "日期",
    "DURATION": "时长", "TEXT": "文字", "HOST:PORT": "地址:端口", "URL": "URL", "N": "N", "YYYY-MM": "YYYY-MM",
}  # fmt: skip
_WORD = re.compile(r"[A-Z][A-Z:-]*[A-Z]|[A-Z]")


def metavar(text: str) -> str | None:
    """What stands for a value, like ``[FILE]...``; None when that is no such thing."""
    words = _WORD.findall(text)
    known = bool(words) and " " not in text.replace("] ", "").replace(" [", "") and all(w in _METAVARS for w in words)
    return _WORD.sub(lambda found: _METAVARS[found[0]], text) if known else None


FRAME: tuple[Pair, ...] = (
    ("Usage: ", "用法："),
    ("Arguments", "参数"),
    ("Options", "选项"),
    ("Commands", "命令"),
    ("Error", "错误"),
    ("Try '{command}' for help.", "运行 {command} 查看帮助。"),
    ("COMMAND [ARGS]...", "命令 [参数]..."),
    ("{metavar}", "{metavar}"),
    (" [required]", "（必填）"),
    (" [default: {value}]", "（默认：{value}）"),
    (" [env var: {name}]", "（环境变量：{name}）"),
    ("Example: {command}", "示例：{command}"),
    ("Examples: {list}", "示例：{list}"),
    ("{text} Example: {command}", "{text}示例：{command}"),
    ("Show this message and exit.", "显示本帮助。"),
    ("Install completion for the current shell.", "为当前 shell 安装命令补全。"),
    (
        "Show completion for the current shell, to copy it or customize the installation.",
        "输出当前 shell 的补全脚本，供复制或自行安装。",
    ),
)

SHARED: tuple[Pair, ...] = (
    ("The configuration (default costguard.yaml).", "配置文件（默认 costguard.yaml）。"),
    ("Print one JSON document on stdout; logs go to stderr.", "在标准输出打印一份 JSON；日志写到标准错误。"),
    ("Ask a running costguard over its API instead.", "改为通过 API 询问正在运行的 costguard。"),
    (
        "An id, account/id, a full ref, or a name that is unique.",
        "实例 ID、账号/ID、完整标识，或不重名的名称。",
    ),
    ("The action's id, or a unique beginning of it.", "动作编号，或足以区分的开头几位。"),
    ("How to write it.", "输出格式。"),
    ("Write to a file.", "写到文件。"),
    ("Why.", "原因。"),
)

START: tuple[Pair, ...] = (
    (
        "Watches rented GPUs, warns people before it acts, stops what burns money for nothing, and proves what it "
        "saved.",
        "盯着租来的 GPU：动手之前先提醒人，把空烧钱的机器关掉，并拿得出省了多少钱的证据。",
    ),
    (
        "Start with `costguard init`, then `check`, `doctor`, `audit`, `run`. `costguard demo` shows it all on a "
        "simulated fleet.",
        "先 `costguard init`，再依次 `check`、`doctor`、`audit`、`run`。`costguard demo` 用一支模拟机队演示全过程。",
    ),
    ("Print the version.", "打印版本号。"),
    (
        "The language, also after a command; else COSTGUARD_LANG, the configuration's, the terminal's.",
        "界面语言，写在命令后面也行；不写则依次看 COSTGUARD_LANG、配置、终端。",
    ),
    (
        "Write a commented starter configuration and policies. Never overwrites.",
        "生成带注释的初始配置和策略，绝不覆盖已有文件。",
    ),
    ("Where to write (default: here).", "写到哪个目录（默认当前目录）。"),
    ("aliyun, tencent, aws, simulated …", "aliyun、tencent、aws、simulated……"),
    (
        "Everything that can be known without the network; ends with what each policy would do. Exit 78 on a mistake.",
        "查出不联网就能发现的所有问题，最后列出每条策略会做什么。有错误时退出码为 78。",
    ),
    (
        "Prove identity, permissions, regions, use, channels and database, without side effects. Exit 1 on a fault.",
        "逐项验证身份、权限、地域、用量、渠道和数据库，没有副作用。有故障时退出码为 1。",
    ),
    ("Only this account.", "只看这个账号。"),
    ("Also read usage, and name boxes that can't be seen.", "同时读取用量，列出看不到用量的机器。"),
    ("Send a real test message to each channel.", "给每个渠道真发一条测试消息。"),
    (
        "The service: polls, warns, acts and delivers until it is told to stop. `--once` does one round.",
        "守护进程：轮询、预警、执行、发消息，直到被停止。`--once` 只跑一轮。",
    ),
    (
        "Exit codes of `--once`: 0 done, 3 an action or delivery failed, 69 a source could not be read (the rest was "
        "done), 75 a daemon runs beside it.",
        "`--once` 的退出码：0 完成；3 有动作或消息失败；69 有数据来源读不到（其余照做）；75 守护进程正在运行。",
    ),
    ("Poll, decide, act, deliver, and exit.", "轮询、判断、执行、发消息，然后退出。"),
    ("With --once: exit 1 when there are findings.", "与 --once 同用：有发现时退出码为 1。"),
    (
        "A simulated GPU fleet under the starter policies: what burns, who is warned, what is kept, stopped and saved.",
        "用入门策略管一支模拟的 GPU 机队：什么在空烧、预警了谁、保留和关掉了什么、省了多少。",
    ),
    ("Where the page is.", "页面的监听地址。"),
    ("No page; as fast as it goes, to the end.", "不开页面，全速跑到底。"),
    ("How many simulated minutes.", "模拟多少分钟。"),
    ("How many times faster than life.", "比真实时间快多少倍。"),
)

MONEY: tuple[Pair, ...] = (
    (
        "The month's money, waste and what the policies would have done. Read-only. Exit 69 when a source was "
        "unreadable.",
        "当月的花费、浪费，以及策略本可以做什么。只读。有数据来源读不到时退出码为 69。",
    ),
    ("Default: to date; until the 3rd, last month.", "默认本月至今；每月 3 日之前看上个月。"),
    (
        "Only this one; without a configuration, with ambient credentials.",
        "只看这一家；没有配置文件时，用环境里现成的凭据。",
    ),
    ("Only from what the database knows.", "只用数据库里已有的数据。"),
    ("The same as --format json.", "同 --format json。"),
    (
        "What was spent: the estimate beside the bill, the forecast and the budgets. Asks no provider.",
        "花了多少：估算与账单并排，加上预测和预算。不访问云厂商。",
    ),
    ("What to sum by.", "按什么汇总。"),
    ("Default: this month to date.", "默认本月至今。"),
    ("From this local day to now instead.", "改为从这一天（当地日期）到现在。"),
    (
        "Pull the use, prices, starts and stops that providers still hold. Resumable; read-only at every provider.",
        "拉取云厂商还保留着的用量、价格和开关机记录。可续传；对云厂商只读。",
    ),
    ("Exit 69 when something that should be readable was not.", "有本该读到的数据没读到时，退出码为 69。"),
    ("How far back, like 30d.", "往前多久，如 30d。"),
    (
        "What policies would have done: who is warned and stopped when, the money saved, the work that stops would "
        "hit.",
        "把历史重放一遍：策略会在何时预警谁、关掉什么，省多少钱，会打断哪些任务。",
    ),
    ("Reads the recorded history alone; see `costguard backfill`.", "只读已记录的历史，见 `costguard backfill`。"),
    ("A policy file or folder instead of yours.", "改用这个策略文件或目录。"),
    ("A second version, side by side.", "另一版策略，并排对比。"),
    (
        "Bills from files: FOCUS exports and AWS Cost and Usage Reports.",
        "账单文件：FOCUS 导出与 AWS Cost and Usage Report（CUR）。",
    ),
    (
        "Import bills: FOCUS 1.0 to 1.2 or AWS CUR (1 and 2.0), as CSV or Parquet. All of the files or none of them.",
        "导入账单：FOCUS 1.0 至 1.2 或 AWS CUR（1 和 2.0），CSV 或 Parquet。要么全部导入，要么一个都不导入。",
    ),
    (
        "The same file again changes nothing. Where a file reaches, its rows count instead of what the provider's API "
        "told. Exit 69 for a file that cannot be read.",
        "重复导入同一文件不会改变什么。文件覆盖到的时段以文件为准，不再用云厂商 API 的数据。"
        "有文件读不了时退出码为 69。",
    ),
    ("CSV or Parquet, also gzipped.", "CSV 或 Parquet，也可以是 gzip 压缩的。"),
    (
        "Put these files in the place of what was imported for their periods.",
        "用这些文件替换同账期以前导入的内容。",
    ),
    ("Takes the rows that no account_id claims.", "没有对应 account_id 的行归到这个账号。"),
    ("Leave out the rows of accounts that are not configured.", "跳过未配置账号的行。"),
    (
        "What was imported, newest first, with the exact sum of each file beside that of its rounded rows.",
        "列出导入过的文件，从新到旧，每个文件的精确合计与逐行舍入后的合计并列。",
    ),
)

TABLES: tuple[Pair, ...] = (
    (
        "What runs, and what is off and still charged: its activity, cost, owner and what costguard thinks of it.",
        "在运行的，以及已停机仍在计费的机器：使用情况、花费、负责人，以及 costguard 怎么看它。",
    ),
    (
        "Disks, addresses and boxes that are off and cost nothing as well.",
        "也列出云盘、IP，以及已停机且不花钱的机器。",
    ),
    ("What the policies claim now, the most wasteful first.", "策略当前的发现，最浪费的在前。"),
    (
        "Ladders, newest first: who is warned, what is due, what was stopped, what was refused and why.",
        "动作列表，从新到旧：预警了谁、什么快到期、关掉了什么、什么被拦下以及原因。",
    ),
    ("How many lines at most.", "最多显示多少行。"),
    (
        "The history: every action, refusal, deferral and lever, newest first.",
        "台账：每次动作、拦下、推迟和人工操作，从新到旧。",
    ),
    (
        "How every source of every account and region is doing. Exit 69 when one that should be readable is not.",
        "每个账号、地域的数据来源是否正常。有本该读到却读不到的，退出码为 69。",
    ),
    (
        "Why a resource is treated as it is: every policy, signal and guard, and what would change the verdict.",
        "一台机器为什么会、或者为什么不会被关：每条策略、信号和防护，以及怎样才会改变结论。",
    ),
    (
        "With --action: the evidence kept with it, every look and verdict.",
        "用 --action 看当时留下的证据、每次查看和结论。",
    ),
    ("An earlier moment, like 2026-12-01T09:00+08:00.", "看过去某一时刻，如 2026-12-01T09:00+08:00。"),
    ("What one action rested on, instead of a resource.", "不看资源，看某个动作的依据。"),
)

LEVERS: tuple[Pair, ...] = (
    ("Keep a resource: it is not stopped until then.", "保留一台机器：到期之前不会关。"),
    (
        'Example: `costguard keep train-a800-03 --for 4h --reason "reading the results"`',
        '示例：`costguard keep train-a800-03 --for 4h --reason "在看结果"`',
    ),
    ("Why; the others will read it.", "原因；大家都会看到。"),
    ("For how long.", "多久。"),
    ("Until when, with a zone.", "到什么时候，要带时区。"),
    ("Until it falls idle.", "直到它空闲下来。"),
    ("With --until-idle: at most.", "与 --until-idle 同用：最长多久。"),
    ("End a keep.", "取消保留。"),
    (
        "Say whose a resource is; beats its tags, and its owner is the one who is warned.",
        "指定机器的负责人；优先于标签，预警就发给这个人。",
    ),
    ("Whose it is (default: you).", "负责人是谁（默认是你）。"),
    ("Give the yes that a rung with `approve: true` waits for.", "批准一个写了 `approve: true`、正等人点头的动作。"),
    (
        "End an open action; its finding stays quiet until it has cleared.",
        "取消一个未完成的动作；这次发现解除之前不会重来。",
    ),
    (
        "Mark a stop as wrong: counted in reports, and that box is in dry run for 7 days.",
        "标记误关机：计入报告，这台机器 7 天内只演练。",
    ),
    ("What was wrong; the next reader learns from it.", "错在哪里；后来的人会看到。"),
    (
        "Start what costguard stopped. The credentials need the rights of the provider's undo IAM file.",
        "重新启动 costguard 关掉的机器。凭据要有该云厂商 undo 权限文件里的权限。",
    ),
    (
        "The kill switch: nothing is stopped from this moment on, until `resume` or the time is over.",
        "紧急暂停：从现在起什么都不关，直到 `resume` 或时间到。",
    ),
    (
        'Example: `costguard pause --for 2h --reason "moving the cluster"`',
        '示例：`costguard pause --for 2h --reason "搬迁集群"`',
    ),
    (
        "Act again. Every open ladder starts over with a fresh warning.",
        "恢复执行。所有未完成的动作从头开始，重新预警。",
    ),
    (
        "A job says that it is alive: its box counts as in use until then.",
        "任务报告自己还在跑：到期之前，机器都算作在用。",
    ),
    ("Example, in a training loop: {command}", "示例，放在训练循环里：{command}"),
    ("How long it holds.", "有效多久。"),
)

CARE: tuple[Pair, ...] = (
    ("Test, list and describe policies.", "测试、列出策略，导出策略的 JSON Schema。"),
    (
        "Run the YAML tests beside policies: what was expected and what was got, per subject. Exit 1 when one fails.",
        "运行策略旁边的 YAML 测试，逐项列出预期和实际。有失败时退出码为 1。",
    ),
    ("Policy folders or files (default: policies/).", "策略目录或文件（默认 policies/）。"),
    ("The policies in force, with their mode and their steps.", "当前生效的策略，及其模式和步骤。"),
    ("JSON Schema of policy files, for editors.", "策略文件的 JSON Schema，给编辑器用。"),
    ("Of costguard.yaml instead.", "改为输出 costguard.yaml 的。"),
    ("Try channels, and list or resend what could not be delivered.", "试发消息，列出或重发没能送达的消息。"),
    (
        "Send a real test message to a channel, and explain what it answers. Exit 3 when it is not accepted.",
        "给渠道真发一条测试消息，并解释对方的答复。对方不接受时退出码为 3。",
    ),
    ("The channel's name.", "渠道名称。"),
    ("Messages that were given up, with the reason.", "列出放弃发送的消息及原因。"),
    ("Queue dead messages again; the daemon sends them.", "把没发出去的消息重新排队，由守护进程发送。"),
    (
        "Example: repair the channel, see that `costguard notify test --channel ops` is accepted, "
        "`costguard notify replay`",
        "示例：修好渠道，确认 `costguard notify test --channel ops` 能发通，再 `costguard notify replay`",
    ),
    ("Which (default: all).", "哪几条（默认全部）。"),
    ("Look after the database.", "维护数据库。"),
    (
        "Bring the schema to this version. A SQLite file is copied first; three copies are kept.",
        "把表结构升级到本版本。SQLite 文件会先备份，保留三份。",
    ),
    (
        "Whether the schema is this version's. Exit 1 when it is not.",
        "检查表结构是否与本版本一致，不一致时退出码为 1。",
    ),
    (
        "A consistent copy of a SQLite database, also while the daemon runs. Never over another file unless told so.",
        "备份 SQLite 数据库，守护进程运行时也能用。不会覆盖已有文件，除非明说。",
    ),
    ("Where to write the copy.", "备份写到哪里。"),
    ("Also over a file that is there.", "文件已存在也覆盖。"),
    (
        "Put a backup in the database's place. Open actions are cancelled, and costguard starts paused.",
        "用备份恢复数据库。未完成的动作会取消，costguard 启动后处于紧急暂停。",
    ),
    (
        "What was there is kept beside it and named; restore that file to go back. When everything looks right, "
        "`costguard resume` starts every ladder anew, with a fresh warning.",
        "原来的数据库保留在旁边，会写明文件名；恢复那个文件就能退回去。"
        "确认无误后，`costguard resume` 让所有动作从头开始，重新预警。",
    ),
    ("A backup.", "备份文件。"),
)

PAIRS: tuple[Pair, ...] = (*FRAME, *SHARED, *START, *MONEY, *TABLES, *LEVERS, *CARE)
