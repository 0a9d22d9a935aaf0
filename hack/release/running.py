"""Runs other programs under conditions that are known."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.release.errors import ReleaseError

__all__ = ["OTHERS", "USUAL", "Conditions", "run"]

SAID_CHARACTERS: Final = 4000
"""How much of what a program said is in the message when it fails."""
UNSET: Final = frozenset({"CFLAGS", "CPPFLAGS", "LDFLAGS", "LANG", "LANGUAGE", "PYTHONPATH", "PYTHONHOME"})
"""Of the environment: what would get into a build."""


@dataclass(frozen=True)
class Conditions:
    """What must not change a byte of a build."""

    umask: int = 0o022
    locale: str = "C.UTF-8"
    zone: str = "UTC"
    hash_seed: str = "0"
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)
    age: int = 0
    """Seconds by which the files of the sources are older."""

    def environment(self, seconds: int) -> dict[str, str]:
        """The environment of a build. `seconds` is the time that archives get, since 1970."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in UNSET and not name.startswith("LC_")
        }
        return kept | {
            "LC_ALL": self.locale,
            "TZ": self.zone,
            "PYTHONHASHSEED": self.hash_seed,
            "PYTHONDONTWRITEBYTECODE": "1",
            "SOURCE_DATE_EPOCH": str(seconds),
        }


USUAL: Final = Conditions()
OTHERS: Final = Conditions(
    umask=0o077, locale="C", zone="Asia/Kathmandu", hash_seed="4711", jobs=USUAL.jobs + 1, age=3 * 86_400
)
"""They differ from the usual ones in everything."""


def run(
    *command: str | Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    umask: int = -1,
    stdin: str | None = None,
) -> str:
    """What a program prints. Raises ReleaseError, with the end of what it said, if it fails."""
    try:
        result = subprocess.run(
            command, cwd=cwd, env=env, umask=umask, input=stdin, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise ReleaseError(f"{command[0]} cannot be run: {error.strerror}") from None
    if result.returncode != 0:
        said = (result.stdout + result.stderr)[-SAID_CHARACTERS:]
        raise ReleaseError(f"{' '.join(map(str, command[:4]))} ... failed:\n{said}")
    return result.stdout
