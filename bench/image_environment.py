"""An environment with what the image has: the packages of requirements/runtime.txt, and reprieve from this folder."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

from hack.release.tools import RUNTIME, python_of

__all__ = ["command_of", "environment"]

ROOT: Final = Path(__file__).parents[1]
HERE: Final = f"import sys; sys.path.insert(0, {str(ROOT)!r})"
SERVES: Final = f"{HERE}; from cli.main import main; main()"
LOOP: Final = f"{HERE}; from cli.serve.loops import loop_name; print(loop_name())"


def environment(folder: Path) -> tuple[Path, str]:
    """Make it in the folder. Returns its Python, and the loop that reprieve has there. Raises CalledProcessError."""
    venv.create(folder, with_pip=False)
    python = python_of(folder)
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run([*install, "--require-hashes", "-r", str(ROOT / RUNTIME)], check=True)
    found = subprocess.run([str(python), "-c", LOOP], check=True, capture_output=True, text=True)
    return python, found.stdout.strip()


def command_of(python: Path) -> list[str]:
    """What begins a command of reprieve there."""
    return [str(python), "-c", SERVES]
