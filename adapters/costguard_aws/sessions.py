"""Sessions of the SDK: given keys, a profile or the default chain, and a role on top that refreshes itself."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache

from botocore.credentials import CredentialProvider, CredentialResolver, Credentials, DeferredRefreshableCredentials
from botocore.loaders import Loader, create_loader
from botocore.session import Session
from botocore.utils import parse_timestamp

from costguard_aws.credentials import AwsCredentials

Fetch = Callable[[], dict[str, str]]


class _AssumedRole(CredentialProvider):
    METHOD = "costguard-assume-role"

    def __init__(self, fetch: Fetch) -> None:
        super().__init__()
        self._fetch = fetch

    def load(self) -> Credentials:
        """Credentials that are fetched at the first call and again before they end."""
        return DeferredRefreshableCredentials(refresh_using=self._fetch, method=self.METHOD)


@cache
def _models() -> Loader:
    """The SDK's service models, read and kept once for all accounts: EC2's alone takes half a second and 20 MiB."""
    return create_loader()


def moment(value: str | float) -> datetime:
    """A time of an answer, aware. The SDK's own reading of one goes through every zone that it may be in, and takes
    longer than the rest of an answer with many; what is neither seconds nor ISO 8601 in UTC is still left to it."""
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        if value[10:11] == "T" and value[-1:] == "Z":
            return datetime.fromisoformat(value)
    except (ValueError, OverflowError, OSError):
        pass
    return parse_timestamp(str(value))


def make_session(given: AwsCredentials, assume: Fetch | None = None) -> Session:
    """A session for `given`; with `assume`, one whose credentials that function fetches. Calls nothing out."""
    session = Session(profile=given.profile)
    session.register_component("data_loader", _models())
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=moment)
    if assume is not None:
        session.register_component("credential_provider", CredentialResolver([_AssumedRole(assume)]))
    elif given.access_key_id is not None and given.secret_access_key is not None:
        token = given.session_token.get_secret_value() if given.session_token else None
        session.set_credentials(given.access_key_id, given.secret_access_key.get_secret_value(), token)
    return session
