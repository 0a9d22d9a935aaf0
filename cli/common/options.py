"""Options that several commands have."""

from __future__ import annotations

from typing import Final

import click

from api.owner_annotations import BY_OWNER as SETTINGS
from cli.common.completion import a_file, a_namespace

__all__ = ["BY_OWNER", "FILES", "MORE_FILES", "NAMESPACE", "OUTPUT"]

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
    help="Of what names none. By default that of the context, or default with -f.",
    shell_complete=a_namespace,
)
OUTPUT: Final = click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), help="text is the default."
)
