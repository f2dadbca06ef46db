"""``explain``: why a resource is treated as it is, now or at an earlier moment, and what an action rested on."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from costguard.app.app import App
from costguard.app.replay import recorded_runs
from costguard.daemon import levers
from costguard.daemon.accounts import IDENTITY_HOLDS
from costguard.daemon.cycle import HOUR, plan_facts
from costguard.daemon.documents import action_json, ledger_json, notice_json
from costguard.domain.action import Action
from costguard.domain.codec import encode, instant
from costguard.domain.resource import Resource, State
from costguard.domain.snapshot import Snapshot
from costguard.domain.usage import Metric
from costguard.engine.evaluate import evaluate
from costguard.engine.explain import explain as engine_explain
from costguard.errors import UsageError
from costguard.store import accounts as account_store
from costguard.store import actions, ledger, outbox, savings, usage
from costguard.store import levers as lever_store
from costguard.store.accounts import AccountRecord


def explain(app: App, text: str, at: datetime | None = None) -> Mapping[str, object]:
    """The ``costguard.explain/1`` document. Raises UsageError for a name that is not one resource, and for a future.

    ``at`` judges the recorded usage, state and price of that moment with today's configuration, tags and owners.
    ``actions`` are the ladders that were open then, with the evidence that was kept with them.
    """
    now = at or app.clock.now()
    if now > app.clock.now():
        raise UsageError("that moment is still to come: explain tells of now and of what was")
    with app.database.read() as conn:
        resource = levers.find(conn, text)
        snapshot = app.builder.build(conn, now, leader=True)
        open_actions = actions.open_actions(conn)
        mine = [a for a in actions.list_actions(conn, ref=resource.ref) if _open_at(a, now)]
        if at is not None:
            snapshot = _as_it_was(app, conn, snapshot, resource, at)
            open_actions = tuple(mine)
        facts = plan_facts(conn, now)
        claim = lever_store.claims(conn).get(resource.ref)
        known = account_store.accounts(conn)
    accounts = {
        name: replace(facts, armed=facts.armed or _armed(app, name, known.get(name), now))
        for name, facts in snapshot.accounts.items()
    }
    snapshot = replace(snapshot, accounts=accounts)
    evaluation = evaluate(app.policies.values(), snapshot)
    document = engine_explain(
        resource.ref, evaluation, open_actions, snapshot, app.settings, facts.executed, claim.owner if claim else None,
        facts.closed if at is None else (),
    )  # fmt: skip
    return encode(document) | {"actions": [action_json(a) for a in mine]}  # type: ignore[no-any-return]


def explain_action(app: App, action_id: str) -> Mapping[str, object]:
    """The ``costguard.explain_action/1`` document. Raises UsageError for an id that no action has.

    ``action`` holds the evidence as it was frozen with it. ``history`` is every look, verdict and step that the ledger
    has of it, the oldest first, each with what it rested on; ``messages`` what people were sent.
    """
    with app.database.read() as conn:
        action = actions.get(conn, action_id)
        if action is None:
            raise UsageError(f"no action {action_id}")
        entries = ledger.list_entries(conn, action_id=action_id)
        notices = outbox.list_notices(conn, action_id=action_id)
        booked = savings.get(conn, action_id)
    return {
        "schema": "costguard.explain_action/1",
        "action": action_json(action)
        | {
            "held_since": instant(action.held_since),
            "created_at": instant(action.created_at),
            "approved_by": action.approved_by,
            "hook_output": action.hook_output,
            "started_at": None if action.started_at is None else instant(action.started_at),
        },
        "history": [ledger_json(entry) for entry in reversed(entries)],
        "messages": [notice_json(notice) for notice in sorted(notices, key=lambda n: (n.created_at, n.id))],
        "saving": None
        if booked is None
        else encode(
            {
                "per_hour": booked.per_hour, "since": booked.since, "until": booked.until, "ended_by": booked.ended_by,
                "amount": booked.amount(booked.since, app.clock.now()),
            }
        ),
    }  # fmt: skip


def _open_at(action: Action, at: datetime) -> bool:
    return action.created_at <= at and (action.ended_at is None or action.ended_at > at)


def _as_it_was(app: App, conn: Connection, now: Snapshot, resource: Resource, at: datetime) -> Snapshot:
    """The snapshot with the box in the state, run and price of ``at``, and its windows of that moment."""
    series = usage.series_of(conn, list(Metric), [resource.ref])
    runs = recorded_runs(conn, [resource], at - HOUR, at + HOUR, series)[resource.ref]
    current = next((r for r in runs if r.started <= at and (r.ended is None or r.ended > at)), None)
    known = now.resources.get(resource.ref, resource)
    if current is None:
        was = replace(known, state=State.STOPPED, raw_state="", observed_at=at)
    else:
        was = replace(
            known, state=State.RUNNING, raw_state="", observed_at=at, started_at=current.started,
            price=current.rate(at) if current.rates else known.price,
        )  # fmt: skip
    facts = now.accounts[was.ref.account]
    windows = usage.windows(
        conn, app.builder.specs, at,
        app.builder.delay_of({was.ref.account: facts}, {}),
        lambda _, metric: facts.metric_period.get(metric, timedelta(minutes=1)),
        [was.ref] if current is not None else [], {was.ref: was.started_at},
        at - timedelta(days=1),  # when each sample came is not recorded: none came sooner than its source has to tell
    )  # fmt: skip
    sources = tuple(replace(s, fetched_at=min(s.fetched_at, at)) if s.fetched_at else s for s in now.sources)
    return replace(
        now, resources={**now.resources, was.ref: was}, usage={**now.usage, was.ref: windows.get(was.ref, {})},
        sources=sources,
    )  # fmt: skip


def _armed(app: App, name: str, known: AccountRecord | None, now: datetime) -> bool:
    """As the daemon's last look found it: this process has not asked the provider who it is."""
    fresh = known is not None and known.verified and now - known.checked_at <= IDENTITY_HOLDS
    return fresh and app.accounts[name].bound.listed
