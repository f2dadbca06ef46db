"""/healthz, /readyz and /metrics: for supervisors, load balancers and Prometheus.

Healthy: the process and its loops are alive. Ready: the schema fits, it leads or follows, and, when it
leads, its sources are fresh. Neither needs a token, and neither tells more than names and ages.
"""

from typing import TYPE_CHECKING

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from sqlalchemy import Connection
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from costguard.daemon import fleet, metrics, monitor
from costguard.domain.money import Money
from costguard.domain.notice import NoticeState
from costguard.domain.snapshot import SourceState
from costguard.engine.savings import worth
from costguard.errors import StoreError
from costguard.store import actions, inventory, levers, outbox, savings, sources
from costguard.web.auth import authorise
from costguard.web.overview import SAVED_OVER

if TYPE_CHECKING:
    from costguard.web.site import Site


def routes(site: "Site") -> list[BaseRoute]:
    def healthz(request: Request) -> Response:
        silent, failing = site.beats.silent(), site.beats.failing()
        body = {"status": "dead" if silent else "failing" if failing else "ok", "silent": silent, "failing": failing}
        return JSONResponse(body, 503 if silent else 200)

    def readyz(request: Request) -> Response:
        problems = _problems(site)
        body = {"status": "not ready" if problems else "ok", "leader": site.leading(), "problems": problems}
        return JSONResponse(body, 503 if problems else 200)

    def scrape(request: Request) -> Response:
        with site.database.read() as conn:
            _gauges(conn, site)
        return Response(generate_latest(metrics.REGISTRY), media_type=CONTENT_TYPE_LATEST)

    async def metrics_page(request: Request) -> Response:
        authorise(request, site.tokens, "read")
        return await run_in_threadpool(scrape, request)

    return [Route("/healthz", healthz), Route("/readyz", readyz), Route("/metrics", metrics_page)]


def _problems(site: "Site") -> list[str]:
    try:
        site.database.check()
        now = site.clock.now()
        with site.database.read() as conn:
            statuses = sources.sources(conn)
    except StoreError as error:
        return [f"database: {error}"]
    if not site.leading():
        return []
    inventories = [s for s in statuses if s.source == "inventory" and s.state is not SourceState.SKIPPED]
    if not inventories:
        return ["nothing was polled yet"]
    return [
        f"{s.account}/{s.region} {s.source}: {s.state.value if s.state is not SourceState.OK else 'stale'}"
        for s in inventories
        if not s.fresh(now)
    ]


def _gauges(conn: Connection, site: "Site") -> None:
    now = site.clock.now()
    for gauge in (
        metrics.SOURCE_AGE, metrics.SOURCE_OK, metrics.MONITORED, metrics.RESOURCES, metrics.NOTICES_WAITING,
        metrics.NOTICES_DEAD, metrics.ACTIONS_OPEN, metrics.BURN, metrics.SAVED, metrics.LOOP_ERRORS,
    ):  # fmt: skip
        gauge.clear()
    for status in sources.sources(conn):
        place = (status.account, status.region, status.source)
        age = status.age(now)
        metrics.SOURCE_AGE.labels(*place).set(-1 if age is None else age.total_seconds())
        metrics.SOURCE_OK.labels(*place).set(int(status.fresh(now)))
    for status in sources.sources(conn):
        if status.source == monitor.SOURCE and (seen := monitor.sight(conn, status.account)) is not None:
            missing = max(0, seen.of - seen.matched - len(seen.ambiguous))
            for state, count in (("matched", seen.matched), ("ambiguous", len(seen.ambiguous)), ("missing", missing)):
                metrics.MONITORED.labels(status.account, state).set(count)
    for resource in inventory.resources(conn):
        metrics.RESOURCES.labels(resource.ref.account, resource.ref.kind.value, resource.state.value).inc()
    for (channel, state), count in outbox.depth(conn).items():
        if state in (NoticeState.PENDING, NoticeState.SENDING):
            metrics.NOTICES_WAITING.labels(channel).inc(count)
        elif state is NoticeState.DEAD:
            metrics.NOTICES_DEAD.labels(channel).set(count)
    for action in actions.open_actions(conn):
        metrics.ACTIONS_OPEN.labels(action.state.value).inc()
    currency, points = fleet.burns(conn)
    if points:
        for activity, nanos in zip(("active", "idle", "unknown"), points[-1][1:], strict=True):
            metrics.BURN.labels(activity, currency).set(float(Money(int(nanos), currency).amount))
    rates = site.page().rates
    booked = savings.savings(conn, now - SAVED_OVER, now)
    saved = rates.total((m for s in booked if (m := worth(s, rates, now - SAVED_OVER, now))), now).money
    metrics.SAVED.labels(saved.currency).set(float(saved.amount))
    metrics.LEADER.set(int(site.leading()))
    metrics.PAUSED.set(int(levers.paused(conn, now) is not None))
    for loop in site.beats.failing():
        metrics.LOOP_ERRORS.labels(loop).set(1)
