"""Where the starter policies and the database migrations lie on this machine.

A wheel carries both inside the package (`costguard/_data/`); an editable install does not, so there they are taken
from the checkout beside the package. Nothing else may guess at these paths.
"""

from pathlib import Path

from costguard.errors import CostguardError

_PACKAGE = Path(__file__).resolve().parent
_PLACES = (_PACKAGE / "_data", _PACKAGE.parent.parent)


class AssetMissing(CostguardError):
    """The installation is broken: a folder that every wheel and checkout has is not there."""


def policies() -> Path:
    """The folder of the starter pack: `*.yaml`, with `tests/` and `examples/` inside. Raises AssetMissing."""
    return _find("policies")


def migrations() -> Path:
    """The Alembic script folder, with `env.py` and `versions/` inside. Raises AssetMissing."""
    return _find("migrations")


def _find(name: str) -> Path:
    for place in _PLACES:
        if (place / name).is_dir():
            return place / name
    raise AssetMissing(f"{name}/ is neither in the package nor beside it: {' '.join(str(place) for place in _PLACES)}")
