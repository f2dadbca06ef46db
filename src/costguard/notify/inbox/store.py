"""What the inbox has received: the last messages as they came over the wire, in memory."""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

CAPACITY = 500


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """One message: ``platform`` is slack or dingtalk, ``payload`` the request's JSON, ``number`` rises from 1."""

    number: int
    platform: str
    channel: str
    received_at: datetime
    payload: Mapping[str, object]

    @property
    def title(self) -> str:
        """The line of the notification."""
        kind = self.payload.get("msgtype")
        if not isinstance(kind, str):
            return str(self.payload.get("text", ""))
        body = self.payload.get(kind)
        body = body if isinstance(body, Mapping) else {}
        return str(body.get("title") or str(body.get("content", "")).split("\n", 1)[0])


class InboxStore:
    """The newest messages, oldest first. Thread-safe."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._messages: deque[InboxMessage] = deque(maxlen=capacity)
        self._keys: deque[tuple[str, str]] = deque(maxlen=capacity)
        self._count = 0
        self._lock = threading.Lock()

    def add(
        self, platform: str, channel: str, received_at: datetime, payload: Mapping[str, object], key: str | None = None
    ) -> InboxMessage | None:
        """Keeps a message; None when the channel already has one with this ``key``."""
        with self._lock:
            if key is not None:
                if (channel, key) in self._keys:
                    return None
                self._keys.append((channel, key))
            self._count += 1
            message = InboxMessage(self._count, platform, channel, received_at, payload)
            self._messages.append(message)
            return message

    def messages(self, after: int = 0) -> tuple[InboxMessage, ...]:
        """The messages with a number above ``after``."""
        with self._lock:
            return tuple(m for m in self._messages if m.number > after)

    @property
    def count(self) -> int:
        """How many were ever received."""
        with self._lock:
            return self._count
