"""The inbox keeps the newest messages only."""

from costguard.notify.inbox.store import InboxStore
from costguard.testing.builders import NOW


def test_the_oldest_go_first() -> None:
    store = InboxStore(capacity=3)
    for number in range(5):
        store.add("slack", "team", NOW, {"text": str(number)})
    assert [m.title for m in store.messages()] == ["2", "3", "4"]
    assert [m.number for m in store.messages()] == [3, 4, 5]
    assert store.count == 5


def test_a_key_is_per_channel() -> None:
    store = InboxStore()
    assert store.add("dingtalk", "a", NOW, {}, "k")
    assert store.add("dingtalk", "b", NOW, {}, "k")
    assert store.add("dingtalk", "a", NOW, {}, "k") is None
    assert store.count == 2
