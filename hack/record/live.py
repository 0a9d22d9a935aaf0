"""The same questions to an API server: kinds that it does not serve, rights that are missing, contexts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hack.record.cases import Case

__all__ = ["live"]

NOW: Final = ("--now", "2026-03-01T12:00:00Z")
GROUPS: Final = ("groups/cluster", "groups/pytorchjob")
ASKED: Final = (
    (("plan", "--for", "research/llama-train"), ("training-cluster",)),
    (("plan", "--for", "research/llama-train-0", "--pod"), ("training-cluster",)),
    (("plan", "--for", "rollout"), (*GROUPS, "diff/lease")),
    (("quota", "--for", "team-a/train", *NOW), ("quota-teams",)),
    (("queue", *NOW), ("quota-teams",)),
    (("queue", "a-standard", *NOW), ("quota-teams",)),
    (("why", "pod", "notebook", *NOW), ("why/members",)),
    (("why", "podgroup", "train", *NOW), ("why/members",)),
    (("why", "podgroup", "train", *NOW), ("why/members", "quota-teams", "why/queue", "diff/lease")),
    (("why", "job", "evaluate", *NOW), ("why/queue",)),
    (("what-if", "examples/what-if/train.yaml", *NOW), ("what-if/cluster",)),
    (("what-if", "examples/what-if/queued.yaml", *NOW), ("what-if/cluster",)),
    (("what-if", "examples/what-if/queued.yaml", "-n", "campus", *NOW), ("what-if/cluster",)),
    (("diff", "examples/diff/nodes.yaml", *NOW), ("training-cluster",)),
    (("diff", "examples/questions/threshold.yaml", *NOW), ("quota-teams",)),
    (("diff", "examples/diff/lease.yaml", *NOW), GROUPS),
    (("who-evicted", "sweep-2"), ("questions/evicted",)),
    (("doctor",), ("training-cluster",)),
    (("doctor",), ("why/members", "quota-teams")),
)
"""(question, files of the cluster)."""
REFUSED: Final = (
    ("nodes",),
    ("pods",),
    ("workloads",),
    ("clusterqueues", "localqueues"),
    ("leases", "reprieve"),
    ("priorityclasses",),
    ("events", "poddisruptionbudgets", "configmaps"),
)


def live() -> Iterator[Case]:
    """All of them."""
    for arguments, files in ASKED:
        cluster = tuple(f"examples/{path}.yaml" for path in files)
        for options in ((), ("-o", "json"), ("--overlay", "examples/another-node.yaml"), ("--as", "jane")):
            yield Case((*arguments, *options), cluster=cluster)
        for plurals in REFUSED:
            yield Case(arguments, cluster=cluster, refused=plurals)
    everything = ("examples/why/members.yaml", "examples/quota-teams.yaml")
    for command in (("ungate",), ("unprotect",), ("release",), ("release", "--to", "Kueue")):
        yield Case(command, cluster=everything, refused=("pods", "clusterqueues"))
