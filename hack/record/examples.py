"""Every command about every object of every example, in every format and with the options that change answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

from api.disruption import BUDGET_POLICIES, ScoreTerm
from api.owner_annotations import BY_OWNER
from api.yaml import documents
from hack.record.cases import Case

__all__ = ["about_examples"]

ROOT: Final = Path(__file__).parents[2]
NOW: Final = ("--now", "2026-03-01T12:00:00Z")
LATER: Final = ("--now", "2026-03-01T12:00:01Z")
FORMATS: Final = ((), ("-o", "json"))
YAML: Final = ("-o", "yaml")
KINDS: Final = {"Pod": "pod", "PodGroup": "podgroup", "Job": "job", "Workload": "workload"}
"""Kinds of objects that `why` speaks of, and its names for them."""


class Thing(NamedTuple):
    """An object of an example."""

    kind: str
    namespace: str
    name: str

    @property
    def whole(self) -> str:
        """NAMESPACE/NAME."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Example:
    """Files that are read together as a cluster."""

    paths: tuple[str, ...]
    overlays: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        """What makes a command read them."""
        files = [word for path in self.paths for word in ("-f", f"examples/{path}.yaml")]
        return (*files, *(word for path in self.overlays for word in ("--overlay", f"examples/{path}.yaml")))

    def things(self) -> list[Thing]:
        """Its objects, each once, in the order of the files."""
        found = [thing for path in (*self.paths, *self.overlays) for thing in _things(path)]
        return list(dict.fromkeys(found))


OWNED: Final = tuple(
    Example(("groups/cluster", f"groups/{path.stem}"))
    for path in sorted((ROOT / "examples" / "groups").glob("*.yaml"))
    if path.stem != "cluster"
)
TRAINING: Final = Example(("training-cluster",))
SUBMITTED_TO: Final = Example(("what-if/cluster",))
QUEUED: Final = Example(("why/queue",))
BOTH_PLANES: Final = Example(("why/members", "quota-teams", "why/queue", "diff/lease", "questions/evicted"))
QUOTA: Final = (
    Example(("quota-teams",)),
    Example(("quota-turns",)),
    Example(("quota-monopoly",)),
    Example(("jobs/setup", "jobs/genome", "jobs/simulation")),
    Example(("queues/setup", "queues/genome", "queues/simulation", "queues/analysis")),
    Example(("webhooks/kueue-cohorts", "webhooks/kueue-flavors", "webhooks/kueue-admission")),
    Example(("webhooks/kueue-single-queue", "webhooks/kueue-checks", "webhooks/kueue-workloads")),
    QUEUED,
    SUBMITTED_TO,
    BOTH_PLANES,
)
NODES: Final = (
    TRAINING,
    Example(("too-large",)),
    Example(("too-large",), overlays=("another-node",)),
    Example(("training-cluster",), overlays=("diff/nodes",)),
    Example(("training-cluster", "questions/evicted")),
    Example(("why/members",)),
    Example(("groups/cluster", "groups/pytorchjob", "diff/lease")),
    *OWNED,
)
WORLDS: Final = tuple(dict.fromkeys([*NODES, *QUOTA]))
CHANGES: Final = (
    ("diff/lease",),
    ("diff/nodes",),
    ("diff/threshold",),
    ("questions/threshold",),
    ("another-node",),
    ("diff/nodes", "questions/threshold"),
    ("webhooks/turns",),
    ("webhooks/group",),
    ("settings",),
)
SUBMISSIONS: Final = (
    ("what-if/train",),
    ("what-if/web",),
    ("what-if/queued",),
    ("what-if/train", "what-if/queued", "what-if/web"),
    ("jobs/genome",),
    ("jobs/simulation",),
    ("queues/analysis",),
    *((path,) for world in OWNED for path in world.paths[1:]),
)
TARGETS: Final = (
    SUBMITTED_TO,
    TRAINING,
    QUEUED,
    Example(("groups/cluster",)),
    Example(("jobs/setup",)),
    BOTH_PLANES,
)


def about_examples() -> Iterator[Case]:
    """All of them. Some come twice."""
    for world in WORLDS:
        yield from _why(world)
        yield from _plan(world)
        yield from _quota(world)
        yield from _queue(world)
        yield from _evicted(world)
        yield from _diff(world)
        yield from _in_formats("doctor", *world.options)
    for target in TARGETS:
        yield from _what_if(target)
    yield from _validate()


def _in_formats(*arguments: str) -> Iterator[Case]:
    for options in (*FORMATS, YAML):
        yield Case((*arguments, *options))


def _why(world: Example) -> Iterator[Case]:
    asked = [(KINDS[thing.kind], thing.whole) for thing in world.things() if thing.kind in KINDS]
    for kind, name in [*asked, ("pod", "research/missing"), ("workload", "missing")]:
        for options in FORMATS:
            yield Case(("why", kind, name, *world.options, *NOW, *options))
        if world in OWNED:
            for setting in BY_OWNER:
                yield Case(("why", kind, name, *world.options, *NOW, "--groups-by-owner", setting))


def _plan(world: Example) -> Iterator[Case]:
    for thing in world.things():
        if thing.kind not in ("Pod", "PodGroup"):
            continue
        asked = ("plan", "--for", thing.whole, *(["--pod"] if thing.kind == "Pod" else []), *world.options)
        for options in FORMATS:
            yield Case((*asked, *options))
        if world in OWNED:
            for setting in BY_OWNER:
                yield Case((*asked, "--groups-by-owner", setting))
        if thing.kind == "PodGroup":
            yield Case((*asked, *YAML))
            for term in get_args(ScoreTerm):
                yield Case((*asked, "--score-term", term))
            for policy in BUDGET_POLICIES:
                yield Case((*asked, "--disruption-budgets", policy, *YAML))
    yield Case(("plan", "--for", "research/missing", *world.options))


def _quota(world: Example) -> Iterator[Case]:
    for thing in world.things():
        if thing.kind != "Workload":
            continue
        asked = ("quota", "--for", thing.whole, *world.options)
        yield from _in_formats(*asked, *NOW)
        for options in (
            LATER,
            (*NOW, "--fair-sharing"),
            (*NOW, "--feature-gates", "TimeBasedSamePriorityPreemption=false"),
        ):
            yield Case((*asked, *options))


def _queue(world: Example) -> Iterator[Case]:
    yield from _in_formats("queue", *world.options, *NOW)
    yield Case(("queue", *world.options, *NOW, "--fair-sharing"))
    yield Case(("queue", *world.options, *NOW, "--priority", "0"))
    yield Case(("queue", "missing", *world.options, *NOW))
    for thing in world.things():
        if thing.kind in ("ClusterQueue", "LocalQueue"):
            name = thing.name if thing.kind == "ClusterQueue" else thing.whole
            for options in (*FORMATS, ("--fair-sharing",), ("--priority", "60")):
                yield Case(("queue", name, *world.options, *NOW, *options))


def _evicted(world: Example) -> Iterator[Case]:
    names = [thing.whole for thing in world.things() if thing.kind in ("Pod", "PodGroup", "Workload")]
    plans = any(thing.kind == "PreemptionPlan" for thing in world.things())
    for name in [*(names if plans else names[:1]), "research/sweep-2", "research/sweep", "batch/notebook"]:
        yield from _in_formats("who-evicted", name, *world.options)


def _diff(world: Example) -> Iterator[Case]:
    for changes in CHANGES:
        changed = [f"examples/{path}.yaml" for path in changes]
        for options in FORMATS:
            yield Case(("diff", *changed, *world.options, *NOW, *options))
    yield Case(("diff", "examples/questions/threshold.yaml", *world.options, *NOW, "--fair-sharing"))
    yield Case(("diff", "examples/questions/threshold.yaml", *world.options, *NOW, *YAML))
    if world in OWNED:
        for setting in BY_OWNER:
            yield Case(
                ("diff", "examples/diff/nodes.yaml", *world.options, *NOW, "--groups-by-owner", setting)
            )


def _what_if(world: Example) -> Iterator[Case]:
    for submission in SUBMISSIONS:
        submitted = [f"examples/{path}.yaml" for path in submission]
        for options in FORMATS:
            yield Case(("what-if", *submitted, *world.options, *NOW, *options))
        for setting in BY_OWNER:
            yield Case(("what-if", *submitted, *world.options, *NOW, "--groups-by-owner", setting))
        yield Case(("what-if", *submitted, *world.options, *NOW, "-n", "campus", *YAML))


def _validate() -> Iterator[Case]:
    examples = ROOT / "examples"
    for path in sorted(
        [*examples.rglob("*.yaml"), *(each for each in examples.iterdir() if each.is_dir()), examples]
    ):
        name = str(path.relative_to(ROOT))
        for options in FORMATS:
            yield Case(("validate", "-f", name, *options))
        yield Case(
            ("validate", "-f", name, "--as", "system:serviceaccount:kueue-system:kueue-controller-manager")
        )
        yield Case(("validate", "-f", name, "--old", name, "--as", "jane@example.com"))
    settings = ("validate", "-f", "examples/settings.yaml", "--old", "examples/settings-stored.yaml")
    yield from _in_formats(*settings, "--as", "jane@example.com")
    yield Case(("validate", "--jsonl", "examples/settings-requests.jsonl"))
    yield Case(("validate", "--jsonl", "examples/settings-requests.jsonl", "-f", "examples/settings.yaml"))


@cache
def _things(path: str) -> tuple[Thing, ...]:
    bodies: list[Any] = list(documents((ROOT / "examples" / f"{path}.yaml").read_text()))
    found = []
    for body in bodies:
        for each in body["items"] if body and body["kind"] == "List" else [body] if body else []:
            meta = each.get("metadata", {})
            found.append(Thing(each["kind"], meta.get("namespace", "default"), meta.get("name", "")))
    return tuple(found)
