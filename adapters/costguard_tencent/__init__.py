"""The adapter for Tencent Cloud: CVM and what hangs on it, Cloud Monitor, the bill, TAT.

It translates Tencent Cloud into domain types and its errors into our tree, and knows nothing of policies. Importing
this package imports no SDK; `connect` does. TIONE (notebooks, jobs) and HAI are not written: they would be further
readers beside `instances`, and further products in `endpoints`.
"""

from costguard.ports import AccountSpec, Adapter, Clock, Connection
from costguard_tencent.credentials import TencentCredentials


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    """A connection for one account, without calling out."""
    from costguard_tencent.connection import TencentConnection

    return TencentConnection(spec, clock)


adapter = Adapter(package="costguard_tencent", config=TencentCredentials, connect=_connect)
