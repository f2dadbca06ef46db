"""A small fleet after fifty minutes under two policies, as files: what pages, API and commands are tried on.

It is run on a stepped clock that ends at the machine's present, and copied for each test that changes something.
Workers share it. Commands go by the machine's clock, so one that has become old is run anew for the next file of tests.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from costguard.app.app import App
from costguard.app.jobs import jobs
from costguard.config.load import Config, load
from costguard.daemon import levers
from costguard.daemon.jobs import SteppedDriver
from costguard.net.clock import SteppedClock
from tests.fakes.slack import SlackServer

RAN = timedelta(minutes=50)
HOSTILE = "<img src=x onerror=alert(1)>[red]&*_`|x"
OPS_URL = "STAGE_OPS_URL"
_FRESH = 600  # seconds

_SKUS: dict[str, Any] = {
    "t4": {"vcpus": 8, "memory_gib": 31, "price": "7.966", "gpu": {"model": "NVIDIA T4", "memory_mib": 15360}},
    "a100x8": {
        "vcpus": 96, "memory_gib": 768, "price": "277.936",
        "gpu": {"model": "NVIDIA A100 80G", "count": 8, "memory_mib": 81920},
    },
}  # fmt: skip


def _box(name: str, *work: dict[str, str], role: str = "dev", owner: str | None = "wang", **facts: Any) -> Any:
    tags = {"role": role} | ({"owner": owner} if owner else {})
    return {"name": name, "sku": "t4", "region": "r1", "started": "-6h", "tags": tags, "work": list(work), **facts}


_IDLE = {"since": "-6h", "do": "idle"}
_BUSY = {"since": "-6h", "do": "training"}
MACHINES = [
    _box("forgotten", _IDLE, sku="a100x8"),
    _box("warned", _BUSY, {"since": "12m", "do": "idle"}),
    _box(HOSTILE, _BUSY, {"since": "13m", "do": "idle"}, owner="li"),
    _box("kept", _IDLE, owner="li"),
    _box("at-work", _BUSY, role="train"),
    _box("prod-api", _IDLE),
    _box("twin", _BUSY, owner=None),
    _box("blind", _IDLE, agent="never", role="train"),
    _box("asleep", stopped="-2d", started=None),
]

_POLICIES = """\
policies:
  - name: idle-dev
    rule: idle
    match: {tags: {role: [dev]}}
    when: {gpu_util_below: 5%, for: 20m, boot_grace: 10m}
    respond:
      - {do: warn, to: [owner]}
      - {after: 30m, do: stop}
  - name: untagged
    rule: untagged
    match: {gpus: {min: 1}}
    when: {require: [owner]}
    respond: [{do: notify}]
"""

_CONFIG = """\
version: 1
mode: enforce
enforce_accounts: [sim]
never_stop: {{names: ["prod-*"]}}
limits: {{per_hour: 20, share: 100%}}
language: en
accounts:
  - {{name: sim, provider: simulated, account_id: "1", options: {options}}}
channels:
  - {{name: ops, kind: slack, url: "${{env:{ops}}}"}}
owners:
  - {{name: wang, slack: U0WANG}}
  - {{name: li, slack: U0LI}}
notify: {{default: [ops], group_wait: 0s, quiet_hours: null}}
policies: [policies.yaml]
schedule: {{inventory: 2m, usage: 5m, cycle: 1m, act: 15s, deliver: 15s, heartbeat: 15s}}
"""


@dataclass(frozen=True)
class Stage:
    """A folder with costguard.yaml, its database and the simulated cloud's journal. ``ended``: when the run ended."""

    folder: Path
    ended: datetime

    @property
    def config(self) -> Path:
        return self.folder / "costguard.yaml"

    def copy(self, folder: Path) -> "Stage":
        """The same moment in another folder."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return _written(folder, self.ended)

    def load(self, ops: str = "http://127.0.0.1:9/none") -> Config:
        return load(self.config, {OPS_URL: ops})

    @contextmanager
    def app(self) -> Iterator[App]:
        """The application on a clock that stands at the end of the run."""
        app = App.open(self.load(), SteppedClock(self.ended), threads=1)
        try:
            yield app
        finally:
            app.close()


def _written(folder: Path, ended: datetime) -> Stage:
    options = {
        "scenario": str(folder / "scenario.yaml"),
        "start": (ended - RAN).isoformat(),
        "state": str(folder / "journal.jsonl"),
    }
    stage = Stage(folder, ended)
    stage.config.write_text(_CONFIG.format(options=json.dumps(options), ops=OPS_URL), "utf-8")
    return stage


def _run(folder: Path, ended: datetime) -> Stage:
    cloud = {
        "personality": "alibaba", "account_id": "1", "currency": "CNY", "regions": ["r1", "r2"], "skus": _SKUS,
        "machines": MACHINES,
        "holdings": [{"name": "twin", "kind": "disk", "region": "r2", "size_gib": 200, "detached": "-9d"}],
        "storage": {"disk_gib": "0.0014", "snapshot_gib": "0.0002", "address": "0.02"},
    }  # fmt: skip
    scenario = {"name": "stage", "seed": 11, "start": "2026-11-12T18:00:00+08:00", "clouds": {"one": cloud}}
    folder.mkdir(parents=True)
    (folder / "scenario.yaml").write_text(json.dumps(scenario), "utf-8")
    (folder / "policies.yaml").write_text(_POLICIES, "utf-8")
    stage = _written(folder, ended)
    clock = SteppedClock(ended - RAN)
    with SlackServer(clock) as slack:
        app = App.open(stage.load(slack.webhook_url), clock, threads=1)
        driver = SteppedDriver(jobs(app), clock)
        driver.run_until(clock.now() + timedelta(minutes=5))
        with app.database.write() as conn:
            until = clock.now() + timedelta(hours=4)
            levers.keep(
                conn, "kept", person=levers.Person("li"), now=clock.now(), reason="still reading the results",
                until=until, longest=timedelta(days=7),
            )  # fmt: skip
        driver.run_until(ended)
        app.close()
    return stage


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first worker who needs it makes, for all workers of this test run."""
    base = factory.getbasetemp()
    base = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    folder, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A stage that ended not long ago; to be read only."""

    def make(folder: Path) -> None:
        ended = datetime.now(UTC).replace(microsecond=0)
        _run(folder, ended)
        (folder / "ended").write_text(ended.isoformat())

    # By twenty minutes after its end what was announced on it is due.
    folder = once(tmp_path_factory, f"stage-{datetime.now(UTC).timestamp() // _FRESH:.0f}", make)
    return Stage(folder, datetime.fromisoformat((folder / "ended").read_text()))


@pytest.fixture
def stage(staged: Stage, tmp_path: Path) -> Stage:
    """A copy of the stage for one test, which may change it."""
    return staged.copy(tmp_path / "stage")
