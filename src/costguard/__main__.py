"""``python -m costguard``."""

from costguard.cli.main import main

main()
