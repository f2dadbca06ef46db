"""What the engine needs of the settings, as the engine's own plain values."""

from costguard.config.settings import Settings
from costguard.engine.settings import EngineSettings, Owner


def engine_settings(settings: Settings) -> EngineSettings:
    """The engine's view of costguard.yaml."""
    return EngineSettings(
        enforce=settings.mode == "enforce",
        fence_names=settings.never_stop.names,
        fence_tags=settings.never_stop.tags,
        per_hour=settings.limits.per_hour,
        share=settings.limits.share,
        timezone=str(settings.timezone),
        holidays=settings.country(),
        notify_default=settings.notify.default,
        owners=tuple(
            Owner(owner.name, owner.names, owner.tags, owner.team, has_route=bool(owner.channels))
            for owner in settings.owners
        ),
        admins=settings.admins,
        repeat=settings.notify.repeat,
        keep_max=settings.notify.keep_max,
    )
