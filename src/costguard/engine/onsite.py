"""On site: the look at the box itself, right before it is stopped.

Metrics tell of a minute only some minutes later. A script of our own sees what the box does now: for ten seconds its
CPU, its network, its disks and its GPUs, and in the load averages what the last minute or so was. It only ever speaks
for work: what it does not see, it does not judge. POSIX sh over /proc, /sys and nvidia-smi; it changes nothing.
"""

import re
from datetime import timedelta
from math import ceil

from costguard.rules.kind import ActivityTests
from costguard.rules.policy import Hook, Rung

MARK = "# costguard looks at this box:"
TIMEOUT = timedelta(minutes=1)
_LONGEST = timedelta(hours=24)  # that a provider runs a command
# What the load averages remember well enough to tell a minute's work of one core from rest.
MEMORY = timedelta(minutes=1)

_SCRIPT = """\
{mark} gpu={gpu} cpu={cpu} network={network} disk={disk}
costguard_look() (
    seconds=5
    digits() {{ n=${{1%.*}}${{1#*.}}; n=${{n#0}}; echo "${{n#0}}"; }}
    cpu() {{
        cpus=0
        while read -r name user nice system idle iowait irq softirq rest; do
            case $name in
                cpu) busy=$((user + nice + system + irq + softirq)) all=$((busy + idle + iowait)) ;;
                cpu[0-9]*) cpus=$((cpus + 1)) ;;
            esac
        done < /proc/stat
    }}
    network() {{
        bytes=0
        for card in /sys/class/net/*/device; do
            for count in "${{card%/device}}/statistics/rx_bytes" "${{card%/device}}/statistics/tx_bytes"; do
                if [ -r "$count" ]; then read -r n < "$count" && bytes=$((bytes + n)); fi
            done
        done
    }}
    disk() {{
        sectors=0
        for drive in /sys/block/*/device; do
            if [ -r "${{drive%/device}}/stat" ]; then
                read -r _ _ in _ _ _ out _ < "${{drive%/device}}/stat" && sectors=$((sectors + in + out))
            fi
        done
    }}
    gpus() {{
        most=101
        IFS='
'
        for turn in 1 2 3 4 5 6 7; do
            for n in $(nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits); do
                case $n in
                    [0-9] | [0-9][0-9] | 100)
                        # Where no process had kept the driver loaded, its loading shows as use.
                        if [ $turn -le 2 ]; then continue; fi
                        if [ $most -gt 100 ] || [ "$n" -gt $most ]; then most=$n; fi
                        ;;
                esac
            done
            if [ $most -le 100 ] && [ $most -ge {gpu} ]; then break; fi
            sleep 1
        done
        exit $most
    }}
    watch() {{
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            sleep 1
            kill -0 "$1" || exit
        done
        kill -9 "$1"
    }}
    read -r load1 _ load15 _ < /proc/loadavg || return 69
    load1=$(digits "$load1") load15=$(digits "$load15")
    cpu || return 69
    busy0=$busy all0=$all
    network; bytes0=$bytes
    disk; sectors0=$sectors
    sleep $seconds
    cpu; network; disk
    [ "$all" -gt "$all0" ] || return 69
    cores=$(((busy - busy0) * cpus * 100 / (all - all0)))
    bytes=$(((bytes - bytes0) / seconds)) written=$(((sectors - sectors0) * 512 / seconds)) gpu=unseen why=
    if [ {disk} != off ] && [ $written -ge {disk} ]; then why=disk; fi
    if [ {network} != off ] && [ $bytes -ge {network} ]; then why=network; fi
    if [ {cpu} != off ] && [ $((load1 - load15)) -ge {rise} ]; then why=load; fi
    if [ {cpu} != off ] && [ $cores -ge {cpu} ]; then why=cpu; fi
    if command -v nvidia-smi > /dev/null 2>&1; then
        # One that goes on keeps the driver loaded. The answers come beside a watch, by an exit code: a driver that
        # hangs holds neither the look nor its output.
        nvidia-smi --query-gpu=index --format=csv,noheader --loop=1 < /dev/null > /dev/null 2>&1 &
        keeper=$!
        gpus < /dev/null > /dev/null 2>&1 &
        asked=$!
        watch $asked < /dev/null > /dev/null 2>&1 &
        {{ wait $asked; n=$?; kill $! $keeper; }} 2> /dev/null
        if [ $n -le 100 ]; then gpu=$n; fi
    fi
    if [ $gpu != unseen ] && [ $gpu -ge {gpu} ]; then why=gpu; fi
    echo "${{why:-rest}}: gpu=$gpu cpu=$cores load=$load1/$load15 network=$bytes disk=$written"
    [ -z "$why" ] || return 75
)
costguard_look; costguard_saw=$?
"""
_ALONE = "exit $costguard_saw\n"
_FIRST = "if [ $costguard_saw -eq 75 ]; then exit 75; fi\n"
_SAID = re.compile(r"^(\w+): gpu=(\w+) cpu=(\d+) load=(\d+)/\d+ network=(\d+) disk=(\d+)\r?$", re.MULTILINE)


def preparation(rung: Rung, tests: ActivityTests) -> Hook | None:
    """What runs before the rung acts: its hook, the look at the box, or both in one run, the look first.

    A look by itself that cannot be had holds nothing up: two looks by the metrics have been made anyway. Its time is
    no part of the hook's own.
    """
    if not rung.look:
        return rung.hook
    if rung.hook is None:
        return Hook(on="instance", run=_script(tests) + _ALONE, timeout=TIMEOUT, on_failure="stop")
    timeout = min(_LONGEST, rung.hook.timeout + TIMEOUT)
    return rung.hook.model_copy(update={"run": _script(tests) + _FIRST + rung.hook.run, "timeout": timeout})


def said(output: str) -> str | None:
    """What a look says of a box at work, as a clause; None when it saw rest, or nothing."""
    found = _SAID.search(output)
    if found is None:
        return None
    why, gpu, cores, load, network, disk = found.groups()
    match why:
        case "gpu":
            return f"its GPU is at {gpu} %"
        case "cpu":
            return f"its CPU does {int(cores) / 100:.1f} cores"
        case "load":
            return f"its load has just risen to {int(load) / 100:.1f}"
        case "network":
            return f"its network moves {int(network) / 1e6:.1f} MB/s"
        case "disk":
            return f"its disks move {int(disk) / 1e6:.1f} MB/s"
    return None


def _script(tests: ActivityTests) -> str:
    """CPU in hundredths of a core; a minute's work of half a core more than before shows in the load averages."""
    cpu = tests.cpu_cores
    return _SCRIPT.format(
        mark=MARK,
        gpu=_whole(tests.gpu_util),
        cpu="off" if cpu is None else _whole(cpu * 100),
        rise=0 if cpu is None else _whole(cpu * 50),
        network="off" if tests.network is None else _whole(tests.network),
        disk="off" if tests.disk is None else _whole(tests.disk),
    )


def _whole(level: float) -> int:
    """Shells count in whole numbers: a value is at or above a level when it is at or above the next whole one."""
    return max(1, ceil(level))
