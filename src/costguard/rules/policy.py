"""Policy: one document of a policies file, typed. What ``when`` holds depends on the rule.

The registry derives one model per rule kind from :class:`Policy`, so a mistake is reported at its key.
"""

import hashlib
import json
import shlex
from datetime import timedelta
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

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

    min: float | None = Field(None, ge=0, description="at least so many cards")
    max: float | None = Field(None, ge=0, description="at most so many cards")
    models: Texts | None = Field(None, description="globs on the card's model, like `*A100*`")


class Match(Strict, defer_build=False):
    """Keys AND, lists OR. ``*`` globs in accounts, names, skus and gpu models. ``all`` is written
    ``match: all``. An unknown or missing value never matches a positive test."""

    accounts: Texts | None = Field(None, description="names of accounts; globs")
    providers: Texts | None = Field(None, description="aliyun, tencent, aws, …")
    regions: Texts | None = Field(None, description="the provider's region ids")
    kinds: Kinds | None = Field(None, description="vm, notebook, job, endpoint, disk, address, …")
    names: Texts | None = Field(None, description="names of resources; globs")
    skus: Texts | None = Field(None, description="the provider's instance types; globs")
    owners: Texts | None = Field(None, description="names of owners")
    teams: Texts | None = Field(None, description="names of teams")
    charge: Charges | None = Field(None, description="how it is paid for")
    gpus: GpuMatch | None = Field(None, description="how many cards of which model")
    tags: dict[str, Texts] | None = Field(None, description="tag to values; every tag must have one of its values")
    negated: "Match | None" = Field(None, alias="not", description="what must not match; undecidable is no match")

    @model_validator(mode="before")
    @classmethod
    def _reserved(cls, data: object) -> object:
        if isinstance(data, dict) and "where" in data:
            raise ValueError("where is reserved for a later version; use the other keys")
        return data


class Hook(Strict):
    """Runs before the stop. Exit 0 saved · 75 busy: cancel and restart the clock · else failed. A webhook answers 2xx
    · 409 · anything else."""

    on: Literal["instance", "daemon", "webhook"] = Field(description="where it runs")
    run: str = Field(
        min_length=1,
        description="the command (beside the daemon: split without a shell, in the configuration's folder, with "
        "COSTGUARD_RUN, COSTGUARD_ACTION, COSTGUARD_RESOURCE, COSTGUARD_NAME and COSTGUARD_ID), or the webhook's "
        "address (POST, with the run as Idempotency-Key)",
    )
    timeout: Duration = Field(
        ge=timedelta(seconds=1), le=timedelta(hours=24), description="how long it may take; longer is a failure"
    )
    on_failure: Literal["hold", "stop"] = Field("hold", description="what a failure does to the stop")

    @model_validator(mode="after")
    def _runs(self) -> Self:
        if not self.run.strip():
            raise ValueError("run is empty")
        if self.on == "webhook" and not (self.run.startswith(("http://", "https://")) and urlsplit(self.run).hostname):
            raise ValueError("a webhook's run is an http:// or https:// address")
        if self.on == "daemon":
            try:
                shlex.split(self.run)
            except ValueError as error:
                raise ValueError(f"run cannot be split into words: {str(error).lower()}") from None
        return self

    @property
    def title(self) -> str:
        """What people are told of it: the program or the host. What follows may hold a password."""
        if self.on == "webhook":
            return urlsplit(self.run).hostname or ""
        first, *more = self.run.split(maxsplit=1)
        return f"{first} …" if more else first


class Rung(Strict, defer_build=False):
    """One step of a ladder. ``after`` counts from the confirmed delivery of the first warning; ``at``
    names the budget step that the rung answers; without ``at`` it answers every step."""

    do: Response = Field(description="warn announces a later stop; notify promises nothing; the others act")
    after: Duration | None = Field(None, description="how long after the first warning was delivered")
    at: Percent | None = Field(None, description="the budget step that it answers; every step when left out")
    to: Texts | None = Field(None, description="owner, or channels; notify.default when left out")
    hook: Hook | None = Field(None, description="runs before the action, for checkpoints")
    look: bool = Field(
        False,
        description="before a stop or release, look for ten seconds at the box itself, by a command, where the "
        "provider runs commands (Linux): at work is as exit 75 of a hook; where no look can be had, the action goes on",
    )
    approve: bool = Field(False, description="wait for an admin or the owner")
    unwarned: bool = Field(False, description="may act without a warning at least 10 minutes before")
    accept_loss: tuple[Literal["local_disk"], ...] = Field(
        (), description="what may be lost by the stop: local_disk (instance stores; AWS GPU types all have one)"
    )
    key: str | None = Field(None, description="the tag to set (do: tag)")
    value: str | None = Field(None, description="the tag's value (do: tag)")
    delay: Duration | None = Field(None, alias="in", description="when the timer fires (do: set_release_time)")

    @model_validator(mode="after")
    def _coherent(self) -> Self:
        if self.do is Response.TAG and (not self.key or self.value is None):
            raise ValueError("do: tag needs key and value")
        if self.do is Response.SET_RELEASE_TIME and self.delay is None:
            raise ValueError("do: set_release_time needs in: (like 24h)")
        if self.do is Response.RUN and self.hook is None:
            raise ValueError("do: run needs hook")
        if self.accept_loss and self.do is not Response.STOP:
            raise ValueError(f"accept_loss belongs to do: stop, not to do: {self.do.value}")
        if self.hook is not None and not self.do.acts:
            raise ValueError(f"a hook belongs to a rung that acts, not to do: {self.do.value}")
        if self.look and not self.do.ends_billing:
            raise ValueError(f"look belongs to do: stop or do: release, not to do: {self.do.value}")
        if self.look and self.hook is not None and (self.hook.on != "instance" or self.hook.run.startswith("#!")):
            raise ValueError("look and the hook are one shell script on the instance; leave one of them out")
        return self


class Limits(Strict):
    """Blast radius of one policy. ``share`` of the running resources matched, per account, at least 1."""

    per_hour: int | None = Field(None, ge=1, description="actions in any 60 minutes, failed and running ones counted")
    share: Percent | None = Field(None, le=100, description="of the running resources matched, per account; at least 1")
    only_during: tuple[TimeGrammar, ...] | None = Field(None, description="outside these times actions wait")


class When(Strict):
    """Base of every rule's ``when``."""


class StopWhen(When):
    """Base for rules that may stop although the box works: what to do then (both hold by default)."""

    when_busy: Literal["hold", "stop"] = Field("hold", description="what happens to the stop while the box works")
    when_unknown: Literal["hold", "stop"] = Field("hold", description="… while nobody can tell whether it works")


class Policy(Strict):
    """A policy. ``match`` None means everything, and is only legal for policies that cannot stop."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", description="unique over all files")
    description: str = Field("", description="for people; changes nothing")
    rule: str = Field(description="the rule kind")
    mode: Literal["dry_run", "enforce"] = Field("enforce", description="the lowest of global, account and policy acts")
    match: Match | Literal["all"] | None = Field(None, description="which resources; needed to stop or release")
    when: When = Field(description="the rule's own keys")
    respond: tuple[Rung, ...] = Field(min_length=1, description="the ladder's rungs, ascending")
    limits: Limits = Field(Limits(), description="its blast radius; the global limits hold besides")

    @property
    def content_hash(self) -> str:
        """Changes with anything that could change a verdict; the description is not part of it."""
        dump = self.model_dump(mode="json", by_alias=True, exclude={"description"})
        return hashlib.sha256(json.dumps(dump, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def can_end(self) -> bool:
        """Whether some rung stops or releases."""
        return any(r.do.ends_billing for r in self.respond)
