"""The entry point of the reference adapter: like any other, it imports nothing heavy."""

from pydantic import BaseModel, SecretStr

from costguard.ports import AccountSpec, Adapter, Clock, Connection


class Credentials(BaseModel):
    key_id: str
    secret_key: SecretStr


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    from tests.unit.testing.reference_adapter import ReferenceConnection

    return ReferenceConnection(spec)


adapter = Adapter(package="costguard_reference", config=Credentials, connect=_connect)
