from datetime import timedelta

import pytest

from costguard.cli.tables import _hardware as terminal_hardware
from costguard.daemon.documents import FleetRow, ledger_entry, ledger_json, resource_json
from costguard.domain.finding import Subject, SubjectType
from costguard.domain.ledger import LedgerEntry, LedgerKind
from costguard.domain.money import Money
from costguard.domain.resource import UNKNOWN_GPUS
from costguard.testing.builders import NOW, make_resource
from costguard.web.rows import _hardware as page_hardware

BOX = Subject(SubjectType.RESOURCE, "i-1", "prod", "aliyun", "cn-beijing", "vm", "train")
ENTRIES = [
    LedgerEntry(NOW, LedgerKind.DEFERRED, BOX, "waits", action_id="a", policy="p", code="limit", id=7),
    LedgerEntry(
        NOW, LedgerKind.SAVING, Subject(SubjectType.BUDGET, "2026-11", name="2026-11"), "saved",
        money=Money.of("1.5", "CNY"), evidence={"until": NOW + timedelta(hours=1), "per_hour": Money.of("2", "CNY")},
    ),
    LedgerEntry(NOW, LedgerKind.LEVER, None, "paused", actor="cli:root", evidence={"lever": "pause"}),
]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind.value)
def test_a_line_of_the_ledger_comes_back_whole(entry: LedgerEntry) -> None:
    back = ledger_entry(ledger_json(entry))
    assert back == entry
    assert (back.subject and back.subject.name) == (entry.subject and entry.subject.name)


def test_gpus_of_an_unknown_number_have_no_count() -> None:
    box = make_resource(gpus=UNKNOWN_GPUS, sku="p9.large")
    row = resource_json(FleetRow(box, "unknown"))
    assert row["gpus"] == {"model": "unknown", "count": None, "memory_mib": None}
    assert (terminal_hardware(row), page_hardware(FleetRow(box, "unknown"))) == ("p9.large (? GPU)",) * 2
