"""What the engine needs of the configuration, as plain frozen values that the composition root fills."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Owner:
    """A configured owner: globs on names, tag values, and whether a route of their own exists."""

    name: str
    names: tuple[str, ...] = ()
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    team: str | None = None
    has_route: bool = False


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """One configuration's word on acting.

    ``enforce`` is the configuration's own mode (each account's facts hold it too).
    ``fence_names`` globs and ``fence_tags`` values are never_stop: no policy crosses them.
    ``per_hour`` and ``share`` (percent) are the limits over all policies, per account for the share; None is
    off. ``timezone`` is the default of policies and tags (IANA). ``notify_default`` are channel names. ``repeat`` is
    how often an unchanged finding is told again; None is never.

    ``too_young`` is how long a box is left alone after it started; ``cooldown_pairs`` stops and starts of one
    box within 24 h hold it. ``call_deadline`` bounds one call of a provider and ``verify_deadline`` how
    long a stop may take to be seen. ``retries`` are the waits after a failed attempt; after the last the
    ladder is held for a person. A warning may be older than its due time by ``warning_life``.
    """

    enforce: bool = True
    fence_names: tuple[str, ...] = ()
    fence_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    per_hour: int | None = 5
    share: float | None = 25.0
    timezone: str = "Asia/Shanghai"
    notify_default: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    admins: tuple[str, ...] = ()
    repeat: timedelta | None = timedelta(hours=4)
    keep_max: timedelta = timedelta(days=7)
    too_young: timedelta = timedelta(minutes=20)
    cooldown_pairs: int = 2
    call_deadline: timedelta = timedelta(seconds=60)
    verify_deadline: timedelta = timedelta(minutes=15)
    retries: tuple[timedelta, ...] = (timedelta(minutes=30), timedelta(hours=2), timedelta(hours=8))
    warning_life: timedelta = timedelta(hours=1)
