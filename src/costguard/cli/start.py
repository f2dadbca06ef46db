"""Where ``costguard`` starts: what must hold before the commands are loaded. Imports nothing itself."""

import gc


def collect_rarely() -> None:
    """Sets this process's cycle collector for what stays, modules and a fleet: by default it walks all that was ever
    made again and again while they are read, which was a quarter of the CPU of 10,000 boxes, a fourteenth of that of
    `check`, and freed nothing."""
    gc.set_threshold(10_000, 10, 10)


def main() -> None:
    """The entry point."""
    collect_rarely()
    from costguard.cli.main import main as run

    run()
