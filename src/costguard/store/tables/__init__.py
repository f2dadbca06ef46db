"""Every table, as SQLAlchemy Core metadata. `migrations/` must build exactly this; a test compares them.

One module per area. Names are the domain's; a resource is named everywhere by its full ref.
"""

from costguard.store.tables.base import metadata
from costguard.store.tables.daemon import account, cycle, kv, lease, source_status
from costguard.store.tables.fleet import power_event, resource, resource_state
from costguard.store.tables.ladders import action, finding, ledger, notice, saving, send_log
from costguard.store.tables.money import balance, charge, charge_import, price
from costguard.store.tables.people import claim, dispute, heartbeat, keep, pause
from costguard.store.tables.usage import series, usage, usage_hour

__all__ = [
    "metadata",
    "account", "action", "balance", "charge", "charge_import", "claim", "cycle", "dispute", "finding", "heartbeat",
    "keep", "kv", "lease", "ledger", "notice", "pause", "power_event", "price", "resource", "resource_state",
    "saving", "send_log", "series", "source_status", "usage", "usage_hour",
]  # fmt: skip
