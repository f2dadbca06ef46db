"""Sessions of the SDK: given keys, a profile or the default chain, and a role on top that refreshes itself."""

from collections.abc import Callable
from functools import cache

from botocore.credentials import CredentialProvider, CredentialResolver, Credentials, DeferredRefreshableCredentials
from botocore.loaders import Loader, create_loader
from botocore.session import Session

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


def make_session(given: AwsCredentials, assume: Fetch | None = None) -> Session:
    """A session for `given`; with `assume`, one whose credentials that function fetches. Calls nothing out."""
    session = Session(profile=given.profile)
    session.register_component("data_loader", _models())
    if assume is not None:
        session.register_component("credential_provider", CredentialResolver([_AssumedRole(assume)]))
    elif given.access_key_id is not None and given.secret_access_key is not None:
        token = given.session_token.get_secret_value() if given.session_token else None
        session.set_credentials(given.access_key_id, given.secret_access_key.get_secret_value(), token)
    return session
