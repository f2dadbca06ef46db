"""The configured metrics sources, each ready to be asked."""

from datetime import timedelta

from costguard.config.load import Config
from costguard.config.metrics import MetricSource
from costguard.config.secrets import collect
from costguard.daemon.monitor import Monitor
from costguard.errors import StoreError
from costguard.ports import Clock
from costguard.prometheus.client import Endpoint, Prometheus, basic
from costguard.prometheus.join import Join
from costguard.prometheus.profiles import PROFILES
from costguard.prometheus.read import Reader
from costguard.store.database import Database


def monitors(config: Config, database: Database, clock: Clock, backfill: timedelta) -> tuple[Monitor, ...]:
    """One for each of ``metrics``; calls nobody."""

    def no_call_in_a_transaction() -> None:
        if database.in_write:
            raise StoreError("a network call inside a write transaction")

    return tuple(
        Monitor(
            reader=Reader(
                source.name,
                Prometheus(endpoint(source, config), clock, before_call=no_call_in_a_transaction),
                PROFILES[source.profile],
                Join(source.join.label, source.join.to, source.join.map),
                source.step,
                source.where,
            ),
            database=database,
            clock=clock,
            interval=config.settings.schedule.usage,
            backfill=backfill,
            delay=source.delay,
            covers=source.covers(),
        )
        for source in config.settings.metrics
    )


def endpoint(source: MetricSource, config: Config) -> Endpoint:
    """Where a source is asked, and as whom."""
    authorization = None
    if source.username is not None and source.password is not None:
        authorization = basic(source.username, source.password.get_secret_value())
    elif source.bearer_token is not None:
        authorization = f"Bearer {source.bearer_token.get_secret_value()}"
    tenant = {} if source.tenant is None else {"X-Scope-OrgID": source.tenant}
    return Endpoint(
        name=source.name,
        url=source.url.get_secret_value(),
        authorization=authorization,
        headers={**tenant, **{name: value.get_secret_value() for name, value in source.headers.items()}},
        ca_file=config.folder / source.ca_file if source.ca_file else None,
        proxy=source.proxy.get_secret_value() if source.proxy else None,
        secrets=collect(source),
    )
