"""The service as its supervisor sees it: real processes, real signals."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from costguard.app import serve as service_module
from costguard.store import lease
from costguard.store.database import Database
from tests.fakes.aws.server import KEY_ID, SECRET, AwsServer
from tests.fakes.server import Fault

# Starting a process takes its time on a machine that does other things as well.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
CONFIG = """\
version: 1
database: sqlite:///costguard.db
timezone: UTC
language: en
currency: CNY
mode: dry_run
accounts:
  - {account}
channels: []
policies: []
web: {{listen: "127.0.0.1:{port}"}}
schedule: {{heartbeat: 1s, act: 1s, deliver: 1s, cycle: 1s}}
"""
SIMULATED = "{name: sim, provider: simulated, options: {cloud: rack}}"


class Service:
    """A running process and what it says."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process, self.port = process, port
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip())

    def hear(self, words: str, within: float = 90.0) -> None:
        """Waits until the log says it; raises with the whole log."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            if any(re.search(words, line) for line in self.said):
                return
            if self.process.poll() is not None:
                self._reader.join(2)
                break
            time.sleep(0.05)
        if not any(re.search(words, line) for line in self.said):
            raise AssertionError(f"never said {words!r}:\n" + "\n".join(self.said[-40:]))

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()

    def end(self, number: int, within: float) -> tuple[int, float]:
        """Sends a signal; (exit code, seconds until it was gone)."""
        began = time.monotonic()
        self.process.send_signal(number)
        code = self.process.wait(within)
        return code, time.monotonic() - began


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def write(folder: Path, account: str = SIMULATED) -> tuple[Path, int]:
    port = free_port()
    path = folder / "costguard.yaml"
    path.write_text(CONFIG.format(account=account, port=port), "utf-8")
    return path, port


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[Service]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    service = Service(process, port)
    try:
        yield service
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        service._reader.join(5)
        assert process.stderr is not None
        process.stderr.close()


def test_run_serves_and_ends_on_sigterm_with_its_lease_given_up(tmp_path: Path) -> None:
    path, port = write(tmp_path)
    with running(["-m", "costguard", "run", "-c", str(path)], port, tmp_path) as service:
        service.hear("this process leads")
        service.hear("page at")
        # Every source is read as soon as the process leads, not when its turn comes round again.
        for _ in range(100):
            if service.get("/readyz")[0] == 200:
                break
            time.sleep(0.1)
        assert service.get("/readyz")[0] == 200
        assert service.get("/healthz")[0] == 200
        # A second one beside it does no second run.
        once = subprocess.run(
            [sys.executable, "-m", "costguard", "run", "--once", "-c", str(path)], cwd=tmp_path, capture_output=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60, check=False,
        )  # fmt: skip
        assert once.returncode == 75, once.stderr
        # Nor does another daemon with a database of its own start where this one's page is.
        other = tmp_path / "other"
        other.mkdir()
        (other / path.name).write_text(path.read_text("utf-8"), "utf-8")
        taken = subprocess.run(
            [sys.executable, "-m", "costguard", "run"], cwd=other, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60, check=False,
        )  # fmt: skip
        assert taken.returncode == 75, taken.stderr
        assert f"web.listen 127.0.0.1:{port} cannot be used: Address already in use" in taken.stderr
        assert "Traceback" not in taken.stderr
        code, seconds = service.end(signal.SIGTERM, 30)
    assert code == 0
    assert seconds < 30
    database = Database(f"sqlite:///{tmp_path}/costguard.db")
    with database.read() as conn:
        (held,) = lease.all_leases(conn)
    database.close()
    assert held.expires_at.timestamp() <= time.time()


def test_sighup_takes_a_new_file_keeps_the_old_one_when_it_is_wrong_and_lives_on(tmp_path: Path) -> None:
    """J03: what a reload starts must not be ended by what the reload had to wait for."""
    path, port = write(tmp_path)
    with running(["-m", "tests.daemon.service", str(path)], port, tmp_path) as service:
        service.hear("page at")
        good = path.read_text("utf-8")
        path.write_text(good + "polices: []\n", "utf-8")
        service.process.send_signal(signal.SIGHUP)
        service.hear("is not taken; the old one stays.*polices")
        path.write_text(good.replace("currency: CNY", "currency: USD"), "utf-8")
        service.process.send_signal(signal.SIGHUP)
        service.hear("the new configuration is in force")
        # Longer than a round may take to end.
        time.sleep(3.5)
        assert service.process.poll() is None
        assert service.get("/healthz")[0] == 200
        assert service.end(signal.SIGTERM, 30)[0] == 0


def test_a_loop_that_falls_silent_ends_the_process_with_a_failure(tmp_path: Path) -> None:
    """B11: the supervisor starts it anew; a loop that hangs must not keep the process from ending."""
    path, port = write(tmp_path)
    with running(["-m", "tests.daemon.service", str(path), "silent"], port, tmp_path) as service:
        code = service.process.wait(90)
        service._reader.join(5)
    assert code != 0
    assert any("did not end in time" in line for line in service.said), service.said


def test_sigterm_while_a_round_hangs(tmp_path: Path) -> None:
    path, port = write(tmp_path)
    with running(["-m", "tests.daemon.service", str(path), "hang"], port, tmp_path) as service:
        service.hear("this process leads")
        time.sleep(1.5)
        code, seconds = service.end(signal.SIGTERM, 30)
    assert code == 0
    assert seconds < 15


def test_sigterm_while_a_provider_does_not_answer(tmp_path: Path) -> None:
    """A region that never answers holds nobody: here the wait is 2 s, in truth it leaves time within 30 s."""
    assert service_module._STOP.total_seconds() <= 25
    with AwsServer() as aws:
        aws.fail(Fault.SILENT)
        keys = f"credentials: {{access_key_id: {KEY_ID}, secret_access_key: {SECRET}}}"
        path, port = write(tmp_path, f'{{name: prod, provider: aws, endpoint: "{aws.url}", {keys}}}')
        with running(["-m", "tests.daemon.service", str(path)], port, tmp_path) as service:
            service.hear("page at")
            for _ in range(200):
                if aws.request_count():
                    break
                time.sleep(0.05)
            assert aws.request_count()
            code, seconds = service.end(signal.SIGTERM, 30)
    assert code == 0
    assert seconds < 15
