"""The time that a decision takes from a snapshot, beside the time of one sweep over the columns of pods (same run).

The seconds are CPU seconds of this process, because other work on the machine does not change them much.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from functools import partial

import msgspec
from rich.console import Console
from rich.table import Table

from api.core import Node, Pod, PodDisruptionBudget
from api.groups import POD_GROUP_LABEL, PodGroup
from api.plans import PreemptionPlanSpec
from bench.timing import cpu_seconds
from hack.controlplane import objects
from hack.controlplane.client import Json
from nodes.search.decision import EFFORT, Limits, decide_group
from nodes.state.snapshot import Snapshot
from nodes.state.tables import Tables

__all__ = ["RACKS", "running", "run"]

ROUNDS = 3
HOSTNAME = "kubernetes.io/hostname"
NO = "Unschedulable"


@dataclass(frozen=True)
class Case:
    """A full cluster, and a gang that needs a part of it."""

    title: str
    nodes: int
    racks: int
    pods_per_node: int
    group_size: int
    """The number of pods in an `all` group, on neighbouring nodes. 1 means single pods."""
    gang: int
    topology: str | None = None
    priorities: int = 50
    """The number of different priorities. Pods get them in turn, or at random if there are 40."""
    member: float = 0.9
    """What a member requests, as a part of a node."""
    budgets: int = 0
    """The number of PodDisruptionBudgets. Every pod draws on one of them."""
    allowed: int = 0
    """How many disruptions each budget allows."""
    outcome: str = "Preempts"
    spread: str = ""
    """The topology key over which members are spread, with maxSkew 1."""
    apart: str = ""
    """The topology key by which members keep one another out of a domain."""
    zones: int = 0
    """The number of zones; the racks of a zone are neighbours."""


RACKS = Case("250 racks", 5000, 250, 30, 1, 1000, "rack", priorities=40, member=1 / 60)

CASES = (
    Case("interleaved groups, gang of 100", 500, 1, 10, 10, 100),
    Case("1,000 nodes, 10,000 pods, gang of 64 per rack of 100", 1000, 10, 10, 1, 64, "rack"),
    Case("5,000 nodes, 20,000 pods, gang of 500", 5000, 8, 4, 1, 500),
    Case("5,000 nodes, 150,000 pods, gang of 1,000", 5000, 8, 30, 10, 1000),
    Case("5,000 nodes, 150,000 pods, gang of 256 per zone", 5000, 8, 30, 10, 256, "rack"),
    replace(RACKS, title="150,000 pods, 250 racks, 40 priorities, gang of 1,000"),
    replace(RACKS, title="the same, one domain", topology=None),
    replace(RACKS, title="the same, one unspent budget over all", budgets=1, allowed=10**6),
    replace(RACKS, title="the same, one domain, one unspent budget", topology=None, budgets=1, allowed=10**6),
    replace(RACKS, title="the same, 2,000 budgets", budgets=2000, allowed=10),
    replace(RACKS, title="the same, infeasible", member=1 / 49, outcome="Unschedulable"),
    replace(RACKS, title="the same, one domain, spread over the racks", topology=None, spread="rack"),
    replace(RACKS, title="the same, one domain, 3 zones, spread", topology=None, spread="zone", zones=3),
    replace(
        RACKS, title="the same, per rack, spread over zones", gang=20, spread="zone", zones=3, outcome=NO
    ),
    replace(RACKS, title="the same, one domain, spread over the nodes", topology=None, spread=HOSTNAME),
    replace(RACKS, title="the same, one domain, 200 racks apart", topology=None, gang=200, apart="rack"),
    replace(
        RACKS, title="the same, more members than racks", topology=None, gang=251, apart="rack", outcome=NO
    ),
)

GROWING = (2500, 5000, 10000)
"""The numbers of nodes for the growth exponent, each with racks of 20 nodes."""


def run(console: Console) -> bool:
    """Print a row for each case, and how the time grows. Returns whether every decision has the expected outcome."""
    table = Table(
        "decision",
        "outcome",
        "victims",
        "pods",
        "first plan, CPU s",
        "with all effort",
        "encoded",
        "x sweep",
        title="Decisions",
    )
    right = True
    for case in CASES:
        right &= _measured(table, case)
    console.print(table)
    growing = Table("nodes", "pods", "first plan, CPU s", "exponent", title="Growth")
    before: tuple[int, float] | None = None
    for nodes in GROWING:
        snapshot = _cluster(replace(RACKS, nodes=nodes, racks=nodes // 20))
        seconds, _ = cpu_seconds(partial(_decide, snapshot, 0), ROUNDS)
        exponent = "" if before is None else f"{math.log(seconds / before[1], nodes / before[0]):.2f}"
        growing.add_row(str(nodes), str(nodes * RACKS.pods_per_node), f"{seconds:.3f}", exponent)
        before = nodes, seconds
    console.print(growing)
    return right


def _measured(table: Table, case: Case) -> bool:
    """Add the row of the case. Returns whether the outcome is the expected one."""
    snapshot = _cluster(case)
    sweep, _ = cpu_seconds(partial(_sweep, snapshot), ROUNDS)
    first, _ = cpu_seconds(partial(_decide, snapshot, 0), ROUNDS)
    whole, spec = cpu_seconds(partial(_decide, snapshot))
    encoded, _ = cpu_seconds(partial(msgspec.json.encode, spec), ROUNDS)
    table.add_row(
        case.title,
        spec.outcome,
        str(len(spec.victims)),
        str(sum(len(victim.pods) for victim in spec.victims)),
        f"{first:.3f}",
        f"{whole:.3f}",
        f"{encoded:.3f}",
        f"{first / sweep:.0f}",
    )
    return spec.outcome == case.outcome


def _decide(snapshot: Snapshot, effort: int = EFFORT) -> PreemptionPlanSpec:
    return decide_group(snapshot, "default", "hero", limits=Limits(effort=effort))


def _sweep(snapshot: Snapshot) -> int:
    """Read every column of the pods once."""
    columns = (
        snapshot.pod_live, snapshot.pod_node, snapshot.pod_class, snapshot.pod_group, snapshot.pod_labels,
        snapshot.pod_priority, snapshot.pod_start, snapshot.pod_flags, snapshot.pod_name_rank,
    )  # fmt: skip
    return sum(int(column.max(initial=0)) for column in columns)


def _cluster(case: Case) -> Snapshot:
    tables = Tables()
    for i in range(case.nodes):
        name = f"n{i:05}"
        labels = {"rack": f"r{i % case.racks}", HOSTNAME: name}
        if case.zones:
            labels["zone"] = f"z{i % case.racks * case.zones // case.racks}"
        node = objects.node(name, cpu=str(4 * case.pods_per_node), labels=labels)
        tables.upsert_node(msgspec.convert(node, Node))
    groups = case.nodes * case.pods_per_node // case.group_size
    for g in range(groups if case.group_size > 1 else 0):
        body = objects.pod_group(f"g{g:05}", min_count=1, mode="all", priority=g % case.priorities)
        tables.upsert_group(msgspec.convert(body, PodGroup))
    dice = random.Random(0)
    for i in range(case.nodes * case.pods_per_node):
        tables.upsert_pod(msgspec.convert(running(case, i, dice), Pod))
    for b in range(case.budgets):
        tables.upsert_budget(msgspec.convert(_budget(case, b), PodDisruptionBudget))
    _gang(tables, case)
    return tables.snapshot()


def running(case: Case, i: int, dice: random.Random) -> Json:
    """The pod number `i` of the case, which runs."""
    group, member = divmod(i, case.group_size)
    node = (case.group_size * group + member) % case.nodes
    pod = objects.pod(
        f"p{i:06}",
        cpu="4",
        node_name=f"n{node:05}",
        group=f"g{group:05}" if case.group_size > 1 else None,
        priority=dice.randrange(40) if case.priorities == 40 else group % case.priorities,
    )
    pod["metadata"]["uid"] = f"uid-{i:06}"
    if case.budgets:
        pod["metadata"]["labels"] = {"app": f"a{i // 10 % case.budgets}"}
    pod["status"] = {"phase": "Running", "startTime": f"2026-01-01T{i % 24:02}:{i % 60:02}:00Z"}
    return pod


def _budget(case: Case, b: int) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "default", "name": f"b{b:04}", "uid": f"b{b:04}"},
        "spec": {"selector": {"matchLabels": {"app": f"a{b}"}}},
        "status": {"disruptionsAllowed": case.allowed},
    }


def _gang(tables: Tables, case: Case) -> None:
    body = objects.pod_group("hero", min_count=case.gang, topology=case.topology, priority=1000)
    tables.upsert_group(msgspec.convert(body, PodGroup))
    cpu = f"{4000 * case.pods_per_node * case.member:.0f}m"
    for i in range(case.gang):
        pod = objects.pod(f"hero-{i:04}", cpu=cpu, group="hero", priority=1000, **_looks(case))
        pod["metadata"]["uid"] = f"hero-{i:04}"
        tables.upsert_pod(msgspec.convert(pod, Pod))


def _looks(case: Case) -> Json:
    """What members ask of one another, as fields of their spec."""
    own = {"matchLabels": {POD_GROUP_LABEL: "hero"}}
    found: Json = {}
    if case.spread:
        constraint = {"maxSkew": 1, "topologyKey": case.spread, "whenUnsatisfiable": "DoNotSchedule"}
        found["topologySpreadConstraints"] = [{**constraint, "labelSelector": own}]
    if case.apart:
        terms = [{"topologyKey": case.apart, "labelSelector": own}]
        found["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return found
