"""What people mean when they write something else: near misses, and words carried over from consoles and other tools.

Only texts. Whether a name is wrong is decided elsewhere; this says what was probably meant.
"""

import difflib
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

_KEYS: Mapping[str, str] = {
    "zone": "timezone",
    "region_id": "regions: [one]",
    "tz": "timezone",
    "time_zone": "timezone",
    "时区": "timezone",
    "instance_type": "skus",
    "instance_types": "skus",
    "instancetype": "skus",
    "types": "skus (machine types) or kinds (vm, disk …)",
    "sku": "skus",
    "flavor": "skus",
    "region": "regions: [one]",
    "account": "accounts: [one]",
    "provider": "providers: [one]",
    "kind": "kinds: [one]",
    "name": "names: [one]",
    "owner": "owners: [one]",
    "team": "teams: [one]",
    "tag": "tags: {key: [value]}",
    "labels": "tags",
    "label": "tags",
    "资源类型": "kinds",
    "标签": "tags",
    "billing": "charge",
    "charge_type": "charge",
    "charge_types": "charge",
    "计费方式": "charge",
    "gpu": "gpus: {min: 1}",
    "gpu_count": "gpus: {min: 1}",
    "dryrun": "mode: dry_run",
    "dry_run": "mode: dry_run",
    "dry-run": "mode: dry_run",
    "enforce": "mode: enforce",
    "enabled": "mode: dry_run | enforce",
    "idle_after": "when: {for: 45m}",
    "idle_for": "when: {for: 45m}",
    "idle_minutes": "when: {for: 45m}",
    "duration": "for: 45m",
    "window": "for: 45m",
    "threshold": "gpu_util_below: 5%",
    "gpu_util": "gpu_util_below: 5%",
    "gpu_below": "gpu_util_below: 5%",
    "utilization_below": "gpu_util_below: 5%",
    "cpu": "cpu_below: 1 core",
    "network": "network_below: 1MB/s",
    "actions": "respond: [{do: warn}, {after: 30m, do: stop}]",
    "action": "do: stop, in a rung of respond",
    "then": "respond: [{do: warn}, {after: 30m, do: stop}]",
    "grace": "after: 30m on the rung that stops",
    "grace_period": "after: 30m on the rung that stops",
    "wait": "after: 30m",
    "delay": "after: 30m",
    "notify": "respond: [{do: notify}]",
    "filters": "match",
    "filter": "match",
    "resource": "match: {kinds: [vm]}",
    "exclude": "not: {…}, inside match",
    "max_per_hour": "limits: {per_hour: 3}",
    "schedule": 'only_during: [{days: workdays, from: "20:00", to: "07:00"}]',
    "start": "from",
    "end": "to",
    "start_time": "from",
    "end_time": "to",
    "access_key": "access_key_id",
    "ak": "access_key_id",
    "secret_access_key_id": "access_key_id",
    "sk": "access_key_secret (aliyun), secret_key (tencent) or secret_access_key (aws)",
    "accesskeyid": "access_key_id",
    "accesskeysecret": "access_key_secret",
    "webhook": "url",
    "webhook_url": "url",
    "type": "kind",
    "db": "database",
    "database_url": "database",
    "port": 'listen: "127.0.0.1:8787"',
    "host": 'listen: "127.0.0.1:8787"',
    "exempt": "never_stop",
    "whitelist": "never_stop",
    "allowlist": "never_stop",
    "保护": "never_stop",
    "rates": "exchange_rates",
    "fx": "exchange_rates",
    "lang": "language",
}

_KINDS: Mapping[str, str] = {
    "ecs": "vm", "cvm": "vm", "ec2": "vm", "instance": "vm", "instances": "vm", "server": "vm", "云服务器": "vm",
    "box": "vm", "dsw": "notebook", "pai-dsw": "notebook", "jupyter": "notebook", "autodl": "notebook",
    "dlc": "job", "training": "job", "eas": "endpoint", "sagemaker": "endpoint", "service": "endpoint",
    "volume": "disk", "ebs": "disk", "cbs": "disk", "云盘": "disk", "云硬盘": "disk", "eip": "address",
    "elastic_ip": "address", "公网ip": "address", "nat": "gateway", "oss": "bucket", "cos": "bucket", "s3": "bucket",
}  # fmt: skip
_CHARGES: Mapping[str, str] = {
    "按量": "on_demand", "按量付费": "on_demand", "按量计费": "on_demand", "后付费": "on_demand",
    "postpaid": "on_demand", "postpaid_by_hour": "on_demand", "on-demand": "on_demand", "ondemand": "on_demand",
    "payg": "on_demand", "包年包月": "prepaid", "预付费": "prepaid", "subscription": "prepaid", "竞价": "spot",
    "竞价实例": "spot", "抢占式": "spot", "抢占式实例": "spot", "spotpaid": "spot", "preemptible": "spot",
    "ri": "reserved", "savings_plan": "reserved", "预留": "reserved", "自有": "owned",
}  # fmt: skip
_PROVIDERS: Mapping[str, str] = {
    "alibaba": "aliyun", "alibabacloud": "aliyun", "alicloud": "aliyun", "阿里云": "aliyun", "ecs": "aliyun",
    "tencentcloud": "tencent", "qcloud": "tencent", "腾讯云": "tencent", "cvm": "tencent", "amazon": "aws",
    "ec2": "aws", "aws-cn": "aws", "fake": "simulated", "demo": "simulated", "simulation": "simulated",
}  # fmt: skip
_DO: Mapping[str, str] = {
    "shutdown": "stop", "关机": "stop", "停机": "stop", "halt": "stop", "poweroff": "stop", "alert": "notify",
    "message": "notify", "告警": "notify", "通知": "notify", "警告": "warn", "terminate": "release",
    "delete": "release", "destroy": "release", "释放": "release", "销毁": "release",
    "exec": "run", "hook": "run", "script": "run",
}  # fmt: skip
_MODES: Mapping[str, str] = {
    "dryrun": "dry_run", "dry-run": "dry_run", "演练": "dry_run", "test": "dry_run", "执行": "enforce",
    "live": "enforce", "on": "enforce", "off": "dry_run", "active": "enforce", "true": "enforce", "false": "dry_run",
}  # fmt: skip
_CHANNELS: Mapping[str, str] = {
    "钉钉": "dingtalk", "dingding": "dingtalk", "ding": "dingtalk", "飞书": "feishu", "lark": "feishu",
    "企业微信": "wecom", "wechat": "wecom", "weixin": "wecom", "mail": "email", "smtp": "email", "http": "webhook",
}  # fmt: skip
_LANGUAGES: Mapping[str, str] = {
    "cn": "zh",
    "zh-cn": "zh",
    "zh_cn": "zh",
    "中文": "zh",
    "chinese": "zh",
    "english": "en",
}
_DAYS: Mapping[str, str] = {
    "weekdays": "workdays", "工作日": "workdays", "weekends": "restdays", "weekend": "restdays", "休息日": "restdays",
    "holidays": "restdays", "everyday": "daily", "every_day": "daily", "每天": "daily", "monday-friday": "mon-fri",
}  # fmt: skip
_RULES: Mapping[str, str] = {
    "gpu_idle": "idle", "idle_gpu": "idle", "空闲": "idle", "ttl": "lifetime", "age": "lifetime", "max_age": "lifetime",
    "offhours": "schedule", "off_hours": "schedule", "night": "schedule", "spot": "spot_price", "cost": "budget",
    "orphan": "waste", "unused": "waste", "tag": "untagged", "missing_tags": "untagged", "hung": "stuck",
    "still_charged": "still_billed", "stopped": "still_billed", "停机计费": "still_billed",
}  # fmt: skip
_BY_FIELD: Mapping[str, Mapping[str, str]] = {
    "kinds": _KINDS, "charge": _CHARGES, "provider": _PROVIDERS, "providers": _PROVIDERS, "do": _DO, "mode": _MODES,
    "kind": _CHANNELS, "language": _LANGUAGES, "days": _DAYS, "rule": _RULES,
}  # fmt: skip

_SYMBOL_MONEY = re.compile(r"\s*(HK\$|US\$|[¥￥$€£]|RMB|CNY|USD)\s*([\d,]+(?:\.\d+)?)\s*(.*)", re.IGNORECASE)
_TRAILING_MONEY = re.compile(
    r"\s*([\d,]+(?:\.\d+)?\s*万?)\s*(元|人民币|块|rmb|cny|usd|美元|[A-Z]{3})\s*(.*)", re.IGNORECASE
)
_CURRENCY = {
    "¥": "CNY", "￥": "CNY", "元": "CNY", "块": "CNY", "人民币": "CNY", "rmb": "CNY", "cny": "CNY", "$": "USD",
    "us$": "USD", "usd": "USD", "美元": "USD", "€": "EUR", "£": "GBP", "hk$": "HKD",
}  # fmt: skip
_PER = {
    "时": "/h",
    "小时": "/h",
    "h": "/h",
    "hour": "/h",
    "hr": "/h",
    "天": "/day",
    "日": "/day",
    "d": "/day",
    "day": "/day",
}
_WORDY_DURATION = re.compile(
    r"\s*(\d+)\s*(秒|秒钟|seconds?|secs?|分|分钟|minutes?|mins?|小时|个小时|hours?|hrs?|天|days?|周|星期|weeks?)\s*",
    re.IGNORECASE,
)
_UNIT_LETTERS = {
    "秒": "s", "分": "m", "小": "h", "个": "h", "天": "d", "周": "w", "星": "w", "s": "s", "m": "m", "h": "h",
    "d": "d", "w": "w",
}  # fmt: skip


def near(name: str, known: Iterable[str]) -> str | None:
    """``did you mean X?`` for the nearest of the known names, or None when none is near."""
    names = sorted(known)
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    found = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.6)
    return f"did you mean {folded[found[0]]}?" if found else None


def key_hint(key: str, known: Iterable[str]) -> str | None:
    """What an unknown key probably meant, given the keys that exist at its place."""
    names = list(known)
    meant = _KEYS.get(key.lower().strip())
    if meant and any(word in names for word in re.findall(r"[a-z_]+", meant)):
        return f"write {meant}"
    return near(key.replace("-", "_"), names)


def value_hint(field: str, value: str, known: Iterable[str]) -> str | None:
    """What a wrong word probably meant in the field of that name."""
    names = list(known)
    meant = _BY_FIELD.get(field, {}).get(value.strip().lower())
    if meant and (not names or meant in names):
        shown = f"[{meant}]" if field in ("kinds", "charge", "providers") else meant
        return f"write {field}: {shown}"
    return near(value, names)


def text_hint(value: str) -> str | None:
    """The right spelling of an amount or a duration written another way (``¥90,000`` → ``90000 CNY``)."""
    if found := _WORDY_DURATION.fullmatch(value):
        return f"write {found[1]}{_UNIT_LETTERS[found[2][0].lower()]}"
    if found := _SYMBOL_MONEY.fullmatch(value):
        symbol, digits, rest = found.groups()
    elif found := _TRAILING_MONEY.fullmatch(value):
        digits, symbol, rest = found.groups()
    else:
        return None
    currency = _CURRENCY.get(symbol.lower(), symbol.upper())
    unit = rest.strip().lstrip("/每 ").lower()
    if unit and unit not in _PER:
        return None
    plain = digits.replace(",", "").strip()
    if "万" in plain:
        plain = f"{(Decimal(plain.rstrip(' 万')) * 10_000).normalize():f}"
    spelling = f"{plain} {currency}{_PER.get(unit, '')}"
    return None if spelling == value.strip() else f'write "{spelling}"'
