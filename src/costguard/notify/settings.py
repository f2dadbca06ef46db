"""What of the delivery can be set, and why each default is what it is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Literal

from pydantic import ConfigDict, Field

from costguard.domain.notice import NoticeKind
from costguard.rules.fields import Strict


def _repeats() -> Mapping[NoticeKind, timedelta]:
    return MappingProxyType({NoticeKind.BUDGET: timedelta(hours=24), NoticeKind.SOURCE: timedelta(hours=6)})


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """Times and sizes of the delivery; tests shorten them.

    ``lease`` is longer than two calls can take. ``backoff`` holds the upper ends of the waits after the first,
    second, … failure; the last one stays. ``doubt`` is the shortest wait before a message that may have arrived is
    sent again where the platform has no key. ``recheck`` is how often a broken channel is tried. Undelivered
    messages die after ``max_age``. More than ``digest_above`` waiting messages of one kind are put into digests of at
    most ``digest_size`` boxes; messages that are not urgent wait ``group_wait`` for each other and are put together
    from ``group_min`` on. A warning that failed ``fallback_after`` times also goes to the fallback channel. ``repeat``
    is after how long the same fact may be told again (``repeats`` by kind).
    """

    lease: timedelta = timedelta(seconds=90)
    backoff: tuple[timedelta, ...] = (
        timedelta(seconds=2),
        timedelta(seconds=10),
        timedelta(seconds=60),
        timedelta(minutes=5),
        timedelta(minutes=15),
        timedelta(minutes=30),
    )
    doubt: timedelta = timedelta(seconds=30)
    recheck: timedelta = timedelta(minutes=10)
    max_age: timedelta = timedelta(hours=72)
    digest_above: int = 8
    digest_size: int = 30
    group_wait: timedelta = timedelta(seconds=30)
    group_min: int = 3
    fallback_after: int = 3
    repeat: timedelta = timedelta(hours=4)
    repeats: Mapping[NoticeKind, timedelta] = field(default_factory=_repeats)

    def repeat_of(self, kind: NoticeKind) -> timedelta:
        """After how long the same fact of this kind may be told again."""
        return self.repeats.get(kind, self.repeat)


class ChannelConfig(Strict):
    """What every channel of the configuration has.

    ``language`` None: the global one. ``fallback`` names the channel that takes over while this one is broken.
    ``proxy``: an http:// or https:// proxy for this channel alone. ``max_per_minute`` None: the platform's own
    limit with a margin.
    """

    model_config = ConfigDict(hide_input_in_errors=True)  # what is wrong with a secret is still a secret

    name: str
    kind: str
    language: Literal["zh", "en"] | None = None
    fallback: str | None = None
    proxy: str | None = Field(None, repr=False)
    max_per_minute: int | None = Field(None, ge=1)

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown: the redactor learns it."""
        raise NotImplementedError
