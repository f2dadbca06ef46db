from decimal import Decimal

import pytest

from costguard.domain.finding import Subject, SubjectType
from costguard.domain.resource import Gpus, Kind, ResourceRef


def test_a_ref_reads_back_even_with_slashes_in_the_id() -> None:
    ref = ResourceRef("aws", "prod", "us-east-1", Kind.ENDPOINT, "arn:aws:x/y/z")
    assert ResourceRef.parse(str(ref)) == ref


@pytest.mark.parametrize("bad", ["i-1", "a/b/c/vm", "a//c/vm/i-1", "a/b/c/spaceship/i-1"])
def test_other_shapes_are_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r"not a full ref|spaceship"):
        ResourceRef.parse(bad)


@pytest.mark.parametrize(("count", "cards"), [("8", 8), ("0.5", 1), ("1.25", 2), ("0", 1)])
def test_expected_cards(count: str, cards: int) -> None:
    assert Gpus("A10", Decimal(count)).cards == cards


def test_a_resource_subject_gives_its_ref_back() -> None:
    ref = ResourceRef("aws", "prod", "us-east-1", Kind.VM, "i-1")
    subject = Subject(SubjectType.RESOURCE, "i-1", "prod", "aws", "us-east-1", "vm", "train")
    assert subject.ref == ref
    assert Subject(SubjectType.BUDGET, "monthly").ref is None
