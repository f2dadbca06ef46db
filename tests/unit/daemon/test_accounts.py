from datetime import timedelta

import pytest

from costguard.app.app import App
from costguard.app.once import run_once
from costguard.domain.snapshot import SourceState
from costguard.errors import AuthFailed, PermissionDenied, ProviderError, Unavailable
from costguard.store import sources
from costguard.testing.clock import FakeClock
from tests.daemon.rig import MINUTE, Cloud, rows


def refuse(error: ProviderError | None):  # type: ignore[no-untyped-def]
    return lambda: error


def test_an_account_of_somebody_else_is_never_acted_on(warned: App, cloud: Cloud, clock: FakeClock) -> None:
    """C32, K01: the credentials were changed under the configuration."""
    cloud.account_id = "2"
    clock.advance(31 * MINUTE)
    result = run_once(warned)
    assert result.unreadable
    assert cloud.stops() == []
    assert warned.accounts["prod"].mismatch == "account prod is configured as 1, but the credentials are of 2"
    assert rows(warned.database)[-1].dry_run


def test_a_refusal_disarms_and_an_outage_does_not(app: App, cloud: Cloud, clock: FakeClock) -> None:
    account = app.accounts["prod"]
    assert account.armed(clock.now())
    cloud.fail = {"identity": refuse(Unavailable("down", provider="simulated"))}
    assert not app.identify()
    assert account.armed(clock.now())
    cloud.fail = {"identity": refuse(AuthFailed("expired", provider="simulated"))}
    assert not app.identify()
    assert not account.armed(clock.now())


def test_an_old_confirmation_proves_nothing(app: App, clock: FakeClock) -> None:
    account = app.accounts["prod"]
    clock.advance(timedelta(hours=25))
    assert account.armed(clock.now())
    clock.advance(MINUTE)
    assert not account.armed(clock.now())
    assert account.identity_due(timedelta(hours=12))


def test_nothing_is_called_before_this_process_has_confirmed_whose_account_it_is(
    warned: App, cloud: Cloud, clock: FakeClock
) -> None:
    account = warned.accounts["prod"]
    account.confirmed = False
    cloud.fail = {"identity": refuse(Unavailable("down", provider="simulated"))}
    clock.advance(31 * MINUTE)
    run_once(warned)
    assert cloud.stops() == []


def test_regions_that_cannot_be_listed_are_a_source_that_failed(app: App, cloud: Cloud) -> None:
    """M01: without regions nothing is polled; that is no quiet day."""
    cloud.fail = {"regions": refuse(PermissionDenied("no", provider="simulated"))}
    result = run_once(app)
    assert result.unreadable
    assert result.document["partial"] is True
    with app.database.read() as conn:
        status = sources.get(conn, "prod", "-", "regions")
    assert status is not None
    assert status.state is SourceState.DENIED


def test_known_regions_are_polled_while_they_cannot_be_listed(app: App, cloud: Cloud) -> None:
    run_once(app)
    cloud.fail = {"regions": refuse(Unavailable("down", provider="simulated"))}
    assert app.poller.regions(app.accounts["prod"]) == (("cn-north",), False)


@pytest.mark.parametrize("failing", [["a"], ["a", "b"]])
def test_boxes_whose_metrics_fail_are_unknown_and_only_they(app: App, cloud: Cloud, failing: list[str]) -> None:
    """M02: a part of a batch; M01: all of it."""
    cloud.add("b")
    for id in failing:
        cloud.failed_usage[id] = Unavailable("down", provider="simulated")
    result = run_once(app)
    assert result.unreadable
    assert {f.subject.id for f in result.evaluation.findings} == {"a", "b"} - set(failing)
    with app.database.read() as conn:
        status = sources.get(conn, "prod", "cn-north", "usage")
    assert status is not None
    assert (status.state is SourceState.OK) is (len(failing) == 1)
    assert status.error
