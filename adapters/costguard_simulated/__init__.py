"""The adapter for a simulated cloud: a fleet, its people, its use and its bills, from a scenario file.

Importing this package loads neither the scenario nor the world; ``connect`` does.
"""

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from costguard.ports import AccountSpec, Adapter, Clock, Connection

_FOLDER = Path(__file__).parent


class SimulatedAccount(BaseModel):
    """``accounts[].credentials`` of a simulated account; ``AccountSpec.options`` with the same keys win.

    ``scenario``: a path, or the name of a shipped one. ``cloud``: which cloud of the scenario this account is, by
    default its first. ``state``: a file that keeps the journal between processes. ``start``: when the
    scenario begins, ISO 8601 with a zone. ``scale``: how many copies of each machine. The keys are checked only if
    ``access_key_secret`` is given: the secret ``expired`` is refused, like a real one that is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scenario: str = "startup"
    cloud: str | None = None
    state: str | None = None
    start: str | None = None
    scale: int | None = Field(None, ge=1)
    access_key_id: str | None = None
    access_key_secret: SecretStr | None = None

    @field_validator("scenario")
    @classmethod
    def _there(cls, name: str) -> str:
        if not scenario_path(name).is_file():
            raise ValueError(
                f"there is no scenario {name!r}: write {', '.join(shipped())}, or the path of a .yaml file"
            )
        return name

    @field_validator("start")
    @classmethod
    def _zoned(cls, text: str | None) -> str | None:
        if text is not None:
            started(text)
        return text


def scenario_path(name: str) -> Path:
    """The file of a scenario: a path that ends in .yaml or .yml, or else the name of a shipped one."""
    path = Path(name)
    return path if path.suffix in {".yaml", ".yml"} else _FOLDER / f"{name}.yaml"


def shipped() -> list[str]:
    """The names of the scenarios that come along."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def started(text: str) -> datetime:
    """The aware time that ISO 8601 with a zone names. Raises ValueError."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise ValueError(f"not an ISO 8601 time with a zone: {text!r}")
    return at


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    from costguard_simulated.connection import connect

    return connect(spec, clock)


adapter = Adapter(package="costguard_simulated", config=SimulatedAccount, connect=_connect, settings=SimulatedAccount)
