"""Connection: options, identity, roles, permissions, and the one secret."""

import logging
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from costguard import ports
from costguard.errors import AuthFailed, ConfigError
from costguard.ports import AccountSpec
from costguard_simulated import SimulatedAccount, adapter
from costguard_simulated.connection import connect
from tests.unit.simulated.helpers import START, clock_at, machine, only, open_up, write


def test_every_role_is_there(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path), clock_at())
    for role in (
        ports.Connection, ports.Inventory, ports.Usage, ports.Prices, ports.SpotPrices, ports.Billing, ports.Balances,
        ports.Quotas, ports.Power, ports.History, ports.Release, ports.Tagging, ports.Commands, ports.Probe,
    ):  # fmt: skip
        assert isinstance(connection, role)


def test_options_beat_credentials(tmp_path: Path) -> None:
    path = write(tmp_path, machine("a"))
    keys = SimulatedAccount(scenario="startup", cloud="aws")
    spec = AccountSpec("x", credentials=keys, options={"scenario": str(path), "cloud": "one"})
    assert adapter.connect(spec, clock_at()).identity().account_id == "1"
    from_keys = adapter.connect(AccountSpec("x", credentials=keys), clock_at())
    assert from_keys.identity().account_id == "420017300551"


def test_the_start_can_be_moved(tmp_path: Path) -> None:
    moved = open_up(write(tmp_path, machine("a")), clock_at(), start="2026-11-12T09:00:00+00:00")
    assert moved.starts_at == START - timedelta(hours=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"cloud": "moon"}, "no cloud 'moon'"), ({"claud": "aws"}, "claud")],
)
def test_wrong_options_are_configuration_errors(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        connect(AccountSpec("x", options=options), clock_at())


def test_the_probe_tells_what_is_denied_and_changes_nothing(tmp_path: Path) -> None:
    """C32."""
    faults = [{"operation": "stop", "code": "Forbidden", "times": 1}]
    connection = open_up(write(tmp_path, machine("a"), faults=faults), clock_at())
    for _ in range(3):
        denied = [p.capability for p in connection.probe("r1", [only(connection)]) if p.granted is False]
        assert denied == ["stop"]
    assert list(connection.world.entries("one")) == []


def test_the_secret_shows_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """K04."""
    caplog.set_level(logging.DEBUG)
    spec = AccountSpec(
        "x",
        credentials=SimulatedAccount(access_key_id="AKID", access_key_secret=SecretStr("expired")),
        options={"scenario": str(write(tmp_path))},
    )
    connection = connect(spec, clock_at())
    with pytest.raises(AuthFailed) as caught:
        connection.identity()
    shown = f"{caught.value} {caught.value!r} {vars(caught.value)} {spec!r} {connection!r} {caplog.text}"
    assert "AKID" not in str(caught.value)
    assert "expired'" not in shown.replace("have expired'", "")


def test_an_account_without_a_cloud_is_the_first_one() -> None:
    assert connect(AccountSpec("x"), clock_at()).identity().account_id == "1298345600017701"
