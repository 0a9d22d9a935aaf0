"""On a terminal no command cuts a name, however long the names are, and however narrow the terminal is."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.groups import API_VERSION
from api.instead import Instead, InsteadVictims
from api.meta import ObjectMeta
from api.plans import (
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    Victim,
    VictimPod,
)
from api.times import rfc3339
from cli.main import COMMANDS, reprieve
from tests.kit.examples import examples
from tests.kit.healthy import NOW as AT
from tests.kit.healthy import healthy, pod
from tests.kit.pages import ROOT

ESCAPES: Final = re.compile(r"\x1b\[[0-9;]*m")
BEGINS, ENDS = "-zb", "ze"
NOW: Final = "--now 2026-03-01T12:00:00Z"


class Terminal(io.StringIO):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def example(name: str) -> str:
    return (ROOT / "examples" / name).read_text()


def plans() -> str:
    """A plan by which a group of its own namespace was evicted."""
    hero = Preemptor("PodGroup", API_VERSION, "team-b", "hero", "uid-hero", 1000)
    pods = [VictimPod("team-b", f"sweep-{number}", f"uid-{number}", f"n{number}") for number in range(2)]
    victim = Victim("PodGroup", "team-b", "sweep", "uid-sweep", 10, False, pods)
    spec = PreemptionPlanSpec(hero, "Preempts", "it fits with 1 victim gone", victims=[victim])
    status = PreemptionPlanStatus(phase="Evicting")
    plan = PreemptionPlan(metadata=ObjectMeta(name="hero-1", namespace="team-b"), spec=spec, status=status)
    return msgspec.json.encode(plan).decode()


def observed() -> str:
    """A plan that was observed, and what the scheduler did instead."""
    hero = Preemptor("PodGroup", API_VERSION, "team-b", "hero", "uid-hero", 1000)
    spec = PreemptionPlanSpec(hero, "Preempts", "it fits with 1 victim gone", mode="Observe")
    instead = Instead(InsteadVictims(pods=2), state="Same", concluded=True)
    status = PreemptionPlanStatus(phase="Observed", instead=instead)
    meta = ObjectMeta(name="hero-1", namespace="team-b", creation_timestamp=rfc3339(AT - 60.0))
    return msgspec.json.encode(PreemptionPlan(metadata=meta, spec=spec, status=status)).decode()


def faults() -> str:
    """A cluster in which a scheduler that nobody knows has pods."""
    waiting = [pod(f"web-{number}", schedulerName="mystery") for number in range(3)]
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [*healthy(), *waiting]}).decode()


TRAIN: Final = str(ROOT / "examples/what-if/train.yaml")
THRESHOLD: Final = str(ROOT / "examples/diff/threshold.yaml")
CASES: Final[Mapping[str, tuple[Callable[[], str], str, str]]] = {
    "plan": (
        lambda: example("training-cluster.yaml"),
        r"\b(sweep|llama-train)\b(?!-)",
        "--for research/llama-train{}",
    ),
    "quota": (
        lambda: example("quota-teams.yaml"),
        r"\b(nightly|train|report)\b(?!-)",
        f"--for team-a/train{{}} {NOW}",
    ),
    "queue": (lambda: example("quota-teams.yaml"), r"\b(nightly|train|b-best-effort)\b(?!-)", NOW),
    "validate": (lambda: example("settings.yaml"), r"\b(borrower|takes-turns)\b(?!-)", ""),
    "who-evicted": (plans, r"\b(sweep|hero)\b(?!-)", "team-b/sweep{}"),
    "report": (observed, r"\b(hero|team-b)\b(?!-)", "--by gang"),
    "doctor": (faults, r"\b(mystery|web-\d)\b(?!-)", ""),
    "clusters": (
        lambda: example("multikueue/manager.yaml"),
        r"\b(job-train-5c1d0|job-embed-[0-9a-f]+)\b(?!-)",
        "",
    ),
    "why": (
        lambda: example("why/queue.yaml"),
        r"\b(evaluate|research|a100)\b(?!-)",
        f"job research{{}}/evaluate{{}} {NOW}",
    ),
    "diff": (
        lambda: example("quota-teams.yaml"),
        r"\b(nightly|train-large|report)\b(?!-)",
        f"{THRESHOLD} {NOW}",
    ),
    "what-if": (
        lambda: example("what-if/cluster.yaml"),
        r"\b(notebook|sweep|gpu-\d)\b(?!-)",
        f"{TRAIN} {NOW}",
    ),
}
"""By command: what it reads, the names that become longer, and its arguments."""
LINES: Final = ("page", "pause", "resume", "ungate", "unprotect", "release", "serve")
"""Commands without tables: each object is a line, if they name any. `page` prints an address."""


def shown(arguments: list[str], width: int) -> str:
    out = Terminal()
    terminal = {"COLUMNS": str(width), "LINES": "50", "TERM": "xterm", "NO_COLOR": ""}
    with (
        patch.dict(os.environ, terminal),
        patch("time.time", lambda: AT),
        redirect_stdout(out),
        redirect_stderr(io.StringIO()),
    ):
        assert reprieve.main(arguments, standalone_mode=False) in (None, 0, 3)
    return ESCAPES.sub("", out.getvalue())


def test_every_command_is_looked_at() -> None:
    assert {*CASES, *LINES} == set(COMMANDS)


@pytest.mark.parametrize("command", CASES)
@settings(max_examples=examples(20))
@given(
    middle=st.text("ab-", max_size=45),
    width=st.integers(20, 200),
)
def test_names_are_whole(
    command: str, tmp_path_factory: pytest.TempPathFactory, middle: str, width: int
) -> None:
    text, names, arguments = CASES[command]
    more = f"{BEGINS}{middle}{ENDS}"
    path = Path(tmp_path_factory.mktemp("long")) / "objects.yaml"
    path.write_text(re.sub(rf"(?<![&*]){names}", rf"\g<0>{more}", text()))
    printed = shown([command, *arguments.replace("{}", more).split(), "-f", str(path)], width)
    assert printed.count(more) > 0
    assert printed.count(BEGINS) == printed.count(more)
    # Only a word that is longer than the terminal makes a line longer.
    for line in map(str.rstrip, printed.splitlines()):
        assert len(line) <= width or max(map(len, line.split())) + 12 > width, line
