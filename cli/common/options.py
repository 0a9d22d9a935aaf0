"""Options that several commands have."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["FILES", "MORE_FILES", "OUTPUT"]

FILES: Final = click.option(
    "-f", "--filename", "files", multiple=True, metavar="FILE", help="Objects, JSON or YAML; - for stdin."
)
MORE_FILES: Final = click.argument("more", nargs=-1, metavar="[FILE]...")
"""Allows a shell pattern after -f."""
OUTPUT: Final = click.option(
    "-o", "--output", type=click.Choice(["text", "json", "yaml"]), help="text is the default."
)
