"""The total time of one call: what an adapter puts around an SDK that blocks.

An SDK's timeouts bound each read of a socket, not the answer: a server that drips one byte a second never hits them.
"""

import contextvars
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from costguard.ports import Clock

T = TypeVar("T")


class DeadlinePassed(Exception):
    """The call did not come back within its total time; its thread is left to the socket's own timeouts."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """`call()` in a thread of its own, for at most `seconds`. Raises DeadlinePassed, or what `call` raises.

    The thread is a daemon, so that it holds up no shutdown.
    """
    result: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.set_result(context.run(call))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread, whatever it is
            result.set_exception(error)

    threading.Thread(target=work, name="provider-call", daemon=True).start()
    try:
        return result.result(max(0.0, seconds))
    except TimeoutError:
        if result.done():  # the call's own TimeoutError
            raise
        raise DeadlinePassed from None


def countdown(clock: Clock, seconds: float) -> Callable[[], float]:
    """Tells how much of `seconds` is left. Sockets wait in real time even when the Clock is a test's, so the longer of
    both spans counts."""
    virtual, real = clock.monotonic(), time.monotonic()
    return lambda: seconds - max(clock.monotonic() - virtual, time.monotonic() - real)


def backoff(attempt: int) -> float:
    """Seconds before the next attempt: half a second, doubled each time, less up to a half at random."""
    full: float = 0.5 * 2.0 ** (attempt - 1)
    return full * (0.5 + secrets.randbelow(500) / 1000)
