"""Pages that show commands and what they print: the commands are run, and the output is compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from hack.controlplane.binaries import binaries
from hack.controlplane.plane import ControlPlane
from tests.kit.forks.client import commands

__all__ = ["ROOT", "run", "sessions", "shell"]

ROOT: Final = Path(__file__).parents[2]
SECTION: Final = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```console\n(?P<lines>(?:.*\n)*?)```$", re.MULTILINE)


def sessions(page: str) -> dict[str, list[tuple[str, str]]]:
    """By section: the commands, each with what it prints."""
    head, *rest = SECTION.split(page)
    sections = {"Introduction": head} | dict(zip(rest[::2], rest[1::2], strict=True))
    shown = {title: "".join(BLOCK.findall(text)) for title, text in sections.items()}
    found: dict[str, list[tuple[str, str]]] = {}
    for title, lines in shown.items():
        for each in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]:
            command, _, output = each.partition("\n")
            found.setdefault(title, []).append((command, output))
    return found


def run(plane: ControlPlane, *command: str) -> subprocess.CompletedProcess[str]:
    """Run it where the page is read, with kubectl and its configuration; what it complains of is among its output."""
    folder = binaries(["kubectl"])["kubectl"].parent
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig),
        "KUBECACHEDIR": str(plane.directory / "kubectl"),
    }
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def shell(plane: ControlPlane, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of the page. `reprieve` in it is forked."""
    folders = [commands(), binaries(["kubectl"])["kubectl"].parent, Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "KUBECONFIG": str(plane.kubeconfig)}
    return subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, check=False
    )
