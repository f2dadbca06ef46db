"""The group in which a DingTalk application was first spoken to, remembered for where none is configured."""

from costguard.ports import Clock
from costguard.store import kv
from costguard.store.database import Database


class StoredConversation:
    """Implements :class:`costguard.notify.dingtalk.app.Memory` for one channel on a database."""

    def __init__(self, database: Database, clock: Clock, channel: str) -> None:
        self._database, self._clock, self._key = database, clock, f"conversation/{channel}"

    def recall(self) -> str | None:
        with self._database.read() as conn:
            found = kv.get(conn, self._key)
        return str(found["id"]) if found else None

    def remember(self, conversation: str) -> None:
        with self._database.write() as conn:
            kv.put(conn, self._key, {"id": conversation}, self._clock.now())
