"""The simulated fleet under the starter policies, driven on a clock that jumps: what the daemon's benchmarks share."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory

from costguard import assets
from costguard.app.app import App
from costguard.app.demo import run as demo
from costguard.app.jobs import jobs
from costguard.config.load import load
from costguard.daemon.jobs import SteppedDriver
from costguard.net.clock import SteppedClock

START = datetime.fromisoformat("2026-11-12T18:00:00+08:00")
LEASE = timedelta(hours=2)  # of a clock that jumps


class _Sink(BaseHTTPRequestHandler):
    """Takes what DingTalk and Slack would."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        slack = self.path.startswith("/slack")
        body = b"ok" if slack else json.dumps({"errcode": 0, "errmsg": "ok"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if slack else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the table is the output."""


@dataclass
class Fleet:
    """An application on the simulated fleet, and its clock."""

    app: App
    clock: SteppedClock
    driver: SteppedDriver

    def run(self, span: timedelta) -> float:
        """Lets so much of the fleet's time pass; returns the CPU seconds that it took."""
        before = time.process_time()
        self.driver.run_until(self.clock.now() + span)
        return time.process_time() - before


@contextmanager
def fleet(scale: int = 1, change: Callable[[str], str] = lambda text: text) -> Iterator[Fleet]:
    """``scale`` copies of the demo's fleet; ``change`` may rewrite its configuration."""
    sink = ThreadingHTTPServer(("127.0.0.1", 0), _Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    with TemporaryDirectory(prefix="costguard-bench-") as folder:
        path = Path(folder) / "costguard.yaml"
        text = (Path(demo.__file__).parent / "costguard.yaml").read_text("utf-8")
        path.write_text(change(text.replace("options: {", f"options: {{scale: {scale}, ")), "utf-8")
        url = f"http://127.0.0.1:{sink.server_address[1]}"
        env = {"DEMO_INBOX": url, "DEMO_POLICIES": str(assets.policies()), "DEMO_LANGUAGE": "en"}
        clock = SteppedClock(START)
        app = App.open(load(path, env), clock, threads=1, lease_ttl=LEASE)
        try:
            yield Fleet(app, clock, SteppedDriver(jobs(app), clock))
        finally:
            app.close()
            sink.shutdown()
            sink.server_close()
