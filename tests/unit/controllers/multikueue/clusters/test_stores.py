"""What is kept of the objects of a worker cluster, and who hears of it."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from api.meta import ObjectMeta
from api.multikueue import DISPATCHED_BY, FENCED_BY, MULTIKUEUE_GATE, PREBUILT_WORKLOAD_ANNOTATION
from controllers.multikueue.clusters.objects import (
    MESSAGE,
    CopyObject,
    CostObject,
    JobObject,
    copy_of,
    job_of,
)
from controllers.multikueue.clusters.stores import Copies, Costs, RemoteJobs
from controllers.multikueue.life.digests import digest
from controllers.multikueue.life.seen import Cost, Mark
from tests.kit.clock import ManualClock

Json = dict[str, Any]


def read(value: Json, kind: type[Any]) -> Any:
    return msgspec.json.decode(orjson.dumps(value), type=kind)


def copy_json(**parts: Any) -> Json:
    meta = {
        "name": "w",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "7",
        "annotations": {DISPATCHED_BY: "here/uid/2026-01-01T00:00:00Z", FENCED_BY: "term"},
    }
    spec = {
        "queueName": "q",
        "priority": 3,
        "priorityClassRef": {"group": "g", "kind": "PriorityClass", "name": "p"},
        "active": False,
        "preemptionGates": [{"name": MULTIKUEUE_GATE}, {"name": "other"}],
    }
    status = {
        "conditions": [
            {
                "type": "QuotaReserved",
                "status": "False",
                "reason": "Pending",
                "message": "m" * 5000,
                "lastTransitionTime": "2026-01-01T00:00:01Z",
            },
            {
                "type": "Admitted",
                "status": "True",
                "reason": "Admitted",
                "message": "",
                "lastTransitionTime": "bad",
            },
            {"type": "PodsReady", "status": "True", "reason": "x", "message": ""},
        ],
        "preemptionGates": [
            {"name": "other", "position": "Closed"},
            {"name": MULTIKUEUE_GATE, "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ],
    }
    return {"metadata": meta, "spec": spec, "status": status} | parts


def job_json(name: str, workload: str | None = None, **parts: Any) -> Json:
    annotations = {} if workload is None else {PREBUILT_WORKLOAD_ANNOTATION: workload}
    meta = {
        "name": name,
        "namespace": "n",
        "uid": f"u-{name}",
        "resourceVersion": "1",
        "annotations": annotations,
    }
    return {"metadata": meta} | parts


def test_a_copy_is_small_and_complete() -> None:
    value = copy_json()
    copy = copy_of(read(value, CopyObject))
    assert (copy.key, copy.uid, copy.version, copy.is_deleting) == ("n/w", "u", "7", False)
    assert copy.mark == Mark("here", "uid", "2026-01-01T00:00:00Z")
    assert copy.fenced_by == "term"
    assert (copy.priority, copy.priority_class, copy.active) == (3, "PriorityClass/p", False)
    assert (copy.has_gate, copy.gate) == (True, "Open")
    assert copy.digest == digest(value["spec"])
    assert sorted(copy.conditions) == ["Admitted", "QuotaReserved"]
    reserved = copy.conditions["QuotaReserved"]
    assert (reserved.status, reserved.reason, len(reserved.message)) == (False, "Pending", MESSAGE)
    assert reserved.since == 1_767_225_601_000_000
    assert copy.conditions["Admitted"].since == 0


def test_a_copy_may_have_next_to_nothing() -> None:
    copy = copy_of(read({"metadata": {"name": "w", "namespace": "n", "deletionTimestamp": "x"}}, CopyObject))
    assert (copy.is_deleting, copy.mark, copy.active) == (True, None, True)
    assert (copy.has_gate, copy.gate, copy.conditions) == (False, "Missing", {})


def test_a_spec_that_cannot_be_read_is_refused_in_order() -> None:
    deep = "[" * 1000 + "]" * 1000
    for spec in ("[]", '{"priority": "x"}', f'{{"a": {deep}}}'):
        item = CopyObject(ObjectMeta("w", "n"), msgspec.Raw(spec.encode()))
        with pytest.raises(ValueError, match=r"spec|Expected"):
            copy_of(item)


def test_a_job_names_its_workload_by_the_annotation_or_else_by_the_label() -> None:
    value = job_json("j", "long", spec={"suspend": True}, status={"active": 2, "uncountedTerminatedPods": {}})
    job = job_of(read(value, JobObject))
    assert (job.workload, job.suspended, job.status.active) == ("long", True, 2)
    assert orjson.loads(job.raw_status) == value["status"]
    value["metadata"]["labels"] = {PREBUILT_WORKLOAD_ANNOTATION: "label"}
    assert job_of(read(value, JobObject)).workload == "long"
    del value["metadata"]["annotations"]
    assert job_of(read(value, JobObject)).workload == "label"
    assert job_of(read(job_json("j", status=None), JobObject)).raw_status == b"{}"


def test_copies_are_told_by_key() -> None:
    told: list[str] = []
    copies = Copies(told.append)
    copies.upsert(read(copy_json(), CopyObject))
    found = copies.get("n/w")
    assert found is not None
    assert found.key in set(copies.keys())
    copies.delete("n", "w")
    copies.delete("n", "w")
    assert told == ["n/w", "n/w"]
    assert (copies.get("n/w"), len(copies), list(copies)) == (None, 0, [])


def test_jobs_are_found_by_the_workload_that_they_use_and_by_their_name() -> None:
    told: list[str] = []
    jobs = RemoteJobs(told.append, lambda key: told.append(f"job {key}"))
    for name, workload in (("b", "w"), ("a", "w"), ("j", None), ("k", "other")):
        jobs.upsert(read(job_json(name, workload), JobObject))
    assert told == ["n/w", "job n/b", "n/w", "job n/a", "job n/j", "n/other", "job n/k"]

    def found(key: str, name: str) -> str | None:
        job = jobs.find(key, name)
        return None if job is None else job.name

    assert found("n/w", "b") == "b"
    assert found("n/w", "j") == "a"
    assert found("n/free", "j") == "j"
    assert found("m/w", "a") is None
    told.clear()
    jobs.upsert(read(job_json("a", "free"), JobObject))
    assert sorted(told) == ["job n/a", "n/free", "n/w"]
    assert found("n/w", "x") == "b"
    jobs.delete("n", "b")
    assert found("n/w", "x") is None
    assert set(jobs.used()) == {"n/free", "n/other"}


def plan_json(name: str, **changes: Any) -> Json:
    cost = {"highestVictimPriority": 4, "prioritySum": 8, "workloads": 2, "pods": 3, "podSeconds": 60}
    preemptor = {"kind": "Workload", "namespace": "n", "name": "w", "quota": {"clusterQueue": "cq"}}
    return {
        "metadata": {"name": name, "namespace": "n", "uid": f"u-{name}"},
        "spec": {"preemptor": preemptor, "cost": cost},
        "status": {"phase": "Proposed"},
    } | changes


def test_a_cost_stays_as_old_as_it_was_seen_first() -> None:
    clock, told = ManualClock(), list[str]()
    costs = Costs(told.append, clock)
    began = round(clock.wall() * 1_000_000)
    costs.upsert(read(plan_json("p"), CostObject))
    assert costs.get("n/w") == Cost(4, 8, 2, 3, 60, "cq", began)
    clock.advance(5)
    costs.upsert(read(plan_json("p"), CostObject))
    assert costs.get("n/w") == Cost(4, 8, 2, 3, 60, "cq", began)
    assert told == ["n/w"]


def test_another_plan_is_another_cost_and_the_old_one_may_go_later() -> None:
    clock, told = ManualClock(), list[str]()
    costs = Costs(told.append, clock)
    costs.upsert(read(plan_json("p"), CostObject))
    clock.advance(1)
    costs.upsert(read(plan_json("q"), CostObject))
    seen = round(clock.wall() * 1_000_000)
    costs.delete("n", "p")
    cost = costs.get("n/w")
    assert cost is not None
    assert cost.seen == seen
    costs.delete("n", "q")
    assert costs.get("n/w") is None
    assert told == ["n/w"] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"status": {"phase": "Evicting"}},
        {"status": None},
        {"spec": {"preemptor": {"namespace": "n", "name": "w"}}},
        {"metadata": {"name": "p", "namespace": "elsewhere", "uid": "u-p"}},
    ],
)
def test_a_plan_that_is_not_only_proposed_says_no_cost(change: Json) -> None:
    costs = Costs(lambda _: None, ManualClock())
    costs.upsert(read(plan_json("p") | change, CostObject))
    assert len(costs) == 0
    costs.upsert(read(plan_json("p"), CostObject))
    if "metadata" not in change:
        costs.upsert(read(plan_json("p") | change, CostObject))
        assert len(costs) == 0


@pytest.mark.parametrize(
    "cost",
    [
        {"prioritySum": 2**63},
        {"prioritySum": -(2**63)},
        {"highestVictimPriority": 2**64 - 1},
        {"pods": -1},
        {"workloads": 2**64 - 1},
        {"podSeconds": 2**63},
    ],
)
def test_a_cost_that_no_dispatch_plan_could_have_is_unknown(cost: Json) -> None:
    """The API server here would refuse each DispatchPlan with it: then no cluster would ever get a turn."""
    spec = plan_json("p")["spec"]
    costs = Costs(lambda _: None, ManualClock())
    costs.upsert(read(plan_json("p", spec={**spec, "cost": {**spec["cost"], **cost}}), CostObject))
    assert costs.get("n/w") is None


def test_a_plan_that_becomes_anothers_leaves_nothing_behind() -> None:
    """No honest cluster lets a spec change. One plan must not fill the memory here."""
    told: list[str] = []
    costs = Costs(told.append, ManualClock())
    for number in range(5):
        spec = plan_json("p")["spec"]
        preemptor = {**spec["preemptor"], "name": f"w{number}"}
        costs.upsert(read(plan_json("p", spec={**spec, "preemptor": preemptor}), CostObject))
    assert list(costs.keys()) == ["n/w4"]
    assert told.count("n/w0") == 2
    costs.delete("n", "p")
    assert len(costs) == 0


@pytest.mark.parametrize("reason", ["", "no words", "1st", "\n", "a" * 2000, "-"])
def test_a_reason_that_no_api_server_takes_is_replaced(reason: str) -> None:
    """It becomes the reason of Finished here. A status that is refused for ever would never give the quota back."""
    said = {"type": "Finished", "status": "True", "reason": reason, "message": "m"}
    copy = copy_of(read(copy_json(status={"conditions": [said]}), CopyObject))
    assert copy.conditions["Finished"].reason == "Unknown"
