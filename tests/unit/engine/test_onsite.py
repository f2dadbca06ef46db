"""The look at the box itself: the script really runs, in each shell that is here, over files like the kernel's."""

import os
import re
import shutil
import stat
import subprocess
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from costguard.engine.onsite import MARK, preparation, said
from costguard.rules.kind import ActivityTests
from costguard.rules.policy import Hook, Rung

SHELLS = [shell for shell in ("dash", "bash", "busybox", "mksh", "ksh") if shutil.which(shell)]
TESTS = ActivityTests()
QUIET = "0.08 0.05 0.05 1/312 4711\n"


@dataclass
class Machine:
    """Files as under /proc and /sys at the beginning, and what a sleep makes of them."""

    root: Path
    shell: str

    def __post_init__(self) -> None:
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.file("proc/loadavg", QUIET)
        self.cpu(0)
        self.network(0)
        self.disk(0)
        moves = f"if [ -d {self.root}/later ]; then cp -r {self.root}/later/* {self.root}/; fi"
        real = shutil.which("sleep")
        self.program("sleep", f"case $1 in 5) {moves} ;; *) exec {real} 0.04 ;; esac")

    def file(self, name: str, text: str, *, later: bool = False) -> None:
        path = self.root / ("later" if later else "") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "ascii")

    def program(self, name: str, body: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def cpu(self, busy: int, cpus: int = 4, *, later: bool = False) -> None:
        """``busy``: jiffies at work in the five seconds, of the 500 that each processor has; steal is not our work."""
        idle = 500 * cpus - busy if later else 0
        line = f"cpu  {1000 + busy} 5 20 {90000 + idle} 40 0 7 {77777 if later else 3} 0 0"
        self.file(
            "proc/stat",
            "\n".join([line, *(f"cpu{n} 1 2 3 4 5 6 7 8 0 0" for n in range(cpus)), "intr 1"]) + "\n",
            later=later,
        )

    def network(self, moved: int, *, later: bool = False) -> None:
        for card, real in (("eth0", True), ("lo", False), ("docker0", False)):
            if real:
                self.file(f"sys/class/net/{card}/device/vendor", "x", later=later)
            many = 10_000_000 + (moved if real else 500_000_000 * later)
            self.file(f"sys/class/net/{card}/statistics/rx_bytes", f"{many}\n", later=later)
            self.file(f"sys/class/net/{card}/statistics/tx_bytes", "5\n", later=later)

    def disk(self, written: int, *, later: bool = False) -> None:
        self.file("sys/block/vda/device/vendor", "x", later=later)
        self.file("sys/block/vda/stat", f"  10  0  800  5  20  0 {4000 + written // 512} 9 0 1 1\n", later=later)

    def gpus(self, *rounds: str) -> None:
        """What nvidia-smi says, round after round; the last again and again."""
        for number, text in enumerate(rounds):
            self.file(f"smi/{number}", text)
        last = len(rounds) - 1
        self.program(
            "nvidia-smi",
            'case "$*" in *--loop*) while :; do /bin/sleep 0.1; done ;; esac\n'
            f"n=$(cat {self.root}/smi/n 2>/dev/null || echo 0); echo $((n < {last} ? n + 1 : n)) > {self.root}/smi/n\n"
            f"cat {self.root}/smi/$n",
        )

    def look(self, tests: ActivityTests = TESTS, hook: Hook | None = None) -> subprocess.CompletedProcess[str]:
        found = preparation(Rung(do="stop", look=True, hook=hook), tests)
        assert found is not None
        script = re.sub(r"(?<=[\s\"])/(?=proc/|sys/)", f"{self.root}/", found.run)
        command = ["busybox", "sh", "-c", script] if self.shell == "busybox" else [self.shell, "-c", script]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=30,
            env={"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.root)},
        )  # fmt: skip


@pytest.fixture(params=SHELLS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    return Machine(tmp_path, request.param)


def test_a_box_at_rest(machine: Machine) -> None:
    machine.cpu(9, later=True)
    machine.network(100_000, later=True)
    machine.disk(51_200, later=True)
    machine.gpus("0\n0\n", "0\n4\n")
    found = machine.look()
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == "rest: gpu=4 cpu=1 load=8/5 network=20000 disk=10240\n"
    assert said(found.stdout) is None


@pytest.mark.parametrize(
    ("later", "clause"),
    [
        ({"cpu": 500}, "its CPU does 1.0 cores"),
        ({"cpu": 1999}, "its CPU does 4.0 cores"),
        ({"network": 5_000_000}, "its network moves 1.0 MB/s"),
        ({"disk": 50_000_384}, "its disks move 10.0 MB/s"),
    ],
)
def test_a_box_at_work(machine: Machine, later: dict[str, int], clause: str) -> None:
    for what in ("cpu", "network", "disk"):
        getattr(machine, what)(later.get(what, 0), later=True)
    found = machine.look()
    assert (found.returncode, found.stderr) == (75, "")
    assert said(found.stdout) == clause


@pytest.mark.parametrize("just_below", [{"cpu": 494}, {"network": 4_999_990}, {"disk": 49_999_360}])
def test_just_below_a_level_is_rest(machine: Machine, just_below: dict[str, int]) -> None:
    for what in ("cpu", "network", "disk"):
        getattr(machine, what)(just_below.get(what, 0), later=True)
    assert machine.look().returncode == 0


def test_a_card_at_work_for_one_second_of_the_five(machine: Machine) -> None:
    machine.cpu(0, later=True)
    machine.gpus("0\n0\n", "0\n0\n", "0\n87\n", "0\n0\n")
    found = machine.look()
    assert found.returncode == 75
    assert said(found.stdout) == "its GPU is at 87 %"
    assert said(found.stdout.replace("\n", "\r\n")) == "its GPU is at 87 %"


def test_the_loading_of_the_driver_is_no_work(machine: Machine) -> None:
    """Cards that no process kept awake show their own waking as use."""
    machine.cpu(0, later=True)
    machine.gpus("100\n97\n", "100\n0\n", "0\n0\n")
    found = machine.look()
    assert (found.returncode, found.stderr) == (0, "")
    assert "gpu=0" in found.stdout


def test_what_keeps_the_driver_awake_ends_with_the_look(machine: Machine) -> None:
    machine.cpu(0, later=True)
    machine.gpus("0\n")
    machine.look()
    time.sleep(0.3)
    left = subprocess.run(["ps", "axo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"{machine.bin}/nvidia-smi" not in left


@pytest.mark.parametrize(
    "answer",
    [
        "[N/A]\n[N/A]\n",
        "No devices were found\n",
        "",
        "Unable to determine the device handle for GPU 87 : GPU is lost\n",
        "4294967295\n",
    ],
)
def test_a_gpu_that_tells_nothing_is_not_judged(machine: Machine, answer: str) -> None:
    machine.cpu(0, later=True)
    machine.gpus(answer)
    found = machine.look()
    assert (found.returncode, found.stderr) == (0, "")
    assert "gpu=unseen" in found.stdout


@pytest.mark.parametrize(("busy", "code"), [(0, 3), (900, 75)])
def test_a_driver_that_hangs_holds_nothing_up(machine: Machine, busy: int, code: int) -> None:
    """The rest is told, and the hook runs. Its nvidia-smi cannot even be ended; what it holds open is its own."""
    machine.cpu(busy, later=True)
    machine.program(
        "nvidia-smi", "trap '' TERM HUP; echo 0; i=0; while [ $i -lt 200 ]; do /bin/sleep 0.1; i=$((i+1)); done"
    )
    began = time.monotonic()
    found = machine.look(hook=HOOK)
    assert time.monotonic() - began < 10
    assert (found.returncode, found.stderr) == (code, "")
    assert "gpu=unseen" in found.stdout
    assert ("saved" in found.stdout) is (busy == 0)


@pytest.mark.parametrize(
    ("loads", "works"),
    [
        ("0.63 0.25 0.06", True),  # a minute of one core, just over
        ("2.10 1.90 1.80", False),  # a mount that hangs: always so
        ("0.40 0.10 0.02", False),
        ("12.07 3.00 0.09", True),
        ("0.00 0.01 0.05", False),
    ],
)
def test_the_load_remembers_the_minute_before(machine: Machine, loads: str, works: bool) -> None:
    machine.cpu(0, later=True)
    machine.file("proc/loadavg", f"{loads} 1/312 4711\n")
    found = machine.look()
    assert (found.returncode, found.stderr) == (75 if works else 0, "")


def test_levels_that_are_off_are_not_asked(machine: Machine) -> None:
    machine.cpu(2000, later=True)
    machine.network(50_000_000, later=True)
    machine.disk(500_000_000, later=True)
    machine.file("proc/loadavg", "9.00 1.00 0.00 1/1 1\n")
    found = machine.look(ActivityTests(cpu_cores=None, network=None, disk=None))
    assert (found.returncode, found.stderr) == (0, "")


@pytest.mark.parametrize(("level", "code"), [(4.5, 0), (4.0, 75), (3.5, 75), (0.0, 75)])
def test_levels_between_whole_numbers(machine: Machine, level: float, code: int) -> None:
    machine.cpu(0, later=True)
    machine.gpus("4\n")
    assert machine.look(ActivityTests(gpu_util=level)).returncode == code


@pytest.mark.parametrize("missing", ["proc/loadavg", "proc/stat"])
def test_a_box_that_shows_nothing_is_no_rest(machine: Machine, missing: str) -> None:
    """Not 0, which would be rest, and not 75."""
    (machine.root / missing).unlink()
    found = machine.look()
    assert found.returncode not in (0, 75)
    assert said(found.stdout) is None


def test_a_clock_that_stands_still_is_no_rest(machine: Machine) -> None:
    assert machine.look().returncode == 69


HOOK = Hook(on="instance", run="echo saved; exit 3", timeout=timedelta(minutes=5), on_failure="hold")


def test_the_hook_comes_after_a_look_that_saw_rest(machine: Machine) -> None:
    machine.cpu(0, later=True)
    found = machine.look(hook=HOOK)
    assert found.returncode == 3
    assert found.stdout.endswith("\nsaved\n")


def test_the_hook_does_not_run_on_a_box_at_work(machine: Machine) -> None:
    machine.cpu(900, later=True)
    found = machine.look(hook=HOOK)
    assert found.returncode == 75
    assert "saved" not in found.stdout


def test_a_box_that_cannot_be_looked_at_still_saves(machine: Machine) -> None:
    (machine.root / "proc/stat").unlink()
    found = machine.look(hook=HOOK)
    assert found.returncode == 3
    assert "saved" in found.stdout


def test_what_is_run() -> None:
    alone = preparation(Rung(do="stop", look=True), TESTS)
    assert alone is not None
    assert alone.run.startswith(f"{MARK} gpu=5 cpu=100 network=1000000 disk=10000000\n")
    assert (alone.on, alone.on_failure, alone.timeout) == ("instance", "stop", timedelta(minutes=1))
    assert preparation(Rung(do="stop"), TESTS) is None
    assert preparation(Rung(do="stop", hook=HOOK), TESTS) is HOOK
    both = preparation(Rung(do="stop", look=True, hook=HOOK), TESTS)
    assert both is not None
    assert both.model_copy(update={"run": HOOK.run, "timeout": HOOK.timeout}) == HOOK
    assert both.timeout == HOOK.timeout + timedelta(minutes=1)
    longest = HOOK.model_copy(update={"timeout": timedelta(hours=24)})
    both = preparation(Rung(do="stop", look=True, hook=longest), TESTS)
    assert both is not None
    assert both.timeout == timedelta(hours=24)


def test_it_fits_every_provider() -> None:
    """Cloud Assistant takes 18 KB of Base64, TAT and Systems Manager more."""
    found = preparation(Rung(do="stop", look=True), TESTS)
    assert found is not None
    assert len(found.run) < 6_000
    assert found.run.isascii()
