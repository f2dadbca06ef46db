"""The adapter for Amazon Web Services: EC2 and what hangs on it, CloudWatch, Cost Explorer, Systems Manager.

It translates AWS into domain types and AWS errors into our tree, and knows nothing of policies. Importing this package
imports no SDK; `connect` does.
"""

from costguard.ports import AccountSpec, Adapter, Clock, Connection
from costguard_aws.credentials import AwsCredentials, AwsOptions


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    """A connection for one account, without calling out. Raises AuthFailed for a profile that does not exist."""
    from costguard_aws.connection import AwsConnection

    return AwsConnection(spec, clock)


adapter = Adapter(package="costguard_aws", config=AwsCredentials, connect=_connect, settings=AwsOptions)
