"""People: the levers that a driver pulls for them."""

from datetime import timedelta
from pathlib import Path

from costguard_simulated.people import due_levers
from tests.unit.simulated.helpers import START, clock_at, machine, open_up, write

PEOPLE = [
    {"at": "40m", "who": "li", "do": "keep", "machine": "a", "lasts": "4h", "reason": "reading"},
    {"at": "10m", "who": "he", "do": "claim", "machine": "a"},
    {"at": "20m", "who": "li", "do": "restart", "machine": "a"},
]


def test_levers_fall_due_once_and_in_order(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a"), people=PEOPLE), clock_at())
    world, step = connection.world, timedelta(minutes=10)
    found = [lever for n in range(12) for lever in due_levers(world, START + n * step, START + (n + 1) * step)]
    assert [(lever.at - START, lever.who, lever.do) for lever in found] == [
        (timedelta(minutes=10), "he", "claim"),
        (timedelta(minutes=40), "li", "keep"),
    ]
    keep = found[1]
    assert (keep.lasts, keep.reason, keep.resource_name) == (timedelta(hours=4), "reading", "a")
    assert keep.resource_id == world.named("a").id
    assert connection.due_levers(START, START + 12 * step) == found


def test_an_account_sees_the_levers_of_its_own_cloud(tmp_path: Path) -> None:
    connection = open_up(write(tmp_path, machine("a"), people=PEOPLE), clock_at())
    assert connection.starts_at == START
    assert connection.due_levers(START - timedelta(hours=1), START) == []
