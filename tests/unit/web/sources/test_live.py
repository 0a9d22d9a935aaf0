"""A cluster that is followed: what changes, what is missing, and what comes later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
import pytest

from answers.doctor.checks import examine
from answers.names import ALL
from answers.reading.published import LEASE
from answers.reading.seen import SeenObjects
from answers.stored.listed import plans
from answers.waiting import waiting
from answers.why import why
from api.meta import ObjectMeta
from kube.errors import ApiError
from nodes.groups.forms import ALL_PREEMPTING, PREEMPTING
from runtime.mirror.resources import GROUPS, PLANS, PODS
from runtime.mirror.view import View
from tests.kit.clock import ManualClock
from tests.kit.followed import Followed, settled
from tests.kit.stored_plans import BOUND
from web.readers.rights import Granted
from web.sources.asked import ask_known
from web.sources.live import LOOK_SECONDS, STANDS_SECONDS

Object = dict[str, Any]


def pod(name: str, node: str = "", **status: Any) -> Object:
    spec = {"priority": 5, "schedulerName": "default-scheduler", "containers": [{"name": "c"}]}
    spec |= {"nodeName": node} if node else {}
    labels = {"reprieve.dev/pod-group": "gang"}
    meta = {"name": name, "namespace": "a", "uid": f"uid-{name}", "labels": labels, "resourceVersion": "7"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": spec,
        "status": {"phase": "Pending", **status},
    }


def group(**status: Any) -> Object:
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "a", "uid": "uid-gang"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, "priority": 5},
        "status": status,
    }


def lease(**annotations: str) -> Object:
    meta = {"name": "reprieve", "namespace": "reprieve-system", "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


async def followed(*objects: Object, clock: ManualClock | None = None) -> Followed:
    found = Followed(list(objects), clock or ManualClock())
    await found.fill()
    return found


def view_of(cluster: Followed, path: str) -> View[Any]:
    return next(view for view in cluster.views if view.resource.path == path)


def states(cluster: Followed) -> list[tuple[str, str]]:
    seen = cluster.source.picture()
    listed = waiting(seen.picture, seen.details, ALL)
    return [(row.name, row.state) for row in (*listed.groups, *listed.pods)]


async def test_a_status_that_decides_nothing_is_shown() -> None:
    cluster = await followed(group(), pod("one"), pod("two"))
    version = cluster.source.version
    assert states(cluster) == [("gang", "NotSearched")]
    waits = asyncio.create_task(cluster.source.changed())
    condition = {
        "type": "reprieve.dev/Scheduled",
        "status": "False",
        "reason": "Queued",
        "message": "it waits its turn",
    }
    cluster.put(group(members=2, boundMembers=0, conditions=[condition]))
    await settled()
    await asyncio.wait_for(waits, 5)
    assert states(cluster) == [("gang", "Queued")]
    assert cluster.source.version != version


async def test_heartbeats_of_running_pods_make_no_new_picture() -> None:
    cluster = await followed(group(), pod("one"), pod("runs", "n0"))
    seen = cluster.source.picture()
    running = pod("runs", "n0", phase="Running")
    running["metadata"]["resourceVersion"] = "8"
    cluster.put(running)
    await settled()
    assert cluster.source.picture() is seen
    said = pod("one", conditions=[{"type": "PodScheduled", "status": "False", "message": "no room"}])
    said["metadata"]["resourceVersion"] = "9"
    cluster.put(said)
    await settled()
    assert cluster.source.picture() is not seen


async def test_what_did_not_change_is_shared_with_the_picture_before() -> None:
    cluster = await followed(group(), pod("one"))
    before = cluster.source.picture().picture
    cluster.put({
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "default"},
    })  # fmt: skip
    await settled()
    after = cluster.source.picture().picture
    assert after.nodes is before.nodes
    assert after.quota is not before.quota


async def test_nothing_waits_for_a_kind_that_is_not_served_and_it_may_come_later() -> None:
    cluster = Followed([pod("one")], ManualClock())
    absent = ApiError(404, "NotFound", "the server could not find the requested resource")
    for view in cluster.views:
        if view.resource.path == PODS.path:
            continue
        view._reflector.refusal = absent
        view.refused(1)
    cluster.put(pod("one"))
    view_of(cluster, PODS.path).replaced({("a", "one")}, "1")
    await cluster.source._reader.read()
    await settled()
    await asyncio.wait_for(cluster.source.wait_synced(), 5)
    assert states(cluster) == [("gang", "NotFound")]
    assert cluster.source.picture().refused == {}
    view_of(cluster, GROUPS.path)._reflector.refusal = None
    cluster.put(group())
    await settled()
    assert states(cluster) == [("gang", "Gathering")]


async def test_rights_that_are_missing_are_named() -> None:
    cluster = await followed(pod("one"))
    view_of(cluster, PLANS.path)._reflector.refusal = ApiError(403, "Forbidden", "plans is forbidden")
    seen = cluster.source.picture()
    assert list(seen.refused.values()) == ["a right is missing: plans is forbidden"]
    assert seen.picture.without_nodes == ""  # there is an answer without plans
    view_of(cluster, "/api/v1/nodes")._reflector.refusal = ApiError(403, "Forbidden", "nodes is forbidden")
    assert "nodes is forbidden" in cluster.source.picture().picture.without_nodes


async def test_what_the_user_may_not_list_is_done_without() -> None:
    cluster = await followed(group(), pod("one"), pod("two"))
    cluster.refuse = {"replicasets", "jobs"}
    picture, details = await cluster.source.about("a", cluster.ask)
    assert set(picture.refused) == {("apps/v1", "ReplicaSet"), ("batch/v1", "Job")}
    assert why(picture, details, "podgroup", "gang").numbers["members"] == 2


async def test_what_the_lease_says_counts_from_the_next_picture_on() -> None:
    cluster = await followed(pod("one"))
    assert cluster.source.picture().picture.nodes.snapshot.preempting == PREEMPTING
    cluster.objects.append(lease(**{"reprieve.dev/native-groups": "Steer"}))
    await cluster.source._reader.read()
    assert cluster.source.picture().picture.nodes.snapshot.preempting == ALL_PREEMPTING
    assert cluster.source.picture().picture.native.mode == "Steer"
    cluster.objects.pop()
    await cluster.source._reader.read()
    assert cluster.source.picture().picture.nodes.snapshot.preempting == PREEMPTING
    assert cluster.source.lease == {}


@pytest.mark.parametrize(
    ("status", "refused", "trouble"),
    [(403, {LEASE: "a right is missing: no"}, ""), (503, {}, "the API server does not answer")],
)
async def test_a_lease_that_cannot_be_read(status: int, refused: object, trouble: str) -> None:
    cluster = await followed(pod("one"))

    async def fails(method: str, path: str, **options: Any) -> bytes:
        raise ApiError(status, "Fails", "no")

    cluster.request = fails  # type: ignore[method-assign]
    await cluster.source._reader.read()
    assert (cluster.source._reader.refused, cluster.source._reader.trouble) == (refused, trouble)


async def test_a_watch_that_stands_is_said() -> None:
    clock = ManualClock()
    cluster = await followed(pod("one"), clock=clock)
    for view in cluster.views:
        view._reflector._interrupted = None
    cluster.source.picture()
    assert cluster.source.trouble == ""
    view_of(cluster, PODS.path)._reflector._interrupted = clock.monotonic()
    clock.advance(STANDS_SECONDS + LOOK_SECONDS)
    before = cluster.source.version
    cluster.source.picture()
    assert cluster.source.trouble == "the watch of pods stands since 2026-01-01T00:00:00Z"
    assert cluster.source.version != before


async def test_a_pod_that_is_gone_is_shown_no_longer() -> None:
    cluster = await followed(group(), pod("one"))
    assert cluster.source.picture().details("a").pods.keys() == {"one"}
    view_of(cluster, PODS.path).delete(ObjectMeta(name="one", namespace="a", uid="uid-one"))
    await settled()
    assert cluster.source.picture().details("a").pods == {}


RUNTIME: Object = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "ClusterTrainingRuntime",
    "metadata": {"name": "torch", "resourceVersion": "1"},
    "spec": {},
}
CLASS: Object = {"metadata": {"name": "high", "resourceVersion": "1"}, "value": 9}


async def test_what_only_submissions_need_is_asked_as_the_user() -> None:
    """What is not served is not there. A right that is missing is named, and prevents no answer."""
    asked = list[str]()

    async def ask(path: str, query: Mapping[str, str]) -> bytes:
        asked.append(path)
        if path.endswith("/workloadpriorityclasses"):
            return json.dumps({"metadata": {}, "items": [CLASS]}).encode()
        if path.endswith("/clustertrainingruntimes"):
            return json.dumps({"metadata": {}, "items": [RUNTIME]}).encode()
        if "/namespaces/a/" in path:
            raise ApiError(HTTPStatus.FORBIDDEN, "Forbidden", "no list of trainingruntimes in a")
        raise ApiError(HTTPStatus.NOT_FOUND, "NotFound", path)

    known = await ask_known(("b", "a"), ask)
    assert [each.value for each in known.workload_classes.values()] == [9]
    assert [str(each) for each in known.runtimes] == ["ClusterTrainingRuntime torch"]
    assert known.unread_runtimes == {
        "TrainingRuntime": "a right is missing: no list of trainingruntimes in a"
    }
    assert {each.rpartition("/")[2] for each in asked} == {
        "workloadpriorityclasses",
        "clustertrainingruntimes",
        "trainingruntimes",
    }


async def test_another_fault_of_the_api_server_is_no_answer() -> None:
    async def ask(path: str, query: Mapping[str, str]) -> bytes:
        raise ApiError(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", path)

    with pytest.raises(ApiError):
        await ask_known((), ask)


# ---- what reports are made from


def observed(name: str, **instead: Any) -> Object:
    pods = [{"namespace": "", "name": "", "uid": f"v{each}", "node": "n"} for each in range(3)]
    victim = {"kind": "PodGroup", "namespace": "", "name": "", "uid": "v", "priority": 1, "pods": pods}
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionPlan",
        "metadata": {
            "name": name,
            "namespace": "a",
            "uid": f"uid-{name}",
            "resourceVersion": "2" if instead else "1",
        },
        "spec": {
            "preemptor": {
                "kind": "PodGroup",
                "apiVersion": "reprieve.dev/v1alpha1",
                "namespace": "a",
                "name": "gang",
                "uid": "uid-gang",
                "priority": 5,
            },
            "outcome": "Preempts",
            "reason": "it fits",
            "mode": "Observe",
            "victims": [{**victim, "violatesPodDisruptionBudget": False}],
        },
        "status": {
            "phase": "Observed",
            **({"instead": {"victims": {"pods": 4}, "state": "Same", **instead}} if instead else {}),
        },
    }


async def test_what_plans_say_of_schedulers_follows_them() -> None:
    cluster = await followed(observed("first", bound=True), observed("silent"), pod("one"))
    (decision,) = cluster.source.picture().account.decisions
    assert (decision.plan, decision.ours, decision.instead.victims.pods) == ("first", 3, 4)
    before = cluster.source.picture()
    cluster.put(observed("silent", bound=False))
    await settled()
    assert [each.plan for each in cluster.source.picture().account.decisions] == ["first", "silent"]
    assert len(before.account.decisions) == 1, "nothing changes a moment"
    plans = view_of(cluster, "/apis/reprieve.dev/v1alpha1/preemptionplans")
    plans.delete(ObjectMeta(name="first", namespace="a"))
    await settled()
    assert [each.plan for each in cluster.source.picture().account.decisions] == ["silent"]


async def test_reports_of_days_are_followed() -> None:
    report = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionReport",
        "metadata": {"name": "2026-11-24", "resourceVersion": "1"},
        "asOf": "2026-11-24T23:59:59Z",
    }
    cluster = await followed(pod("one"))
    assert cluster.source.picture().account.reports == ()
    version = cluster.source.version
    cluster.put(report)
    await settled()
    assert [each.metadata.name for each in cluster.source.picture().account.reports] == ["2026-11-24"]
    assert cluster.source.version != version


# ---- what doctor looks at


def namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "uid": name}}


async def test_doctor_looks_at_what_the_reader_may_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same as the command in files of the same objects."""
    monkeypatch.setenv("HOME", "/none")
    objects = [lease(), group(), *(pod(f"p{each}") for each in range(5)), namespace("a")]
    cluster = await followed(*objects)
    looked = await cluster.source.looked(cluster.ask)
    reader = SeenObjects()
    for each in cluster.objects:
        reader.add_json(json.dumps(each).encode(), "file")
    assert looked == reader.seen()
    assert examine(looked, 0.0) == examine(reader.seen(), 0.0)


async def test_what_the_reader_may_not_list_is_named_and_the_other_checks_say_what_they_see() -> None:
    cluster = await followed(lease(), group(), pod("one"), namespace("a"))
    whole = examine(await cluster.source.looked(cluster.ask), 0.0)
    cluster.refuse = {"pods"}
    found = examine(await cluster.source.looked(cluster.ask), 0.0)
    assert set(found.found) - set(whole.found) == {note for note in found.found if note.check == "not read"}
    (note,) = (each for each in found.found if each.check == "not read")
    assert note.message.endswith("checks cannot look: a right is missing: pods is forbidden")
    kept = {each.check for each in found.found}
    assert "definitions" in kept
    assert "schedulers" not in kept


async def test_a_fault_of_the_api_server_is_no_finding() -> None:
    cluster = await followed(pod("one"))

    async def ask(path: str, query: Mapping[str, str]) -> bytes:
        raise ApiError(0, "Timeout", "no answer in time")

    with pytest.raises(ApiError):
        await cluster.source.looked(ask)


async def test_what_the_scheduler_says_of_a_pod_is_asked_as_the_user_and_only_what_they_may_list() -> None:
    cluster = await followed()
    asked = list[tuple[str, str]]()

    async def ask(path: str, query: Mapping[str, str]) -> bytes:
        asked.append((path, query.get("fieldSelector", "")))
        event = {
            "metadata": {"name": "e", "namespace": "a"},
            "involvedObject": {"kind": "Pod", "namespace": "a", "name": "one", "uid": "uid-one"},
            "reason": "Preempted",
            "message": "Preempted by pod uid-hero on node n0",
        }
        items = [event] if path.endswith("/events") else []
        return json.dumps({"metadata": {}, "items": items}).encode()

    (mark,) = await cluster.source.marks("a", "one", ALL, ask)
    assert (mark.uid, mark.preemptor_uid) == ("uid-one", "uid-hero")
    events = "reason=Preempted,involvedObject.kind=Pod,involvedObject.name=one"
    assert asked == [
        ("/api/v1/namespaces/a/pods", "metadata.name=one"),
        ("/api/v1/namespaces/a/events", events),
    ]
    asked.clear()
    assert await cluster.source.marks("a", "one,metadata.namespace=b", ALL, ask) == []
    assert await cluster.source.marks("a", "one", Granted(frozenset({("nodes", "")})), ask) == []
    assert asked == []


async def test_plans_of_all_namespaces_are_in_the_picture() -> None:
    plan = msgspec.to_builtins(BOUND)
    cluster = await followed(plan)
    (row,) = plans(cluster.source.picture().picture, cluster.source.picture().plans, ALL).rows
    assert (row.name, row.standing, row.units, row.pods) == ("hero-bound", "Over", 1, 2)
