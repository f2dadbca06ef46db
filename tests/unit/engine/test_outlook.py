"""One answer over all policies: what happens next, when, why or why not."""

from typing import Any

import pytest

from costguard.domain.decision import ALLOW, Answer, GuardCode, Response, Verdict
from costguard.domain.finding import Outcome
from costguard.engine.outlook import Outlook, Prospect, of_judgement, of_ladder, outlook
from costguard.rules.kind import judged
from costguard.testing.builders import HOUR, NOW, make_resource

DUE = NOW + HOUR


def ladder(answer: Answer, code: GuardCode, *, dry: GuardCode | None = None, **fields: Any) -> Outlook:
    return of_ladder("p", Response.STOP, Verdict(answer, code, "why", **fields), DUE, dry, flying=False)


@pytest.mark.parametrize(
    ("found", "prospect", "at", "code"),
    [
        (of_ladder("p", Response.STOP, ALLOW, NOW, None, flying=False), Prospect.NOW, None, GuardCode.OK),
        (of_ladder("p", Response.STOP, ALLOW, NOW, None, flying=True), Prospect.UNDER_WAY, None, GuardCode.OK),
        (ladder(Answer.DEFER, GuardCode.NOT_DUE, until=DUE), Prospect.LATER, DUE, GuardCode.NOT_DUE),
        (ladder(Answer.DEFER, GuardCode.LIMIT), Prospect.LATER, DUE, GuardCode.LIMIT),
        (ladder(Answer.DENY, GuardCode.BUSY), Prospect.REFUSED, None, GuardCode.BUSY),
        (ladder(Answer.DEFER, GuardCode.NOT_DUE, dry=GuardCode.DRY_RUN), Prospect.DRY_RUN, DUE, GuardCode.DRY_RUN),
        (ladder(Answer.DENY, GuardCode.DRY_RUN, dry=GuardCode.DRY_RUN), Prospect.DRY_RUN, DUE, GuardCode.DRY_RUN),
        (ladder(Answer.DENY, GuardCode.NOT_ARMED, dry=GuardCode.NOT_ARMED), Prospect.DRY_RUN, DUE, GuardCode.NOT_ARMED),
        (ladder(Answer.DENY, GuardCode.BUSY, dry=GuardCode.DRY_RUN), Prospect.REFUSED, None, GuardCode.BUSY),
        (
            ladder(Answer.DEFER, GuardCode.NOT_DUE, dry=GuardCode.DRY_RUN, never=GuardCode.SAVES_NOTHING),
            Prospect.REFUSED, None, GuardCode.SAVES_NOTHING,
        ),
    ],
)  # fmt: skip
def test_what_one_ladder_comes_to(found: Outlook, prospect: Prospect, at: Any, code: GuardCode) -> None:
    assert (found.prospect, found.at, found.code) == (prospect, at, code)


def test_the_plans_order_decides_which_is_told() -> None:
    box = make_resource()
    clear, unknown, fires = (
        of_judgement(outcome.value, judged(box, outcome, outcome.value)) for outcome in
        (Outcome.CLEAR, Outcome.UNKNOWN, Outcome.FIRES)
    )  # fmt: skip
    refused = ladder(Answer.DENY, GuardCode.BUSY)
    dry = ladder(Answer.DENY, GuardCode.DRY_RUN, dry=GuardCode.DRY_RUN)
    later = ladder(Answer.DEFER, GuardCode.NOT_DUE, until=DUE)
    sooner = ladder(Answer.DEFER, GuardCode.NOT_DUE, until=NOW)
    release = of_ladder("a", Response.RELEASE, Verdict(Answer.DEFER, GuardCode.NOT_DUE), NOW, None, flying=False)
    ascending = [sooner, later, release, dry, refused, fires, unknown, clear]
    for number in range(len(ascending)):
        assert outlook(reversed(ascending[number:])) is ascending[number]
    assert outlook([]).reason == "no policy matches it"
