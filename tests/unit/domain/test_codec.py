"""One JSON shape for the domain's values, there and back."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.codec import decode, encode, instant, subject_json
from costguard.domain.finding import Subject, SubjectType
from costguard.domain.money import Money
from costguard.domain.resource import State

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(blacklist_categories=["Cs"])).filter(lambda text: not text.endswith("Z"))
    | st.builds(Money, st.integers(-(2**63), 2**63 - 1), st.sampled_from(["CNY", "USD", "JPY"]))
    | st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=8)), timezone(timedelta(hours=-11))]))
    | st.timedeltas(timedelta(days=-36_500), timedelta(days=36_500))
)


@given(st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=8))
def test_values_come_back(value: object) -> None:
    """Money, instants, spans and tuples survive JSON exactly."""
    assert decode(json.loads(json.dumps(encode(value), allow_nan=False))) == value


def test_shapes() -> None:
    at = datetime(2026, 3, 5, 18, 0, tzinfo=timezone(timedelta(hours=8)))
    value = {
        "price": Money.of("34.74", "CNY"),
        "since": at,
        "for": timedelta(minutes=45),
        "half": timedelta(milliseconds=500),
        "state": State.RUNNING,
        "gpus": Decimal("0.50"),
        "list": [1, (2, None)],
        "unknown": float("nan"),
    }
    assert encode(value) == {
        "price": {"amount": "34.74", "currency": "CNY"},
        "since": "2026-03-05T10:00:00.000000Z",
        "for": {"seconds": 2700},
        "half": {"seconds": 0.5},
        "state": "running",
        "gpus": "0.50",
        "list": [1, [2, None]],
        "unknown": None,
    }


def test_text_that_is_no_instant_stays_text() -> None:
    for text in ("2026-03-05", "2026-03-05T10:00:00Z", "i-0123Z", "保留到 2026-03-05T10:00:00.000000Z"):
        assert decode(text) == text


def test_what_has_no_shape_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        encode({"x": object()})
    with pytest.raises(ValueError, match="naive"):
        instant(datetime(2026, 3, 5))  # noqa: DTZ001


def test_subjects() -> None:
    box = Subject(SubjectType.RESOURCE, "i-1", "prod", "aliyun", "cn-beijing", "vm", "train")
    assert subject_json(box) == {
        "type": "resource", "account": "prod", "provider": "aliyun", "region": "cn-beijing", "kind": "vm",
        "id": "i-1", "name": "train",
    }  # fmt: skip
    assert subject_json(Subject(SubjectType.BUDGET, "gpu", name="GPU")) == {
        "type": "budget", "account": "", "id": "gpu", "name": "GPU",
    }  # fmt: skip
    assert encode((box,)) == [subject_json(box)]
