"""The scenario file: strict, offsets, every mistake told with its place."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from costguard.errors import ConfigErrors
from costguard_simulated.scenario import Scenario, load, names_of
from tests.unit.simulated.helpers import machine, write


def test_the_shipped_scenario_holds() -> None:
    scenario = load("startup")
    assert list(scenario.clouds) == ["alibaba", "tencent", "aws", "rack"]
    assert scenario.start.astimezone().utcoffset() is not None
    assert {cloud.currency for cloud in scenario.clouds.values()} == {"CNY", "USD"}
    assert scenario.start.isoformat() == "2026-11-12T10:00:00+00:00" or scenario.start.hour == 18
    assert scenario.start.weekday() == 3


def test_start_and_scale_beat_the_file(tmp_path: Path) -> None:
    scenario = load(str(write(tmp_path)), start="2026-01-05T09:00:00+08:00", scale=3)
    assert (scenario.start.isoformat(), scenario.scale) == ("2026-01-05T09:00:00+08:00", 3)


def test_offsets_have_a_sign(tmp_path: Path) -> None:
    spec = load(str(write(tmp_path, machine("a", created="-2d", work=[{"since": "-1h30m", "do": "idle"}]))))
    (made,) = spec.clouds["one"].machines
    assert (made.created, made.work[0].since) == (timedelta(days=-2), timedelta(hours=-1, minutes=-30))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"sku": "nope"}, "no sku 'nope'"),
        ({"region": "moon"}, "no region 'moon'"),
        ({"work": [{"since": "0m", "do": "dancing"}]}, "unknown work 'dancing'"),
        ({"work": [{"since": "2m", "do": "idle"}, {"since": "1m", "do": "idle"}]}, "ascend"),
        ({"created": "yesterday"}, "not a duration"),
        ({"colour": "red"}, "Extra inputs"),
        ({"spot_cap": 1.5}, "never a float"),
        ({"sku": "local", "charge": "prepaid"}, "per_month"),
    ],
)
def test_a_wrong_machine_is_refused(tmp_path: Path, facts: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigErrors, match=words):
        load(str(write(tmp_path, machine("a", **facts))))


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"people": [{"who": "li", "do": "keep", "machine": "b", "at": "1m"}]}, "unknown machine 'b'"),
        ({"people": [{"who": "li", "do": "keep", "machine": "a"}]}, "either `at` or `after_stop`"),
        ({"people": [{"who": "li", "do": "stop", "machine": "a", "after_stop": "1m"}]}, "do: start"),
        ({"faults": [{"code": "Whatever"}]}, "unknown error code"),
        ({"faults": [{"cloud": "two"}]}, "no cloud 'two'"),
        ({"start": "2026-11-12T18:00:00"}, "timezone"),
        ({"timezone": "CST"}, "CST"),
    ],
)
def test_a_wrong_scenario_is_refused(tmp_path: Path, rest: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigErrors, match=words):
        load(str(write(tmp_path, machine("a"), **rest)))


def test_two_machines_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="used twice: a-1"):
        load(str(write(tmp_path, machine("a", count=2), machine("a-1"))))


def test_a_file_that_is_no_yaml_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("name: x\nclouds: [\n", encoding="utf-8")
    with pytest.raises(ConfigErrors) as caught:
        load(str(path))
    assert caught.value.errors[0].line == 3


def test_a_missing_file_and_a_wrong_start_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="cannot read"):
        load(str(tmp_path / "none.yaml"))
    with pytest.raises(ConfigErrors, match="with a zone"):
        load(str(write(tmp_path)), start="2026-01-05T09:00:00")


def test_count_numbers_the_names(tmp_path: Path) -> None:
    scenario: Scenario = load(str(write(tmp_path, machine("a", count=2), machine("b"))))
    assert [names_of(spec) for spec in scenario.clouds["one"].machines] == [["a-1", "a-2"], ["b"]]
