"""What adapters say of a box in one English sentence, and Chinese: why a stop saves nothing, what locks it, what to do
with a member of a group. Those of an adapter from elsewhere are shown as they are.
"""

from costguard.rules.reasons import Pair

# What a stop does to the bill.
EFFECTS: tuple[Pair, ...] = (
    ("only instances can be stopped", "只有实例能关机"),
    ("it has no power state: only release ends its bill", "它不能开关机：只有释放才停止计费"),
    ("paid in advance", "费用已预付"),
    ("it is paid in advance", "费用已预付"),
    ("own machine: only power is saved", "自有机器：只省电费"),
    ("a subscription is paid for, stopped or not", "包年包月，关不关机都已付费"),
    ("its dedicated host bills on", "专用宿主机照常计费"),
    ("its dedicated host or cluster is paid for anyway", "专用宿主机或集群的费用照付"),
    ("its capacity reservation bills used or not", "容量预留不用也计费"),
    ("it bills used or not: only cancelling it ends that", "不用也计费：只有取消才停止"),
    ("{lifecycle} capacity is paid for anyway", "{lifecycle}容量的费用照付"),
    # What a manifest says of a capability.
    ("EC2 has no timer that releases", "EC2 没有定时释放"),
    ("AWS bills in arrears", "AWS 先用后付"),
    # Alibaba Cloud.
    ("economical mode does not fit {why}", "节省停机不支持{why}"),
    ("types with local disks", "带本地盘的规格"),
    ("the classic network", "经典网络"),
    ("types with persistent memory", "带持久内存的规格"),
    ("stopped but still charged: StoppedMode is {mode}", "已停机仍在计费：StoppedMode 是{mode}"),
    ("StoppedMode is {mode}", "StoppedMode 是{mode}"),
    ("not told", "未知"),
    (
        "StoppedMode after the stop tells whether the market billed on",
        "抢占式实例是否停止计费，要看停机后的 StoppedMode",
    ),
    # Tencent Cloud.
    ("a stopped spot instance is charged on; only its end saves", "竞价实例关机后照常计费，销毁才省钱"),
    ("a box with local disks is charged on while it is off", "带本地盘的机型关机后照常计费"),
    ("stopped but still charged: StopChargingMode is {mode}", "已关机仍在计费：StopChargingMode 是{mode}"),
    ("StopChargingMode is {mode}", "StopChargingMode 是{mode}"),
    # AWS.
    ("an instance-store root cannot be stopped, only terminated", "根卷在实例存储上，不能停止，只能终止"),
    ("a one-time spot instance cannot be stopped, only terminated", "一次性 Spot 实例不能停止，只能终止"),
    ("a one-time spot machine can only be terminated", "一次性竞价实例不能关机，只能终止"),
    ("spot request {mode}, {then}", "Spot 请求是{mode}、{then}"),
    ("unknown lifecycle {name}", "不认识的 lifecycle：{name}"),
    ("unknown", "未知"),
    (
        "it could hibernate, but a stop is plain here: what is in memory is lost",
        "它可以休眠，但这里是普通停止：内存里的内容会丢失",
    ),
    ("it is hibernated: what is in memory goes to its root disk", "会休眠：内存里的内容写入根卷"),
)

LOCKS: tuple[Pair, ...] = (
    ("locked: {name}", "已锁定：{name}"),
    ("isolated: {name}", "已隔离：{name}"),
    ("restricted: {name}", "受限制：{name}"),
    ("managed by {why}", "由{why}管理"),
    ("an AWS service", "某个 AWS 服务"),
)

# What ends the bill of a member of a group.
INSTEAD: tuple[Pair, ...] = (
    (
        "lower the group's desired capacity, or take this one out of it: {command}",
        "请调低伸缩组的期望容量，或把这台移出：{command}",
    ),
    (
        "scale its node group down, or drain the node and let the autoscaler remove it",
        "请给节点组缩容，或排空节点让 autoscaler 移除它",
    ),
    (
        "lower the limits of its node pool, or drain the node and let Karpenter remove it",
        "请调低节点池的上限，或排空节点让 Karpenter 移除它",
    ),
    (
        "lower the capacity provider's target, or drain the container instance",
        "请调低容量提供程序的目标，或排空这个容器实例",
    ),
    (
        "lower minvCpus of the compute environment; Batch removes what no job needs",
        "请调低计算环境的 minvCpus；没有任务用的机器 Batch 会移除",
    ),
    ("stop or end the whole cluster with {name}", "请用 {name} 停止或终止整个集群"),
    ("stop the cluster's compute fleet: {command}", "请停止集群的计算队列：{command}"),
    ("resize or end the EMR cluster", "请给 EMR 集群缩容或终止它"),
    ("lower the environment's instance count, or end it", "请调低环境的实例数，或终止环境"),
    ("lower the fleet's target capacity: {command}", "请调低 fleet 的目标容量：{command}"),
    ("lower the request's target capacity: {command}", "请调低请求的目标容量：{command}"),
)

PAIRS = (*EFFECTS, *LOCKS, *INSTEAD)
