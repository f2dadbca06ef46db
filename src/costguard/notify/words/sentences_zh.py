"""The sentences of guards, activity, protection, ladders and their ends: English as the engine makes it, and Chinese.

What the engine decides stands in one English sentence in JSON and in the ledger; a test finds every one that is
missing here. A placeholder's name says how its value is carried over (:mod:`costguard.notify.words.sentences`).
"""

from costguard.rules.reasons import Pair

GUARDS: tuple[Pair, ...] = (
    ("the resource is not in the inventory", "资源清单里没有它"),
    ("the {source} of its account and region was never read", "所在账号和地域的{source}从未读取过"),
    ("the {source} of its account and region is older than two polls", "所在账号和地域的{source}超过两次轮询没有更新"),
    ("the {source} of its account and region could not be read ({state})", "读不到所在账号和地域的{source}（{state}）"),
    ("the resource was last seen more than two polls ago", "超过两次轮询没有看到它"),
    ("never_stop fences the name {name}", "名称{name}在 never_stop 禁停范围内"),
    ("never_stop fences the tag {tag}", "标签{tag}在 never_stop 禁停范围内"),
    ("costguard itself runs here", "costguard 运行在它上面"),
    ("member of {group}: {why}", "属于{group}：{why}"),
    ("scale the group instead", "请改为给伸缩组缩容"),
    ("the tag {tag} marks a member of a group", "标签{tag}表明它属于伸缩组或集群"),
    ("rule {rule} only tells; it never ends anything", "规则{rule}只提醒，从不关停"),
    ("nothing is known of its account", "不知道它的账号情况"),
    ("{provider} says {capability}: {support}", "{provider}不能{capability}：{support}"),
    ("no {kind} can be stopped at {provider}", "{provider}的{kind}不能关机"),
    ("the account does not say allow_release: true", "账号没有写 allow_release: true"),
    ("its charge type is not known", "不知道它的计费方式"),
    ("whether a stop ends its bill is not known", "不知道关机后是否停止计费"),
    ("a stop does not end its bill ({why})", "关机后照常计费（{why}）"),
    ("as its provider says", "云厂商规则如此"),
    (
        "a stop loses {lost}, and the rung does not say accept_loss: [{keys}]",
        "关机会失去{lost}，而这个梯级没有写 accept_loss: [{keys}]",
    ),
    ("somebody just started it", "有人刚启动它"),
    ("stopped and started again {n} times in 24 h, by {who}", "24 小时内关机后被{who}重新启动{n}次"),
    ("outside the policy's only_during", "不在策略的 only_during 时段内"),
    ("the warning has not been delivered yet", "预警还没送达"),
    (
        "no warning comes before it, and the rung does not say unwarned: true",
        "之前没有预警，而这个梯级没有写 unwarned: true",
    ),
    ("it is due some time after the warning", "要等预警送达后过一段时间"),
    ("it failed and is tried again later", "上次失败，稍后再试"),
    ("the grace has not passed", "宽限期还没过"),
    ("the inventory fell from {before} to {count} between two polls", "两次轮询之间资源清单从{before}项降到{count}项"),
    ("waits for an admin's or the owner's yes", "等待管理员或负责人批准"),
    ("costguard is paused", "紧急暂停中"),
    ("another process leads", "由另一个实例负责"),
    (
        "the account is not armed: not in enforce_accounts, or not who it should be",
        "账号未启用执行：不在 enforce_accounts 里，或不是配置的那个账号",
    ),
    ("dry run", "演练"),
    ("{why}, and then it is refused: {then}", "{why}，到时也会被拦下：{then}"),
    # Limits.
    ("limit reached: {what} is {n}", "达到单次上限：{what}是{n}"),
    ("per_hour of {policy}", "{policy}的 per_hour"),
    ("share of {policy} in {account}", "{policy}在{account}的 share"),
    ("per_hour over all policies", "所有策略合计的 per_hour"),
    ("share of all boxes in {account}", "{account}所有机器的 share"),
    # Between policies.
    ("{policy} already acts on it", "{policy}已在处理它"),
    ("{policy} acts first", "{policy}先处理它"),
)

ACTIVITY: tuple[Pair, ...] = (
    ("a job said that it is alive until {at} UTC", "有任务报告自己会运行到{at} UTC"),
    ("a job said that it is alive until {at} (Asia/Shanghai)", "有任务报告自己会运行到北京时间{at}"),
    ("a job said that it is alive until {at} ({zone})", "有任务报告自己会运行到{at}（{zone}）"),
    ("{metric} saw work in the last 30 min", "最近 30 分钟{metric}显示有负载"),
    ("no source is asked", "没有可看的数据来源"),
    ("it started less than 30 min ago, or nobody knows when", "启动还不到 30 分钟，或不知道何时启动"),
    ("every source was quiet for 30 min", "30 分钟内所有数据来源都显示空闲"),
)

PROTECTION: tuple[Pair, ...] = (
    ("kept by {by}: {reason}", "{by}保留：{reason}"),
    ("protected at the provider: {why}", "云厂商一侧有保护：{why}"),
    ("the tag {tag}", "标签{tag}"),
    ("the tag {tag} cannot be read, so it keeps", "标签{tag}无法识别，因此保留"),
)

LADDERS: tuple[Pair, ...] = (
    ("the warning waits for the policy's only_during", "预警要等到策略的 only_during 时段"),
    ("its owner is now {owner}, who was not warned yet", "负责人换成了{owner}，还没有预警过"),
    (
        "its owner is now {owner}, who was not warned yet: it starts again",
        "负责人换成了{owner}，还没有预警过：重新开始",
    ),
    ("the ladder starts again", "从预警重新开始"),
    (
        "{lower} is told with {step}, which was reached at the same time",
        "{lower} 这一档与 {step} 同时达到，只提醒最高的一档",
    ),
    ("found by {policy} (rule {rule})", "策略{policy}发现（规则{rule}）"),
    ("would {do}", "演练：本应{do}"),
    ("would warn again", "演练：本应再次预警"),
    ("would warn: {do} in {span}", "演练：本应预警：{span}后{do}"),
    ("would advise: {why}", "演练：本应提醒：{why}"),
    # How they end.
    ("{ended}: {why}; a person decides, or the finding clears", "{ended}：{why}；等人处理，或等情况自行消失"),
    ("the policy is another one now", "策略已改"),
    ("it only records now", "现在改为演练"),
    ("it is real now", "现在改为执行"),
    ("it is gone, or the policy does not match it any more", "它已不存在，或不再符合策略"),
    ("it is off now: nothing is left for this policy to do", "它已停机：这条策略不用再管"),
    ("it was started again", "它被重新启动了"),
    ("it no longer holds: {why}", "条件不再成立：{why}"),
    ("the resource is gone", "资源已不存在"),
    ("somebody started it again", "有人重新启动了它"),
    ("the policy does not match it any more", "它不再符合策略"),
    (
        "it was kept, costguard was paused, or its clock was set; people are warned again",
        "它被保留过，或 costguard 暂停过、时钟被拨动过；会重新预警",
    ),
    ("the warning is too old; people are warned again", "预警已经过时；会重新预警"),
    ("the situation changed", "情况变了"),
    ("superseded", "已作废"),
    ("cancelled by {by}", "{by}取消"),
    ("kept by {by}", "{by}保留"),
    ("its account is no longer configured", "它的账号已不在配置里"),
    (
        "the provider has not confirmed whose account this is since the start",
        "costguard 启动以来，云厂商还没有确认这是谁的账号",
    ),
    ("it could not be read live: {error}", "动手前没能读到它：{error}"),
    # What is done.
    ("the warning was delivered", "预警已送达"),
    ("approved by {by}", "{by}批准"),
    ("{do} is called", "已发出{do}指令"),
    ("{do} is done", "{do}已完成"),
    ("{do} is confirmed", "{do}已确认"),
    ("done, but the provider still bills it", "已完成，但云厂商仍在计费"),
    ("the provider asked for a pause", "云厂商要求稍后再试"),
    ("the provider refused", "云厂商拒绝"),
    ("the outcome of the call is not known", "不知道调用的结果"),
    ("accepted, but not seen to happen in time", "已受理，但超时仍未看到结果"),
    ("the call was lost", "调用没有得到应答"),
    ("costguard stopped during the call", "调用期间 costguard 退出了"),
    # Hooks.
    ("the hook failed: {why}", "脚本失败：{why}"),
    ("the hook says that it is busy", "脚本报告它在忙"),
    ("no answer in time", "超时未应答"),
    ("costguard stopped while it was started", "启动脚本期间 costguard 退出了"),
    ("the policy no longer has a hook", "策略里已没有脚本"),
    ("exit code {n}", "退出码{n}"),
    ("it took longer than its timeout", "超过了它的时限"),
    ("it could not be run", "没能运行"),
    ("a hook needs a resource", "脚本只能为一台资源运行"),
    ("{provider} cannot run commands on instances", "{provider}不能在实例里运行命令"),
    ("costguard restarted while the hook ran", "脚本运行期间 costguard 重启了"),
    # Release timers.
    ("{ref}: {what} ({why})", "{ref}：{what}（{why}）"),
    ("release timer set to {at}", "定时释放设为{at}"),
    ("release timer removed", "定时释放已取消"),
    ("no release timer to change: {error}", "没有可改的定时释放：{error}"),
    ("the release timer could not be changed: {error}", "没能更改定时释放：{error}"),
    ("it has no release timers", "它没有定时释放"),
)

# What would have to change, and which policies speak of a resource at all: what ``explain`` says.
EXPLAIN: tuple[Pair, ...] = (
    ("{what} ({why})", "{what}（{why}）"),
    ("{what} (now: {why})", "{what}（现在：{why}）"),
    ("the rule fires", "规则成立"),
    ("what is missing arrives and the rule fires", "缺的数据到了，并且规则成立"),
    ("its inventory and usage are read again", "重新读到它的资源清单和用量"),
    ("the keep tag, keep or lock is taken away", "保留标签、保留或锁被去掉"),
    ("never_stop no longer names it", "never_stop 不再包括它"),
    ("costguard runs somewhere else", "costguard 换到别处运行"),
    ("every source is quiet for 30 min", "所有数据来源 30 分钟都显示空闲"),
    ("the missing samples arrive", "缺的采样到了"),
    ("never: scale the group in, or delete the job", "不会：请给伸缩组缩容，或删除任务"),
    ("the adapter can do it and the account allows it", "适配器支持，账号也允许"),
    ("a stop ends its bill", "关机能停止计费"),
    ("nothing would be lost, or the stop rung says accept_loss", "不会丢东西，或关机梯级写了 accept_loss"),
    ("it has run for a while", "它运行了一段时间"),
    ("24 h pass without another restart", "24 小时内没有再被重新启动"),
    ("only_during opens", "到了 only_during 时段"),
    ("the warning is delivered", "预警送达"),
    ("its time comes", "时间到了"),
    ("a place under the limit gets free", "单次上限有空位"),
    ("the inventory is whole again, or a person looked", "资源清单恢复完整，或有人看过"),
    ("an admin or the owner decides", "管理员或负责人决定"),
    ("somebody resumes", "有人恢复运行"),
    ("this process leads", "由这个实例负责"),
    (
        "the account is listed in enforce_accounts and is who it should be",
        "账号写在 enforce_accounts 里，并且就是配置的那个账号",
    ),
    ("configuration, account and policy all say mode: enforce", "配置、账号和策略都写 mode: enforce"),
    ("no policy matches it", "没有策略管它"),
    ("{key} is not known, and an unknown value never matches", "{key}未知，未知的值不算符合"),
    ("{key} differs or is not there", "{key}不符，或没有"),
    ("it cannot be told whether `not:` excludes it, so it is left alone", "判断不了 `not:` 是否排除它，因此不动它"),
    ("`not:` excludes it", "`not:` 排除了它"),
)

PAIRS = (*GUARDS, *ACTIVITY, *PROTECTION, *LADDERS, *EXPLAIN)
