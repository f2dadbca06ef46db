"""Every table of the first release.

Revision 0001, the first.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "account",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("account_id", sa.String(), nullable=True),
        sa.Column("principal", sa.String(), nullable=True),
        sa.Column("verified", sa.Boolean(), nullable=False),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_account")),
    )
    op.create_table(
        "action",
        sa.Column("subject_key", sa.String(), nullable=False),
        sa.Column("subject_type", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("subject_account", sa.String(), nullable=False),
        sa.Column("subject_provider", sa.String(), nullable=False),
        sa.Column("subject_region", sa.String(), nullable=False),
        sa.Column("subject_kind", sa.String(), nullable=False),
        sa.Column("subject_name", sa.Text(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("policy_hash", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("threshold", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("response", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("held_since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("waste_per_hour_nanos", sa.BigInteger(), nullable=True),
        sa.Column("waste_per_hour_currency", sa.String(length=3), nullable=True),
        sa.Column("rung", sa.Integer(), nullable=False),
        sa.Column("warned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("warning_id", sa.String(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("token", sa.String(), nullable=True),
        sa.Column("lease_token", sa.BigInteger(), nullable=True),
        sa.Column("executed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("clear_count", sa.Integer(), nullable=False),
        sa.Column("last_sample_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("code", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("hook_run", sa.String(), nullable=True),
        sa.Column("hook_started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("hook_output", sa.Text(), nullable=True),
        sa.Column("approved_by", sa.Text(), nullable=True),
        sa.Column("disputed_by", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
    )
    with op.batch_alter_table("action", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_action_executed_at"), ["executed_at"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_action_subject_key_created_at"), ["subject_key", "created_at"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_action_updated_at"), ["updated_at"], unique=False)
        batch_op.create_index(
            "uq_action_in_flight",
            ["subject_key"],
            unique=True,
            sqlite_where=sa.text(
                "subject_type = 'resource' AND state IN ('executing', 'in_doubt', 'preparing', 'revalidating', 'validating', 'verifying')"
            ),
            postgresql_where=sa.text(
                "subject_type = 'resource' AND state IN ('executing', 'in_doubt', 'preparing', 'revalidating', 'validating', 'verifying')"
            ),
        )
        batch_op.create_index(
            "uq_action_open_ladder",
            ["fingerprint"],
            unique=True,
            sqlite_where=sa.text("state NOT IN ('cancelled', 'done', 'failed', 'superseded')"),
            postgresql_where=sa.text("state NOT IN ('cancelled', 'done', 'failed', 'superseded')"),
        )

    op.create_table(
        "balance",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("available_nanos", sa.BigInteger(), nullable=False),
        sa.Column("available_currency", sa.String(length=3), nullable=False),
        sa.Column("frozen_nanos", sa.BigInteger(), nullable=True),
        sa.Column("frozen_currency", sa.String(length=3), nullable=True),
        sa.PrimaryKeyConstraint("account", "observed_at", name=op.f("pk_balance")),
    )
    op.create_table(
        "charge",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("row_key", sa.String(), nullable=False),
        sa.Column("billing_period_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("billing_period_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("charge_period_start", sa.DateTime(timezone=True), nullable=False),
        sa.Column("charge_period_end", sa.DateTime(timezone=True), nullable=False),
        sa.Column("charge_category", sa.String(), nullable=False),
        sa.Column("billed_cost_nanos", sa.BigInteger(), nullable=False),
        sa.Column("billed_cost_currency", sa.String(length=3), nullable=False),
        sa.Column("effective_cost_nanos", sa.BigInteger(), nullable=False),
        sa.Column("effective_cost_currency", sa.String(length=3), nullable=False),
        sa.Column("list_cost_nanos", sa.BigInteger(), nullable=False),
        sa.Column("list_cost_currency", sa.String(length=3), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("service_name", sa.Text(), nullable=False),
        sa.Column("charge_description", sa.Text(), nullable=False),
        sa.Column("charge_class", sa.String(), nullable=True),
        sa.Column("region_id", sa.String(), nullable=True),
        sa.Column("resource_id", sa.String(), nullable=True),
        sa.Column("resource_name", sa.Text(), nullable=True),
        sa.Column("sku_id", sa.String(), nullable=True),
        sa.Column("pricing_category", sa.String(), nullable=True),
        sa.Column("consumed_quantity", sa.String(), nullable=True),
        sa.Column("consumed_unit", sa.String(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("payments", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("account", "row_key", name=op.f("pk_charge")),
    )
    with op.batch_alter_table("charge", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_charge_account_billing_period_start"), ["account", "billing_period_start"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_charge_charge_period_start"), ["charge_period_start"], unique=False)

    op.create_table(
        "charge_import",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("row_count", sa.Integer(), nullable=False),
        sa.Column("currency", sa.String(length=3), nullable=False),
        sa.Column("exact", sa.String(), nullable=False),
        sa.Column("rounded_nanos", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_charge_import")),
    )
    with op.batch_alter_table("charge_import", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_charge_import_account_at"), ["account", "at"], unique=False)

    op.create_table(
        "claim",
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_claim")),
    )
    op.create_table(
        "cycle",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cycle")),
    )
    with op.batch_alter_table("cycle", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_cycle_finished_at"), ["finished_at"], unique=False)

    op.create_table(
        "dispute",
        sa.Column("action_id", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("action_id", name=op.f("pk_dispute")),
    )
    with op.batch_alter_table("dispute", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_dispute_ref_until"), ["ref", "until"], unique=False)

    op.create_table(
        "finding",
        sa.Column("subject_key", sa.String(), nullable=False),
        sa.Column("subject_type", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("subject_account", sa.String(), nullable=False),
        sa.Column("subject_provider", sa.String(), nullable=False),
        sa.Column("subject_region", sa.String(), nullable=False),
        sa.Column("subject_kind", sa.String(), nullable=False),
        sa.Column("subject_name", sa.Text(), nullable=False),
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("fingerprint", sa.String(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("policy_hash", sa.String(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("waste_per_hour_nanos", sa.BigInteger(), nullable=True),
        sa.Column("waste_per_hour_currency", sa.String(length=3), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("threshold", sa.String(), nullable=False),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_finding")),
    )
    with op.batch_alter_table("finding", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_finding_subject_key_opened_at"), ["subject_key", "opened_at"], unique=False
        )
        batch_op.create_index(
            "uq_finding_open",
            ["fingerprint"],
            unique=True,
            sqlite_where=sa.text("closed_at IS NULL"),
            postgresql_where=sa.text("closed_at IS NULL"),
        )

    op.create_table(
        "heartbeat",
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_heartbeat")),
    )
    op.create_table(
        "keep",
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until_idle", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_keep")),
    )
    op.create_table(
        "kv",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_kv")),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    op.create_table(
        "ledger",
        sa.Column("subject_key", sa.String(), nullable=True),
        sa.Column("subject_type", sa.String(), nullable=True),
        sa.Column("subject_id", sa.String(), nullable=True),
        sa.Column("subject_account", sa.String(), nullable=True),
        sa.Column("subject_provider", sa.String(), nullable=True),
        sa.Column("subject_region", sa.String(), nullable=True),
        sa.Column("subject_kind", sa.String(), nullable=True),
        sa.Column("subject_name", sa.Text(), nullable=True),
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action_id", sa.String(), nullable=True),
        sa.Column("policy", sa.String(), nullable=True),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("money_nanos", sa.BigInteger(), nullable=True),
        sa.Column("money_currency", sa.String(length=3), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("ledger", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_ledger_action_id"), ["action_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_ledger_at"), ["at"], unique=False)
        batch_op.create_index(batch_op.f("ix_ledger_subject_key_at"), ["subject_key", "at"], unique=False)

    op.create_table(
        "notice",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("alert_key", sa.String(), nullable=False),
        sa.Column("idem_key", sa.String(), nullable=False),
        sa.Column("facts", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(), nullable=True),
        sa.Column("language", sa.String(), nullable=True),
        sa.Column("mention", sa.Text(), nullable=False),
        sa.Column("owner_route", sa.Boolean(), nullable=False),
        sa.Column("not_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("message_ref", sa.String(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("fallback_of", sa.String(), nullable=True),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notice")),
        sa.UniqueConstraint("idem_key", name=op.f("uq_notice_idem_key")),
    )
    with op.batch_alter_table("notice", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_notice_action_id"), ["action_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_notice_alert_key_channel"), ["alert_key", "channel"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_notice_channel_state_next_at"), ["channel", "state", "next_at"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_notice_created_at"), ["created_at"], unique=False)

    op.create_table(
        "pause",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resumed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resumed_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pause")),
    )
    op.create_table(
        "power_event",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("what", sa.String(), nullable=False),
        sa.Column("ours", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("told", sa.Boolean(), nullable=False),
        sa.Column("seen", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_power_event")),
    )
    with op.batch_alter_table("power_event", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_power_event_at"), ["at"], unique=False)
        batch_op.create_index(batch_op.f("ix_power_event_ref_at"), ["ref", "at"], unique=False)

    op.create_table(
        "price",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("sku", sa.String(), nullable=False),
        sa.Column("charge_type", sa.String(), nullable=False),
        sa.Column("zone", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("per_hour_nanos", sa.BigInteger(), nullable=False),
        sa.Column("per_hour_currency", sa.String(length=3), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_price")),
        sa.UniqueConstraint(
            "provider",
            "region",
            "sku",
            "charge_type",
            "zone",
            "source",
            "since",
            name=op.f("uq_price_provider_region_sku_charge_type_zone_source_since"),
        ),
    )
    op.create_table(
        "resource",
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("raw_state", sa.String(), nullable=False),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("charge_type", sa.String(), nullable=False),
        sa.Column("sku", sa.String(), nullable=True),
        sa.Column("gpu_model", sa.String(), nullable=True),
        sa.Column("gpu_count", sa.String(), nullable=True),
        sa.Column("gpu_memory_mib", sa.Integer(), nullable=True),
        sa.Column("vcpus", sa.Integer(), nullable=True),
        sa.Column("memory_mib", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stopped_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("auto_release_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("price_nanos", sa.BigInteger(), nullable=True),
        sa.Column("price_currency", sa.String(length=3), nullable=True),
        sa.Column("price_source", sa.String(), nullable=True),
        sa.Column("spot_cap_nanos", sa.BigInteger(), nullable=True),
        sa.Column("spot_cap_currency", sa.String(length=3), nullable=True),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("team", sa.Text(), nullable=True),
        sa.Column("group", sa.String(), nullable=True),
        sa.Column("protected", sa.String(), nullable=True),
        sa.Column("depends_on", sa.String(), nullable=True),
        sa.Column("size_gib", sa.Integer(), nullable=True),
        sa.Column("stop_effect", sa.Text(), nullable=True),
        sa.Column("creator", sa.Text(), nullable=True),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("first_seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("settled_state", sa.String(), nullable=True),
        sa.Column("settled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("gone_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_resource")),
    )
    with op.batch_alter_table("resource", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_resource_account_region_kind"), ["account", "region", "kind"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_resource_id"), ["id"], unique=False)

    op.create_table(
        "saving",
        sa.Column("action_id", sa.String(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("per_hour_nanos", sa.BigInteger(), nullable=False),
        sa.Column("per_hour_currency", sa.String(length=3), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("action_id", name=op.f("pk_saving")),
    )
    with op.batch_alter_table("saving", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_saving_ref_until"), ["ref", "until"], unique=False)

    op.create_table(
        "send_log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("alert_key", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("facts_hash", sa.String(), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_send_log")),
    )
    with op.batch_alter_table("send_log", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_send_log_alert_key_channel_sent_at"), ["alert_key", "channel", "sent_at"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_send_log_channel_sent_at"), ["channel", "sent_at"], unique=False)

    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("gpu_index", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("statistic", sa.String(), nullable=False),
        sa.Column("cards", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint(
            "ref",
            "metric",
            "gpu_index",
            "source",
            "statistic",
            "cards",
            name=op.f("uq_series_ref_metric_gpu_index_source_statistic_cards"),
        ),
    )
    with op.batch_alter_table("series", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_series_metric_account"), ["metric", "account"], unique=False)

    op.create_table(
        "source_status",
        sa.Column("account", sa.String(), nullable=False),
        sa.Column("region", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("interval", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("previous_count", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("account", "region", "source", name=op.f("pk_source_status")),
    )
    op.create_table(
        "resource_state",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ref", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("charge_type", sa.String(), nullable=False),
        sa.Column("per_hour_nanos", sa.BigInteger(), nullable=True),
        sa.Column("per_hour_currency", sa.String(length=3), nullable=True),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("assumed", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["ref"], ["resource.ref"], name=op.f("fk_resource_state_ref"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_resource_state")),
    )
    with op.batch_alter_table("resource_state", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_resource_state_ended"), ["ended"], unique=False)
        batch_op.create_index(batch_op.f("ix_resource_state_ref_started"), ["ref", "started"], unique=False)
        batch_op.create_index(
            "uq_resource_state_open",
            ["ref"],
            unique=True,
            sqlite_where=sa.text("ended IS NULL"),
            postgresql_where=sa.text("ended IS NULL"),
        )

    op.create_table(
        "usage",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("period", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_usage_series_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("series_id", "at", name=op.f("pk_usage")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "usage_hour",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("samples", sa.Integer(), nullable=False),
        sa.Column("max", sa.Double(), nullable=False),
        sa.Column("min", sa.Double(), nullable=False),
        sa.Column("mean", sa.Double(), nullable=False),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_usage_hour_series_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("series_id", "hour", name=op.f("pk_usage_hour")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("usage_hour")
    op.drop_table("usage")
    with op.batch_alter_table("resource_state", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_resource_state_open", sqlite_where=sa.text("ended IS NULL"), postgresql_where=sa.text("ended IS NULL")
        )
        batch_op.drop_index(batch_op.f("ix_resource_state_ref_started"))
        batch_op.drop_index(batch_op.f("ix_resource_state_ended"))

    op.drop_table("resource_state")
    op.drop_table("source_status")
    with op.batch_alter_table("series", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_series_metric_account"))

    op.drop_table("series")
    with op.batch_alter_table("send_log", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_send_log_channel_sent_at"))
        batch_op.drop_index(batch_op.f("ix_send_log_alert_key_channel_sent_at"))

    op.drop_table("send_log")
    with op.batch_alter_table("saving", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_saving_ref_until"))

    op.drop_table("saving")
    with op.batch_alter_table("resource", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_resource_id"))
        batch_op.drop_index(batch_op.f("ix_resource_account_region_kind"))

    op.drop_table("resource")
    op.drop_table("price")
    with op.batch_alter_table("power_event", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_power_event_ref_at"))
        batch_op.drop_index(batch_op.f("ix_power_event_at"))

    op.drop_table("power_event")
    op.drop_table("pause")
    with op.batch_alter_table("notice", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_notice_created_at"))
        batch_op.drop_index(batch_op.f("ix_notice_channel_state_next_at"))
        batch_op.drop_index(batch_op.f("ix_notice_alert_key_channel"))
        batch_op.drop_index(batch_op.f("ix_notice_action_id"))

    op.drop_table("notice")
    with op.batch_alter_table("ledger", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_ledger_subject_key_at"))
        batch_op.drop_index(batch_op.f("ix_ledger_at"))
        batch_op.drop_index(batch_op.f("ix_ledger_action_id"))

    op.drop_table("ledger")
    op.drop_table("lease")
    op.drop_table("kv")
    op.drop_table("keep")
    op.drop_table("heartbeat")
    with op.batch_alter_table("finding", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_finding_open", sqlite_where=sa.text("closed_at IS NULL"), postgresql_where=sa.text("closed_at IS NULL")
        )
        batch_op.drop_index(batch_op.f("ix_finding_subject_key_opened_at"))

    op.drop_table("finding")
    with op.batch_alter_table("dispute", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_dispute_ref_until"))

    op.drop_table("dispute")
    with op.batch_alter_table("cycle", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_cycle_finished_at"))

    op.drop_table("cycle")
    op.drop_table("claim")
    with op.batch_alter_table("charge_import", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_charge_import_account_at"))

    op.drop_table("charge_import")
    with op.batch_alter_table("charge", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_charge_charge_period_start"))
        batch_op.drop_index(batch_op.f("ix_charge_account_billing_period_start"))

    op.drop_table("charge")
    op.drop_table("balance")
    with op.batch_alter_table("action", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_action_open_ladder",
            sqlite_where=sa.text("state NOT IN ('cancelled', 'done', 'failed', 'superseded')"),
            postgresql_where=sa.text("state NOT IN ('cancelled', 'done', 'failed', 'superseded')"),
        )
        batch_op.drop_index(
            "uq_action_in_flight",
            sqlite_where=sa.text(
                "subject_type = 'resource' AND state IN ('executing', 'in_doubt', 'preparing', 'revalidating', 'validating', 'verifying')"
            ),
            postgresql_where=sa.text(
                "subject_type = 'resource' AND state IN ('executing', 'in_doubt', 'preparing', 'revalidating', 'validating', 'verifying')"
            ),
        )
        batch_op.drop_index(batch_op.f("ix_action_updated_at"))
        batch_op.drop_index(batch_op.f("ix_action_subject_key_created_at"))
        batch_op.drop_index(batch_op.f("ix_action_executed_at"))

    op.drop_table("action")
    op.drop_table("account")
