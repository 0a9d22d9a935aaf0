"""A question to a command, and what has to hold of the answer."""

from __future__ import annotations

import base64
import json
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from click.testing import CliRunner

from cli.main import reprieve
from tests.kit.answers.checks import problems

__all__ = ["Answer", "ask", "wrong"]

STATUSES: Final = (0, 1, 2, 3)
ENVIRONMENT: Final = {"NO_COLOR": None, "FORCE_COLOR": None, "COLUMNS": None, "KUBECONFIG": None}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has said."""

    status: int
    stdout: str
    stderr: str
    fault: BaseException | None
    """What ended the command, if that was no exit."""


def ask(case: dict[str, Any]) -> Answer:
    """Run the command of the case in a folder that has its files."""
    with tempfile.TemporaryDirectory(prefix="answers-") as folder, chdir(folder):
        for name, content in case.get("files", {}).items():
            _place(name).write_text(content if isinstance(content, str) else json.dumps(content))
        for name, content in case.get("bytes", {}).items():
            _place(name).write_bytes(base64.b64decode(content))
        given = Path(case["stdin"]).read_bytes() if case.get("stdin") else b""
        result = CliRunner().invoke(
            reprieve, case["command"], input=given, env={**ENVIRONMENT, "HOME": folder}, prog_name="reprieve"
        )
    fault = None if isinstance(result.exception, SystemExit) else result.exception
    return Answer(result.exit_code, result.stdout, result.stderr, fault)


def wrong(case: dict[str, Any], answer: Answer) -> list[str]:
    """What does not hold; empty if the answer is right."""
    if answer.fault is not None:
        return [f"it ended with {answer.fault!r}"]
    found = problems(case["expect"], answer.status, answer.stdout, answer.stderr)
    return found if answer.status in STATUSES else [*found, f"exit status {answer.status}"]


def _place(name: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
