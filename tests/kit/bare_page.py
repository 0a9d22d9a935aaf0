"""The command with a front end that needs no build."""

from __future__ import annotations

from typing import Final

__all__ = ["program"]

PROGRAM: Final = """
import sys
from {room} import {module}
from cli.main import main
from web.statics import Static
{module}.read_statics = lambda: {{"index.html": Static(b"<title>reprieve</title>", "text/html")}}
main()
"""


def program(room: str, module: str) -> str:
    """For `python -c`. `module` of `room` reads the files of the front end."""
    return PROGRAM.format(room=room, module=module)
