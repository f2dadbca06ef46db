"""Replays of small histories whose right answer can be counted by hand."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import randoms

from costguard.domain.decision import GuardCode
from costguard.domain.resource import Ends, Kind, Resource, StopEffect
from costguard.domain.usage import Metric, Statistic
from costguard.engine.history import History, Piece, Run, Track, micros
from costguard.engine.replay import _Replay, replay
from costguard.engine.replayed import DAY, HOUR, Replayed, by_day, document, saved
from costguard.engine.settings import EngineSettings
from costguard.rules.currency import Rates
from costguard.rules.registry import parse_policy
from costguard.testing.builders import NOW, cny, make_account, make_resource, make_series
from tests.unit.engine.stage import SETTINGS, idle_policy, lifetime_policy

MIN = timedelta(minutes=1)
STEP = 5 * MIN
PERIOD = 300_000_000  # µs
SINCE = NOW.replace(minute=0)
Spans = Iterable[tuple[float, float]]  # hours after SINCE
RATES = Rates("CNY", {})


def at(hours: float) -> datetime:
    return SINCE + timedelta(hours=hours)


def track(box: Resource, metric: Metric, value: Any, start: float, end: float, **fields: Any) -> Track:
    """One sample every five minutes in (start, end]; ``value`` of the hour at which a sample ends."""
    series = make_series(box.ref, metric, 0 if metric is Metric.GPU_UTIL else None, **fields)
    found: list[tuple[int, float, int]] = []
    moment = at(start) + STEP
    while moment <= at(end):
        said = value((moment - SINCE) / HOUR)
        if said is not None:
            found.append((micros(moment), said, PERIOD))
        moment += STEP
    return Track.of(series, found)


def kept(one: Track, keep: Callable[[int], bool]) -> Track:
    """The track with those of its samples whose time (µs) ``keep`` wants."""
    return Track.of(one.series, [(a, v, PERIOD) for a, v in zip(one.at, one.values, strict=True) if keep(a)])


def inside(first: int, last: int) -> Callable[[int], bool]:
    return lambda moment: first < moment <= last


def outside(first: float, last: float) -> Callable[[int], bool]:
    """Not in [first, last] hours."""
    low, high = micros(at(first)), micros(at(last))
    return lambda a: not low <= a <= high


def working(busy: Spans, high: float = 90.0, low: float = 0.5) -> Any:
    """The use of a box that works in ``busy`` (start, end] only."""
    spans = tuple(busy)
    return lambda hour: high if any(a < hour - 1e-9 <= b + 1e-9 for a, b in spans) else low


def tracks(box: Resource, busy: Spans, end: float = 48) -> list[Track]:
    return [
        track(box, Metric.GPU_UTIL, working(busy), -6, end),
        track(box, Metric.CPU_CORES, lambda hour: 0.1, -6, end),
        track(box, Metric.NETWORK, lambda hour: 100.0, -6, end),
    ]


def history(boxes: list[Any], length: timedelta = timedelta(hours=7), **fields: Any) -> History:
    """``boxes``: (resource, runs, tracks) of each; ``length`` of the pieces of time in which the samples come."""
    every = [t for _, _, found in boxes for t in found]

    def samples(low: datetime) -> Iterable[Piece]:
        while low < at(48):
            high = min(low + length, at(48))
            yield high, [kept(one, inside(micros(low), micros(high))) for one in every]
            low = high

    account = make_account(metric_delay=dict.fromkeys(Metric, timedelta()))
    defaults: dict[str, Any] = {
        "since": SINCE, "until": at(48), "accounts": {"prod": account},
        "resources": {r.ref: r for r, _, _ in boxes}, "runs": {r.ref: runs for r, runs, _ in boxes},
        "samples": samples,
    }  # fmt: skip
    return History(**{**defaults, **fields})


def box(id: str = "i-1", **fields: Any) -> Resource:
    return make_resource(id, cards=1, **fields)


def run_of(start: float = -200, end: float | None = None, price: str = "10") -> Run:
    return Run(at(start), None if end is None else at(end), ((at(start), cny(price)),))


def played(*boxes: Any, policies: Any = None, settings: EngineSettings = SETTINGS, **fields: Any) -> Replayed:
    return replay(policies or [idle_policy()], history(list(boxes), **fields), settings)


def test_an_idle_box_is_warned_and_stopped_and_saves_until_it_is_used_again() -> None:
    """Work until 10:00, then none until 20:00: idle at 10:45, warned then, stopped at 11:15, back at 19:05."""
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 10), (19, 48)])))
    (stop,) = result.stops
    assert (stop.warned_at, stop.at) == (at(10.75), at(11.25))
    assert (stop.ended_by, stop.until, stop.work_at) == ("work", at(19) + STEP, at(19) + STEP)
    assert (stop.hits(HOUR), stop.hits(DAY)) == (False, True)
    assert saved(result.stops, RATES)[0] == cny("10").per_hour_for(at(19) + STEP - at(11.25))
    (warned,) = result.warnings
    assert (warned.at, warned.outcome) == (at(10.75), "stopped")


def test_a_stop_right_before_work_is_counted_as_a_hit_within_the_hour() -> None:
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 10), (11.5, 48)])))
    assert (result.hits(HOUR), result.hits(DAY)) == (1, 1)


def test_work_within_the_grace_clears_the_warning() -> None:
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 10), (11, 48)])))
    assert not result.stops
    assert [w.outcome for w in result.warnings] == ["cleared"]


def test_a_box_that_ends_by_itself_saves_only_until_then() -> None:
    one = box()
    runs = (run_of(-200, 14), run_of(30))
    result = played((one, runs, tracks(one, [(-6, 10), (30, 48)])))
    (stop,) = result.stops
    assert (stop.until, stop.ended_by, stop.work_at) == (at(14), "ended", None)
    assert not stop.hits(DAY)


def test_a_stopped_box_that_nobody_uses_saves_until_the_history_ends() -> None:
    one = box()
    (stop,) = played((one, (run_of(),), tracks(one, [(-6, 10)]))).stops
    assert (stop.until, stop.ended_by) == (at(48), "open")


def test_a_box_that_was_used_again_can_be_stopped_again() -> None:
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 2), (8, 9), (40, 41)])))
    assert [s.at for s in result.stops] == [at(3.25), at(10.25), at(42.25)]
    assert [s.ended_by for s in result.stops] == ["work", "work", "open"]


def test_after_two_restarts_within_a_day_the_third_stop_is_held() -> None:
    """The first stop is a day old at 26:15; the next look warns, and half an hour later it stops."""
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 1), (4, 5), (8, 9), (40, 48)])))
    assert [s.at for s in result.stops] == [at(2.25), at(6.25), at(26.75) + STEP]


def test_a_working_box_is_never_stopped_whatever_its_age() -> None:
    """when_busy: hold: the warning goes out, the stop is denied until it rests; by then people are warned again."""
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 30)])), policies=[lifetime_policy()])
    (stop,) = result.stops
    assert stop.warned_at == at(30.5)
    assert stop.at == at(31)
    assert result.warnings[0].at == at(0)


def test_a_box_always_at_work_is_held_as_busy_to_the_end() -> None:
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 48)])), policies=[lifetime_policy()])
    assert not result.stops
    assert [w.outcome for w in result.warnings] == [GuardCode.BUSY.value]


def test_missing_samples_are_unknown_and_stop_nothing() -> None:
    one = box()
    quiet = track(one, Metric.GPU_UTIL, lambda hour: 0.0, -6, 48)
    result = played((one, (run_of(),), [quiet]))
    assert not result.stops
    assert result.boxes_with_use == 1


def test_a_box_is_judged_again_once_its_samples_are_back() -> None:
    """The window of 45 min fills up again after the hole, at 90 % of its samples."""
    one = box()

    found = [kept(t, lambda a: a > micros(at(6))) for t in tracks(one, [])]
    result = played((one, (run_of(),), found))
    (stop,) = result.stops
    assert at(6.5) < stop.warned_at <= at(6.9)  # type: ignore[operator]


def test_limits_hold_over_all_boxes_and_the_dearest_goes_first() -> None:
    boxes = [box(f"i-{n}", price=cny(str(n + 1))) for n in range(4)]
    rows = [(b, (run_of(price=str(n + 1)),), tracks(b, [(-6, 10)])) for n, b in enumerate(boxes)]
    result = played(*rows, settings=EngineSettings(per_hour=2, share=None))
    times = sorted((s.at, s.subject.id) for s in result.stops)
    assert [id for when, id in times if when == at(11.25)] == ["i-2", "i-3"]
    assert [id for when, id in times if when > at(11.25)] == ["i-0", "i-1"]
    assert times[-1][0] == at(12.25)


def test_a_share_counts_boxes_that_no_policy_speaks_of() -> None:
    dev = box("i-1", tags={"role": "dev"})
    others = [box(f"o-{n}") for n in range(7)]
    rows = [(dev, (run_of(),), tracks(dev, [(-6, 10)])), *((b, (run_of(),), []) for b in others)]
    policies = [idle_policy(match={"tags": {"role": ["dev"]}})]
    result = played(*rows, policies=policies, settings=EngineSettings(per_hour=None, share=25.0))
    assert len(result.stops) == 1
    assert result.matched == {"idle-dev": 1}
    assert result.boxes == 8


@pytest.mark.parametrize(
    "fields", [{"stop_effect": StopEffect(Ends.NO)}, {"group": "asg-1"}, {"tags": {"costguard": "keep"}}]
)
def test_guards_hold_as_they_do_for_real(fields: dict[str, Any]) -> None:
    one = box(**fields)
    result = played((one, (run_of(),), tracks(one, [(-6, 10)])))
    assert not result.stops
    assert not result.warnings


def test_a_schedule_stops_at_its_edges() -> None:
    """The box works until 16:00; the off time begins at 18:00: warned then, stopped half an hour later."""
    night = parse_policy(
        {
            "name": "night", "rule": "schedule", "match": "all",
            "when": {"off": [{"days": "daily", "from": "18:00", "to": "06:00"}], "holidays": None},
            "respond": [{"do": "warn"}, {"after": "30m", "do": "stop"}],
        }
    )  # fmt: skip
    one = box()
    result = played((one, (run_of(),), tracks(one, [(-6, 4), (20, 28)])), policies=[night], timezone="UTC")
    offset = SINCE.hour
    first = at(18 - offset)
    assert result.stops[0].warned_at == first
    assert result.stops[0].at == first + timedelta(minutes=30)
    assert result.stops[0].ended_by == "work"
    assert result.stops[1].warned_at == first + DAY


def test_a_mean_over_cards_proves_rest_only_below_its_share() -> None:
    """One busy card of eight at 32 % reads 4 % (A30): never idle."""
    one = make_resource("i-1", cards=8)
    mean = track(one, Metric.GPU_UTIL, lambda hour: 4.0, -6, 48, statistic=Statistic.MEAN, cards=8)
    whole = replace(mean, series=replace(mean.series, gpu_index=None))
    rest = tracks(one, [])[1:]
    assert not played((one, (run_of(),), [whole, *rest])).stops


def test_policies_that_a_replay_cannot_judge_are_named_with_a_sentence_in_both_languages() -> None:
    policies = [
        parse_policy({"name": name, "rule": rule, "match": "all", "when": when, "respond": [{"do": "notify"}]})
        for name, rule, when in (
            ("room", "quota", {"used_above": "80%"}),
            ("leftovers", "waste", {"kinds": ["disk"], "unattached_for": "7d"}),
            ("top-up", "balance", {"days_left_below": "3d"}),
        )
    ]
    one = box()
    result = played((one, (run_of(),), tracks(one, [])), policies=[*policies, idle_policy()])
    assert result.skipped == {"room": "quota", "leftovers": "waste", "top-up": "no_balance"}
    assert set(result.rules) == {"idle-dev"}
    told: Any = document(result, "now", RATES, ZoneInfo("UTC"))
    assert all(one["reason"] and one["reason_zh"] for one in told["skipped"])


def test_disks_and_boxes_of_unknown_accounts_are_left_out() -> None:
    disk = box("d-1", kind=Kind.DISK)
    stray = box("i-9", account="elsewhere")
    result = played((disk, (run_of(),), tracks(disk, [])), (stray, (run_of(),), tracks(stray, [])))
    assert result.boxes == 0
    assert not result.stops


@pytest.mark.parametrize("hours", [1, 3, 24, 48])
def test_the_size_of_the_pieces_changes_nothing(hours: int) -> None:
    boxes = [box(f"i-{n}") for n in range(3)]
    busy = [[(-6, 10), (19, 20)], [(-6, 1), (4, 5), (8, 9)], [(-6, 30)]]
    rows = [(b, (run_of(),), tracks(b, spans)) for b, spans in zip(boxes, busy, strict=True)]
    policies = [idle_policy(), lifetime_policy(when={"max_age": "210h"})]
    limits = EngineSettings(per_hour=1, share=None)
    whole = played(*rows, policies=policies, settings=limits, length=timedelta(hours=7))
    pieces = played(*rows, policies=policies, settings=limits, length=timedelta(hours=hours))
    assert [(s.at, s.until, s.policy) for s in pieces.stops] == [(s.at, s.until, s.policy) for s in whole.stops]
    assert [(w.at, w.outcome) for w in pieces.warnings] == [(w.at, w.outcome) for w in whole.warnings]


def test_looks_are_few_because_only_changes_are_looked_at() -> None:
    """48 hours are 576 polls; a box that works all the time needs none of them but the first of each piece."""
    one = box()
    assert played((one, (run_of(),), tracks(one, [(-6, 48)]))).looks < 12


def test_the_document_adds_up() -> None:
    one, two = box(), box("i-2")
    result = played(
        (one, (run_of(),), tracks(one, [(-6, 10), (11.5, 48)])), (two, (run_of(),), tracks(two, [(-6, 10)]))
    )
    zone = ZoneInfo("Asia/Shanghai")
    told = document(result, "now", RATES, zone)
    assert (told["stopped"], told["hit_within_hour"], told["hit_within_day"]) == (2, 1, 1)
    days = by_day(result.stops, result.since, result.until, zone, RATES)
    assert abs(sum(m.nanos for m in days.values()) - saved(result.stops, RATES)[0].nanos) <= len(days)
    assert len(told["stops"]) == 2  # type: ignore[arg-type]


def test_a_price_that_changed_is_paid_as_it_was() -> None:
    one = box()
    run = Run(at(-200), None, ((at(-200), cny("10")), (at(20), cny("20"))))
    (stop,) = played((one, (run,), tracks(one, [(-6, 10)]))).stops
    assert stop.saved(RATES)[0] == cny("10").per_hour_for(at(20) - stop.at) + cny("20").per_hour_for(at(48) - at(20))


def test_an_unknown_price_saves_nothing_and_is_said() -> None:
    one = box(price=None)
    (stop,) = played((one, (Run(at(-200)),), tracks(one, [(-6, 10)]))).stops
    assert not stop.priced
    assert stop.saved(RATES)[0] == cny("0")


@settings(max_examples=settings.default.max_examples // 8, derandomize=True)
@given(randoms(use_true_random=True))
@example(Random(279725183))  # samples are back before the hour in which an unknown box was looked at again
def test_looking_at_every_step_finds_nothing_more(rng: Random) -> None:
    """The looks that a replay leaves out are those that would have changed nothing, nor does the size of its pieces."""
    rows = []
    for number in range(5):
        one = box(f"i-{number}", price=cny(str(rng.randint(1, 50))), tags={"role": rng.choice(["dev", "train"])})
        spans, hour = [], -6.0
        while hour < 48:
            length = rng.choice([0.3, 1, 4])
            spans.append((hour, hour + length))
            hour += length + rng.choice([0.2, 0.6, 0.9, 1.5, 3, 9])
        runs, begin = [], -rng.uniform(7, 300)
        while begin < 48:
            ended = max(begin, 0) + rng.choice([2, 11, 30, 80])
            runs.append(run_of(begin, None if ended > 48 else ended))
            begin = ended + rng.choice([0.3, 1, 6])
        found = tracks(one, spans)
        if rng.random() < 0.4:
            first = rng.uniform(0, 40)
            missing = rng.choice([0.1, 0.5, 3])
            found = [kept(t, outside(first, first + missing)) for t in found]
        rows.append((one, tuple(runs), found))
    limit = f"{rng.randint(10, 300)}h"
    stop = {"after": "30m", "do": "stop", "look": rng.random() < 0.5}
    night = parse_policy(
        {
            "name": "night", "rule": "schedule", "match": {"tags": {"role": ["dev"]}},
            "when": {"off": [{"days": "daily", "from": "20:00", "to": "08:00"}], "holidays": None},
            "respond": [{"do": "warn"}, stop],
            "limits": {"only_during": [{"days": "daily", "from": "21:00", "to": "05:00"}]},
        }
    )  # fmt: skip
    policies = [idle_policy(respond=[{"do": "warn"}, stop]), night, lifetime_policy(when={"max_age": limit})]
    told = make_account(metric_delay=dict.fromkeys(Metric, rng.choice([0, 3]) * STEP))
    past = history(rows, accounts={"prod": told})
    limits = EngineSettings(per_hour=rng.choice([None, 1, 3]), share=None)
    thrifty = replay(policies, history(rows, timedelta(hours=rng.choice([3, 7, 20])), accounts={"prod": told}), limits)
    whole = _Replay(policies, past, limits)
    for one in whole.boxes:
        for step in range(int((past.until - past.since) / STEP) + 1):
            whole._wake(one, micros(past.since + step * STEP))
    diligent = whole.run()
    assert thrifty.looks < diligent.looks / 3
    shown = [[(s.at, s.policy, s.subject.id, s.until, s.ended_by) for s in r.stops] for r in (thrifty, diligent)]
    assert shown[0] == shown[1]
