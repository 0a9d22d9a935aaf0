"""Prints how often our filters agree with the scheduler's, and our defaults with an API server's.

It exits with 1, and shows small cases, where they differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from hack.controlplane.binaries import BinariesError
from hack.controlplane.plane import ControlPlane, Options
from hack.fidelity.budgets import Counts, run
from hack.fidelity.comparison import Case, Difference, Tally, compare, make_cases, shrink
from hack.fidelity.orders import Orders, judge_orders
from hack.fidelity.planned import Plans, judge_plans
from hack.fidelity.probe import Probe
from hack.fidelity.stored import Comparison, compare_stored
from hack.fidelity.worlds import FAMILIES
from hack.fidelity.written import NOT_COMPARED

BATCH = 200
SHOWN = 20


def main() -> int:
    """Compare until there are enough verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verdicts", type=int, default=1_000_000, help="pod-node pairs to ask about")
    parser.add_argument("--plans", type=int, default=10_000, help="gangs to plan for")
    parser.add_argument("--orders", type=int, default=10_000, help="gangs that look at pods on other nodes")
    parser.add_argument("--objects", type=int, default=3_000, help="manifests to store in an API server")
    parser.add_argument("--budgets", type=int, default=500, help="PodDisruptionBudgets on a control plane")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=[*FAMILIES, "all"], help="only this family of features")
    arguments = parser.parse_args()
    tally, begin = Tally(), time.monotonic()
    try:
        stored = _stored(arguments.objects, arguments.seed)
        with Probe() as probe:
            for cases in _batches(arguments.seed, arguments.family):
                compare(cases, probe.ask, tally)
                if tally.verdicts.total() >= arguments.verdicts:
                    break
            _print(tally, time.monotonic() - begin)
            plans = Plans()
            for first in range(0, arguments.plans, BATCH):
                seeds = range(arguments.seed + first, arguments.seed + first + BATCH)
                judge_plans(seeds, probe.ask, plans, arguments.family)
            _print_plans(plans)
            orders = Orders()
            for first in range(0, arguments.orders, BATCH):
                judge_orders(range(arguments.seed + first, arguments.seed + first + BATCH), probe.ask, orders)
            _print_orders(orders)
            for case, difference in _one_of_each(tally):
                _show(*shrink(case, difference, probe.ask))
        budgets = _budgets(arguments.budgets, arguments.seed)
    except BinariesError as error:
        print(error, file=sys.stderr)
        return 2
    wrong = plans.wrong or orders.plans.wrong or orders.missed
    apart = tally.differences or stored.differences or budgets.differences
    return 1 if wrong or apart else 0


def _stored(count: int, seed: int) -> Comparison:
    """Compare manifests with what an API server makes of them, and print it."""
    with TemporaryDirectory() as folder, ControlPlane(Path(folder), Options(api_only=True)) as plane:
        result = compare_stored(plane.client, count, seed, "stored")
    print(f"{result.compared.total()} stored objects of {len(result.compared)} kinds,", end=" ")
    print(f"{result.refused} pods that both refuse, {len(result.invalid)} invalid manifests,", end=" ")
    print(f"{len(result.differences)} fields that differ")
    for each in result.differences[:SHOWN]:
        print(f"  {each.manifest['kind']}, {each.path}: {each.ours!r}, stored {each.theirs!r}")
    for reason in dict.fromkeys(NOT_COMPARED.values()):
        kinds = ", ".join(
            f"{kind} of {version}" for (version, kind), why in NOT_COMPARED.items() if why == reason
        )
        print(f"not compared, because {reason}: {kinds}")
    return result


def _budgets(number: int, seed: int) -> Counts:
    """Compare with the disruption controller of a control plane, and print the result."""
    with TemporaryDirectory(prefix="reprieve-fidelity-") as folder:
        counts = run(number, seed, Path(folder))
    print(
        f"budgets: {counts.budgets}; {counts.allowing} allow a disruption; {counts.unknown} are not known without an "
        f"owner; {counts.evictions} evictions, {counts.exempt} of them of pods that are exempt from their budget; "
        f"{len(counts.differences)} differ from a real cluster's"
    )
    for each in counts.differences[:SHOWN]:
        print(f"  {each}")
    return counts


def _batches(seed: int, family: str | None) -> Iterator[list[Case]]:
    """Random cases without end."""
    seeds = count(seed)
    while True:
        yield list(make_cases([*islice(seeds, BATCH)], family))


def _print(tally: Tally, seconds: float) -> None:
    found = tally.differences
    print(f"{'family':26}{'verdicts':>10}{'it refuses':>12}{'named':>9}{'only named':>12}{'differences':>13}")
    families = [*sorted(tally.verdicts), "sum"]
    for family in families:
        row = [
            counter.total() if family == "sum" else counter[family]
            for counter in (tally.verdicts, tally.refused, tally.named, tally.only_named)
        ]
        differ = sum(family in ("sum", case.world.family) for case, _ in found)
        print(f"{family:26}{row[0]:10}{row[1]:12}{row[2] / row[0]:9.1%}{row[3] / row[0]:12.2%}{differ:13}")
    admitted = sum(bool(each.plugin) for _, each in found)
    print(f"we admit, it refuses, unnamed: {admitted}; we refuse, it admits: {len(found) - admitted}")
    print(f"{tally.verdicts.total()} verdicts in {seconds:.1f} s")


def _print_plans(plans: Plans) -> None:
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(plans.outcomes.items()))
    print(f"plans: {outcomes}; of {plans.members} placed members, {len(plans.wrong)} are refused")
    for name, times in plans.named.most_common():
        print(f"  {times} name {name}")
    for each in plans.wrong[:SHOWN]:
        print(f"  seed {each.seed}, family {each.family}: pod {each.pod} on {each.node}: {each.plugin}")


def _print_orders(orders: Orders) -> None:
    print("gangs that look at pods on other nodes:")
    _print_plans(orders.plans)
    print(
        f"where we say no, every order was tried for {orders.refused} gangs ({orders.tried} states): "
        f"{len(orders.missed)} could run"
    )
    for seed, way in orders.missed[:SHOWN]:
        print(f"  seed {seed}, {way}")


def _one_of_each(tally: Tally) -> list[tuple[Case, Difference]]:
    """The first difference of each kind in each family."""
    first: dict[tuple[str, str], tuple[Case, Difference]] = {}
    for case, difference in tally.differences:
        first.setdefault((case.world.family, difference.kind), (case, difference))
    return list(first.values())


def _show(case: Case, difference: Difference) -> None:
    print(f"\n# {difference.kind}: pod {difference.pod} on {difference.node}, answer {difference.step}")
    print(f"# family {case.world.family}, seed {case.seed}. {difference.reason}")
    print(yaml.safe_dump(case.world.case, sort_keys=False, width=120))


if __name__ == "__main__":
    sys.exit(main())
