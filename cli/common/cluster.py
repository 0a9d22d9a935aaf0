"""What commands that read or change a cluster have in common."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from answers.errors import InputError, UnreadError

__all__ = ["FAILED", "ClusterError", "Connection", "checked", "existing"]

FAILED: Final = 1
"""The exit status if the API server refuses or does not answer."""


class ClusterError(UnreadError):
    """The cluster cannot be read. The message says why, and names a right that is missing."""


@dataclass(frozen=True, slots=True)
class Connection:
    """To which cluster, and as whom. The fields are those of kubectl's options."""

    kubeconfig: str
    context: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()


def checked(connection: Connection) -> str:
    """The files of the kubeconfig that exist, as a list of paths. Raises InputError for options that do not fit."""
    if connection.groups and not connection.user:
        raise InputError("--as-group: needs --as")
    return existing(connection.kubeconfig)


def existing(kubeconfig: str) -> str:
    """The files of the option that exist, as a list of paths. Raises InputError if there is none."""
    paths = [str(Path(path).expanduser()) for path in kubeconfig.split(os.pathsep) if path]
    found = [path for path in paths if Path(path).is_file()]
    if not found:
        raise InputError(f"--kubeconfig: {kubeconfig}: no such file")
    return os.pathsep.join(found)
