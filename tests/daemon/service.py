"""Runs ``serve`` in a process of its own, with short waits: python -m tests.daemon.service CONFIG [hang]"""

import logging
import sys
import threading
from datetime import timedelta
from pathlib import Path

from costguard.app import serve as service
from costguard.app.app import App
from costguard.config.load import load
from costguard.daemon import health
from costguard.net.clock import SystemClock


def main(path: str, how: str = "") -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    service._STOP = timedelta(seconds=2)
    if how == "silent":
        health._PERIODS, health._FLOOR_SECONDS = 1, 1.5

    def opened() -> App:
        app = App.open(load(Path(path), {}), SystemClock())
        if how:
            app.cycle.run = threading.Event().wait  # type: ignore[method-assign]
        return app

    service.serve(opened(), reload=opened)


if __name__ == "__main__":
    main(*sys.argv[1:])
