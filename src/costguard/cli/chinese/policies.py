"""Mistakes in policies: what they lack, what does not go together, and what a rule asks for."""

from costguard.rules.reasons import Pair

PAIRS: tuple[Pair, ...] = (
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
    (
        "look belongs to do: stop or do: release, not to do: {do_}",
        "look 只用于 do: stop 或 do: release，不用于 do: {do_}",
    ),
    (
        "look and the hook are one shell script on the instance; leave one of them out",
        "look 和 hook 合成一段在实例里运行的 shell 脚本；请去掉其中一个",
    ),
    (
        "look holds the stop while the box works, and when_busy: stop says that work does not matter",
        "机器在干活时 look 不让关，而 when_busy: stop 说干活也照关",
    ),
    ("leave look out", "去掉 look"),
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
