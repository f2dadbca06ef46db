"""What /metrics tells, in Prometheus' terms. Names are part of the contract: docs/metrics.md lists them.

Gauges of facts are set from the database by whoever serves the page, so that a follower tells the same.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry()

CYCLES = Counter("costguard_cycles_total", "Cycles that were finished.", registry=REGISTRY)
CYCLE_SECONDS = Histogram(
    "costguard_cycle_seconds",
    "How long a cycle takes, from the snapshot to the commit.",
    buckets=(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
LAST_CYCLE = Gauge(
    "costguard_last_cycle_timestamp_seconds", "When the last cycle finished, in Unix seconds.", registry=REGISTRY
)
DECISIONS = Counter(
    "costguard_decisions_total", "Decisions by the guards' answer.", ["verdict", "code"], registry=REGISTRY
)
TRANSITIONS = Counter(
    "costguard_action_transitions_total", "Actions that entered a state.", ["state"], registry=REGISTRY
)
UNSEEN_WORK = Counter(
    "costguard_unseen_work_total",
    "Stops and releases that hit work which had just begun, as only later samples showed.",
    registry=REGISTRY,
)
PROVIDER_CALLS = Counter(
    "costguard_provider_looks_total",
    "Looks at a source of an account, by how they went.",
    ["account", "source", "state"],
    registry=REGISTRY,
)
NOTICES = Counter(
    "costguard_notices_total", "Attempts to deliver, by channel and result.", ["channel", "result"], registry=REGISTRY
)
LISTENING = Gauge(
    "costguard_chat_connected", "1 while presses and commands of a channel can come in.", ["channel"], registry=REGISTRY
)
LISTENED = Gauge(
    "costguard_chat_connections", "Connections for presses and commands opened so far.", ["channel"], registry=REGISTRY
)
NOTICES_WAITING = Gauge("costguard_notices_waiting", "Messages that wait to be sent.", ["channel"], registry=REGISTRY)
NOTICES_DEAD = Gauge("costguard_notices_dead", "Messages that could not be delivered.", ["channel"], registry=REGISTRY)
SOURCE_AGE = Gauge(
    "costguard_source_age_seconds",
    "Age of what a source last told; -1 when it never did.",
    ["account", "region", "source"],
    registry=REGISTRY,
)
SOURCE_OK = Gauge(
    "costguard_source_ok", "1 when a source was read and is fresh.", ["account", "region", "source"], registry=REGISTRY
)
MONITORED = Gauge(
    "costguard_metrics_source_boxes",
    "Running boxes by what a metrics source says of them: matched, ambiguous (refused), or missing.",
    ["source", "state"],
    registry=REGISTRY,
)
RESOURCES = Gauge(
    "costguard_resources", "Resources by account, kind and state.", ["account", "kind", "state"], registry=REGISTRY
)
BURN = Gauge(
    "costguard_burn_per_hour",
    "What the fleet costs per hour in the reporting currency, by activity.",
    ["activity", "currency"],
    registry=REGISTRY,
)
SAVED = Gauge(
    "costguard_saved_total",
    "Confirmed savings of the last 31 days in the reporting currency.",
    ["currency"],
    registry=REGISTRY,
)
ACTIONS_OPEN = Gauge("costguard_actions_open", "Open actions by state.", ["state"], registry=REGISTRY)
LEADER = Gauge("costguard_leader", "1 on the replica that polls and acts.", registry=REGISTRY)
LOOP_ERRORS = Gauge("costguard_loop_failing", "1 while a loop's last round failed.", ["loop"], registry=REGISTRY)
PAUSED = Gauge("costguard_paused", "1 while the kill switch is on.", registry=REGISTRY)
