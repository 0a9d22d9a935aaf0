"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from api.owner_annotations import BY_OWNER as SETTINGS
from cli.common.completion import Completed, a_file, a_namespace

__all__ = [
    "BY_OWNER",
    "FILES",
    "MORE_FILES",
    "NAMESPACE",
    "NOW",
    "OUTPUT",
    "OUTPUT_OR_PAGE",
    "for_option",
    "jsonl_option",
]

F = TypeVar("F", bound=Callable[..., Any])

BY_OWNER: Final = click.option(
    "--groups-by-owner",
    "by_owner",
    type=click.Choice(SETTINGS),
    help="As groups.byOwner of the Configuration. By default as reprieve's Lease says, or else Victims.",
)
FILES: Final = click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    help="Objects, JSON or YAML; - for stdin.",
    shell_complete=a_file,
)
MORE_FILES: Final = click.argument("more", nargs=-1, metavar="[FILE]...", shell_complete=a_file)
"""Allows a shell pattern after -f."""
NAMESPACE: Final = click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="For names and objects that do not give one. By default that of the context, or default with -f.",
    shell_complete=a_namespace,
)
NOW: Final = click.option(
    "--now",
    metavar="RFC3339",
    help="With -f: the time that counts as now; this computer's clock is the default.",
)
OUTPUT: Final = click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), help="text is the default."
)
OUTPUT_OR_PAGE: Final = click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "yaml", "html"]),
    help="text is the default. html is one file for a browser.",
)


def for_option(text: str, complete: Completed) -> Callable[[F], F]:
    """The option `--for`, as the argument `preemptor`. `complete` gives the names for the shell."""
    return click.option("--for", "preemptor", metavar="[NAMESPACE/]NAME", help=text, shell_complete=complete)


def jsonl_option(text: str) -> Callable[[F], F]:
    """The option `--jsonl`, as the argument `stream`. `text` says what a line holds, and what comes out for it."""
    return click.option("--jsonl", "stream", metavar="FILE", help=text, shell_complete=a_file)
