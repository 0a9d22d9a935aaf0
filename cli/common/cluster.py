"""What commands that change a cluster have in common."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from cli.common.documents import InputError

__all__ = ["KUBECONFIG", "existing"]

KUBECONFIG: Final[Callable[[Any], Any]] = click.option(
    "--kubeconfig",
    envvar="KUBECONFIG",
    default="~/.kube/config",
    show_default=True,
    metavar="FILE",
    help="The kubeconfig of the cluster. Its current context counts. KUBECONFIG is used if this is not given.",
)


def existing(kubeconfig: str) -> str:
    """The files of the option that exist, as a list of paths. Raises InputError if there is none."""
    paths = [str(Path(path).expanduser()) for path in kubeconfig.split(os.pathsep) if path]
    found = [path for path in paths if Path(path).is_file()]
    if not found:
        raise InputError(f"--kubeconfig: {kubeconfig}: no such file")
    return os.pathsep.join(found)
