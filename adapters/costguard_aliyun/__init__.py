"""The adapter for Alibaba Cloud: ECS and what hangs on it, CloudMonitor, the bill, Cloud Assistant.

It translates Alibaba Cloud into domain types and its errors into our tree, and knows nothing of policies. Importing
this package imports no SDK; `connect` does. PAI (notebooks, jobs, endpoints) is not written: it would be further
readers beside `instances`, and a path beside the action in `client`.
"""

from costguard.ports import AccountSpec, Adapter, Clock, Connection
from costguard_aliyun.credentials import AliyunCredentials


def _connect(spec: AccountSpec, clock: Clock) -> Connection:
    """A connection for one account, without calling out."""
    from costguard_aliyun.connection import AliyunConnection

    return AliyunConnection(spec, clock)


adapter = Adapter(package="costguard_aliyun", config=AliyunCredentials, connect=_connect)
