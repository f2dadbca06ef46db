"""Fleet: ids in the provider's form, the same for the same seed."""

import re
from pathlib import Path

import pytest

from costguard.domain.resource import Kind
from costguard_simulated.fleet import jitter
from tests.unit.simulated.helpers import START, clock_at, machine, only, open_up, write


@pytest.mark.parametrize(
    ("personality", "pattern"),
    [
        ("alibaba", r"i-2ze[0-9a-z]{16}"),
        ("tencent", r"ins-[0-9a-z]{8}"),
        ("aws", r"i-0[0-9a-f]{16}"),
        ("rack", r"box"),
    ],
)
def test_ids_look_like_the_providers(tmp_path: Path, personality: str, pattern: str) -> None:
    assert re.fullmatch(
        pattern, only(open_up(write(tmp_path, machine("box"), personality=personality), clock_at())).ref.id
    )


def test_ids_depend_on_the_seed_and_the_name(tmp_path: Path) -> None:
    def ids(seed: int) -> list[str]:
        connection = open_up(write(tmp_path, machine("a"), machine("b"), seed=seed), clock_at())
        return [box.ref.id for kind in (Kind.VM, Kind.DISK) for box in connection.list(kind, "r1")]

    assert ids(1) == ids(1)
    assert len({*ids(1), *ids(2)}) == 8


def test_jitter_stays_in_its_range_and_is_repeatable() -> None:
    found = {jitter(seed, START, 30, 60).total_seconds() for seed in range(200)}
    assert min(found) >= 30
    assert max(found) <= 60
    assert len(found) > 20
    assert jitter(1, START, 30, 60) == jitter(1, START, 30, 60)


def test_a_system_disk_says_whose_it_is_and_not_what_for(tmp_path: Path) -> None:
    """A disk that carried its machine's role would be judged like a machine."""
    tags = {"owner": "li", "team": "eval", "role": "dev"}
    connection = open_up(write(tmp_path, machine("a", tags=tags), machine("b", tags=None)), clock_at())
    disks = {disk.name: disk.tags for disk in connection.list(Kind.DISK, "r1")}
    assert disks == {"a-system": {"owner": "li", "team": "eval"}, "b-system": None}
