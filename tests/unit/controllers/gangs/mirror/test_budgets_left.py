"""Plans that respect budgets: the API server counts each pod, and a budget that is used up stops the plan."""

from __future__ import annotations

from typing import Any

from api.core import PodDisruptionBudget
from api.disruption import BUDGETS_ANNOTATION
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import Decided, NotDecided
from controllers.gangs.lifecycle.settings import REPLANS_AT_ONCE
from controllers.gangs.mirror.budgets_left import exceeded
from kube.errors import ApiError
from tests.kit.apiserver import Written
from tests.kit.eviction_stage import (
    BIG,
    Requests,
    denied,
    hero,
    marked,
    refuse,
    singles,
    the_plan,
    unit,
)
from tests.kit.objects import budget, gang, node, pod, tables
from tests.kit.stage import Stage, staged

RESPECT = PlanningConfiguration(mode="Enforce", disruption_budgets="Respect")
APP = {"app": "web"}


def spent() -> ApiError:
    """What the API server answers to an Eviction that a budget does not allow."""
    return ApiError(429, "TooManyRequests", "Cannot evict pod", 10.0, over_budget=True)


def web(allowed: int, **fields: Any) -> PodDisruptionBudget:
    return budget("web", selector={"matchLabels": APP}, allowed=allowed, **fields)


def protected(pods: int) -> list[Any]:
    """A node for each of `pods` pods, which the budget selects."""
    found = singles(pods)
    for each in found[1::2]:
        each.metadata.labels = APP
    return found


def conditions_of_plans(stage: Stage) -> list[str]:
    """The messages of the conditions of plans, as they are written from now on."""
    messages: list[str] = []
    wrote = stage.api.wrote

    def note(written: Written) -> None:
        wrote(written)
        if "/preemptionplans/" in written.path and written.path.endswith("/status"):
            messages.extend(each.get("message", "") for each in written.body["status"].get("conditions", ()))

    stage.api.wrote = note  # type: ignore[method-assign]
    return messages


class Evictions:
    """The evictions that were asked for, and those that were rehearsed: pods in order."""

    def __init__(self, stage: Stage) -> None:
        self.asked: list[str] = []
        self.rehearsed: list[str] = []
        real = stage.api.refuse

        def answer(method: str, path: str) -> ApiError | None:
            name = path.rpartition("/")[2]
            if method == "EVICT":
                self.asked.append(name)
            elif method == "EVICT dry run":
                self.rehearsed.append(name)
            return real(method, path)

        stage.api.refuse = answer


async def test_they_evict_in_place_of_deleting() -> None:
    async with staged(*unit(2), *hero(), configuration=RESPECT) as stage:
        evictions, requests = Evictions(stage), Requests(stage)
        await stage.settle()
        assert sorted(evictions.rehearsed) == sorted(evictions.asked) == ["u0", "u1"]
        assert requests.names("DELETE") == requests.names("DELETE dry run") == []
        assert sorted(stage.api.deleted) == ["u0", "u1"]
        assert the_plan(stage)["spec"]["podDisruptionBudgetPolicy"] == "Respect"
        for written in stage.api.written:
            if written.method == "DELETE" and "/pods/" in written.path:
                assert written.body["preconditions"].keys() == {"uid", "resourceVersion"}


async def test_a_group_may_ask_for_it() -> None:
    objects = hero()
    objects[0].metadata.annotations = {BUDGETS_ANNOTATION: "Respect"}
    async with staged(*singles(1), *objects) as stage:
        evictions = Evictions(stage)
        await stage.settle()
        assert evictions.asked == ["v0"]


async def test_a_budget_that_is_used_up_ends_the_plan_and_the_next_one_may_have_the_same_victim() -> None:
    """The mirror does not know it yet."""
    async with staged(*protected(2), *hero(2), web(2), configuration=RESPECT) as stage:
        refused = refuse(stage, "EVICT", spent, times=1)
        messages = conditions_of_plans(stage)
        await stage.settle(24)
        assert refused == ["v0"]
        assert "a PodDisruptionBudget does not allow the eviction of pod default/v0" in messages
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_a_budget_that_stays_used_up_is_not_asked_all_the_time() -> None:
    async with staged(*protected(1), *hero(), web(1), configuration=RESPECT) as stage:
        refused = refuse(stage, "EVICT", spent)
        await stage.settle(100)
        assert 1 < len(refused) <= REPLANS_AT_ONCE + 1
        assert (stage.api.deleted, marked(stage)) == ([], [])


async def test_a_budget_that_is_used_up_in_the_middle_stops_the_rest() -> None:
    async with staged(*protected(2), *hero(2), web(2), configuration=RESPECT) as stage:
        refused = refuse(stage, "EVICT", spent, "v1")
        await stage.settle(40)
        assert stage.api.deleted == ["v0"]
        assert set(refused) == {"v1"}
        assert marked(stage) == []


async def test_what_a_budget_says_in_the_rehearsal_is_no_refusal() -> None:
    async with staged(*protected(1), *hero(), web(1), configuration=RESPECT) as stage:
        refuse(stage, "EVICT dry run", spent)
        await stage.settle()
        assert stage.api.deleted == ["v0"]


async def test_other_refusals_are_as_of_a_deletion() -> None:
    async with staged(*singles(1), *hero(), configuration=RESPECT) as stage:
        refuse(stage, "EVICT", denied)
        await stage.settle()
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"


async def test_a_budget_that_the_mirror_shows_stops_the_plan_before_anybody_is_asked() -> None:
    async with staged(*protected(1), *hero(), web(1), configuration=RESPECT) as stage:
        evictions = Evictions(stage)
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.add(web(0))
        stage.agrees = True
        await stage.settle()
        assert evictions.asked == []
        assert "Aborted" in stage.phases()
        reasons = [plan["status"]["conditions"][-1]["message"] for plan in stage.api.plans.values()]
        assert any("PodDisruptionBudget web allows 0 of 1 eviction" in reason for reason in reasons)


async def test_a_plan_made_before_budgets_were_respected_evicts_nobody() -> None:
    hurried, careful = gang(minimum=1), gang(minimum=1)
    careful.metadata.annotations = {BUDGETS_ANNOTATION: "Respect"}
    async with staged(*protected(1), hurried, hero()[1], web(0)) as stage:
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.add(careful)
        stage.agrees = True
        await stage.settle()
        stage.clock += 5
        await stage.settle()
        assert sorted(stage.phases()) == ["Aborted", "Unschedulable"]
        messages = [plan["status"]["conditions"][-1]["message"] for plan in stage.api.plans.values()]
        assert "PodDisruptionBudgets are to be respected now" in messages
        assert stage.api.deleted == []


async def test_a_gang_that_a_budget_stops_is_planned_again_when_a_budget_changes() -> None:
    async with staged(*protected(1), *hero(), web(0), configuration=RESPECT) as stage:
        await stage.settle()
        assert stage.phases() == ["Unschedulable"]
        spec = the_plan(stage)["spec"]
        assert spec["stoppedByPodDisruptionBudgets"] == [
            {"namespace": "default", "name": "web", "allowed": 0}
        ]
        stage.clock += 2
        await stage.settle()
        assert stage.phases() == ["Unschedulable"]
        stage.add(web(1))
        await stage.settle()
        assert stage.api.deleted == ["v0"]


def seen(ready: bool, **fields: Any) -> Any:
    """The victim of the only node, as the kubelet reports it."""
    return pod("v0", node="n0", requests=BIG, priority=1, phase="Running", ready=ready, **fields)


async def test_a_gang_that_a_budget_stops_is_planned_again_when_a_pod_of_the_budget_is_no_longer_ready() -> (
    None
):
    web_is = budget("web", selector={"matchLabels": APP}, policy="AlwaysAllow")
    async with staged(node("n0"), seen(True, labels=APP), *hero(), web_is, configuration=RESPECT) as stage:
        await stage.settle()
        assert stage.phases() == ["Unschedulable"]
        stage.clock += 2
        stage.add(seen(False, labels=APP))
        await stage.settle()
        assert stage.api.deleted == ["v0"]


async def test_health_that_no_budget_cares_for_starts_no_search() -> None:
    """The one gang is stopped by a budget, the other one finds no room."""
    big = pod("b0", group="big", requests={"cpu": "99"}, priority=100)
    objects = [*hero(), gang("big", minimum=1, priority=100), big, budget("web", selector={})]
    async with staged(node("n0"), seen(True), *objects, configuration=RESPECT) as stage:
        await stage.settle()
        assert stage.phases() == ["Unschedulable"] * 2
        searched = watch_searches(stage)
        for ready in (False, True, False):
            stage.clock += 2
            stage.add(seen(ready))
            await stage.settle()
        assert searched == []
        # A change of the budget wakes the gang that the budget stops, and no other one.
        stage.add(budget("web", selector={}, policy="AlwaysAllow"))
        await stage.settle()
        assert set(searched) == {"gang"}
        assert stage.api.deleted == ["v0"]


def watch_searches(stage: Stage) -> list[str]:
    """Names of the gangs that are searched for from now on."""
    found: list[str] = []
    decider = stage.leading.planner._turns._decider
    decide = decider.decide

    async def noting(key: GroupKey, *, barred: str = "", in_vain: bool = False) -> Decided | NotDecided:
        found.append(key[1])
        return await decide(key, barred=barred, in_vain=in_vain)

    decider.decide = noting  # type: ignore[method-assign]
    return found


async def test_a_victim_that_is_ready_again_ends_the_plan() -> None:
    web_is = budget("web", selector={"matchLabels": APP}, policy="AlwaysAllow")
    async with staged(node("n0"), seen(False, labels=APP), *hero(), web_is, configuration=RESPECT) as stage:
        evictions = Evictions(stage)
        stage.agrees = False
        await stage.settle()
        assert stage.phases() == ["Planned"]
        stage.add(seen(True, labels=APP))
        stage.agrees = True
        await stage.settle()
        assert evictions.asked == []
        assert "Aborted" in stage.phases()


async def test_a_budget_of_another_namespace_is_named_in_the_whole_plan_only() -> None:
    foreign = budget("db", namespace="other", selector={"matchLabels": APP})
    running = pod("v0", namespace="other", node="n0", requests=BIG, priority=1, labels=APP)
    async with staged(node("n0"), running, *hero(), foreign, configuration=RESPECT) as stage:
        await stage.settle()
        spec = the_plan(stage)["spec"]
        assert spec["stoppedByPodDisruptionBudgets"] == [{"namespace": "", "name": "", "allowed": 0}]
        assert "1 budget of other namespaces" in spec["reason"]
        (whole,) = stage.api.of("/apis/reprieve.dev/v1alpha1/clusterpreemptionplans").values()
        assert whole["spec"]["stoppedByPodDisruptionBudgets"] == [
            {"namespace": "other", "name": "db", "allowed": 0}
        ]


def test_what_a_budget_still_allows() -> None:
    running = [pod(f"v{number}", node="n0", labels=APP) for number in range(3)]
    uids = [each.metadata.uid for each in running]
    known = tables(gang(), *running, web(2))
    assert exceeded(known, uids[:2], "default") == ""
    assert exceeded(known, uids, "default") == "PodDisruptionBudget web allows 2 of 3 evictions"
    assert (
        exceeded(known, uids, "other") == "PodDisruptionBudget of another namespace allows 2 of 3 evictions"
    )
    assert exceeded(known, ["gone"], "default") == ""
    known.upsert_budget(web(2, disrupted=["v0"]))
    assert exceeded(known, uids, "default") == ""
    known.upsert_budget(budget("also", selector={}, allowed=9))
    assert exceeded(known, uids[:1], "default") == "2 PodDisruptionBudgets select one pod"


def test_pods_that_the_api_server_does_not_count() -> None:
    def running(name: str, **fields: Any) -> Any:
        return pod(name, node="n0", labels=APP, **{"phase": "Running", **fields})

    pods = [running("ready", ready=True), running("broken", ready=False), running("new", phase="Pending")]
    uids = [each.metadata.uid for each in pods]
    known = tables(gang(), *pods, web(0))
    assert exceeded(known, uids, "default") == "PodDisruptionBudget web allows 0 of 2 evictions"
    known.upsert_budget(web(0, policy="AlwaysAllow"))
    assert exceeded(known, uids, "default") == "PodDisruptionBudget web allows 0 of 1 eviction"
    known.upsert_budget(web(0, healthy=1, desired=1))
    assert exceeded(known, uids[1:], "default") == ""
    known.upsert_budget(budget("also", selector={}, policy="AlwaysAllow"))
    assert exceeded(known, uids[1:2], "default") == "2 PodDisruptionBudgets select one pod"
    assert exceeded(known, uids[2:], "default") == ""
