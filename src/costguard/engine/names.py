"""What sources of data, the ways of reading them and the kinds of resources are called in Chinese.

Their English names are their own: those of the code, in tables and in JSON.
"""

from collections.abc import Mapping

from costguard.engine.remarks import Language

# Words of Chinese sentences, with the space that a name in Latin letters needs.
SOURCES: Mapping[str, str] = {
    "inventory": "资源清单", "usage": "用量数据", "prices": "价格", "spot_prices": "竞价价格",
    "charges": "账单", "balance": "余额", "identity": "身份", "quotas": "配额",
    "prometheus": " Prometheus 数据", "power_events": "开关机记录", "budgets": "云厂商侧的预算", "regions": "地域",
}  # fmt: skip
STATES: Mapping[str, str] = {
    "denied": "没有权限", "failed": "读取失败", "stale": "数据过期", "skipped": "未读取",
}  # fmt: skip
KINDS: Mapping[str, str] = {
    "vm": "云主机", "notebook": "开发机", "job": "任务", "endpoint": "在线服务", "disk": "云盘", "address": "公网 IP",
    "snapshot": "快照", "bucket": "存储桶", "gateway": "网关", "reservation": "预留",
}  # fmt: skip


def source_name(language: Language, source: str) -> str:
    """What a source is called, like ``inventory.disk``; in English by its own name."""
    if language == "en":
        return source
    whole, _, kind = source.partition(".")
    name = SOURCES.get(whole, whole).strip()
    return f"{name}（{KINDS.get(kind, kind)}）" if kind else name


def state_name(language: Language, state: str) -> str:
    """How the last reading of a source went; in English by its own name."""
    return STATES.get(state, "正常") if language == "zh" else state
