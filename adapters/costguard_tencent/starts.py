"""When a box was started, as far as its latest operation tells: CVM has no field for it.

What is not told here is None, and whoever keeps the inventory takes the time at which it first saw the box running. A
restart between two looks would hide from that; here a new start operation is seen by its request id.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from costguard_tencent.fields import read_time

# Operations that begin a run. RunInstances begins the first one, at CreatedTime.
STARTS = frozenset({"StartInstances", "RebootInstances", "ResetInstance", "ResetInstances"})
_CREATED = "RunInstances"


@dataclass(frozen=True, slots=True)
class _Seen:
    request_id: str
    started_at: datetime | None


class Starts:
    """What was seen of each instance since this process began. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, _Seen] = {}

    def started_at(self, item: Mapping[str, Any], observed_at: datetime) -> datetime | None:
        """The start of the run that `item` (of DescribeInstances) is in, aware UTC; None: not known here.

        A start operation that this process has seen appear is dated to the look that saw it, which is late by at most
        the time between two looks.
        """
        id, operation = str(item.get("InstanceId") or ""), str(item.get("LatestOperation") or "")
        request_id = str(item.get("LatestOperationRequestId") or "")
        with self._lock:
            before = self._seen.get(id)
            started = before.started_at if before else None
            if before is not None and before.request_id == request_id:
                return started
            if operation == _CREATED:
                started = read_time(item.get("CreatedTime"))
            elif operation in STARTS:
                started = observed_at if before is not None else None
            elif operation == "StopInstances":
                started = None
            self._seen[id] = _Seen(request_id, started)
            return started

    def keep(self, region_ids: frozenset[str], listed: frozenset[str]) -> None:
        """Forgets those of `region_ids` that are no longer `listed`."""
        with self._lock:
            for id in region_ids - listed:
                self._seen.pop(id, None)
