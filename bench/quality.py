"""`make bench-quality`: how good the victims are, beside the best score that is known for each cluster.

The clusters are described in bench/clusters/README.md.
"""

from __future__ import annotations

import json
import lzma
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from answers.reading.documents import JsonDocument
from answers.reading.node_objects import NodeObjects
from bench.baselines import Score, kep, scheduler
from bench.timing import cpu_seconds
from native.nodes._victims import search
from native.nodes.problem import Problem
from nodes.search.cluster import Cluster, lay_out
from nodes.search.decision import BUDGET, EFFORT_PER_MILLISECOND
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.problem import build

__all__ = ["Result", "run"]

CLUSTERS: Final = Path(__file__).parent / "clusters"
MILLISECONDS: Final = (100, 1000)
COLUMNS: Final = ("podDisruptionBudgetViolations", "highestVictimPriority", "prioritySum", "units", "pods")

Way = Callable[[Problem], Score | None]


@dataclass
class Result:
    """What one way gives for the clusters of one family."""

    clusters: int = 0
    at_best: int = 0
    excess: list[float] = field(default_factory=list)
    """More units than the best, as a share, where the first two columns are equal."""
    violations: int = 0
    best_violations: int = 0
    none: int = 0
    """How many clusters have no plan."""

    def count(self, score: Score | None, best: Score) -> None:
        """One more cluster."""
        self.clusters += 1
        self.best_violations += best[0]
        if score is None:
            self.none += 1
            return
        self.at_best += score <= best
        self.violations += score[0]
        if score[:2] == best[:2]:
            self.excess.append(score[3] / best[3] - 1)

    def add(self, other: Result) -> None:
        """The clusters of another family too."""
        self.clusters += other.clusters
        self.at_best += other.at_best
        self.excess += other.excess
        self.violations += other.violations
        self.best_violations += other.best_violations
        self.none += other.none

    def words(self) -> str:
        """Clusters at the best, mean excess, violations."""
        mean = f"{sum(self.excess) / len(self.excess):.1%}" if self.excess else "-"
        none = f", {self.none} without a plan" if self.none else ""
        return f"{self.at_best}/{self.clusters}, {mean}, {self.violations}{none}"


def ours(problem: Problem, milliseconds: int) -> Score | None:
    """The score of this search with this much work."""
    found = search(problem, BUDGET, milliseconds * EFFORT_PER_MILLISECOND)
    if found.winner < 0:
        return None
    violations, highest, priorities, units, pods, *_ = found.scores[found.winner]
    return violations, highest, priorities, units, pods


def run(console: Console) -> bool:
    """Print both tables. Returns whether each gang has a plan, and none is worse than the other ways."""
    return all([_best(console), _shapes(console)])


def _best(console: Console) -> bool:
    ways: dict[str, Way] = {f"{each} ms of work": partial(ours, milliseconds=each) for each in MILLISECONDS}
    ways |= {"KEP-5710 to the letter": kep, "the scheduler, pod by pod": scheduler}
    results: dict[str, dict[str, Result]] = {}
    right, seconds = True, dict.fromkeys(ways, 0.0)
    for case in _cases("best"):
        problem = problem_of(case["objects"], case["for"])
        best: Score = tuple(case["best"][column] for column in COLUMNS)
        scores = {}
        for name, way in ways.items():
            start = time.process_time()
            scores[name] = way(problem)
            seconds[name] += time.process_time() - start
            results.setdefault(case["family"], {}).setdefault(name, Result()).count(scores[name], best)
        mine, *others = scores.values()
        if mine is None or any(other is not None and other < mine for other in others[1:]):
            right = False
            console.print(f"{case['id']}: another way is better")
    console.print(_table(ways, results))
    clusters = sum(each[next(iter(ways))].clusters for each in results.values())
    for name in ways:
        console.print(f"{name}: {seconds[name] / clusters:.2f} CPU s for each cluster")
    return right


def _table(ways: Iterable[str], results: dict[str, dict[str, Result]]) -> Table:
    table = Table(
        "family", "best: violations", *ways, title="Clusters at the best, mean excess of units, violations"
    )
    total = {name: Result() for name in ways}
    for family, each in results.items():
        table.add_row(
            family, str(next(iter(each.values())).best_violations), *(r.words() for r in each.values())
        )
        if len(family) == 1:
            for name, result in each.items():
                total[name].add(result)
    violations = next(iter(total.values())).best_violations
    table.add_row("A to J", str(violations), *(result.words() for result in total.values()))
    return table


def _shapes(console: Console) -> bool:
    table = Table(
        "gang", "CPU s", "highest victim", "plain first fit", title="Gangs of many shapes, first plan"
    )
    right = True
    for case in _cases("shapes"):
        problem = problem_of(case["objects"], case["for"])
        seconds, score = cpu_seconds(partial(ours, problem, 0))
        right &= score is not None
        highest = "no plan" if score is None else str(score[1])
        table.add_row(case["id"], f"{seconds:.2f}", highest, str(case["plainCutoff"]))
    console.print(table)
    return right


def _cases(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(CLUSTERS / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def problem_of(objects: Iterable[dict[str, Any]], group: str) -> Problem:
    """The problem that the search gets for the group (NAMESPACE/NAME) in a cluster of these manifests."""
    known = NodeObjects()
    for index, item in enumerate(objects):
        known.add(JsonDocument(msgspec.json.encode(item)), f"objects[{index}]")
    namespace, _, name = group.partition("/")
    snapshot = known.picture().snapshot
    preemptor = group_preemptor(snapshot, namespace, name)
    return build(Cluster(snapshot, preemptor, lay_out(snapshot, preemptor)), strict=True).problem


if __name__ == "__main__":
    sys.exit(0 if run(Console(width=None if sys.stdout.isatty() else 160)) else 1)
