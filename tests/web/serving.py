"""`reprieve page -f`, as a person starts it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from api.times import parse_rfc3339
from api.yaml import documents
from tests.kit.observed_plans import DAY, objects_of, plan
from tests.kit.observed_plans import NOW as OBSERVED

__all__ = ["NOW", "Served", "examples_file", "printed", "serving"]

ROOT: Final = Path(__file__).parents[2]
NOW: Final = "2026-03-01T12:00:00Z"
ADDRESS: Final = re.compile(r"http://127\.0\.0\.1:\d+/#code=\S+")


WAITS: Final = 3
"""The status of `reprieve why` for what waits."""
EXAMPLES: Final = ("training-cluster.yaml", "why/members.yaml", "why/queue.yaml", "questions/evicted.yaml")


def examples_file(folder: Path) -> Path:
    """A file with the objects of several examples. Of those that are in two examples, it has the first."""
    found: dict[tuple[str, str, str], Any] = {}
    for name in EXAMPLES:
        read: list[Any] = list(documents((ROOT / "examples" / name).read_text()))
        for document in filter(None, read):
            for each in document["items"] if document["kind"] == "List" else [document]:
                meta = each["metadata"]
                found.setdefault((each["kind"], meta.get("namespace", ""), meta["name"]), each)
    path = folder / "examples.json"
    items = [*found.values(), *observed()]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def observed() -> list[dict[str, Any]]:
    """Plans of the days before NOW that were only observed, and say what a scheduler did instead."""
    earlier = OBSERVED - parse_rfc3339(NOW)
    plans = [
        plan(0, age=earlier + DAY, namespace="research", gang="sweep", pods=6, ours=2, served_nobody=4),
        plan(1, age=earlier + DAY + 60, namespace="serving", gang="api", pods=3, ours=3, bound=True),
        plan(2, age=earlier + 3 * DAY, namespace="research", gang="llama-train", pods=5, ours=4),
        plan(3, age=earlier + 2 * DAY, namespace="research", state="Changed"),
    ]
    return objects_of(*plans)


@dataclass(slots=True)
class Served:
    """A server of the page."""

    process: subprocess.Popen[str]
    files: Sequence[Path | str]
    address: str
    """With a code that has not been used yet."""

    @property
    def origin(self) -> str:
        """Scheme, host and port, with the slash of the index."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}/"

    def another_address(self) -> str:
        """What it prints after the key Enter."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.address = _printed(self.process)
        return self.address


@contextmanager
def serving(*files: Path | str, overlay: Path | str = "", now: str = NOW) -> Iterator[Served]:
    """Serves these files, which stand still, until the end of the context."""
    arguments = [option for file in files for option in ("-f", str(file))]
    arguments += ["--overlay", str(overlay)] if overlay else []
    program = Path(sys.executable).with_name("reprieve")
    command = [str(program), "page", "--no-open", "--now", now, *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Served(process, files, _printed(process))
        finally:
            process.terminate()


def _printed(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := ADDRESS.search(line):
            return found.group()
    raise AssertionError(f"the page ended with status {process.wait()} and printed no address")


def printed(command: str) -> dict[str, Any]:
    """What the command prints as JSON."""
    program, *arguments = shlex.split(command)
    assert program == "reprieve"
    run = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments, "--now", NOW, "-o", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, WAITS), run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer
