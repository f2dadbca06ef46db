"""The fixed terms of English messages."""

from costguard.domain.press import Press

VERBS = {
    "stop": ("Stop", "Stopping", "Stopped"),
    "release": ("Release", "Releasing", "Released"),
    "terminate": ("Terminate", "Terminating", "Terminated"),
    "tag": ("Tag", "Tagging", "Tagged"),
    "run": ("Run a script on", "Running a script on", "Ran a script on"),
    "set_release_time": ("Set a release time on", "Setting a release time on", "Release time set on"),
    "any": ("Action", "Acting on", "Acted on"),
}

LOST = {
    "local_disk": "data on local disks", "public_ip": "the public IP (it changes)",
    "memory": "what is in memory", "capacity": "the GPU it holds",
}  # fmt: skip

BILLED = {
    "disks": "disks", "public_ip": "the public IP", "compute": "compute", "reservation": "the reservation",
    "gpu_capacity": "GPU capacity", "snapshots": "snapshots",
}  # fmt: skip

RULES = {
    "idle": "Idle", "stuck": "Probably hung", "underused": "Underused", "lifetime": "Running too long",
    "schedule": "Running after hours", "spot_price": "Spot price above the limit", "budget": "Budget",
    "balance": "Balance is low", "anomaly": "Sudden spending", "waste": "Unused",
    "still_billed": "Stopped but still charged",
    "untagged": "Tags are missing", "unmonitored": "Use can't be seen", "quota": "Quota is nearly used up",
    "expiry": "Expires soon",
}  # fmt: skip

SOURCES = {
    "inventory": "the inventory", "usage": "usage data", "prices": "prices", "spot_prices": "spot prices",
    "charges": "bills", "balance": "the balance", "identity": "the identity", "quotas": "quotas",
    "prometheus": "Prometheus data",
}  # fmt: skip

STATES = {
    "denied": "permission denied", "failed": "failed", "stale": "data is old", "skipped": "skipped",
}  # fmt: skip

CLEARED = {
    "busy": "it is in use again", "restarted": "somebody restarted it", "off": "it is off", "gone": "it is gone",
    "kept": "it is kept", "cancelled": "cancelled", "policy": "the policy changed",
    "changed": "the situation changed",
}  # fmt: skip

REASONS = {
    "auth": "wrong credentials or settings", "payload": "the message was refused", "rate": "sending too fast",
    "server": "the service fails", "timeout": "no connection", "maybe_delivered": "delivery is in doubt",
}  # fmt: skip

BASES = {
    "list": "list prices", "payable": "payable amounts", "cash": "cash",
}  # fmt: skip

CHARGES = {
    "on_demand": "on demand", "spot": "spot", "prepaid": "prepaid", "reserved": "reserved",
    "owned": "own machine",
}  # fmt: skip

CODES = {
    "protected": "it is protected", "fenced": "it is inside the never-stop fence", "busy": "it is busy",
    "unknown": "its use is unknown", "group_member": "it belongs to a group",
    "saves_nothing": "stopping saves nothing", "loses_data": "it would lose data",
    "limit": "over the limit per hour", "outside_hours": "outside the allowed hours",
    "unsupported": "not supported there", "too_young": "just started", "cooldown": "people start it again and again",
    "self": "costguard runs on it", "not_warned": "people are warned first",
    "not_due": "it is not time yet", "not_armed": "its account is not armed", "dry_run": "this is a dry run",
    "lease": "another process leads",
    "stale": "data is old", "inventory": "the inventory looks wrong", "approval": "it waits for approval",
    "paused": "costguard is paused",
}  # fmt: skip

BUTTONS = {
    Press.KEEP_2H: "Keep 2 h", Press.KEEP_MORNING: "Keep until 09:00", Press.WHEN_IDLE: "Stop when it is idle",
    Press.STOP_NOW: "Stop now", Press.MINE: "It's mine", Press.FALSE_ALARM: "False alarm",
    Press.APPROVE: "Approve", Press.START_AGAIN: "Start again",
}  # fmt: skip

LABELS = {
    "time": "When", "resource": "Box", "owner": "Owner", "why": "Why", "cost": "Money",
    "happens": "What happens", "keep": "Keep it", "kept": "Kept", "approve": "Approve", "saved": "Saved",
    "billed": "Still billed", "again": "Start again", "seen": "Seen later", "error": "Error", "attempts": "Retries",
    "output": "Script output", "others": "Also", "check": "Look at", "held": "In full",
    "spent": "Spent", "bill": "Bill", "wasted": "Most wasted", "owners": "Who spent", "false_stops": "False stops",
    "decide": "To decide", "next": "Next step", "changed": "What changed",
}  # fmt: skip
