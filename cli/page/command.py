"""`reprieve page`: the page for one person, at their own computer."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import click

from answers.reading.quota_objects import read_time
from api.clock import SYSTEM_CLOCK
from api.owner_annotations import ByOwner
from api.times import rfc3339_micro
from cli.common.cluster import FAILED
from cli.common.ending import ending
from cli.common.logs import configure_logging
from cli.common.options import BY_OWNER
from cli.common.printable import complain
from cli.common.sources import Sources, reading
from cli.page.reading import place_of, still_source
from cli.page.running import Serving
from web.readers.logins import Everybody
from web.sources.source import Source
from web.statics import read_statics

__all__ = ["page"]

EPILOG: Final = """\b
Examples:
  reprieve page
  reprieve page --context staging --port 8080 --no-open
  reprieve page -f examples/training-cluster.yaml

\b
Exit status:
  0  it was asked to end
  1  the cluster cannot be read, or the port is taken; standard error names a right that is missing
  2  bad input, named on standard error
"""


@click.command(epilog=EPILOG)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="NUMBER",
    help="On 127.0.0.1. 0, the default, is any free one.",
)
@click.option("--no-open", is_flag=True, help="Only print the address: open no browser.")
@click.option(
    "--now", metavar="RFC3339", help="With -f: the time to decide at; this computer's clock is the default."
)
@BY_OWNER
@reading
@click.pass_context
def page(
    context: click.Context,
    port: int,
    no_open: bool,
    now: str | None,
    by_owner: ByOwner | None,
    sources: Sources,
) -> None:
    """Show in a browser why gangs wait, from a live cluster or from files.

    It changes nothing. It listens on this computer alone, and prints an address with a code. The code works once,
    within five minutes; the key Enter prints another one. Whoever has logged in sees what you may list.
    """
    if now is not None and not sources.files:
        raise click.UsageError("--now: needs -f, because a live cluster is followed")
    try:
        statics = read_statics()
    except FileNotFoundError as error:
        complain(f"Error: {error}")
        context.exit(FAILED)
    configure_logging(logging.WARNING)
    serving = Serving(place_of(sources, now, by_owner), statics, port, opens=not no_open)
    source: Source | None = None
    try:
        with ending(context) as progress:
            if sources.files:
                moment = read_time(now or rfc3339_micro(SYSTEM_CLOCK.wall()), "--now")
                source = still_source(sources, moment, by_owner, progress)
        with ending(context):
            asyncio.run(
                serving.serve(source, Everybody())
                if source is not None
                else serving.follow(sources.connection, by_owner)
            )
    except KeyboardInterrupt:
        context.exit(0)
    except OSError as error:
        complain(f"Error: {error}")
        context.exit(FAILED)
