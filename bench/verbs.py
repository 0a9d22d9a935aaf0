"""The extender's verbs: how long an answer takes, beside a handler that decodes the body and gives the same answer.

`reprieve serve` watches 5,000 nodes and pods. The scheduler calls one verb after the other, so there is one open TLS
connection. Every figure is the median of several rounds in which the listeners take turns.
"""

from __future__ import annotations

import os
import ssl
import statistics
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import orjson
import yaml
from rich.console import Console
from rich.table import Table

from bench.listener import listening
from bench.load import Request, load
from bench.verb_world import GANGS, Case, cases, fill, grants, preempt_by_gang
from hack.controlplane.components import HOST
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["Rounds", "Target", "answer_of", "is_right", "measure", "one_round", "run", "target_of"]

MODES: Final = os.environ.get("REPRIEVE_BENCH_VERBS", "Observe,Enforce").split(",")
SIZES: Final = (500, 5_000)
REQUESTS: Final = {500: 300, 5_000: 60}
"""The number of requests in a round, by the number of names."""
ROUNDS: Final = 5
WARM_UP: Final = 20
SETTINGS: Final = {"planning": {"planDeadlineSeconds": 36_000}}
ANSWERED: Final = {"filter": b'"Error":""', "preempt": b'"NodeNameToMetaVictims"'}


@dataclass(frozen=True, slots=True)
class Target:
    """A listener of the verbs."""

    port: int
    context: ssl.SSLContext
    pid: int


@dataclass(frozen=True, slots=True)
class Rounds:
    """Of a call in each round, in milliseconds."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """What the listener's process used. Other programs on the machine change it little."""

    def medians(self) -> list[str]:
        """Over the rounds, for a table."""
        return [f"{statistics.median(each):.2f}" for each in (self.p50, self.p99, self.cpu)]

    def ratios(self, other: Rounds) -> list[str]:
        """The median of the ratios round by round, for a table."""
        pairs = ((self.p50, other.p50), (self.p99, other.p99), (self.cpu, other.cpu))
        return [
            f"{statistics.median(a / b for a, b in zip(some, others, strict=True)):.2f}"
            for some, others in pairs
        ]


def run(console: Console) -> bool:
    """Print the table. Returns whether each pod was offered the nodes that are not reserved, and the member none.

    REPRIEVE_BENCH_VERBS names the modes: Observe, of a process that the scheduler calls, and Enforce.
    """
    table = Table(
        *("pod", "verb", "nodes", "p50 ms", "p99", "CPU", "constant: p50 ms", "p99", "CPU"),
        *("ours / constant: p50", "p99", "CPU"),
        title="Answers of the verbs, TLS",
    )
    right = True
    options = Options(reprieve=True, start_reprieve=False, reprieve_settings=SETTINGS, api_only=True)
    with (
        tempfile.TemporaryDirectory(prefix="reprieve-bench-") as folder,
        ControlPlane(Path(folder), options) as plane,
    ):
        with console.status("5,000 nodes and pods"):
            fill(plane.client)
        for mode in MODES:
            right &= _measure_in(plane, mode, table, console)
    console.print(table)
    return right


def _measure_in(plane: ControlPlane, mode: str, table: Table, console: Console) -> bool:
    """Add the rows of one mode. Returns whether each answer named as many nodes as it should."""
    file = plane.directory / "reprieve.yaml"
    settings = yaml.safe_load(file.read_text())
    settings["planning"]["mode"] = mode
    file.write_text(yaml.safe_dump(settings))
    plane.start_reprieve()
    target, right = target_of(plane), True
    granted = list(grants(plane.client))
    for gang in (None, *GANGS) if mode == "Enforce" else (None,):
        if gang is not None:
            preempt_by_gang(plane.client, gang, lambda body: answer_of(target, "filter", body))
        for case in cases(plane.client, SIZES, gang):
            answer = answer_of(target, case.verb, case.body)
            right &= is_right(case, answer)
            title = f"{mode}: {case.title}"
            with console.status(f"{title}, {case.verb}"), _constant(plane, target, answer) as constant:
                before = granted if case.has_grants else ()
                rounds = measure(case, {"ours": target, "constant": constant}, before)
            ours, others = rounds["ours"], rounds["constant"]
            figures = (*ours.medians(), *others.medians(), *ours.ratios(others))
            table.add_row(title, case.verb, f"{case.names:,}", *figures)
    plane.reprieve.stop()
    return right


def target_of(plane: ControlPlane) -> Target:
    """The extender of a plane, as its scheduler calls it."""
    folder = plane.directory / "extender-pki"
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.load_cert_chain(folder / "kube-scheduler.crt", folder / "kube-scheduler.key")
    return Target(plane.layout.port["reprieve"], context, plane.reprieve.pid)


def answer_of(target: Target, verb: str, body: bytes) -> bytes:
    """One call. Raises URLError."""
    request = urllib.request.Request(f"https://{HOST}:{target.port}/v1/{verb}", body)
    with urllib.request.urlopen(request, context=target.context) as answer:  # noqa: S310  # our own URL
        content: bytes = answer.read()
    return content


def is_right(case: Case, answer: bytes) -> bool:
    """Whether the answer names as many nodes as it should."""
    content = orjson.loads(answer)
    return len(content["NodeNames" if case.verb == "filter" else "NodeNameToMetaVictims"]) == case.remaining


def measure(case: Case, targets: Mapping[str, Target], before: Sequence[bytes] = ()) -> dict[str, Rounds]:
    """The targets answer in turns, many times. Returns the rounds of each.

    `before` are filter calls that are made before each round.
    """
    rounds = {name: Rounds() for name in targets}
    for _ in range(ROUNDS):
        for name, target in targets.items():
            for body in before:
                load(target.port, target.context, Request("/v1/filter", body, ANSWERED["filter"]), 1, 1)
            one_round(case, target, rounds[name])
    return rounds


def one_round(case: Case, target: Target, rounds: Rounds) -> None:
    """Make many calls."""
    request = Request(f"/v1/{case.verb}", case.body, ANSWERED[case.verb])
    load(target.port, target.context, request, 1, WARM_UP)
    before = _cpu_seconds(target.pid)
    _, times = load(target.port, target.context, request, 1, REQUESTS[case.names])
    rounds.cpu.append((_cpu_seconds(target.pid) - before) / len(times) * 1e3)
    p50, p99 = np.percentile(times, (50, 99)) * 1e3
    rounds.p50.append(float(p50))
    rounds.p99.append(float(p99))


def _cpu_seconds(pid: int) -> float:
    """What the process has used so far in its main thread, which answers."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


@contextmanager
def _constant(plane: ControlPlane, ours: Target, answer: bytes) -> Iterator[Target]:
    """Runs a listener that always gives this answer while the context lasts."""
    folder = plane.directory / "extender-pki"
    file = plane.directory / "answer"
    file.write_bytes(answer)
    files = [folder / "reprieve.crt", folder / "reprieve.key", folder / "ca.crt", file]
    with listening("bench.verb_listener", *map(str, files)) as listener:
        yield Target(listener.port, ours.context, listener.pid)
