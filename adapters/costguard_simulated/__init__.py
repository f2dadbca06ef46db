"""The adapter for a simulated cloud: a fleet, its people, its use and its bills, from a scenario file.

Importing this package loads neither the scenario nor the world; ``connect`` does.
"""

from pydantic import BaseModel, ConfigDict, SecretStr

from costguard.ports import AccountSpec, Adapter, Clock, Connection


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
    scale: int | None = None
    access_key_id: str | None = None
    access_key_secret: SecretStr | None = None


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    from costguard_simulated.connection import connect

    return connect(spec, clock)


adapter = Adapter(package="costguard_simulated", config=SimulatedAccount, connect=_connect)
