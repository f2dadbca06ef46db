"""Logging: structlog over the standard library, one line per event on stderr, secrets masked.

A terminal gets colours, anything else gets JSON lines, which journald and log shippers read.
"""

import logging
import os
import sys

import structlog

from costguard.net.redact import RedactingFilter, Redactor

_NOISY = ("httpx", "httpcore", "urllib3", "botocore", "boto3", "s3transfer", "alembic", "asyncio")


def setup(redactor: Redactor, level: str | None = None) -> None:
    """Sends all logging to stderr through the redactor. ``level`` beats COSTGUARD_LOG; the default is INFO."""
    chosen = (level or os.environ.get("COSTGUARD_LOG") or "INFO").upper()
    shared: list[structlog.types.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    tty = sys.stderr.isatty()
    renderer: structlog.types.Processor
    if tty:
        renderer = structlog.dev.ConsoleRenderer(colors="NO_COLOR" not in os.environ)
    else:
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            redactor,
            renderer,
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    handler.addFilter(RedactingFilter(redactor))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(getattr(logging, chosen, logging.INFO))
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING)
    # It warns of each round that is skipped because the one before still runs: that is how it should be.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
