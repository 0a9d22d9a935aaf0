"""Questions to the command about a plane, and about a dump of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import yaml

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import ROOT, shell

__all__ = ["DUMPS", "WAITS", "Asking"]

DUMPS: Final = re.findall(r"^kubectl get .*$", (ROOT / "docs" / "why.md").read_text(), re.MULTILINE)
"""The commands of the page that write a cluster to files."""
WAITS: Final = 3
GENERATED: Final = re.compile(r"-[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9])")
"""The end of a name that a controller makes. A Job tries another name each time, and each try is an event."""


class Asking:
    """Questions about one plane, with files in a folder."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder = plane, folder

    def ask(self, question: str, options: str = "") -> CompletedProcess[str]:
        return shell(self.plane, f"reprieve {question} -o json {options}")

    def dump(self, *commands: str) -> str:
        """The options that read the cluster from files."""
        options = []
        for number, command in enumerate(commands or DUMPS):
            path = self.folder / f"dump-{number}.json"
            made = shell(self.plane, f"{command.partition(' > ')[0]} > {path}")
            assert made.returncode == 0, made.stderr
            options.append(f"-f {path}")
        return " ".join(options)

    def both(self, question: str, files: str, code: int = WAITS) -> Json:
        """The answer, which must be the same from the cluster and from the files."""
        live, offline = self.ask(question), self.ask(question, files)
        assert (live.returncode, offline.returncode) == (code, code), live.stderr + offline.stderr
        assert _named_anew(live.stdout) == _named_anew(offline.stdout)
        answer: Json = json.loads(live.stdout)
        return answer

    def write(self, name: str, *bodies: Json) -> Path:
        path = self.folder / name
        path.write_text(yaml.safe_dump_all(bodies))
        return path

    def in_state(self, question: str, state: str) -> Json | None:
        """The answer, if it has this state."""
        answer: Json = json.loads(self.ask(question).stdout)
        return answer if answer["state"] == state else None


def _named_anew(text: str) -> str:
    return GENERATED.sub("-xxxxx", text)
