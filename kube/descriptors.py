"""Descriptors that uvloop does not let go of."""

from __future__ import annotations

import re
import socket
from typing import Final

__all__ = ["set_aside"]

USED: Final = re.compile(r"File descriptor (\d+) is used by transport")
"""What uvloop says if a new connection has the descriptor of a transport that it takes for open."""


def set_aside(error: RuntimeError) -> None:
    """If the loop has refused a connection for its descriptor, no connection gets that descriptor again.

    The system has closed the descriptor, and uvloop does not know it. The system gives the lowest free descriptor, so
    every later connection would be refused, too. See MagicStack/uvloop, issues 653 and 738.
    """
    found = USED.match(str(error))
    if found is None:
        return
    taken = socket.socket()
    if taken.fileno() == int(found[1]):
        taken.detach()  # it stays taken: if uvloop ends its transport, it closes this one
    else:
        taken.close()
