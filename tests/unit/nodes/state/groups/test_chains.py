"""Chains of controller references to LeaderWorkerSets: pods, StatefulSets and leaders come and go in any order."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from api.core import Pod
from api.foreign_owners import JobSet, LeaderWorkerSet, OwningJob, OwningStatefulSet
from nodes.groups.forms import asking
from nodes.state.groups.chains import Chains
from nodes.state.groups.owner_groups import NO_MOVES, Moves
from nodes.state.tables import Tables
from tests.kit.objects import pod

NS = "default"
SET = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm")
SOURCE = "LeaderWorkerSet.leaderworkerset.x-k8s.io"


def reference(owner: tuple[str, str, str], uid: str) -> dict[str, Any]:
    version, kind, name = owner
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid, "controller": True}


def stateful_set(
    name: str, owner: tuple[str, str, str] | None = None, by: str = "", uid: str = ""
) -> OwningStatefulSet:
    """`by`: the UID of its controller."""
    meta: dict[str, Any] = {"name": name, "namespace": NS, "uid": uid or f"set-{name}"}
    if owner is not None:
        meta["ownerReferences"] = [reference(owner, by)]
    return msgspec.convert({"metadata": meta}, OwningStatefulSet)


def leaders_set(by: str = "lws-1", uid: str = "") -> OwningStatefulSet:
    return stateful_set("llm", SET, by, uid)


def workers_set(by: str = "pod-llm-0", uid: str = "") -> OwningStatefulSet:
    return stateful_set("llm-0", ("v1", "Pod", "llm-0"), by, uid)


def member(name: str, by: str, index: str = "0", uid: str = "", **fields: Any) -> Pod:
    """`by`: the name of its StatefulSet, and its UID behind a colon if it is not the usual one."""
    labels = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": index}
    made = pod(
        name,
        owner=("apps/v1", "StatefulSet", "x"),
        labels=labels,
        node="n",
        uid=uid or f"pod-{name}",
        **fields,
    )
    name, _, its = by.partition(":")
    assert made.metadata.owner_references is not None
    [owner] = made.metadata.owner_references
    owner.name, owner.uid = name, its or f"set-{name}"
    return made


def lws(uid: str = "lws-1", size: int = 3) -> LeaderWorkerSet:
    meta = {"name": "llm", "namespace": NS, "uid": uid}
    return msgspec.convert(
        {"metadata": meta, "spec": {"leaderWorkerTemplate": {"size": size}}}, LeaderWorkerSet
    )


def put(tables: Tables, *items: Any) -> None:
    for each in items:
        match each:
            case Pod():
                tables.upsert_pod(each)
            case OwningStatefulSet():
                tables.upsert_stateful_set(each)
            case _:
                tables.upsert_owner(each)


def group(tables: Tables, name: str, uid: str = "") -> str | None:
    """The bare name and UID of its group."""
    row = tables.pod(uid or f"pod-{name}")
    assert row is not None
    key = tables.view(row).group
    return key[1].removeprefix(f"{SOURCE}:") if key is not None else None


LEADER = member("llm-0", "llm")
WORKER = member("llm-0-1", "llm-0")


def test_a_replica_is_one_group_in_any_order() -> None:
    """The chain tells the UID of the set, and the set's object says how many pods there are."""
    for order in itertools.permutations([LEADER, WORKER, leaders_set(), workers_set(), lws()]):
        tables = Tables(by_owner="Gangs")
        put(tables, *order)
        assert (group(tables, "llm-0"), group(tables, "llm-0-1")) == ("llm-0:lws-1",) * 2
        key = (NS, f"{SOURCE}:llm-0:lws-1")
        assert tables.owners.gang_of(WORKER) == key
        form = asking(tables.groups.find(*key))
        assert form is not None
        assert form.spec.scheduling_policy.gang is not None
        assert form.spec.scheduling_policy.gang.min_count == 3
        assert form.metadata.uid not in ("", "lws-1"), "it is one of several groups of its owner"
        assert len(tables.groups.keys) == 1


ALONE: list[tuple[str, list[Any], Pod]] = [
    ("nobody controls its StatefulSet", [stateful_set("llm")], LEADER),
    ("another kind controls its StatefulSet", [stateful_set("llm", ("x.io/v1", "Llm", "llm"), "u")], LEADER),
    ("another set controls it", [stateful_set("llm", (*SET[:2], "other"), "lws-2")], LEADER),
    ("the reference of the StatefulSet is no object's", [leaders_set(by="a:b")], LEADER),
    ("nobody controls the StatefulSet of the worker", [leaders_set(), LEADER, stateful_set("llm-0")], WORKER),
    (
        "its leader has no controller",
        [leaders_set(), pod("llm-0", uid="pod-llm-0", node="n"), workers_set()],
        WORKER,
    ),
    (
        "its leader is not the set's",
        [leaders_set(), stateful_set("b"), member("llm-0", "b"), workers_set()],
        WORKER,
    ),
    (
        "its leader has a leader",
        [
            leaders_set(),
            LEADER,
            workers_set(),
            member("llm-1", "llm-0", "1"),
            stateful_set("llm-1", ("v1", "Pod", "llm-1"), "pod-llm-1"),
        ],
        member("llm-1-1", "llm-1", "1"),
    ),
]


@pytest.mark.parametrize(("things", "forged"), [each[1:] for each in ALONE], ids=[each[0] for each in ALONE])
def test_a_pod_whose_chain_leads_elsewhere_is_alone(things: list[Any], forged: Pod) -> None:
    for order in itertools.permutations([*things, forged]):
        tables = Tables(by_owner="Gangs")
        put(tables, lws(), *order)
        assert group(tables, forged.metadata.name) is None
        assert tables.owners.gang_of(forged) is None


def test_who_invents_a_controller_does_not_join() -> None:
    """What is not known counts by its labels, as before. It is not the group of those whose chain is known."""
    tables = Tables(by_owner="Gangs")
    put(tables, lws(), leaders_set(), LEADER, member("forged", "llm:invented"))
    assert (group(tables, "llm-0"), group(tables, "forged")) == ("llm-0:lws-1", "llm-0")


def test_a_label_counts_within_its_namespace() -> None:
    tables = Tables(by_owner="Gangs")
    elsewhere = member("far", "llm", namespace="other")
    put(tables, lws(), leaders_set(), LEADER, elsewhere)
    row = tables.pod("pod-far")
    assert row is not None
    assert tables.view(row).group == ("other", f"{SOURCE}:llm-0:lws-1")
    assert minimum(tables, ("other", f"{SOURCE}:llm-0:lws-1")) is None
    assert minimum(tables, (NS, f"{SOURCE}:llm-0:lws-1")) == 3


def minimum(tables: Tables, key: tuple[str, str]) -> int | None:
    form = asking(tables.groups.find(*key))
    gang = form.spec.scheduling_policy.gang if form is not None else None
    return gang.min_count if gang is not None else None


def test_a_set_of_the_same_name_is_another_one() -> None:
    """Old pods terminate while the new set has its pods already, with StatefulSets of the same names."""
    old = [lws(), leaders_set(), LEADER, workers_set(), WORKER]
    new = [
        lws("lws-2", size=2),
        leaders_set("lws-2", uid="set-2"),
        member("llm-1", "llm:set-2", "1"),
        member("new", "llm-0:set-2-0", uid="pod-new"),
        workers_set(by="pod-llm-0-b", uid="set-2-0"),
        member("llm-0-b", "llm:set-2"),
    ]
    for order in itertools.permutations(new):
        tables = Tables(by_owner="Gangs")
        put(tables, *old, *order)
        assert {group(tables, name) for name in ("llm-0", "llm-0-1")} == {"llm-0:lws-1"}
        assert {group(tables, name) for name in ("llm-0-b", "new")} == {"llm-0:lws-2"}
        assert group(tables, "llm-1") == "llm-1:lws-2"
        assert minimum(tables, (NS, f"{SOURCE}:llm-0:lws-1")) is None
        assert minimum(tables, (NS, f"{SOURCE}:llm-0:lws-2")) == 2


def test_a_group_whose_leader_has_gone_is_the_same() -> None:
    """So it is evicted to its end. Nothing is kept once its last pod has gone, too."""
    tables = Tables(by_owner="Gangs")
    put(tables, leaders_set(), LEADER, workers_set(), WORKER)
    tables.delete_pod(NS, "llm-0")
    tables.delete_stateful_set(NS, "llm")
    tables.delete_stateful_set(NS, "llm-0")
    put(tables, WORKER, member("llm-0-2", "llm-0"))
    assert (group(tables, "llm-0-1"), group(tables, "llm-0-2")) == ("llm-0:lws-1",) * 2
    tables.delete_pod(NS, "llm-0-1")
    tables.delete_pod(NS, "llm-0-2")
    assert kept(tables.owners._chains) == [{}] * 6
    put(tables, WORKER)
    assert group(tables, "llm-0-1") == "llm-0"


def kept(chains: Chains) -> list[dict[Any, Any]]:
    return [
        chains._links, chains._uids, chains._answers, chains._rows, chains._above, chains._below
    ]  # fmt: skip


def test_a_stateful_set_that_loses_its_owner_has_no_group() -> None:
    """Who deletes a set and orphans what it controls: pods stay, and nobody creates them as one any more."""
    tables = Tables(by_owner="Gangs")
    put(tables, leaders_set(), LEADER, workers_set(), WORKER, stateful_set("llm"))
    assert (group(tables, "llm-0"), group(tables, "llm-0-1")) == (None, None)
    put(tables, leaders_set())
    assert (group(tables, "llm-0"), group(tables, "llm-0-1")) == ("llm-0:lws-1",) * 2
    put(tables, stateful_set("llm-0"))
    assert (group(tables, "llm-0"), group(tables, "llm-0-1")) == ("llm-0:lws-1", None)
    put(tables, workers_set("nobody"))
    assert group(tables, "llm-0-1") == "llm-0", "its leader is not known"


def test_a_pod_that_changes_its_labels_keeps_its_chain() -> None:
    """Also if its controller is gone, and it is the only pod of it."""
    tables = Tables(by_owner="Gangs")
    put(tables, leaders_set(), LEADER)
    tables.delete_stateful_set(NS, "llm")
    put(tables, member("llm-0", "llm", "7"))
    assert group(tables, "llm-0") == "llm-7:lws-1"


def test_only_pods_that_may_move_are_looked_at() -> None:
    """A set may have thousands of replicas, and each of them comes with events of its own."""
    tables = Tables(by_owner="Gangs")
    for index in range(3):
        name = f"llm-{index}"
        workers = stateful_set(name, ("v1", "Pod", name), f"pod-{name}")
        put(tables, member(f"{name}-1", name, str(index)), workers, member(name, "llm", str(index)))
    owners = tables.owners
    rows = {
        name: tables.pod(f"pod-{name}")
        for name in ("llm-0", "llm-0-1", "llm-1", "llm-1-1", "llm-2", "llm-2-1")
    }
    moves = owners.upsert_stateful_set(leaders_set())
    assert moves.rows == set(rows.values())
    assert moves.groups == {(NS, f"{SOURCE}:llm-{index}:lws-1") for index in range(3)}
    assert owners.upsert_stateful_set(leaders_set()) == Moves()
    assert owners.pod_changed("pod-llm-0") == Moves(), "it leads where it did"
    assert owners.pod_changed("pod-llm-0-1") is NO_MOVES
    assert owners.upsert_stateful_set(stateful_set("llm-1")).rows == {rows["llm-1-1"]}


def test_members_that_succeeded_follow_their_chain() -> None:
    """The pods of a JobSet are often listed before its Jobs."""
    set_labels = {"jobset-name": "sim", "replicatedjob-name": "w", "job-index": "0"}
    labels = {f"jobset.sigs.k8s.io/{key}": value for key, value in set_labels.items()}
    ended = pod("e", owner=("batch/v1", "Job", "sim-w-0"), labels=labels, phase="Succeeded")
    owner = reference(("jobset.x-k8s.io/v1alpha2", "JobSet", "sim"), "set-1")
    meta = {"name": "sim-w-0", "namespace": NS, "uid": "uid-sim-w-0", "ownerReferences": [owner]}
    body = {"metadata": meta, "spec": {"template": {"metadata": {"labels": labels}}}}
    job = msgspec.convert(body, OwningJob)
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2}]}
    job_set = msgspec.convert(
        {"metadata": {"name": "sim", "namespace": NS, "uid": "set-1"}, "spec": spec}, JobSet
    )
    key = (NS, "JobSet.jobset.x-k8s.io:sim:set-1")
    for order in itertools.permutations([ended, job, job_set]):
        tables = Tables(by_owner="Gangs")
        put(tables, *order)
        assert tables.succeeded(key) == {ended.metadata.uid}
        assert tables.count_succeeded(key) == 1
        assert tables.succeeded((NS, "JobSet.jobset.x-k8s.io:sim")) == frozenset()
        tables.delete_pod(NS, "e")
        assert (tables.succeeded_members._led, len(tables.groups.keys)) == ({}, 0)
