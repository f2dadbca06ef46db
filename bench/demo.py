"""The demo's fleet: CPU of the daemon for each simulated minute (at 60× a simulated minute is one second)."""

from datetime import timedelta

from bench._simulated import fleet
from bench._table import Line, is_full, rss_mib, show

MINUTE = timedelta(minutes=1)


def main() -> None:
    minutes = 480 if is_full() else 60
    with fleet() as one:
        first = one.run(MINUTE)
        spent = one.run(minutes * MINUTE)
    show(
        [
            Line("the first minute, with the backfill of every window", first, "CPU s"),
            Line("each simulated minute after it", spent / minutes, "CPU s", 0.25, digits=3),
            Line("a simulated hour", spent / minutes * 60, "CPU s", 15),
            Line("memory at the end", rss_mib(), "MiB", 200),
        ]
    )


if __name__ == "__main__":
    main()
