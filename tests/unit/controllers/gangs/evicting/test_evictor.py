"""Who is asked to go, in which order, and what an answer leads to."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import Counter

from api.core import Pod
from api.foreign_groups import CoschedulingPodGroup, CoschedulingSpec
from api.meta import ObjectMeta
from controllers.gangs.metrics import DRY_RUNS_REFUSED, EVICTIONS
from kube.errors import ApiError
from runtime.exchange.owner_stops import NotStoppedError, PodOwner
from tests.kit.eviction_stage import (
    BIG,
    Requests,
    away,
    denied,
    events,
    hero,
    impatient,
    marked,
    refuse,
    singles,
    the_plan,
    unit,
)
from tests.kit.objects import gang, group, node, pod
from tests.kit.stage import Stage, staged

__all__ = ["impatient"]


async def test_every_mark_and_deletion_is_rehearsed_with_its_precondition_before_the_first_mark() -> None:
    async with staged(*unit(3), *hero()) as stage:
        requests = Requests(stage)
        await stage.settle()
        pods = ["u0", "u1", "u2"]
        assert sorted(requests.names("PATCH dry run")) == pods
        assert sorted(requests.names("DELETE dry run")) == pods
        assert sorted(requests.names("DELETE")) == pods
        first = next(
            i for i, (method, name, _) in enumerate(requests.sent) if method == "PATCH" and name in pods
        )
        assert sum(method.endswith("dry run") for method, _, _ in requests.sent[:first]) == 6
        for method, name, body in requests.sent:
            if method == "DELETE dry run":
                assert body["preconditions"] == {"uid": f"uid-default-{name}"}
            elif method == "DELETE":
                assert body["preconditions"].keys() == {"uid", "resourceVersion"}
            elif name in pods:
                assert body["metadata"] == {"uid": f"uid-default-{name}"}


@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_a_refusal_in_rehearsal_evicts_nobody_and_puts_the_unit_out_of_reach(method: str) -> None:
    """There is no other victim; after five minutes the pod is tried again."""
    async with staged(*unit(2), *hero()) as stage:
        requests = Requests(stage)
        refuse(stage, f"{method} dry run", denied, "u1")
        await stage.settle()
        assert the_plan(stage)["status"]["phase"] == "Aborted"
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"
        assert "begun" not in the_plan(stage)["status"]
        stage.clock += 100
        await stage.settle()
        assert sorted(stage.phases()) == ["Aborted", "Unschedulable"]
        assert requests.names("DELETE") == []
        assert marked(stage) == []
        stage.api.refuse = lambda _method, _path: None
        stage.clock += 201
        await stage.settle()
        assert sorted(stage.api.deleted) == ["u0", "u1"]


@pytest.mark.parametrize(
    ("method", "counter", "other"),
    [
        ("DELETE dry run", DRY_RUNS_REFUSED, EVICTIONS.labels("refused")),
        ("DELETE", EVICTIONS.labels("refused"), DRY_RUNS_REFUSED),
    ],
)
async def test_refusals_of_the_dry_run_are_no_evictions(
    method: str, counter: Counter, other: Counter
) -> None:
    before, others_before = counter._value.get(), other._value.get()
    async with staged(*unit(2), *hero()) as stage:
        refused = refuse(stage, method, denied, "u0", "u1")
        await stage.settle()
        assert refused
        assert counter._value.get() == before + len(refused)
        assert other._value.get() == others_before


async def test_another_unit_goes_if_one_is_refused_in_rehearsal() -> None:
    async with staged(*unit(1), *unit(1, name="other", first=1), *hero()) as stage:
        refused = refuse(stage, "DELETE dry run", denied, times=1)
        await stage.settle()
        stage.clock += 2
        await stage.settle()
        assert len(stage.api.deleted) == 1
        assert stage.api.deleted != refused


@pytest.mark.usefixtures("impatient")
async def test_a_rehearsal_that_is_not_answered_is_tried_again_and_nobody_goes_before() -> None:
    async with staged(*unit(2), *hero()) as stage:
        refused = refuse(stage, "PATCH dry run", away)
        await stage.settle()
        assert stage.phases() == ["Planned"]
        assert len(refused) > 2
        assert stage.api.deleted == []
        stage.api.refuse = lambda _method, _path: None
        await stage.settle()
        assert sorted(stage.api.deleted) == ["u0", "u1"]


async def test_a_pod_that_is_gone_by_now_is_no_refusal() -> None:
    async with staged(*unit(2), *hero()) as stage:
        refuse(stage, "PATCH dry run", lambda: ApiError(404, "NotFound", "gone"), "u1")
        await stage.settle()
        assert stage.phases() == ["Evicting"]


async def test_a_group_that_goes_whole_is_stored_as_begun_before_its_first_pod() -> None:
    async with staged(*unit(2), *hero()) as stage:
        seen: list[Any] = []

        def watch(method: str, path: str) -> ApiError | None:
            if "/pods/u" in path and method in ("PATCH", "DELETE"):
                seen.append(the_plan(stage)["status"].get("begun"))
            return None

        stage.api.refuse = watch
        await stage.settle()
        assert seen == [["uid-unit"]] * 4


async def test_single_pods_and_groups_of_one_are_not_stored_as_begun() -> None:
    async with staged(*singles(2), *unit(1, first=2), *hero(3)) as stage:
        await stage.settle()
        assert len(stage.api.deleted) == 3
        assert "begun" not in the_plan(stage)["status"]


@pytest.mark.usefixtures("impatient")
async def test_a_unit_whose_beginning_cannot_be_stored_stays_whole_until_it_can() -> None:
    async with staged(*unit(3), *hero()) as stage:

        def gone(method: str, path: str) -> ApiError | None:
            is_evicting = any(
                plan.get("status", {}).get("phase") == "Evicting" for plan in stage.api.plans.values()
            )
            return away() if method == "PATCH" and "preemptionplans" in path and is_evicting else None

        stage.api.refuse = gone
        await stage.settle()
        assert stage.phases() == ["Evicting"]
        assert stage.api.deleted == []
        assert marked(stage) == []
        stage.api.refuse = lambda _method, _path: None
        await stage.settle()
        assert sorted(stage.api.deleted) == ["u0", "u1", "u2"]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
async def test_what_the_api_server_does_not_answer_is_asked_again_and_nothing_twice(method: str) -> None:
    """The mirror shows no deletion meanwhile."""
    async with staged(*unit(4), *hero()) as stage:
        requests = Requests(stage)
        refuse(stage, method, away, "u1", "u2", times=3)
        await stage.settle(steps=30)
        assert sorted(stage.api.deleted) == ["u0", "u1", "u2", "u3"]
        for name in ("u0", "u3"):
            assert requests.names("DELETE").count(name) == 1


async def test_a_busy_pod_is_asked_again() -> None:
    """409: somebody else writes to the pod. That is no refusal."""
    async with staged(*singles(1), *hero()) as stage:
        refuse(stage, "PATCH", lambda: ApiError(409, "Conflict", "modified"), "v0", times=1)
        await stage.settle()
        assert stage.phases() == ["Evicting"]


@pytest.mark.usefixtures("impatient")
async def test_a_pod_that_is_replaced_meanwhile_is_passed_over() -> None:
    """Its name has another pod now: 409 at the deletion."""
    async with staged(*singles(1), *hero()) as stage:
        requests = Requests(stage)

        def replaced(method: str, _path: str) -> ApiError | None:
            if method == "DELETE":
                stage.api.of("/api/v1/pods")["v0"]["metadata"]["uid"] = "another"
            return None

        stage.api.refuse = replaced
        await stage.settle()
        assert requests.names("DELETE") == ["v0"]
        assert stage.api.deleted == []
        assert stage.phases() == ["Evicting"]


async def test_a_pod_that_others_write_to_is_marked_again_and_deleted_in_its_newest_version() -> None:
    async with staged(*singles(1), *hero()) as stage:
        requests, versions = Requests(stage), list[str]()
        real = stage.api.of("/api/v1/pods")["v0"]["metadata"]

        def kubelet(method: str, _path: str) -> ApiError | None:
            if method == "DELETE" and len(versions) < 3:
                real["resourceVersion"] = stage.api.next_version()
            versions.extend([real["resourceVersion"]] if method == "DELETE" else [])
            return None

        stage.api.refuse = kubelet
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        assert requests.names("DELETE") == ["v0"] * 4
        assert requests.names("PATCH") == ["v0"] * 4
        assert len(events(stage, "Preempted")) == 1


async def test_every_victim_has_its_event_although_few_may_wait_and_they_come_after_the_last_deletion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kube.recorder.WAITING", 3)
    async with staged(*singles(40), *hero(40)) as stage:
        early = list[str]()

        def look(method: str, path: str) -> ApiError | None:
            if method == "DELETE":
                early.extend(events(stage, "Preempted"))
            return None

        stage.api.refuse = look
        await stage.settle(steps=60)
        assert len(stage.api.deleted) == 40
        assert early == []
        said = [
            each["regarding"]["name"]
            for each in stage.api.of("/apis/events.k8s.io/v1/events").values()
            if each["reason"] == "Preempted"
        ]
        assert sorted(said) == sorted(f"v{number}" for number in range(40))


async def test_only_pods_whose_deletion_was_asked_for_have_an_event() -> None:
    async with staged(*unit(4), *hero()) as stage:
        refuse(stage, "DELETE", denied, "u1", "u2", "u3", times=1)
        await stage.settle()
        assert len(events(stage, "Preempted")) == len(stage.api.deleted)


async def test_a_pod_that_rises_between_mark_and_deletion_stays() -> None:
    async with staged(*singles(1), *hero()) as stage:

        def rises(method: str, _path: str) -> ApiError | None:
            if method == "DELETE":
                stage.add(gang("shield", minimum=1, priority=500))
                stage.add(pod("v0", group="shield", node="n0", requests=BIG, priority=1))
            return None

        stage.api.refuse = rises
        await stage.settle()
        assert stage.api.deleted == []
        assert marked(stage) == []
        assert the_plan_that_evicted(stage)["status"]["conditions"][-1]["reason"] == "Changed"


async def test_a_pod_that_leaves_by_somebody_elses_word_is_not_deleted_again() -> None:
    async with staged(*singles(1), *hero()) as stage:
        requests = Requests(stage)

        def leaves(method: str, _path: str) -> ApiError | None:
            if method == "PATCH":
                stage.api.of("/api/v1/pods")["v0"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            return None

        stage.api.refuse = leaves
        await stage.settle()
        assert requests.names("DELETE") == []
        assert events(stage, "Preempted") == []


async def test_a_mark_names_the_term_and_its_holder() -> None:
    async with staged(*singles(1), *hero()) as stage:
        requests = Requests(stage)
        await stage.settle()
        (body,) = [body for method, _, body in requests.sent if method == "PATCH"]
        (condition,) = body["status"]["conditions"]
        assert (
            condition["message"] == "PodGroup default/gang (priority 100) preempts this pod [term 1 of stage]"
        )


async def test_all_pods_of_a_unit_are_marked_before_the_first_one_goes() -> None:
    async with staged(*unit(20), *hero()) as stage:
        requests = Requests(stage)
        await stage.settle()
        real = [method for method, name, _ in requests.sent if name.startswith("u") and "dry" not in method]
        assert real == ["PATCH"] * 20 + ["DELETE"] * 20


# ---- units that stop


async def test_a_deletion_refused_after_all_stops_the_unit_and_names_what_remains() -> None:
    async with staged(*unit(4), *hero()) as stage:
        refused = refuse(stage, "DELETE", denied, "u1", "u2", "u3", times=1)
        await stage.settle()
        assert stage.api.deleted[0] == "u0"
        remain = sorted(stage.api.of("/api/v1/pods").keys() - {"m0"})
        assert refused[0] in remain
        assert marked(stage) == [], "who stays is no disruption target"
        plan = the_plan(stage)
        assert plan["status"]["conditions"][-1]["reason"] == "EvictionRefused"
        why = f"pod default/{refused[0]} cannot be evicted: 403 Forbidden: denied"
        told = f"plan {plan['metadata']['name']} stopped: {why}; still there: {', '.join(remain)}"
        assert stage.api.group_said["unit"] == told
        assert stage.api.reasons["unit"] == "PreemptionStopped"
        assert events(stage, "PreemptionStopped") == [told]


async def test_a_group_of_others_that_is_stopped_is_told_by_one_of_its_pods() -> None:
    """Nothing is written into the objects of others, and an event needs an object that exists."""
    owner = ("kubeflow.org/v1", "TFJob", "train")
    workers = [pod(f"u{i}", node=f"n{i}", requests=BIG, priority=1, owner=owner) for i in range(4)]
    async with staged(*(node(f"n{i}") for i in range(4)), *workers, *hero()) as stage:
        refuse(stage, "DELETE", denied, "u1", "u2", "u3", times=1)
        await stage.settle()
        remain = sorted(stage.api.of("/api/v1/pods").keys() - {"m0"})
        assert stage.api.deleted[0] == "u0"
        [said] = [
            each
            for each in stage.api.of("/apis/events.k8s.io/v1/events").values()
            if each["reason"] == "PreemptionStopped"
        ]
        assert (said["regarding"]["kind"], said["regarding"]["name"]) == ("Pod", remain[0])
        assert said["note"].endswith(f"still there: {', '.join(remain)}")
        assert set(stage.api.group_said) <= {"gang"}


async def test_nothing_is_written_to_a_gang_of_others_that_is_stopped() -> None:
    """It preempts as ours do, but its object is its own controller's."""
    labels = {"scheduling.x-k8s.io/pod-group": "mpi"}
    workers = [pod(f"u{i}", node=f"n{i}", requests=BIG, priority=1, labels=labels) for i in range(4)]
    mpi = CoschedulingPodGroup(metadata=ObjectMeta("mpi", "default", "uid-mpi"), spec=CoschedulingSpec(4))
    async with staged(*(node(f"n{i}") for i in range(4)), mpi, *workers, *hero()) as stage:
        refuse(stage, "DELETE", denied, "u1", "u2", "u3", times=1)
        real, asked = stage.api.request, list[str]()

        async def request(method: str, path: str, **options: Any) -> bytes:
            asked.append(path)
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]
        await stage.settle()
        assert stage.api.deleted[0] == "u0"
        assert len(events(stage, "PreemptionStopped")) == 1
        assert [path for path in asked if "/podgroups/" in path and "mpi" in path] == []


class Notices:
    """One deletion is refused. The API server is away when the PodGroup should say so."""

    def __init__(self, stage: Stage) -> None:
        refuse(stage, "DELETE", denied, "u1", "u2", "u3", times=1)
        self.refused, self.tried = True, 0
        real = stage.api.request

        async def request(method: str, path: str, **options: Any) -> bytes:
            if "/podgroups/" in path and b"DisruptionTarget" in (options.get("body") or b""):
                self.tried += 1
                if self.refused:
                    raise away()
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]


@pytest.mark.usefixtures("impatient")
async def test_a_group_is_told_what_remains_of_it_until_that_is_written() -> None:
    async with staged(*unit(4), *hero()) as stage:
        notices = Notices(stage)
        await stage.settle()
        assert notices.tried > 2
        notices.refused = False
        await stage.settle()
        notices.tried = 0
        await stage.settle()
        assert notices.tried == 0, "it is written"
        assert stage.api.reasons["unit"] == "PreemptionStopped"
        assert len(events(stage, "PreemptionStopped")) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["deleted", "made anew", "the term ends"])
async def test_nobody_is_told_of_a_group_that_is_gone_or_after_the_term(how: str) -> None:
    async with staged(*unit(4), *hero()) as stage:
        notices = Notices(stage)
        await stage.settle()
        if how == "the term ends":
            await stage.leading.evictions.close()
        else:
            stage.delete(unit(4)[0])
            if how == "made anew":
                stage.add(group("unit", minimum=4, priority=1, uid="another"))
            await stage.settle(steps=2)
        assert notices.tried > 2
        notices.tried = 0
        await stage.settle()
        assert notices.tried == 0


async def test_a_first_deletion_refused_after_all_leaves_the_unit_whole() -> None:
    """No pod is missing, so nothing is said."""
    async with staged(*unit(3), *hero()) as stage:
        refuse(stage, "DELETE", denied)
        await stage.settle()
        assert stage.api.deleted == []
        assert marked(stage) == []
        assert stage.api.reasons["unit"] != "PreemptionStopped"
        assert events(stage, "PreemptionStopped") == []
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"


@pytest.mark.usefixtures("impatient")
async def test_a_refused_mark_leaves_the_unit_whole_although_it_cannot_be_withdrawn_either() -> None:
    async with staged(*unit(3), *hero()) as stage:
        refuse(stage, "PATCH", denied, "u2")
        await stage.settle()
        assert stage.api.deleted == []
        assert marked(stage) == []
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"
        assert events(stage, "PreemptionStopped") == []


async def test_a_unit_that_is_no_longer_of_lower_priority_stops() -> None:
    """Its pods' own priority is high, so only that of their PodGroup lets them go."""
    pods = [pod(f"u{i}", group="unit", node=f"n{i}", requests=BIG, priority=500) for i in range(20)]
    async with staged(*unit(20), *pods, *hero()) as stage:
        deletions: list[str] = []

        def rises(method: str, path: str) -> ApiError | None:
            if method == "DELETE":
                deletions.append(path)
                if len(deletions) == 2:
                    stage.add(gang("unit", minimum=20, mode="all", priority=500))
            return None

        stage.api.refuse = rises
        await stage.settle()
        remain = sorted(stage.api.of("/api/v1/pods").keys() - {"m0"})
        assert 2 <= len(stage.api.deleted) < 20
        assert len(remain) == 20 - len(stage.api.deleted)
        assert marked(stage) == []
        assert sorted(stage.api.group_said["unit"].partition("still there: ")[2].split(", ")) == remain
        assert "has no lower priority any longer" in stage.api.group_said["unit"]
        assert the_plan_that_evicted(stage)["status"]["conditions"][-1]["reason"] == "Changed"


async def test_no_other_unit_begins_once_one_has_stopped() -> None:
    async with staged(*unit(2), *unit(2, name="other", first=2), *hero(4)) as stage:
        refused = refuse(stage, "DELETE", denied)
        await stage.settle()
        assert len(refused) == 1
        assert stage.api.deleted == []
        assert marked(stage) == []


async def test_a_unit_that_has_grown_meanwhile_does_not_begin() -> None:
    """The plan has begun with another unit. A pod more would be left alone."""
    small = node("small", cpu="1")
    async with staged(*unit(2), *unit(2, name="other", first=2), *hero(4), small) as stage:
        grown: list[str] = []

        def grows(method: str, path: str) -> ApiError | None:
            if method == "DELETE" and not grown:
                grown.append("other" if path.endswith(("u0", "u1")) else "unit")
                stage.add(pod("new", group=grown[0], node="small", requests={"cpu": "1m"}, priority=1))
            return None

        stage.api.refuse = grows
        await stage.settle(steps=9)
        first = the_plan_that_evicted(stage)
        assert first["status"]["conditions"][-1]["reason"] == "Changed"
        assert first["status"]["begun"] == [], "nobody of the unit that has begun is left"


def the_plan_that_evicted(stage: Stage) -> dict[str, Any]:
    """The oldest one."""
    return next(iter(stage.api.plans.values()))


async def test_many_plans_at_once_share_the_slots_and_the_higher_priority_goes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With slots of their own, fifty plans would all become slow, and pass their deadlines together."""
    monkeypatch.setattr("controllers.gangs.evicting.evictor.ALL_AT_ONCE", 3)
    gangs = [
        each
        for name, priority in (("low", 10), ("high", 20))
        for each in (
            gang(name, minimum=6, priority=priority),
            *(pod(f"{name}-{n}", group=name, requests=BIG, priority=priority) for n in range(6)),
        )
    ]
    async with staged(*singles(12), *gangs) as stage:
        real, busy, most = stage.api.request, 0, 0

        async def request(method: str, path: str, **options: Any) -> bytes:
            nonlocal busy, most
            if method != "DELETE" or "/pods/" not in path:
                return await real(method, path, **options)
            busy += 1
            most = max(most, busy)
            for _ in range(20):
                await asyncio.sleep(0)
            busy -= 1
            return await real(method, path, **options)

        stage.api.request = request  # type: ignore[method-assign]
        for _ in range(20):
            await stage.settle(steps=12)
        assert len(stage.api.deleted) == 12
        assert most == 3
        plans = {plan["spec"]["preemptor"]["name"]: plan for plan in stage.api.plans.values()}
        high = {v["name"] for v in plans["high"]["spec"]["victims"]}
        assert set(stage.api.deleted[:6]) == high


# ---- whoever would create the pods again


class Jobs:
    """Runs the owners of pods. It may be slow, or fail."""

    def __init__(self, *faults: Exception) -> None:
        self.faults, self.asked = list(faults), list[tuple[set[str], str]]()

    async def stop(self, owners: Collection[PodOwner], message: str) -> None:
        self.asked.append(({each.name for each in owners}, message))
        if self.faults:
            raise self.faults.pop(0)


def of_job(pods: int) -> list[Any]:
    """The unit, whose pods a controller would create again."""
    owned = [
        pod(f"u{number}", group="unit", node=f"n{number}", requests=BIG, priority=1, controller="job")
        for number in range(pods)
    ]
    return [*(each for each in unit(pods) if not isinstance(each, Pod)), *owned]


async def test_owners_of_a_unit_stop_before_its_first_mark(impatient: None) -> None:
    async with staged(*of_job(2), *hero()) as stage:
        jobs, requests = Jobs(NotStoppedError("not yet"), NotStoppedError("not yet")), Requests(stage)
        with stage.controller.quota.stops.served(jobs):
            await stage.settle()
        assert len(jobs.asked) == 3
        assert jobs.asked[0] == (
            {"job"},
            "PodGroup default/gang (priority 100) preempts this pod with all of PodGroup default/unit",
        )
        assert sorted(requests.names("DELETE")) == ["u0", "u1"]


@pytest.mark.parametrize("pods", [1, 2])
async def test_the_plan_goes_on_when_the_owner_ends_the_pods_itself(pods: int) -> None:
    """The Job controller deletes the pods of a Job that was suspended."""
    async with staged(*of_job(pods), *hero()) as stage:
        jobs = Jobs()

        async def stop(owners: Collection[PodOwner], message: str) -> None:
            await Jobs.stop(jobs, owners, message)
            stage.add(*(_leaving(each) for each in of_job(pods) if isinstance(each, Pod)))

        jobs.stop = stop  # type: ignore[method-assign]
        with stage.controller.quota.stops.served(jobs):
            await stage.settle()
            assert len(jobs.asked) == 1
            stage.delete(*(each for each in of_job(pods) if isinstance(each, Pod)))
            await stage.settle()
        assert stage.phases() == ["Ready"]
        assert len(jobs.asked) == 1


def _leaving(each: Pod) -> Pod:
    meta = replace(each.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    return replace(each, metadata=meta)


async def test_no_pod_is_marked_while_its_owner_does_not_stop(impatient: None) -> None:
    async with staged(*of_job(2), *hero()) as stage:
        jobs = Jobs(*(NotStoppedError("not yet") for _ in range(10_000)))
        with stage.controller.quota.stops.served(jobs):
            await stage.settle()
            assert jobs.asked
            assert marked(stage) == []


async def test_the_owner_of_a_pod_that_goes_alone_is_left_to_it() -> None:
    async with staged(*singles(1), *hero()) as stage:
        jobs = Jobs()
        with stage.controller.quota.stops.served(jobs):
            await stage.settle()
        assert jobs.asked == []
