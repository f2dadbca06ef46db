"""Which box a label's value means."""

import re
from collections.abc import Mapping

import pytest

from costguard.prometheus.join import Join, join, matcher, values_of
from costguard.testing.builders import make_resource

A = make_resource("i-a", name="train", attributes={"private_ip": "10.0.0.5,fd00::5", "hostname": "ip-5.x,ip-5"})
B = make_resource("i-b", name="eval", attributes={"private_ip": "10.0.0.6"})
OTHER_VPC = make_resource("i-c", name="serve", account="second", attributes={"private_ip": "10.0.0.5"})


@pytest.mark.parametrize(
    ("value", "box"),
    [
        ("i-a", A), ("train", A), ("10.0.0.5", A), ("10.0.0.5:9400", A), ("[fd00::5]:9400", A), ("fd00::5", A),
        ("ip-5", A), ("ip-5.x:9100", A), ("eval", B), ("i-a:x", None), ("train-1", None), ("I-A", None), (" i-a", None),
    ],
)  # fmt: skip
def test_a_value_is_an_id_a_name_an_address_or_a_host(value: str, box: object) -> None:
    found = join([value], [A, B], Join("l"))
    assert list(found.boxes.values()) == ([box.ref] if box is not None else [])  # type: ignore[attr-defined]
    assert found.unmatched == (() if box is not None else (value,))


def test_what_fits_two_boxes_means_neither() -> None:
    found = join(["10.0.0.5:9400", "i-a"], [A, B, OTHER_VPC], Join("instance"))
    assert found.ambiguous == {"10.0.0.5:9400": (A.ref, OTHER_VPC.ref)}
    assert found.boxes == {"i-a": A.ref}


def test_one_box_s_name_that_is_another_s_id_fits_both() -> None:
    imp = make_resource("i-z", name="i-a")
    assert join(["i-a"], [A, imp], Join("l")).ambiguous == {"i-a": (A.ref, imp.ref)}
    assert join(["i-a"], [A, imp], Join("l", "id")).boxes == {"i-a": A.ref}


@pytest.mark.parametrize(
    ("to", "fits"),
    [("id", {"i-a"}), ("name", {"train"}), ("private_ip", {"10.0.0.5"}), ("hostname", {"ip-5"})],
)
def test_it_can_be_narrowed(to: str, fits: set[str]) -> None:
    values = ["i-a", "train", "10.0.0.5", "ip-5"]
    assert join(values, [A, B], Join("l", to)).boxes.keys() == fits  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["i-b", "eval", str(B.ref)])
def test_the_map_beats_what_the_value_says(name: str) -> None:
    how = Join("l", mapping={"10.0.0.5:9400": name, "gone": "i-9"})
    found = join(["10.0.0.5:9400", "gone"], [A, B], how)
    assert found.boxes == {"10.0.0.5:9400": B.ref}
    assert found.unmatched == ("gone",)
    assert "10.0.0.5:9400" in values_of(B, how)


@pytest.mark.parametrize("how", [Join("l"), Join("l", mapping={"rack-3 (left)": "i-a"})])
def test_the_matcher_finds_all_that_may_mean_a_box_and_nothing_else(how: Join) -> None:
    text = re.fullmatch(r'l=~"(.*)"', matcher(values_of(A, how), how))
    assert text is not None
    pattern = text[1].replace("\\\\", "\\")
    mapped: Mapping[str, str] = how.mapping
    for value in ("i-a", "train", "10.0.0.5", "10.0.0.5:9400", "[fd00::5]:9400", "ip-5.x:1", *mapped):
        assert re.fullmatch(pattern, value), value
    for value in ("i-ab", "10a0b0c5", "10.0.0.55", "eval", "train:x"):
        assert not re.fullmatch(pattern, value), value
