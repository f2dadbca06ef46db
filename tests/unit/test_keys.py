"""Keys of an account: fetched once, renewed before they end, never shown."""

import threading
from datetime import timedelta

from costguard.keys import MARGIN, KeyRing, Keys
from costguard.testing.clock import FakeClock

HOUR = timedelta(hours=1)


class Counting(KeyRing):
    """Temporary keys for an hour, numbered."""

    def __init__(self, clock: FakeClock, *, lasting: bool = False) -> None:
        super().__init__(clock)
        self.fetched, self.lasting = 0, lasting

    def fetch(self) -> Keys:
        self.fetched += 1
        return Keys(f"id-{self.fetched}", "secret", until=None if self.lasting else self._clock.now() + HOUR)


def test_temporary_keys_are_fetched_anew_before_they_end() -> None:
    clock = FakeClock()
    ring = Counting(clock)
    assert ring.get().id == "id-1"
    clock.advance(HOUR - MARGIN - timedelta(seconds=1))
    assert ring.get().id == "id-1"
    clock.advance(timedelta(seconds=1))
    assert ring.get().id == "id-2"


def test_lasting_keys_are_fetched_once_until_the_cloud_says_that_they_ended() -> None:
    clock = FakeClock()
    ring = Counting(clock, lasting=True)
    ring.get()
    clock.advance(1000 * HOUR)
    assert ring.get().id == "id-1"
    ring.forget()
    assert ring.get().id == "id-2"


def test_many_threads_fetch_once() -> None:
    ring = Counting(FakeClock())
    threads = [threading.Thread(target=ring.get) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ring.fetched == 1


def test_keys_are_never_shown() -> None:
    """K04."""
    assert "hidden" not in repr(Keys("hidden-id", "hidden-secret", "hidden-token", FakeClock().now()))
