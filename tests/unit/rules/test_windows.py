"""What windows prove, and what they do not."""

from dataclasses import replace
from datetime import timedelta
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costguard.domain.usage import Metric, Statistic, UsageWindow, WindowSpec
from costguard.rules.windows import Proof, cards_of, gap_of, read_box, read_cards
from costguard.testing.builders import HOUR, MINUTE, NOW, make_resource, make_series, make_snapshot, make_window


def card(index: int, value: float, source: str = "cloud", **fields: object) -> UsageWindow:
    return make_window(value, series=make_series(gpu_index=index, source=source), **fields)  # type: ignore[arg-type]


def box(value: float, cards: int, statistic: Statistic = Statistic.MEAN, source: str = "cloud") -> UsageWindow:
    return make_window(value, series=make_series(cards=cards, statistic=statistic, source=source))


def cards(windows: list[UsageWindow], count: int | None, threshold: float = 5.0) -> tuple[Proof, str]:
    reading = read_cards(windows, count, threshold, HOUR, 90.0)
    return reading.proof, reading.reason


@pytest.mark.parametrize(
    ("fields", "gap"),
    [
        ({}, ""),
        ({"coverage": 0.9}, ""),
        ({"coverage": 0.89}, "low_coverage"),
        ({"last_at": NOW - 2 * MINUTE}, ""),
        ({"last_at": NOW - 2 * MINUTE - timedelta(seconds=1)}, "stale_samples"),
        ({"samples": 0}, "no_samples"),
        ({"expected": 0, "samples": 1}, "low_coverage"),
        ({"length": HOUR - MINUTE}, "short_window"),
    ],
)
def test_a_window_proves_only_if_it_is_whole_and_new(fields: dict[str, object], gap: str) -> None:
    """A15, A29, M14: 90 % of the expected samples, the last one at most two periods old, the whole length."""
    assert gap_of(make_window(0.0, **fields), HOUR, 90.0) == gap  # type: ignore[arg-type]


def test_one_busy_card_of_two_is_busy() -> None:
    """M03: card 0 idle, card 1 at 99 %."""
    assert cards([card(0, 0.0), card(1, 99.0)], 2) == (Proof.BUSY, "busy")
    reading = read_cards([card(0, 0.0), card(1, 99.0)], 2, 5.0, HOUR, 90.0)
    assert (reading.cards, reading.busy, reading.quiet) == (2, 1, 1)


def test_each_expected_card_needs_a_series() -> None:
    """M03, A10: a card that nobody sees is unknown, not zero."""
    assert cards([card(0, 0.0)], 2) == (Proof.UNKNOWN, "card_without_samples")
    assert cards([], 2) == (Proof.UNKNOWN, "no_samples")
    assert cards([card(0, 0.0), card(1, 0.0)], 2) == (Proof.QUIET, "")


def test_an_unknown_number_of_cards_never_proves_quiet() -> None:
    assert cards([card(0, 0.0)], None) == (Proof.UNKNOWN, "cards_unknown")
    assert cards([card(0, 50.0)], None) == (Proof.BUSY, "busy")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.62, (Proof.QUIET, "")), (0.63, (Proof.UNKNOWN, "mean_over_cards")), (4.9, (Proof.UNKNOWN, "mean_over_cards")),
     (5.0, (Proof.BUSY, "busy"))],
)  # fmt: skip
def test_a_mean_over_eight_cards_proves_only_below_an_eighth(value: float, expected: tuple[Proof, str]) -> None:
    """A30: one busy card of eight at 39 % reads 4.9 %."""
    assert cards([box(value, 8)], 8) == expected


def test_a_series_for_fewer_cards_than_the_box_has_proves_nothing() -> None:
    assert cards([box(0.0, 4)], 8)[0] is Proof.UNKNOWN
    assert cards([box(0.0, 1)], 8)[0] is Proof.UNKNOWN
    assert cards([box(0.0, 1)], 1) == (Proof.QUIET, "")


def test_a_maximum_over_all_cards_proves_below_the_threshold_itself() -> None:
    assert cards([box(4.9, 8, Statistic.MAX)], 8) == (Proof.QUIET, "")


def test_a_second_statistic_of_a_card_adds_no_doubt_and_no_card() -> None:
    mean = make_window(1.0, series=make_series(gpu_index=0, statistic=Statistic.MEAN), coverage=0.2)
    assert cards([card(0, 1.0), mean], 1) == (Proof.QUIET, "")
    assert cards([card(0, 99.0), mean], 1) == (Proof.BUSY, "busy")


def test_sources_are_never_mixed_and_work_wins() -> None:
    """A16: two sources that disagree are not one series; whichever saw work wins."""
    assert cards([card(0, 0.0, "a"), card(1, 0.0, "b")], 2)[0] is Proof.UNKNOWN
    assert cards([card(0, 0.0, "a"), card(1, 0.0, "a"), card(0, 95.0, "b")], 2)[0] is Proof.BUSY
    assert cards([card(0, 0.0, "a"), card(1, 0.0, "a"), card(0, 0.0, "b")], 2)[0] is Proof.QUIET
    assert cards([card(0, 0.0, "b"), card(1, 0.0, "b"), card(0, 0.0, "a", coverage=0.1)], 2)[0] is Proof.QUIET


def test_a_part_of_a_card_shows_work_and_proves_no_rest() -> None:
    """A10: a slice, or engines of one sort; whatever else the same source, or another, says of the whole card."""

    def part(index: int, value: float, source: str = "cloud") -> UsageWindow:
        return make_window(value, series=make_series(gpu_index=index, cards=0, source=source))

    assert cards([part(0, 0.0)], 1) == (Proof.UNKNOWN, "card_without_samples")
    assert cards([part(0, 0.0), card(1, 0.0)], 2)[0] is Proof.UNKNOWN
    assert cards([part(0, 0.0), card(0, 0.0)], 1) == (Proof.QUIET, "")
    assert cards([part(0, 60.0), card(0, 0.0)], 1) == (Proof.BUSY, "busy")
    assert cards([part(0, 60.0, "a"), part(1, 60.0, "a"), card(0, 0.0), card(1, 0.0)], 2) == (Proof.BUSY, "busy")
    both = read_cards([part(0, 60.0, "a"), part(1, 60.0, "a"), card(0, 0.0), card(1, 0.0)], 2, 5.0, HOUR, 90.0)
    assert (both.busy, both.quiet) == (2, 0)


def test_a_card_index_that_the_box_should_not_have_must_be_quiet_too() -> None:
    assert cards([card(0, 0.0), card(1, 0.0, coverage=0.1)], 1)[0] is Proof.UNKNOWN


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1, 2, None]), st.sampled_from(["a", "b"]), st.sampled_from([0.0, 3.0, 60.0]),
                  st.sampled_from([1.0, 0.5])),
        max_size=5,
    ),
    st.sampled_from([None, 1, 2, 3]),
)  # fmt: skip
def test_the_order_of_series_changes_nothing(
    series: list[tuple[int | None, str, float, float]], count: int | None
) -> None:
    """M04: permutations of what arrives give the same answer; and a busy series is never outvoted."""
    windows = [
        make_window(value, series=make_series(gpu_index=index, source=source), coverage=coverage)
        for index, source, value, coverage in series
    ]
    answers = {cards(list(order), count) for order in permutations(windows)}
    boxes = {read_box(list(order), 5.0, HOUR, 90.0).proof for order in permutations(windows)}
    assert len(answers) == 1
    assert len(boxes) == 1
    if any(value >= 5.0 for _, _, value, _ in series):
        assert answers == {(Proof.BUSY, "busy")}
        assert boxes == {Proof.BUSY}


def test_a_box_metric_needs_every_series_of_a_source() -> None:
    quiet, gap = make_window(0.1), make_window(0.1, coverage=0.5)
    assert read_box([quiet], 1.0, HOUR, 90.0).proof is Proof.QUIET
    assert read_box([quiet, gap], 1.0, HOUR, 90.0).proof is Proof.UNKNOWN
    assert read_box([], 1.0, HOUR, 90.0).reason == "no_samples"
    other = make_window(0.1, series=make_series(source="z"), coverage=0.5)
    assert read_box([other, quiet], 1.0, HOUR, 90.0).source == "cloud"


@pytest.mark.parametrize(
    ("source", "value", "expected"),
    [
        ("cloud", 0.0, (Proof.UNKNOWN, "cut")),
        ("prometheus:other", 0.0, (Proof.UNKNOWN, "cut")),
        ("cloudwatch:AWS/EC2", 0.0, (Proof.UNKNOWN, "cut")),
        ("cloud", 2.0, (Proof.QUIET, "")),
        ("cloud", 80.0, (Proof.BUSY, "busy")),
        ("prometheus:dcgm/prof", 0.0, (Proof.QUIET, "")),
    ],
)
def test_zeros_of_a_card_that_is_cut_are_no_measurement(source: str, value: float, expected: tuple[Proof, str]) -> None:
    """A10, A15: a card that reads anything at all can be read; a source of slices tells of each."""
    box, spec = make_resource(cards=1), WindowSpec(Metric.GPU_UTIL, HOUR)
    window = make_window(value, series=make_series(box.ref, gpu_index=0, source=source))
    snapshot = make_snapshot(box, usage={box.ref: {spec: (window,)}}, cut=frozenset({box.ref}))
    reading = cards_of(snapshot, box.ref, spec, 1, 5.0, 90.0)
    assert (reading.proof, reading.reason) == expected
    assert cards_of(replace(snapshot, cut=frozenset()), box.ref, spec, 1, 5.0, 90.0).proof is not Proof.UNKNOWN
    memory = WindowSpec(Metric.GPU_MEMORY, HOUR)
    usage = {memory: (replace(window, series=replace(window.series, metric=Metric.GPU_MEMORY)),)}
    told = make_snapshot(box, usage={box.ref: usage}, cut=frozenset({box.ref}))
    assert cards_of(told, box.ref, memory, 1, 90.0, 90.0).proof is Proof.QUIET


def test_a_reading_shows_maximum_mean_and_age() -> None:
    reading = read_cards([card(0, 1.0), card(1, 3.0)], 2, 5.0, HOUR, 90.0)
    assert (reading.max, reading.mean, reading.last_at) == (3.0, 2.0, NOW)
    assert read_box([], 1.0, HOUR, 90.0).max is None


def test_what_tells_of_a_part_of_a_box_shows_work_and_proves_no_rest() -> None:
    """M01: a part of an answer may be missing; beside a whole series it changes nothing but for the work it shows."""
    whole, part, busy = box(0.0, 1), box(0.0, 0), box(9.0, 0)
    for windows, proof in (
        ([part], Proof.UNKNOWN),
        ([whole, part], Proof.QUIET),
        ([whole, busy], Proof.BUSY),
        ([replace(whole, samples=1), part], Proof.UNKNOWN),
    ):
        for order in permutations(windows):
            assert read_box(order, 5.0, HOUR, 90.0).proof is proof
    assert read_box([part], 5.0, HOUR, 90.0).reason == "partial_samples"


def test_a_card_at_work_in_one_source_is_not_quiet_in_another() -> None:
    """A16: sources may see different cards; each card counts once, as what any source saw of it."""
    seen = [card(0, 99.0, "a"), card(0, 0.0, "b")]
    reading = read_cards(seen, 2, 5.0, HOUR, 90.0)
    assert (reading.busy, reading.quiet) == (1, 0), "nobody sees the second card"
    both = read_cards([*seen, card(1, 99.0, "b")], 2, 5.0, HOUR, 90.0)
    assert (both.busy, both.quiet) == (2, 0)
    told = read_cards([*seen, card(1, 0.0, "c")], 2, 5.0, HOUR, 90.0)
    assert (told.busy, told.quiet) == (1, 1)
    halves = [card(0, 99.0, "a"), card(1, 99.0, "a"), card(2, 99.0, "b"), card(3, 0.0, "b"), card(0, 0.0, "b")]
    for order in permutations(halves):
        reading = read_cards(order, 4, 5.0, HOUR, 90.0)
        assert (reading.busy, reading.quiet) == (3, 1)


def test_a_source_that_tells_of_more_cards_is_believed_over_one_that_tells_of_few() -> None:
    few, more = (
        card(0, 0.0, "a"),
        [make_window(0.0, series=make_series(gpu_index=i, source="b"), coverage=0.1) for i in range(4)],
    )
    assert cards([few], 1) == (Proof.QUIET, "")
    assert cards([few, *more], 1) == (Proof.UNKNOWN, "card_without_samples")
