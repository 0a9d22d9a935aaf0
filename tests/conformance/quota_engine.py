"""The quota engine under test: a scenario of plain objects in, the answer as plain data out."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.workloads import Workload
from native.codes import FINAL_SHARE, INITIAL_SHARE
from quota.search.decision import Options, decide
from quota.state.state import QuotaState
from quota.state.workloads import time_us

__all__ = ["Scenario", "answer", "options", "scenarios", "state_of"]

DIRECTORY: Final = Path(__file__).parent / "quota"
KINDS: Final[dict[str, Any]] = {
    "ClusterQueue": ClusterQueue,
    "Cohort": Cohort,
    "LocalQueue": LocalQueue,
    "ResourceFlavor": ResourceFlavor,
    "Workload": Workload,
}
STRATEGIES: Final = {"LessThanOrEqualToFinalShare": FINAL_SHARE, "LessThanInitialShare": INITIAL_SHARE}

Scenario = dict[str, Any]


def scenarios(name: str) -> Iterator[Scenario]:
    """Those of a file, each with the answer of Kueue's own code.

    UIDs are shortened, in an order that is the same, and fields left out on which nothing depends.
    """
    with lzma.open(DIRECTORY / f"{name}.jsonl.xz") as lines:
        yield from map(msgspec.json.decode, lines)


def state_of(objects: Iterable[dict[str, Any]]) -> QuotaState:
    state = QuotaState(deactivated_hold=False)
    for each in objects:
        state.apply(msgspec.convert(each, KINDS[each["kind"]]))
    return state


def options(scenario: Scenario) -> Options:
    strategies = scenario.get("fairSharingStrategies") or list(STRATEGIES)
    return Options(scenario["fairSharing"], tuple(STRATEGIES[name] for name in strategies))


def answer(scenario: Scenario, *, explain: bool = False) -> dict[str, Any]:
    """In the shape of the scenario's `expect`."""
    state = state_of(scenario["objects"])
    workload, now = state.workloads[scenario["incoming"]], time_us(scenario["now"], "now")
    decision = decide(state.snapshot(), workload, now, options(scenario), explain=explain)
    return {
        "mode": decision.mode,
        "flavors": decision.flavors,
        "borrowing": decision.borrowing,
        "targets": [{"workload": target.holder.key, "reason": target.reason} for target in decision.targets],
        "message": decision.message,
    }
