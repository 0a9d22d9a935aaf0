"""Options that several commands have."""

from __future__ import annotations

from typing import Final

import click

from cli.common.completion import a_file, a_namespace

__all__ = ["FILES", "MORE_FILES", "NAMESPACE", "OUTPUT"]

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
