"""The log of a process that serves, on standard error."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from cli.common.printable import safe_event, unguarded

__all__ = ["configure_logging"]


def configure_logging(least: int = logging.NOTSET) -> None:
    """One JSON object a line on standard error, or readable lines if that is a terminal. `least`: the level."""
    renderers: list[Any] = [structlog.processors.JSONRenderer()]
    if sys.stderr.isatty():
        renderers = [safe_event, structlog.dev.ConsoleRenderer()]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=structlog.WriteLoggerFactory(unguarded(sys.stderr)),
        cache_logger_on_first_use=True,
    )
