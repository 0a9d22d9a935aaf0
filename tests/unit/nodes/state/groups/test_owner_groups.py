"""Groups by owner in the tables: the pods, their owners and their namespaces come and go in any order."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from api.core import Namespace, Pod
from api.foreign_owners import JobSet, LeaderWorkerSet, OwningJob
from api.groups import PodGroup
from api.owner_annotations import BY_OWNER, ByOwner
from nodes.groups.forms import asking, by_its_pods, object_name
from nodes.search.preemptors.demand import count_members
from nodes.state.groups.owner_groups import Moves
from nodes.state.tables import Tables
from tests.kit.native_gangs import native_group
from tests.kit.objects import pod

NS = "default"
SIM = (NS, "JobSet.jobset.x-k8s.io:sim")
RING = (NS, "Job.batch:ring:uid-ring")


def meta(name: str, annotations: dict[str, str], uid: str = "") -> dict[str, Any]:
    return {"name": name, "namespace": NS, "uid": uid or f"uid-{name}", "annotations": annotations}


def job_set(uid: str = "", annotations: dict[str, str] | None = None, replicas: int = 2) -> JobSet:
    spec = {"replicatedJobs": [{"name": "w", "replicas": replicas}]}
    return msgspec.convert({"metadata": meta("sim", said(annotations or {}), uid), "spec": spec}, JobSet)


def job(
    parallelism: int = 2, completions: int | None = None, succeeded: int = 0, **annotations: str
) -> OwningJob:
    spec = {"parallelism": parallelism, "completions": completions}
    body = {"metadata": meta("ring", said(annotations)), "spec": spec, "status": {"succeeded": succeeded}}
    return msgspec.convert(body, OwningJob)


def said(annotations: dict[str, str]) -> dict[str, str]:
    return {f"reprieve.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}


def set_labels(index: str, **more: str) -> dict[str, str]:
    labels = {"jobset-name": "sim", "replicatedjob-name": "w", "job-index": index, **more}
    return {f"jobset.sigs.k8s.io/{key}": value for key, value in labels.items()}


def of_set(name: str, uid: str = "", **fields: Any) -> Pod:
    named = set_labels("0", **{"jobset-uid": uid} if uid else {})
    return pod(name, owner=("batch/v1", "Job", "sim-w-0"), labels=named, node="n", **fields)


def of_job(name: str, **annotations: str) -> Pod:
    return pod(name, owner=("batch/v1", "Job", "ring"), annotations=said(annotations), node="n")


def put(tables: Tables, *items: Any) -> None:
    for each in items:
        match each:
            case Pod():
                tables.upsert_pod(each)
            case Namespace():
                tables.upsert_namespace(each)
            case _:
                tables.upsert_owner(each)


def namespace(by_owner: str | None) -> Namespace:
    annotations = {"reprieve.dev/groups-by-owner": by_owner} if by_owner is not None else {}
    return msgspec.convert({"metadata": {"name": NS, "annotations": annotations}}, Namespace)


def unit(tables: Tables, name: str = "p") -> tuple[str, str] | None:
    row = tables.pod(f"uid-{NS}-{name}")
    assert row is not None
    return tables.view(row).group


def minimum(group: PodGroup | None) -> int | None:
    """minCount, if it asks for room as a gang."""
    found = asking(group)
    gang = found.spec.scheduling_policy.gang if found is not None else None
    return gang.min_count if gang is not None else None


@pytest.mark.parametrize(
    ("by_owner", "in_namespace", "annotations", "group", "needs"),
    [
        ("Victims", None, {}, SIM, None),
        ("Gangs", None, {}, SIM, 2),
        ("Off", None, {}, None, None),
        ("Victims", "Gangs", {}, SIM, 2),
        ("Gangs", "Off", {}, None, None),
        ("Off", "Victims", {}, SIM, None),
        ("Off", "gangs", {}, None, None),
        ("Gangs", "Off", {"groups_by_owner": "Gangs"}, SIM, 2),
        ("Gangs", None, {"groups_by_owner": "Victims"}, SIM, None),
        ("Gangs", None, {"groups_by_owner": "victims"}, SIM, 2),
        ("Off", None, {"gang": "true"}, SIM, None),
        ("Gangs", None, {"gang": "false"}, None, None),
        ("Gangs", None, {"gang": "no"}, SIM, 2),
    ],
)
def test_what_counts_in_any_order(
    by_owner: ByOwner,
    in_namespace: str | None,
    annotations: dict[str, str],
    group: tuple[str, str] | None,
    needs: int | None,
) -> None:
    """The owner comes before its namespace, and the namespace before the configuration, which may come late, too."""
    things = [of_set("p"), of_set("q"), job_set(annotations=annotations), namespace(in_namespace)]
    for order, before, told in itertools.product(itertools.permutations(things), BY_OWNER, range(5)):
        tables = Tables(by_owner=before)
        put(tables, *order[:told])
        tables.set_by_owner(by_owner)
        put(tables, *order[told:])
        assert (unit(tables, "p"), unit(tables, "q")) == (group, group)
        assert tables.owners.gang_of(of_set("p")) == group
        assert minimum(tables.groups.find(*SIM)) == needs
        assert len(tables.members(SIM)) == (2 if group else 0)


@pytest.mark.parametrize("by_owner", ["Victims", "Gangs"])
def test_a_job_is_a_group_only_by_annotation(by_owner: ByOwner) -> None:
    tables = Tables(by_owner=by_owner)
    put(tables, of_job("p"), of_job("alone", gang="false"), of_job("says", gang="true"), job())
    assert (unit(tables), unit(tables, "alone"), unit(tables, "says")) == (None, None, RING)
    before = tables.version
    put(tables, job(gang="true"))
    assert tables.version > before
    assert (unit(tables), unit(tables, "alone"), unit(tables, "says")) == (RING, None, RING)
    assert minimum(tables.groups.find(*RING)) == (2 if by_owner == "Gangs" else None)
    put(tables, job(gang="false"))
    assert (unit(tables), unit(tables, "says")) == (None, RING), "the pod comes before its owner"
    put(tables, job(gang="true"))
    tables.delete_owner(OwningJob, NS, "ring")
    assert (unit(tables), unit(tables, "says")) == (None, RING)


def test_an_owner_of_the_same_name_is_another_one() -> None:
    """Pods that tell the UID of their owner are not the new owner's."""
    tables = Tables(by_owner="Gangs")
    put(tables, of_set("p", uid="u1"), job_set("u1"))
    key = (NS, "JobSet.jobset.x-k8s.io:sim:u1")
    assert minimum(tables.groups.find(*key)) == 2
    put(tables, job_set("u2", {"gang": "false"}))
    assert unit(tables) == key
    assert minimum(tables.groups.find(*key)) is None
    put(tables, of_set("q", uid="u2"))
    assert unit(tables, "q") is None


def test_a_gang_is_awaited_until_its_owner_and_its_first_pod_are_known() -> None:
    """A scheduler may ask about the first pod before it is here. It would preempt alone."""
    owner, tables = SIM[1].partition(":")[0], Tables(by_owner="Gangs")
    assert tables.owners.awaits_owner(SIM) == owner
    put(tables, job_set())
    assert tables.owners.awaits_owner(SIM) == owner
    put(tables, of_set("p"))
    assert tables.owners.awaits_owner(SIM) == ""
    for said in ({"groups_by_owner": "Victims"}, {"groups_by_owner": "Off"}):
        tables = Tables(by_owner="Gangs")
        put(tables, job_set(annotations=said))
        assert tables.owners.awaits_owner(SIM) == ""
    put(tables, job_set(replicas=0))
    assert tables.owners.awaits_owner(SIM) == "", "no pod starts"


def test_the_owner_of_another_namespace_says_nothing() -> None:
    tables = Tables(by_owner="Gangs")
    elsewhere = job_set()
    elsewhere.metadata.namespace = "other"
    put(tables, of_set("p"), elsewhere)
    assert minimum(tables.groups.find(*SIM)) is None


def of_set_job(controller: str | None, uid: str = "uid-sim", **labels: str) -> OwningJob:
    """The Job between the pods and the JobSet; `controller`: the name of the JobSet that controls it."""
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": controller, "uid": uid}
    its = {"name": "sim-w-0", "namespace": NS, "uid": "uid-sim-w-0"}
    if controller is not None:
        its["ownerReferences"] = [{**owner, "controller": True}]  # type: ignore[assignment]
    named = labels or {"jobset.sigs.k8s.io/jobset-name": "sim"}
    template = {"metadata": {"labels": named}}
    return msgspec.convert({"metadata": its, "spec": {"template": template}}, OwningJob)


@pytest.mark.parametrize(
    ("job_of_it", "told_uid", "group"),
    [
        (of_set_job("sim"), "", True),
        (of_set_job("sim"), "uid-sim", True),
        (of_set_job("sim", "other"), "uid-sim", False),
        (of_set_job("another"), "", False),
        (of_set_job(None), "", False),
    ],
)
def test_labels_count_where_the_chain_leads_to_the_owner(
    job_of_it: OwningJob, told_uid: str, group: bool
) -> None:
    """As far as the Job is known. It is looked at again when it changes."""
    for order in itertools.permutations([of_set("p", told_uid), job_of_it, job_set()]):
        tables = Tables(by_owner="Gangs")
        put(tables, *order)
        assert (unit(tables) is not None) is group
        assert (tables.owners.gang_of(of_set("p", told_uid)) is not None) is group
        if group:
            assert unit(tables) == (NS, f"{SIM[1]}:uid-sim"), "the chain tells the UID"
        tables.delete_owner(OwningJob, NS, "sim-w-0")
        assert (unit(tables) is not None) is group, "as long as it has pods"
        put(tables, job_of_it)
        assert (unit(tables) is not None) is group
        put(tables, of_set_job(None, **{"other": "label"}))
        tables.delete_pod(NS, "p")
        put(tables, of_set("p", told_uid))
        assert unit(tables) is not None, "its pods name no JobSet, so the Job is not looked at"


def test_its_form_names_the_owner() -> None:
    tables = Tables(by_owner="Gangs")
    leader_worker_set = msgspec.convert(
        {"metadata": meta("llm", {}), "spec": {"leaderWorkerTemplate": {"size": 3}}}, LeaderWorkerSet
    )
    forms = []
    for index in ("0", "1"):
        labels = {"leaderworkerset.sigs.k8s.io/name": "llm", "leaderworkerset.sigs.k8s.io/group-index": index}
        put(tables, pod(f"llm-{index}", owner=("apps/v1", "StatefulSet", "llm"), labels=labels, node="n"))
    put(tables, leader_worker_set)
    for index in ("0", "1"):
        found = tables.groups.find(NS, f"LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-{index}")
        assert found is not None
        forms.append(found)
        assert (minimum(found), by_its_pods(found)) == (3, True)
        assert object_name(found) == ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "llm", "uid-llm")
    assert len({found.metadata.uid for found in forms} | {"uid-llm"}) == 3, "each replica is a group"


def test_a_change_of_its_size_touches_the_group() -> None:
    tables = Tables(by_owner="Gangs")
    put(tables, of_set("p"), job_set())
    before = tables.touched(SIM)
    put(tables, job_set())
    assert tables.touched(SIM) == before
    put(tables, job_set(replicas=3))
    assert tables.touched(SIM) > before
    assert minimum(tables.groups.find(*SIM)) == 3


def test_only_pods_that_may_move_are_looked_at() -> None:
    """A JobSet may have thousands of Jobs, and each of them comes with an event of its own."""
    tables = Tables(by_owner="Gangs")
    put(
        tables,
        *(of_job(f"r{number}", gang="true") for number in range(3)),
        *(of_set(f"p{number}") for number in range(3)),
    )
    other = pod("other", owner=("batch/v1", "Job", "sim-w-1"), labels=set_labels("1"), node="n")
    put(tables, other)
    owners, row = tables.owners, tables.pod(f"uid-{NS}-other")
    assert row is not None
    its_job = of_set_job("sim")
    its_job.metadata.uid, its_job.metadata.name = "uid-sim-w-1", "sim-w-1"
    named = (NS, f"{SIM[1]}:uid-sim")
    assert owners.upsert_owner(its_job) == Moves({named}, {row}, {"uid-sim-w-1"})
    assert owners.upsert_owner(its_job) == Moves()
    assert owners.delete_owner(OwningJob, NS, "sim-w-1") == Moves()
    assert owners.upsert_owner(of_set_job("elsewhere")).rows == tables.members(SIM) - {row}
    assert owners.upsert_owner(job_set()) == Moves({SIM, named})
    assert owners.upsert_owner(job_set(annotations={"gang": "false"})).rows == tables.members(SIM)
    assert owners.upsert_owner(job(gang="true")).rows == tables.members(RING)
    assert owners.upsert_owner(job(3, gang="true")) == Moves({RING}, frozenset())
    assert owners.upsert_namespace(NS, {"reprieve.dev/groups-by-owner": "Victims"}) == Moves(
        {SIM, named, RING}
    )
    off = owners.upsert_namespace(NS, {"reprieve.dev/groups-by-owner": "Off"})
    assert off.rows == tables.members(SIM) | tables.members(RING)


def test_a_pod_of_the_same_name_may_be_of_another_job() -> None:
    tables = Tables(by_owner="Gangs")
    put(tables, of_set("p"), pod("p", owner=("batch/v1", "Job", "sim-w-1"), labels=set_labels("1"), node="n"))
    assert unit(tables) == SIM
    put(tables, of_set_job("elsewhere"))
    assert unit(tables) == SIM
    tables.delete_pod(NS, "p")
    assert tables.owners._chains._rows == {}


def test_the_number_of_a_job_leaves_out_the_pods_that_succeeded() -> None:
    """Its last two pods wait for one another, though as many have Succeeded before."""
    tables = Tables(by_owner="Gangs")
    ended = [
        pod(f"e{number}", owner=("batch/v1", "Job", "ring"), annotations=said({"gang": "true"}))
        for number in range(2)
    ]
    for each in ended:
        each.status.phase = "Succeeded"
    last = pod("last", owner=("batch/v1", "Job", "ring"), annotations=said({"gang": "true"}))
    put(tables, *ended, last, job(2, completions=4, succeeded=2, gang="true"))
    assert count_members(tables, RING)[:4] == (1, 0, 0, 2)


def test_nothing_is_kept_of_pods_that_are_gone() -> None:
    tables = Tables(by_owner="Gangs")
    put(tables, job_set(), of_set("p"), of_job("q"))
    tables.delete_pod(NS, "p")
    tables.delete_pod(NS, "q")
    owners = tables.owners
    assert (owners._pods, owners._rows, owners._keys, owners._chains._rows) == ({}, {}, {}, {})
    assert tables.groups.find(*SIM) is None
    put(tables, job_set(replicas=5), of_set("p"))
    assert minimum(tables.groups.find(*SIM)) == 5


def test_a_pod_of_the_same_name_keeps_the_group_that_it_names() -> None:
    """The watch did not show that the former pod went."""
    tables = Tables()
    put(tables, pod("p", uid="first", group="gang"), pod("p", uid="second", group="gang"))
    row = tables.pod("second")
    assert row is not None
    assert tables.view(row).group == (NS, "gang")


def test_pods_in_a_basic_native_group_count_for_the_gang_of_their_owner() -> None:
    """In whatever order the objects come, and until the native group is basic no longer."""
    template = {"spec": {"template": {"spec": {"schedulingGroup": {"podGroupName": "native"}}}}}
    spec = {"replicatedJobs": [{"name": "w", "replicas": 2, "template": template}]}
    owner = msgspec.convert({"metadata": meta("sim", {}, ""), "spec": spec}, JobSet)
    member = of_set("p", schedulingGroup={"podGroupName": "native"})
    for order in itertools.permutations([owner, member, native_group("native", minimum=0)]):
        tables = Tables()
        tables.owners.set_default("Gangs")
        for each in order:
            if isinstance(each, PodGroup):
                tables.upsert_group(each)
            else:
                put(tables, each)
        assert count_members(tables, SIM).minimum == 2
        tables.upsert_group(native_group("native", minimum=3))
        assert count_members(tables, SIM).minimum is None
