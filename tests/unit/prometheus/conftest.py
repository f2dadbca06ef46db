"""A strict Prometheus, one machine with two cards, and readers of each profile."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from costguard.prometheus.client import Endpoint, Prometheus
from costguard.prometheus.join import Join
from costguard.prometheus.profiles import PROFILES
from costguard.prometheus.read import Reader
from costguard.testing.clock import FakeClock
from tests.fakes.prometheus import PrometheusServer


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server(clock: FakeClock) -> Iterator[PrometheusServer]:
    with PrometheusServer(clock) as made:
        yield made


@pytest.fixture
def reader(server: PrometheusServer, clock: FakeClock) -> Callable[..., Reader]:
    """Makes a reader: ``reader("dcgm", label="instance_id")``."""

    def make(profile: str = "dcgm", how: Join | None = None, **where: str) -> Reader:
        api = Prometheus(Endpoint("gpus", server.url), clock)
        return Reader("gpus", api, PROFILES[profile], how or Join("instance_id"), timedelta(minutes=1), where)

    return make
