"""The fixed terms of Chinese messages, in the words of the contract and of each provider."""

from costguard.domain.press import Press

DISK = {
    "tencent": "云硬盘",
}  # fmt: skip

SPOT = {
    "aliyun": "抢占式实例", "tencent": "竞价实例",
}  # fmt: skip

ON_DEMAND = {
    "tencent": "按量计费",
}  # fmt: skip

RELEASE = {
    "tencent": "销毁", "aws": "终止",
}  # fmt: skip

NO_CHARGE = {
    "aliyun": "节省停机", "tencent": "关机不收费",
}  # fmt: skip

LOST = {
    "local_disk": "本地盘上的数据", "public_ip": "公网 IP（会变）", "memory": "内存里的内容",
    "capacity": "这台的 GPU 名额",
}  # fmt: skip

RULES = {
    "idle": "空闲", "stuck": "疑似卡死", "underused": "用得不满", "lifetime": "运行超时",
    "schedule": "下班时间仍在运行", "spot_price": "竞价价格超过上限", "budget": "预算", "balance": "余额不足",
    "anomaly": "费用突增", "waste": "闲置资源", "still_billed": "已停机仍在计费", "untagged": "缺少标签",
    "unmonitored": "看不到用量", "quota": "配额将满", "expiry": "即将到期",
}  # fmt: skip

LIFE = {
    "pending": "创建中", "running": "运行中", "stopping": "停机中", "stopped": "已停机", "deleting": "释放中",
    "gone": "已释放", "unknown": "状态未知",
}  # fmt: skip

ENDED = {
    "failed": "执行失败", "cancelled": "已取消", "done": "已完成",
}  # fmt: skip

VERBS = {
    "stop": "关机", "release": "释放", "tag": "打标签", "tags": "打标签", "set_release_time": "设置定时释放",
    "run": "执行脚本", "notify": "提醒", "warn": "预警",
}  # fmt: skip

SUPPORT = {
    "impossible": "云厂商不支持", "not_written": "costguard 还没有支持", "unknown": "未知",
}  # fmt: skip

CLEARED = {
    "busy": "已恢复使用", "restarted": "已被人重新启动", "off": "已停机", "gone": "已不存在", "kept": "已被保留",
    "cancelled": "已取消", "policy": "策略已改", "changed": "情况有变",
}  # fmt: skip

REASONS = {
    "auth": "凭据或设置不对", "payload": "消息被拒绝", "rate": "发送过快被限流", "server": "对方服务出错",
    "timeout": "连不上", "maybe_delivered": "不确定是否送达",
}  # fmt: skip

PERIODS = {
    "month": "本月", "week": "本周", "day": "今天",
}  # fmt: skip

BASES = {
    "list": "按目录价", "payable": "按应付", "cash": "按现金",
}  # fmt: skip

ACTIVITY = {
    "active": "使用中", "idle": "空闲", "unknown": "无数据",
}  # fmt: skip

CODES = {
    "protected": "受保护", "fenced": "在禁停范围", "busy": "正在使用", "unknown": "用量未知",
    "group_member": "属于伸缩组或集群", "saves_nothing": "关机不省钱", "loses_data": "会丢数据",
    "limit": "超过单次上限", "outside_hours": "不在允许时段", "unsupported": "平台不支持",
    "too_young": "刚启动", "cooldown": "有人反复重新启动", "self": "costguard 运行在上面",
    "not_warned": "要先预警", "not_due": "还没到时间", "not_armed": "账号未启用执行", "dry_run": "演练",
    "lease": "由另一个实例负责", "stale": "数据过期", "inventory": "清单异常",
    "approval": "等待批准", "paused": "紧急暂停中",
}  # fmt: skip

LABELS = {
    "time": "时间", "resource": "资源", "owner": "负责人", "why": "原因", "cost": "费用", "happens": "动作",
    "keep": "保留", "kept": "保留", "approve": "批准", "saved": "节省", "billed": "仍计费", "again": "再启动",
    "error": "错误", "attempts": "重试", "output": "脚本输出", "others": "同样的", "check": "排查", "held": "详情",
    "spent": "花费", "bill": "对账", "wasted": "浪费最多", "owners": "谁花得多", "false_stops": "误关机",
    "decide": "要决定", "next": "下一步", "changed": "变化", "seen": "事后看到",
}  # fmt: skip

BUTTONS = {
    Press.KEEP_2H: "保留 2 小时", Press.KEEP_MORNING: "保留到 09:00", Press.WHEN_IDLE: "空闲后关机",
    Press.STOP_NOW: "现在关机", Press.MINE: "是我的", Press.FALSE_ALARM: "误报", Press.APPROVE: "批准",
    Press.START_AGAIN: "重新启动",
}  # fmt: skip

EVIDENCE = {
    "age": "已运行", "max_age": "上限", "over_by": "超出", "price": "单价", "cost": "已花", "window": "时间窗",
    "samples": "采样数", "expected": "应有采样", "coverage": "覆盖率", "last_at": "最新采样", "source": "来源",
    "missing": "缺少", "creator": "创建者", "amount": "金额", "spent": "已用", "limit": "上限", "used": "已用",
    "free": "剩余", "available": "可用余额", "frozen": "冻结金额", "days_left": "还能用",
    "expires_at": "到期时间", "attached_to": "挂载在", "size_gib": "容量 GiB", "unattached_for": "未挂载",
    "stopped_for": "已停止", "stopped_at": "停止于", "started_at": "启动于", "created_at": "创建于",
    "cap": "出价上限", "market_price": "市场价", "on_demand": "按量价", "zone": "可用区",
    "cheaper_zone": "更便宜的可用区", "share": "占比", "threshold": "阈值", "forecast": "预测",
    "period": "周期", "basis": "口径", "service": "服务", "day": "日期", "median": "中位数",
    "auto_renew": "自动续费", "kind": "类型", "state": "状态", "owner": "负责人", "idle_cost": "空闲花费",
}  # fmt: skip

# What channels say of a refusal, sentence by sentence (the English ones are theirs).
TECHNICAL = {
    "Slack refused the message": "Slack 不接受这条消息",
    "Slack refused the webhook": "Slack 不接受这个 webhook",
    "Slack asks to wait": "Slack 要求稍后再发",
    "Slack has a fault": "Slack 服务出错",
    "not Slack's answer: is a proxy or a login page in between?": "不是 Slack 的应答：中间有代理或登录页？",
    "an admin restricts posting to this channel": "管理员限制了在这个频道发消息",
    "posting to #general is restricted": "不允许在 #general 发消息",
    "the webhook's token is not valid; make a new webhook": "webhook 的 token 无效，请新建一个",
    "the webhook's channel does not exist any more": "webhook 的频道已不存在",
    "the webhook's user does not exist": "webhook 的用户不存在",
    "the webhook was removed or disabled; make a new one": "webhook 已删除或停用，请新建一个",
    "the webhook was disabled; make a new one": "webhook 已停用，请新建一个",
    "the webhook's address is not complete": "webhook 地址不完整",
    "the workspace does not exist": "工作区不存在",
    "the workspace is disabled": "工作区已停用",
    "the channel is archived; unarchive it or make a webhook for another": "频道已归档，请恢复它或换一个频道的 webhook",
    "Slack refused the token": "Slack 不接受这个 token",
    "Slack refused the conversation": "Slack 不接受这个频道",
    "Socket Mode is off": "Socket Mode 没有打开",
    "the app lacks a right": "应用缺少权限",
    "the app takes no direct messages": "应用没有打开私信",
    "the channel is archived": "频道已归档",
    "the message cannot be changed": "这条消息不能再改",
    "the message does not exist any more": "这条消息已不存在",
    "the person cannot be written to": "不能给这个人发私信",
    "the person is not in the workspace": "工作区里没有这个人",
    "the person's account is switched off": "这个人的账号已停用",
    "the workspace is being moved to an organisation": "工作区正在迁入组织",
    "add the scope to the app and install it again": "给应用加上这个 scope 并重新安装",
    "an admin has suspended the app's access": "管理员暂停了应用的访问",
    "an admin restricts who may post there": "管理员限制了谁能在那里发消息",
    "copy the token again: OAuth & Permissions of the app": "请重新复制 token：应用的 OAuth & Permissions",
    "grant the app access to this workspace": "请给应用授权访问这个工作区",
    "install the app again and copy its new token": "请重新安装应用并复制新的 token",
    "the app was removed from the workspace; install it again": "应用已被移出工作区，请重新安装",
    "invite the bot: write /invite @costguard in that channel": "请邀请机器人：在那个频道里写 /invite @costguard",
    "is `channel` the conversation's id (C…)? a private channel needs the bot in it: /invite @costguard": (
        "channel 是频道的 id（C…）吗？私有频道要先邀请机器人：/invite @costguard"
    ),
    "switch it on: Socket Mode of the app": "请在应用的 Socket Mode 里打开",
    "switch on the Messages Tab: App Home of the app": "请在应用的 App Home 里打开 Messages Tab",
    "token is the bot's (xoxb-…), app_token the app's (xapp-…)": (
        "token 填机器人的（xoxb-…），app_token 填应用的（xapp-…）"
    ),
    "unarchive it, or set `channel` to another": "请恢复这个频道，或把 channel 换成别的",
    "DingTalk is busy": "钉钉系统繁忙",
    "sent too fast, the robot is limited for ten minutes": "发送过快，机器人被限流十分钟",
    "a security setting of the robot refused the message": "机器人的安全设置拒绝了这条消息",
    "the access token does not exist": "access_token 不存在",
    "copy the robot's webhook again": "请重新复制机器人的 webhook",
    "the group was dissolved": "群已解散",
    "make a robot in another group": "请在别的群里建一个机器人",
    "the robot is disabled": "机器人已停用",
    "enable it in the group's settings": "请在群设置里启用",
    "the robot does not exist any more": "机器人已不存在",
    "make a new one": "请新建一个",
    "a parameter is missing or wrong": "参数缺失或不对",
    "the content type was refused": "Content-Type 被拒绝",
    "the message type is not supported": "不支持的消息类型",
    "a link in the message was rejected": "消息里的链接被拒绝",
    "the text was rejected": "文本被拒绝",
    "an image was rejected": "图片被拒绝",
    "the content was rejected": "内容被拒绝",
    "the message is too long": "消息太长",
    "an answer that is not documented": "没有文档的应答",
    "client_id and client_secret do not belong together": "client_id 和 client_secret 不是一对",
    "client_id and client_secret are not known": "钉钉不认识这对 client_id 和 client_secret",
    "copy both again: 开发者后台 · 凭证与基础信息": "请重新复制两者：开发者后台 · 凭证与基础信息",
    "the access token was refused": "access token 被拒绝",
    "is the application still there?": "应用还在吗？",
    "the application lacks a permission": "应用缺少权限",
    "this machine's address is not listed": "本机地址不在名单里",
    "add it: 开发者后台 · 安全设置 · 服务器出口 IP": "请加上：开发者后台 · 安全设置 · 服务器出口 IP",
    "too many calls a second": "每秒调用过多",
    "too many calls": "调用过多",
    "the card's template does not exist": "卡片模板不存在",
    "the card's template is not published": "卡片模板没有发布",
    "is `card_template` the id of a published template? leave it out for DingTalk's own": (
        "card_template 是已发布模板的 id 吗？不写就用钉钉自带的"
    ),
    "the place for the card is refused": "投放卡片的场域被拒绝",
    "the group is refused": "群被拒绝",
    "is `conversation` the group's openConversationId (cid…), and is the robot still in that group?": (
        "conversation 是这个群的 openConversationId（cid…）吗？机器人还在群里吗？"
    ),
    "the person's user id does not exist": "这个人的 userId 不存在",
    "a parameter is refused": "参数被拒绝",
    "the card does not exist": "卡片不存在",
    "the robot does not exist": "机器人不存在",
    "is the robot switched on and published? is `robot_code` right?": "机器人启用并发布了吗？robot_code 对吗？",
    "the robot is disabled in the group": "机器人在群里被停用",
    "DingTalk refused the application": "钉钉拒绝了这个应用",
    "see the application's permissions and its release": "请检查应用的权限和发布状态",
    "DingTalk does not know what was asked for": "钉钉不认识所请求的内容",
    "DingTalk has a fault": "钉钉服务出错",
    "DingTalk refused the request": "钉钉拒绝了请求",
    "an answer without accessToken": "应答里没有 accessToken",
    "an answer without endpoint and ticket": "应答里没有 endpoint 和 ticket",
    "cannot connect": "连不上",
    "DingTalk's gateway asks to wait": "钉钉网关要求稍后再发",
    "not DingTalk's answer: is a proxy or a login page in between?": "不是钉钉的应答：中间有代理或登录页？",
    "is the clock of this machine right? a signature is valid for an hour; is the secret (SEC…) the robot's?": (
        "本机时钟准不准？签名只在一小时内有效；加签密钥（SEC…）是不是这个机器人的？"
    ),
    "the robot demands a keyword: set `keyword` of this channel to it": (
        "机器人要求关键词：请把这个渠道的 keyword 设成它"
    ),
    "the robot accepts only listed addresses: add this machine's public IP": (
        "机器人只接受白名单地址：请加上本机的公网 IP"
    ),
    "keyword, signature or IP list?": "关键词、加签还是 IP 白名单？",
    "the bot's token is not valid": "机器人的 token 无效",
    "copy the bot's webhook again": "请重新复制机器人的 webhook",
    "the signature was refused": "签名校验没有通过",
    "is the clock of this machine right? a signature is valid for an hour; is the secret the bot's?": (
        "本机时钟准不准？签名只在一小时内有效；密钥是不是这个机器人的？"
    ),
    "this machine's address is not allowed": "本机地址不在白名单",
    "add this machine's public IP to the bot's list": "请把本机的公网 IP 加进机器人的白名单",
    "the bot's keyword is missing": "消息里缺少机器人要求的关键词",
    "the bot demands a keyword: set `keyword` of this channel to it": (
        "机器人要求关键词：请把这个渠道的 keyword 设成它"
    ),
    "the message was refused or is too long": "消息被拒绝或太长",
    "the card is too long": "卡片太长",
    "sent too fast, or Feishu is busy at the full hour": "发送过快，或飞书在整点繁忙",
    "not Feishu's answer: is a proxy or a login page in between?": "不是飞书的应答：中间有代理或登录页？",
    "WeCom is busy": "企业微信系统繁忙",
    "the robot's key is not valid": "机器人的 key 无效",
    "is the robot still in the group? copy its webhook again": "机器人还在群里吗？请重新复制它的 webhook",
    "sent too fast, more than 20 messages a minute": "发送过快，一分钟超过 20 条",
    "a parameter is wrong or the message is too long": "参数不对或消息太长",
    "not WeCom's answer: is a proxy or a login page in between?": "不是企业微信的应答：中间有代理或登录页？",
    "the receiver asks to wait": "接收方要求稍后再发",
    "the receiver answers with a redirect": "接收方返回了跳转",
    "the receiver refused the message": "接收方不接受这条消息",
    "the receiver refused the request": "接收方拒绝了请求",
    "the receiver has a fault": "接收方出错",
    "a page, not a receiver's answer: is a proxy or a login page in between?": (
        "返回的是网页，不是接收方的应答：中间有代理或登录页？"
    ),
    "redirects are not followed: set url to where it leads": "不会跟随跳转：请把 url 直接设成最终地址",
    "the receiver refused the signature: is the secret the same, is the clock of this machine right?": (
        "接收方没有通过签名校验：两边的密钥一样吗？本机时钟准不准？"
    ),
    "the receiver does not allow this; a firewall in between?": "接收方不允许；中间有防火墙？",
    "nothing listens at this address; look at the path": "这个地址上没有接收方，请检查路径",
    "nothing takes a POST at this address; look at the path": "这个地址不接受 POST，请检查路径",
    "the receiver is gone for good: remove this channel or give it a new url": (
        "接收方已永久停用：请删除这个渠道或换成新的 url"
    ),
    "the mail server asks to try again later": "邮件服务器要求稍后再试",
    "this is no mail server's answer": "这不是邮件服务器的应答",
    "the mail server refused the login": "邮件服务器拒绝登录",
    "the mail server refused the message": "邮件服务器不接受这封邮件",
    "the mail server refused the sender": "邮件服务器不接受发件人",
    "the mail server refused the owner's address": "邮件服务器不接受负责人的地址",
    "the owner's address is not one": "负责人的邮箱地址不对",
    "the mail server refused every recipient": "邮件服务器拒绝了所有收件人",
    "the mail server refuses to talk": "邮件服务器拒绝连接",
    "the server's certificate is not valid for its name": "服务器证书无效或与域名不符",
    "the server does not offer STARTTLS": "服务器不支持 STARTTLS",
    "are user and password in `smtp` right? many providers want an app password (授权码)": (
        "smtp 里的用户名和密码对吗？很多邮箱要用授权码"
    ),
    "may this user send from this address? look at `from`": "这个用户能用这个发件地址吗？请检查 from",
    "look at the addresses in `to`": "请检查 to 里的地址",
    "look at the owner's `email`": "请检查负责人的 email",
    "is the host's name right? `smtp` takes only servers with a valid certificate": (
        "主机名对吗？只接受证书有效的服务器"
    ),
    "use smtps:// and port 465, or a server with STARTTLS": "请用 smtps:// 和 465 端口，或换支持 STARTTLS 的服务器",
}
