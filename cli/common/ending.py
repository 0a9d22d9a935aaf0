"""How commands that read objects end when something is wrong."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import click

from answers.errors import InputError, UnreadError
from api.progress import Progress
from api.validation import FieldError
from cli.common.cluster import FAILED
from cli.common.output import BAD_INPUT
from cli.common.printable import complain
from cli.common.progress import showing

__all__ = ["ending"]


@contextmanager
def ending(context: click.Context) -> Iterator[Progress]:
    """Bad input and a cluster that cannot be read end the command, with one line and an exit status.

    It gives what shows how far the command is.

    No garbage is collected inside: what a command reads stays until it ends, and has no cycles.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        with showing() as progress:
            yield progress
    except (InputError, FieldError, UnreadError) as error:
        complain(f"Error: {error}")
        context.exit(FAILED if isinstance(error, UnreadError) and not _files(context) else BAD_INPUT)
    finally:
        if collects:
            gc.enable()


def _files(context: click.Context) -> bool:
    """Whether the command reads files in place of a cluster. Then what is not read is bad input."""
    return bool(context.params.get("files") or context.params.get("more"))
