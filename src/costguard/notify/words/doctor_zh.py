"""What ``doctor`` hears of channels and of an adapter's probes in one English sentence, and Chinese."""

from costguard.rules.reasons import Pair

# What can be proved of a channel.
CHANNELS: tuple[Pair, ...] = (
    ("the bot {name} of the workspace {team}", "工作区 {team} 的机器人 {name}"),
    ("the token: {answer}", "token：{answer}"),
    ("the token could not be checked: {answer}", "没能检查 token：{answer}"),
    ("Socket Mode: {answer}", "Socket Mode：{answer}"),
    ("Socket Mode could not be checked: {answer}", "没能检查 Socket Mode：{answer}"),
    ("Socket Mode can be opened: buttons and commands come in", "Socket Mode 能打开：按钮和命令能收到"),
    ("buttons and commands come in over HTTP, signed", "按钮和命令经 HTTP 收到，有签名"),
    ("messages have no buttons: nothing would hear them", "消息没有按钮：没有地方接收点击"),
    ("set app_token (Socket Mode) or signing_secret", "请设置 app_token（Socket Mode）或 signing_secret"),
    ("missing scope: chat:write; the bot can send nothing", "缺少 scope：chat:write；机器人什么都发不了"),
    ("missing scope: commands; /costguard does nothing", "缺少 scope：commands；/costguard 不起作用"),
    ("missing scopes: {list}; owners are not found by their email", "缺少 scope：{list}；不能按邮箱找到负责人"),
    (
        "add it to the app (OAuth & Permissions) and install it again",
        "请在应用的 OAuth & Permissions 里加上并重新安装",
    ),
    (
        "add it to the app (OAuth & Permissions) and install it again, or give each owner their member id (slack: U…)",
        "请在应用的 OAuth & Permissions 里加上并重新安装，或给每个负责人写上成员 id（slack: U…）",
    ),
    ("add the scope {name} to the app and install it again", "请给应用加上 scope {name} 并重新安装"),
    (
        "check DNS, proxy, firewall and the channel's endpoint, then try again",
        "检查 DNS、代理、防火墙和渠道的 endpoint，再试一次",
    ),
    ("no access token: {answer}", "拿不到 access token：{answer}"),
    ("client_id and client_secret are good", "client_id 和 client_secret 正确"),
    ("the Stream opens: buttons and commands come in", "Stream 能打开：按钮和命令能收到"),
    ("the Stream cannot be opened, so no buttons and commands: {answer}", "Stream 打不开，收不到按钮和命令：{answer}"),
    (
        "wss on port 443 must get out: wss-open-connection.dingtalk.com",
        "要能用 wss 的 443 端口连到 wss-open-connection.dingtalk.com",
    ),
    ("messages: {permission} is granted", "发消息：已有 {permission}"),
    ("messages: {permission} is missing: {answer}", "发消息：缺少 {permission}：{answer}"),
    ("messages: {permission} could not be told: {answer}", "发消息：判断不了有没有 {permission}：{answer}"),
    ("cards: {permission} is granted", "卡片：已有 {permission}"),
    ("cards: {permission} is missing: {answer}", "卡片：缺少 {permission}：{answer}"),
    ("cards: {permission} could not be told: {answer}", "卡片：判断不了有没有 {permission}：{answer}"),
    (
        "the group is not known: set `conversation`, or speak to the robot there",
        "不知道是哪个群：请设置 `conversation`，或在群里跟机器人说句话",
    ),
    (
        "write @ and the robot's name in the group, as one of the owners with a `dingtalk` id",
        "请由一位写了 `dingtalk` id 的负责人在群里 @ 机器人",
    ),
    ("the application lacks a permission ({list})", "应用缺少权限（{list}）"),
    ("grant it to the application: 开发者后台 · 权限管理", "请授予应用：开发者后台 · 权限管理"),
    ("grant it to the application: 开发者后台 · 权限管理 ({list})", "请授予应用：开发者后台 · 权限管理（{list}）"),
)

# What an adapter says of a permission that it could not prove, and beside the line that installs an agent.
PROBES: tuple[Pair, ...] = (
    ("the endpoint ignored DryRun", "endpoint 没有理会 DryRun"),
    ("not tried: each request costs 0.01 USD", "没有试：每次请求收费 0.01 美元"),
    ("not tried: it has no dry run", "没有试：它不支持试运行"),
    ("not tried: CVM has no dry run", "没有试：CVM 不支持试运行"),
    (
        "not tried: CVM has no dry run; {n} of {all} boxes carry the tag {tag}",
        "没有试：CVM 不支持试运行；{all} 台里有 {n} 台带标签 {tag}",
    ),
    ("not tried: there was no answer before", "没有试：之前的调用没有应答"),
    ("not tried: no box runs", "没有试：没有运行中的机器"),
    ("no agent on {list}", "{list} 上没有插件"),
    ("no agent runs on {list}", "{list} 上没有运行插件"),
    ("and the NVIDIA driver in the guest", "系统里还要有 NVIDIA 驱动"),
    (
        "on the box itself, for the address is inside Tencent's network; and the GPU driver in the guest",
        "要在那台机器上运行，地址在腾讯云内网；系统里还要有 GPU 驱动",
    ),
    (
        "then give the agent nvidia_gpu and InstanceId: the configuration and the command that loads it are in {name}",
        "然后给 agent 配上 nvidia_gpu 和 InstanceId：配置和加载命令见 {name}",
    ),
)

PAIRS = (*CHANNELS, *PROBES)
