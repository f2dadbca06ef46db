"""``costguard check``: what each policy would do, from the configuration and, where there is one, the last inventory.

Loading has already told every mistake; this is the part that ends the report. Pure: resources are passed in.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from costguard.config.ladders import outlasts_notice
from costguard.config.load import Config
from costguard.domain.decision import Response
from costguard.domain.resource import ChargeType, Resource
from costguard.domain.time import format_duration
from costguard.engine.fence import fence
from costguard.engine.ownership import with_owner
from costguard.engine.settings import EngineSettings, Owner
from costguard.errors import ConfigError
from costguard.rules.fields import TimeGrammar
from costguard.rules.match import compile_match
from costguard.rules.policy import Policy
from costguard.rules.schedule import OF_THE_ZONE, ScheduleWhen

_NONE = timedelta()


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """What one policy would do. ``matches``, ``fenced`` and ``hasty``, the spot machines that may be gone before the
    hook has ended, are None without an inventory. ``holidays`` are the countries whose public holidays its workdays and
    restdays go by, None where it names no such days."""

    policy: str
    rule: str
    mode: str
    steps: tuple[str, ...]
    matches: int | None
    fenced: int | None
    hasty: int | None
    holidays: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The whole answer: counts, harmless mistakes, and what each policy would do, in the order of the files."""

    accounts: int
    channels: int
    warnings: tuple[ConfigError, ...]
    policies: tuple[PolicyCheck, ...]


def check(config: Config, resources: Iterable[Resource] | None = None) -> Report:
    """What every policy would do with these resources (not gone); None when there is no inventory yet."""
    listed: Sequence[Resource] | None = None
    never_stop = config.settings.never_stop
    settings = EngineSettings(fence_names=never_stop.names, fence_tags=never_stop.tags)
    owners = tuple(Owner(owner.name, owner.names, owner.tags, owner.team) for owner in config.settings.owners)
    if resources is not None:
        listed = [with_owner(resource, owners) for resource in resources]
    facts = config.account_facts()
    checks: list[PolicyCheck] = []
    for policy in config.policies:
        matched: list[Resource] | None = None
        if listed is not None:
            matched = compile_match(policy.match).select((r, facts.get(r.ref.account)) for r in listed)
        fenced = None if matched is None else sum(fence(resource, settings) is not None for resource in matched)
        long = any(outlasts_notice(rung) for rung in policy.respond)
        hasty = None if matched is None else sum(long and r.charge_type is ChargeType.SPOT for r in matched)
        checks.append(
            PolicyCheck(
                policy=policy.name,
                rule=policy.rule,
                mode=effective_mode(policy, config),
                steps=steps(policy),
                matches=None if matched is None else len(matched),
                fenced=fenced,
                hasty=hasty,
                holidays=_holidays(policy, config),
            )
        )
    return Report(len(config.accounts), len(config.settings.channels), config.warnings, tuple(checks))


def _holidays(policy: Policy, config: Config) -> tuple[str, ...] | None:
    """Of a schedule and of ``only_during``; a line that names weekdays goes by no calendar."""
    home, countries = config.settings.timezone, set[str | None]()
    when = policy.when
    if isinstance(when, ScheduleWhen):
        for line in filter(_by_calendar, (*when.off, *when.on)):
            zone = line.timezone or home
            countries.add(config.calendars.country_in(zone) if when.holidays == OF_THE_ZONE else when.holidays)
    for line in filter(_by_calendar, policy.limits.only_during or ()):
        countries.add(config.calendars.country_in(line.timezone or home))
    return tuple(sorted(country for country in countries if country)) if countries else None


def _by_calendar(line: TimeGrammar) -> bool:
    return line.days in ("workdays", "restdays")


def effective_mode(policy: Policy, config: Config) -> str:
    """The lowest of the configuration's and the policy's mode; enforce without an armed account says so."""
    if config.settings.mode == "dry_run" or policy.mode == "dry_run":
        return "dry_run"
    if not any(account.enforce and account.listed for account in config.accounts.values()):
        return "enforce (no account is armed)"
    return "enforce"


def steps(policy: Policy) -> tuple[str, ...]:
    """``warn at 2h``, ``stop at 2h30m``: counted from when the claim begins to be true; a budget's by its steps.

    Where the rule waits for nothing, times count from the finding: ``warn at once``.
    """
    base = waits(policy)
    told: dict[str, None] = {}
    for rung in policy.respond:
        reached = getattr(policy.when, "at", ()) if rung.at is None else (rung.at,)
        if reached:
            when = f"at {'/'.join(f'{step:g}%' for step in reached)}"
            when += f" + {format_duration(rung.after)}" if rung.after else ""
        else:
            when = _moment(base + (rung.after or _NONE))
        first = " after a look at the box" * rung.look + " after a hook" * (rung.hook is not None)
        notes = first + " once approved" * rung.approve
        told[f"{_verb(rung.do)} {when}{notes}"] = None
    return tuple(told)


def waits(policy: Policy) -> timedelta:
    """How long the claim must hold before the first rung: ``for``, ``max_age``, ``unattached_for`` and the like."""
    for name in ("length", "max_age", "unattached_for", "stopped_for"):
        span = getattr(policy.when, name, None)
        if isinstance(span, timedelta):
            return span
    return _NONE


def _moment(span: timedelta) -> str:
    return f"at {format_duration(span)}" if span else "at once"


def _verb(do: Response) -> str:
    return do.value.replace("_", " ")
