"""``python -m costguard``."""

from costguard.cli.start import main

main()
