"""Runs another program that ends together with its starter: `launch.py PARENT_PID COMMAND...`.

This is a script because a preexec function would have to fork a process that has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask the kernel for SIGKILL at the parent's death, and then exec."""
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
        if os.getppid() != int(parent):
            sys.exit(1)  # the parent ended before this request
    os.execv(command[0], command)  # noqa: S606  # exec without a shell is the point


if __name__ == "__main__":
    main()
