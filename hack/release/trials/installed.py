"""Uses the wheel in a clean environment, and the plugin as krew installs it: both plan for an example."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hack.controlplane.binaries import binaries
from hack.release.errors import ReleaseError
from hack.release.plugin import PLUGIN
from hack.release.running import run
from hack.release.tools import RUNTIME, installed

__all__ = ["plugin", "wheel"]

EXAMPLE: Final = "examples/training-cluster.yaml"
PREEMPTOR: Final = "research/llama-train"
EXPECTED: Final = "llama-train"


def wheel(tree: Path, file: Path, scratch: Path) -> str:
    """Install the wheel and what is locked for it, and nothing else. Returns the plan that it makes."""
    python = installed(scratch / "venv", tree / RUNTIME)
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", file)
    command = python.with_name("reprieve")
    if not _is_below(python, scratch / "venv"):
        raise ReleaseError("the wheel does not import its compiled modules from where it is installed")
    return _plan(tree, command, scratch, {**os.environ, "PYTHONSAFEPATH": "1"})


def plugin(tree: Path, archive: Path, manifest: Path, scratch: Path) -> str:
    """Install the archive by krew into a folder, without a network. Returns the plan of `kubectl reprieve`."""
    programs = binaries(["krew", "kubectl"])
    home = scratch / "krew"
    home.mkdir(parents=True)
    path = f"{home / 'bin'}{os.pathsep}{programs['kubectl'].parent}"
    # Neither Python nor anything else of this machine is in PATH.
    environment = {"HOME": str(home), "KREW_ROOT": str(home), "KREW_NO_UPGRADE_CHECK": "1", "PATH": path}
    run(
        programs["krew"],
        "install",
        f"--manifest={manifest}",
        f"--archive={archive}",
        env=environment,
        stdin="",
    )
    link = home / "bin" / PLUGIN
    if not (link.is_symlink() and link.resolve().is_relative_to(home.resolve())):
        raise ReleaseError("krew has not linked the plugin that it has installed")
    return _plan(tree, programs["kubectl"], scratch, environment, "reprieve")


def _plan(tree: Path, program: Path, cwd: Path, environment: dict[str, str], *before: str) -> str:
    command: tuple[str | Path, ...] = (program, *before, "plan", "-f", tree / EXAMPLE, "--for", PREEMPTOR)
    plan = run(*command, cwd=cwd, env={**environment, "LC_ALL": "C.UTF-8", "TERM": "dumb", "COLUMNS": "120"})
    if EXPECTED not in plan:
        raise ReleaseError(f"{program.name} plan says nothing of {PREEMPTOR}:\n{plan}")
    return plan


def _is_below(python: Path, folder: Path) -> bool:
    found = run(
        python, "-P", "-c", "import native.nodes._units as it; print(it.__file__)", cwd=folder
    ).strip()
    return found.endswith(".so") and Path(found).is_relative_to(folder)
