"""What makes a ladder sensible: checks on one policy by itself, before anything is matched."""

from datetime import timedelta

from costguard.config.yaml import Document, Loc
from costguard.domain.decision import Response
from costguard.domain.finding import SubjectType
from costguard.domain.time import format_duration
from costguard.engine.activity import WINDOW
from costguard.errors import ConfigError
from costguard.rules.idle import IdleWhen
from costguard.rules.policy import Match, Policy, Rung
from costguard.rules.registry import RULES

WARNED_BEFORE = timedelta(minutes=10)
RELEASE_NOTICE = timedelta(hours=24)
_SPOT_NOTICE = timedelta(minutes=2)
_NONE = timedelta()


def check(policy: Policy, document: Document, loc: Loc, errors: list[ConfigError], warnings: list[ConfigError]) -> None:
    """Rungs ascend, a stop is warned of, what can stop says what it matches; every mistake at its place.

    A policy whose rule or ``when`` could not be read is checked for the rest.
    """
    _match(policy, document, loc, errors)
    kind, steps = RULES.get(policy.rule), getattr(policy.when, "at", None)
    budget = kind is not None and kind.subject is SubjectType.BUDGET
    previous: dict[float | None, Rung] = {}
    for index, rung in enumerate(policy.respond):
        here = (*loc, "respond", index)
        before = previous.get(rung.at)
        if before is not None and after(rung) < after(before):
            message = f"rungs ascend: {format_duration(after(rung))} comes after {format_duration(after(before))}"
            errors.append(document.error((*here, "after") if rung.after is not None else here, message))
        previous[rung.at] = rung
        if rung.at is not None and kind is not None and not budget:
            errors.append(document.error((*here, "at"), "at names a step of a budget; use after", key=True))
        if rung.at is not None and budget and steps is not None and rung.at not in steps:
            known = ", ".join(f"{step:g}%" for step in steps)
            errors.append(document.error((*here, "at"), f"no step {rung.at:g}%: when.at has {known}"))
        if rung.do.ends_box and kind is not None and not kind.may_stop:
            errors.append(document.error((*here, "do"), f"rule {policy.rule} only tells; it never ends anything"))
        elif rung.do.ends_box:
            _warned(policy, index, document, here, errors)
        if rung.delay is not None and rung.do is Response.SET_RELEASE_TIME and rung.delay < RELEASE_NOTICE:
            errors.append(document.error((*here, "in"), "the provider's timer destroys: it is at least 24h away"))
        _unused(rung, document, here, errors)
        if rung.look and getattr(policy.when, "when_busy", "hold") == "stop":
            message = "look holds the stop while the box works, and when_busy: stop says that work does not matter"
            errors.append(document.error((*here, "look"), message, hint="leave look out", key=True))
        _spot(policy, rung, document, here, warnings)
        _quick(policy, rung, document, loc, warnings)
    if any(r.do is Response.WARN for r in policy.respond) and not any(r.do.acts for r in policy.respond):
        index = next(i for i, r in enumerate(policy.respond) if r.do is Response.WARN)
        message = "warn announces an action, and none follows"
        warnings.append(document.error((*loc, "respond", index, "do"), message, hint="write do: notify"))


def after(rung: Rung) -> timedelta:
    """When the rung is due, from the first warning."""
    return rung.after or _NONE


def _match(policy: Policy, document: Document, loc: Loc, errors: list[ConfigError]) -> None:
    if not any(rung.do.ends_box for rung in policy.respond):
        return
    if policy.match is None:
        message = "a policy that can stop or release needs match"
        errors.append(document.error((*loc, "name"), message, hint="write match: all if you mean everything"))
    elif isinstance(policy.match, Match) and not policy.match.model_fields_set:
        errors.append(document.error((*loc, "match"), "an empty match is everything", hint="write match: all"))


def _warned(policy: Policy, index: int, document: Document, here: Loc, errors: list[ConfigError]) -> None:
    rung = policy.respond[index]
    if rung.unwarned:
        return
    warnings = [r for r in policy.respond[:index] if r.do is Response.WARN and _answers(r.at, rung.at)]
    soonest = min((after(warning) for warning in warnings), default=None)
    timer = rung.do is Response.SET_RELEASE_TIME
    if soonest is None:
        message = f"nobody is warned before this {rung.do.value}"
        hint = "put {do: warn, to: [owner]} before it" + ("" if timer else ", or say unwarned: true")
        errors.append(document.error(here, message, hint=hint))
    elif timer:
        return  # it fires a day after whatever else is due
    elif after(rung) - soonest < WARNED_BEFORE:
        gap = format_duration(after(rung) - soonest)
        message = f"this {rung.do.value} comes {gap} after the warning, and people need at least 10m"
        hint = f"write after: {format_duration(max(soonest + WARNED_BEFORE, timedelta(minutes=30)))}, or unwarned: true"
        errors.append(document.error((*here, "after") if rung.after is not None else here, message, hint=hint))


def _answers(warning: float | None, step: float | None) -> bool:
    """Whether a warning for one step of a budget has been given when another step is reached."""
    return warning is None or (step is not None and warning <= step)


def _unused(rung: Rung, document: Document, here: Loc, errors: list[ConfigError]) -> None:
    """Keys that mean nothing for what the rung does: somebody expects something that will not happen."""
    belongs = {
        "key": (Response.TAG,), "value": (Response.TAG,), "in": (Response.SET_RELEASE_TIME,),
        "unwarned": (Response.STOP, Response.RELEASE),
    }  # fmt: skip
    given = {"key": rung.key, "value": rung.value, "in": rung.delay, "unwarned": rung.unwarned or None}
    for key, value in given.items():
        if value is not None and rung.do not in belongs[key]:
            words = " or ".join(f"do: {response.value}" for response in belongs[key])
            errors.append(document.error((*here, key), f"{key} belongs to {words}", key=True))
    if rung.approve and not rung.do.acts:
        errors.append(document.error((*here, "approve"), f"do: {rung.do.value} needs no approval", key=True))


def _quick(policy: Policy, rung: Rung, document: Document, loc: Loc, warnings: list[ConfigError]) -> None:
    """A ladder that is climbed before the busy guard can be sure: its warning names a time that cannot be kept."""
    if isinstance(policy.when, IdleWhen) and rung.do.ends_box and policy.when.length + after(rung) < WINDOW:
        message = f"a stop waits until the box has been quiet for {format_duration(WINDOW)}, however short for is"
        warnings.append(document.error((*loc, "when", "for"), message, hint=f"write for: {format_duration(WINDOW)}"))


def outlasts_notice(rung: Rung) -> bool:
    """Whether the rung's hook may still run when a spot machine that was called back is gone."""
    return rung.hook is not None and rung.hook.timeout > _SPOT_NOTICE


def _spot(policy: Policy, rung: Rung, document: Document, here: Loc, warnings: list[ConfigError]) -> None:
    charges = policy.match.charge if isinstance(policy.match, Match) else None
    if charges and "spot" in charges and outlasts_notice(rung):
        message = "a provider takes a spot machine back with as little as 2m notice; a longer hook may be cut off"
        warnings.append(document.error((*here, "hook", "timeout"), message))
