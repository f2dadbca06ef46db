import pytest

from costguard.domain.resource import Kind
from costguard.domain.snapshot import SourceState
from costguard.engine.names import KINDS, STATES, source_name, state_name


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("inventory", "资源清单"),
        ("inventory.disk", "资源清单（云盘）"),
        ("prometheus", "Prometheus 数据"),
        ("own", "own"),
    ],
)
def test_a_source(source: str, told: str) -> None:
    assert source_name("zh", source) == told
    assert source_name("en", source) == source


def test_every_kind_and_state_has_its_name() -> None:
    assert {kind.value for kind in Kind} <= set(KINDS)
    assert {state.value for state in SourceState} - set(STATES) <= {"ok", "unknown"}
    assert (state_name("zh", "denied"), state_name("zh", "ok"), state_name("en", "denied")) == (
        "没有权限",
        "正常",
        "denied",
    )
