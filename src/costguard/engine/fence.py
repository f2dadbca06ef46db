"""The fence: what never_stop names, which no policy may touch. Apart from the guards, as `check` asks it too."""

from costguard.domain.resource import Resource
from costguard.engine.settings import EngineSettings
from costguard.rules.globs import folded, folded_tag, glob


def fence(resource: Resource, settings: EngineSettings) -> str | None:
    """Why a resource is fenced, None when it is not; comparing folds case, because a fence errs to protect."""
    if glob(settings.fence_names, fold=True).match(resource.name):
        return f"never_stop fences the name {resource.name}"
    for key, values in settings.fence_tags.items():
        found = folded_tag(resource.tags or {}, key)
        if found is not None and folded(found[1]) in {folded(value) for value in values}:
            return f"never_stop fences the tag {found[0]}={found[1]}"
    return None
