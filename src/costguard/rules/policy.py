"""Policy: one document of a policies file, typed. What ``when`` holds depends on the rule.

The registry derives one model per rule kind from :class:`Policy`, so a mistake is reported at its key.
"""

import hashlib
import json
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from costguard.domain.decision import Response
from costguard.domain.resource import Kind
from costguard.rules.fields import Duration, Percent, Strict, TimeGrammar


def _listed(value: object) -> object:
    return value if isinstance(value, list | tuple) or value is None else [value]


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Kinds = Annotated[tuple[Kind, ...], BeforeValidator(_listed)]
Charges = Annotated[tuple[Literal["on_demand", "spot", "prepaid", "reserved", "owned"], ...], BeforeValidator(_listed)]


class GpuMatch(Strict):
    """``min`` and ``max`` count cards (fractions count as they are); ``models`` are globs."""

    min: float | None = Field(None, ge=0)
    max: float | None = Field(None, ge=0)
    models: Texts | None = None


class Match(Strict):
    """Keys AND, lists OR. ``*`` globs in accounts, names, skus and gpu models. ``all`` is written
    ``match: all``. An unknown or missing value never matches a positive test."""

    accounts: Texts | None = None
    providers: Texts | None = None
    regions: Texts | None = None
    kinds: Kinds | None = None
    names: Texts | None = None
    skus: Texts | None = None
    owners: Texts | None = None
    teams: Texts | None = None
    charge: Charges | None = None
    gpus: GpuMatch | None = None
    tags: dict[str, Texts] | None = None
    negated: "Match | None" = Field(None, alias="not")

    @model_validator(mode="before")
    @classmethod
    def _reserved(cls, data: object) -> object:
        if isinstance(data, dict) and "where" in data:
            raise ValueError("where is reserved for a later version; use the other keys")
        return data


class Hook(Strict):
    """Runs before the stop. Exit 0 saved · 75 busy: cancel and restart the clock · else failed."""

    on: Literal["instance", "daemon", "webhook"]
    run: str = Field(min_length=1)
    timeout: Duration
    on_failure: Literal["hold", "stop"] = "hold"


class Rung(Strict):
    """One step of a ladder. ``after`` counts from the confirmed delivery of the first warning; ``at``
    names the budget step that the rung answers; without ``at`` it answers every step."""

    do: Response
    after: Duration | None = None
    at: Percent | None = None
    to: Texts | None = None
    hook: Hook | None = None
    approve: bool = False
    unwarned: bool = False
    key: str | None = None
    value: str | None = None
    delay: Duration | None = Field(None, alias="in")

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.do is Response.TAG and (not self.key or self.value is None):
            raise ValueError("do: tag needs key and value")
        if self.do is Response.SET_RELEASE_TIME and self.delay is None:
            raise ValueError("do: set_release_time needs in: (like 24h)")
        if self.do is Response.RUN and self.hook is None:
            raise ValueError("do: run needs hook")
        if self.hook is not None and not self.do.acts:
            raise ValueError(f"a hook belongs to a rung that acts, not to do: {self.do.value}")
        return self


class Limits(Strict):
    """Blast radius of one policy. ``share`` of the running resources matched, per account, at least 1."""

    per_hour: int | None = Field(None, ge=1)
    share: Percent | None = None
    only_during: tuple[TimeGrammar, ...] | None = None


class When(Strict):
    """Base of every rule's ``when``."""


class StopWhen(When):
    """Base for rules that may stop although the box works: what to do then (both hold by default)."""

    when_busy: Literal["hold", "stop"] = "hold"
    when_unknown: Literal["hold", "stop"] = "hold"


class Policy(Strict):
    """A policy. ``match`` None means everything, and is only legal for policies that cannot stop."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    description: str = ""
    rule: str
    mode: Literal["dry_run", "enforce"] = "enforce"
    match: Match | Literal["all"] | None = None
    when: When
    respond: tuple[Rung, ...] = Field(min_length=1)
    limits: Limits = Limits()

    @property
    def content_hash(self) -> str:
        """Changes with anything that could change a verdict; the description is not part of it."""
        dump = self.model_dump(mode="json", by_alias=True, exclude={"description"})
        return hashlib.sha256(json.dumps(dump, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def can_end(self) -> bool:
        """Whether some rung stops or releases."""
        return any(r.do.ends_billing for r in self.respond)
