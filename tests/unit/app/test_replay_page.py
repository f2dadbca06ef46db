from costguard.app.replay_page import folded


def _note(step: str, at: str, text: str, policy: str = "day-budget") -> dict[str, object]:
    return {"policy": policy, "threshold": step, "at": at, "text": {"en": text}}


def test_what_repeats_is_told_once_with_how_often_and_the_last_one() -> None:
    days = [_note("100%", f"2026-11-{day:02}T02:00:00Z", f"{day} used") for day in range(1, 9)]
    rest = [_note("forecast:100%", "2026-11-03T00:00:00Z", "ahead")]
    found = list(folded([*days[:3], *rest, *days[3:]]))
    assert [(policy, steps, len(notes)) for policy, steps, notes in found] == [
        ("day-budget", ("100%",), 8),
        ("day-budget", ("forecast:100%",), 1),
    ]
    assert found[0][2][-1] is days[-1]


def test_steps_that_are_told_as_one_are_one_in_their_order() -> None:
    same = [_note(step, "2026-11-01T02:00:00Z", "all used") for step in ("100%", "50%", "80%")]
    ((_, steps, notes),) = folded(same)
    assert (steps, len(notes)) == (("50%", "80%", "100%"), 1)
    assert len(list(folded([*same, _note("50%", "2026-11-01T02:00:00Z", "all used", policy="other")]))) == 2
