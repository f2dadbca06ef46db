"""Settings about people: who owns what, who hears what and when."""

from datetime import time as clock_time
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from costguard.config.texts import Language, Name
from costguard.domain.time import parse_duration
from costguard.rules.fields import ClockText, Duration, Strict, TimeGrammar, Zone
from costguard.rules.policy import Texts


class Owner(Strict):
    """A person, or a group of people, whom resources belong to."""

    name: Name
    """The name in tables, in ``claim`` and in ``to``."""

    names: Texts = ()
    """Globs on resource names that are theirs when no tag says otherwise."""

    tags: dict[str, Texts] = Field({})
    """Tag values that make a resource theirs."""

    team: str | None = None
    """The team they belong to, for reports."""

    channels: Texts = ()
    """Their own route. Left out: notify.default, with a mention of them."""

    slack: str | None = None
    """Their Slack member id (U…), for mentions, and to know who pressed a button."""

    dingtalk_mobile: str | None = None
    """The mobile number of their DingTalk account: a robot mentions by number. Kept out of logs and pages."""

    dingtalk: str | None = None
    """Their DingTalk user id (userId in the organisation's address book): by it stream mode knows who pressed a button
    or wrote a command."""

    email: str | None = None
    """Their e-mail address."""

    language: Language | None = None
    """The language of messages that go to them alone."""


class QuietHours(Strict):
    """When digests, budget notes and mentions are hushed. Warnings still go out and actions still happen: to hold
    actions, use only_during in a policy's limits."""

    start: ClockText = Field(clock_time(23), alias="from")
    """When they begin, local time."""

    end: ClockText = Field(clock_time(8), alias="to")
    """When they end, local time."""

    mention: bool = False
    """Whether a warning may mention its owner meanwhile."""

    timezone: Zone | None = None
    """The configuration's when left out."""

    @model_validator(mode="after")
    def _not_equal(self) -> Self:
        if self.start == self.end:
            raise ValueError("from and to are equal; leave quiet_hours out to have none")
        return self


class DryRunDigest(Strict):
    """Where the findings of a dry run go: to operators once a day, never to owners."""

    to: Texts = ()
    """Channels; notify.default when left out."""

    digest: ClockText = clock_time(18)
    """When, local time."""


class Notify(Strict):
    """Who hears what, and how often."""

    default: Texts = ()
    """The channels of a message for which nothing else is said."""

    group_wait: Duration = parse_duration("30s")
    """How long the first message of a batch waits for others. A warning with a near deadline does not wait."""

    repeat: Duration = parse_duration("4h")
    """After how long an unchanged finding is told again."""

    quiet_hours: QuietHours | None = Field(default_factory=QuietHours)
    """23:00 to 08:00 when left out; null for none."""

    dry_run: DryRunDigest = Field(default_factory=DryRunDigest)
    """The dry run's daily digest."""

    keep_max: Duration = parse_duration("7d")
    """The longest time for which a person may keep a resource in one go."""

    retry: tuple[Duration, ...] = tuple(parse_duration(text) for text in ("2s", "10s", "1m", "5m", "15m", "30m"))
    """Waits between attempts to deliver, each with random jitter; the last one repeats."""


class Reminder(Strict):
    """A daily note of what still runs: "you have 2 boxes running: A is training; B idle 50 min, tonight costs ¥322"."""

    at: ClockText
    """When, local time."""

    days: Any = "workdays"
    """On which days: the time grammar's days."""

    to: Texts = ("owner",)
    """owner, or channels."""

    @field_validator("days")
    @classmethod
    def _days(cls, value: Any) -> Any:
        return TimeGrammar.model_validate({"days": value}).days


class Report(Strict):
    """A report that is sent by itself: each month about the month before, or each week about the seven days before."""

    name: Name
    """What it is known by. A report that is renamed starts anew."""

    day: int = Field(1, ge=1, le=28)
    """A monthly report's day of the month."""

    weekday: Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"] | None = None
    """Makes it weekly: the day on which it is sent, about the seven days before. Not together with day or revise."""

    at: ClockText = clock_time(9)
    """When, local time. One that was missed is made up for once."""

    to: Texts = Field(min_length=1)
    """Channels. Chats get eight lines; e-mail gets them with the whole report attached."""

    format: Literal["html", "markdown", "csv"] = "html"
    """How the attached report is written."""

    revise: Literal["final", "never"] = "final"
    """Whether a monthly report is sent again once the bill is final and differs, with what changed."""

    @model_validator(mode="after")
    def _one_rhythm(self) -> Self:
        if self.weekday and (extra := self.model_fields_set & {"day", "revise"}):
            raise ValueError(f"a report is monthly or weekly: weekday does not go with {' and '.join(sorted(extra))}")
        return self
