"""The daemon on a simulated fleet of 1,000 instances, cycle 60 s: CPU per simulated hour, and memory over time."""

from datetime import timedelta

from bench._simulated import fleet
from bench._table import Line, is_full, rss_mib, show
from costguard.domain.resource import State
from costguard.store import inventory

MINUTE = timedelta(minutes=1)
# The demo's fleet has about 90 boxes and holdings.
SCALE = 11


def main() -> None:
    full = is_full()
    rounds, span = (24, 60 * MINUTE) if full else (2, 10 * MINUTE)
    seconds: list[float] = []
    memory: list[float] = []
    with fleet(SCALE, lambda text: text.replace("heartbeat: 10s", "heartbeat: 5s")) as one:
        one.run(MINUTE)  # the backfill of every window
        with one.app.database.read() as conn:
            found = inventory.resources(conn)
        running = sum(resource.state is State.RUNNING for resource in found)
        for _ in range(rounds):
            seconds.append(one.run(span))
            memory.append(rss_mib())
    hourly = [spent * (60 * MINUTE / span) for spent in seconds]
    length = f"{rounds} × {span // MINUTE} simulated minutes"
    show(
        [
            Line(f"resources ({running} running)", len(found), "", digits=0),
            Line(f"CPU per simulated hour, {length}", sum(hourly) / rounds, "s", 180),
            Line("CPU of the last part over the first", hourly[-1] / hourly[0], "×", 1.5, digits=2),
            Line("memory at the end", memory[-1], "MiB", 200),
            Line("memory at the end over the first part", memory[-1] / memory[0], "×", 1.1, digits=2),
        ]
    )


if __name__ == "__main__":
    main()
