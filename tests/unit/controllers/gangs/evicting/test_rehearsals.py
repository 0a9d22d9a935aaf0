"""Which pods the API server is asked about by a dry run, before and while a plan evicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import pytest

from api.admission import (
    AdmissionPolicy,
    MatchResources,
    PolicyBindingSpec,
    PolicySpec,
    Rule,
    Selector,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
    ValidatingWebhookConfiguration,
    Webhook,
)
from api.disruption import BUDGETS_ANNOTATION
from api.meta import ObjectMeta
from controllers.gangs.evicting.rehearsals import Rehearsals
from controllers.gangs.metrics import DRY_RUNS_SKIPPED
from controllers.gangs.mirror.eviction_requests import EvictionRequests
from kube.errors import ApiError
from tests.kit.eviction_stage import (
    BIG,
    Requests,
    denied,
    hero,
    marked,
    refuse,
    the_plan,
    unit,
)
from tests.kit.objects import gang, node, pod
from tests.kit.stage import Stage, staged
from tests.unit.controllers.gangs.lives import in_phase

RED = {"color": "red"}
DELETIONS = Rule(["DELETE"], [""], ["v1"], ["pods"])
EVICTIONS = Rule(["CREATE"], [""], ["v1"], ["pods/eviction"])
MARKS = Rule(["UPDATE"], [""], ["v1"], ["pods/status"])


def victims(count: int, **each: Any) -> list[Any]:
    """A node for each of these pods."""
    pods = [pod(f"v{at}", node=f"n{at}", requests=BIG, priority=1, **each) for at in range(count)]
    return [*(node(f"n{at}") for at in range(count)), *pods]


def webhook(*rules: Rule, labels: dict[str, str] | None = None, generation: int = 1) -> Any:
    """The configuration of a webhook for these requests about pods with these labels."""
    hook = Webhook([*rules], object_selector=Selector(labels))
    meta = ObjectMeta("hook", uid="uid-hook", generation=generation)
    return ValidatingWebhookConfiguration(meta, [hook])


def policy(*rules: Rule) -> AdmissionPolicy:
    """A policy for these requests."""
    spec = PolicySpec(MatchResources(resource_rules=[*rules]))
    return ValidatingAdmissionPolicy(ObjectMeta("policy", uid="uid-policy"), spec)


def binding(matches: MatchResources | None = None) -> Any:
    """It puts the policy to work."""
    spec = PolicyBindingSpec("policy", matches)
    return ValidatingAdmissionPolicyBinding(ObjectMeta("binding", uid="uid-binding"), spec)


async def rehearsed(*objects: Any) -> tuple[list[str], list[str]]:
    """The pods that the API server is asked about, and those that are deleted."""
    async with staged(*objects) as stage:
        stage.know_admission()
        requests = Requests(stage)
        await stage.settle()
        assert sorted(requests.names("PATCH dry run")) == sorted(requests.names("DELETE dry run"))
        return sorted(requests.names("DELETE dry run")), sorted(stage.api.deleted)


async def test_one_of_each_sort_is_asked_about() -> None:
    before = DRY_RUNS_SKIPPED._value.get()
    async with staged(*victims(4), *hero(4)) as stage:
        stage.know_admission()
        requests = Requests(stage)
        await stage.settle()
        assert requests.names("PATCH dry run") == requests.names("DELETE dry run") == ["v0"]
        assert sorted(stage.api.deleted) == ["v0", "v1", "v2", "v3"]
        assert the_plan(stage)["status"]["skippedDryRuns"] == 3
    assert DRY_RUNS_SKIPPED._value.get() == before + 3


async def test_sorts_differ_by_namespace_owner_and_service_account() -> None:
    asked, deleted = await rehearsed(
        *(node(f"n{at}") for at in range(6)),
        pod("v0", node="n0", requests=BIG, priority=1),
        pod("v1", node="n1", requests=BIG, priority=1, namespace="other"),
        pod("v2", node="n2", requests=BIG, priority=1, controller="a"),
        pod("v3", node="n3", requests=BIG, priority=1, controller="b"),
        pod("v4", node="n4", requests=BIG, priority=1, serviceAccountName="robot"),
        pod("v5", node="n5", requests=BIG, priority=1, serviceAccountName="default"),
        *hero(6),
    )
    assert len(deleted) == 6
    assert [*asked[:2], asked[-1]] == ["v0", "v1", "v4"]
    assert asked[2] in ("v2", "v3")
    assert len(asked) == 4


@pytest.mark.parametrize("rule", [DELETIONS, MARKS])
async def test_what_may_reach_a_webhook_is_asked_about_besides(rule: Rule) -> None:
    red = pod("v9", node="n9", requests=BIG, priority=1, labels=RED)
    objects = [*victims(3), node("n9"), red, *hero(4), webhook(rule, labels=RED)]
    assert await rehearsed(*objects) == (["v0", "v9"], ["v0", "v1", "v2", "v9"])


async def test_other_requests_are_not_asked_about() -> None:
    others = Rule(["CREATE", "UPDATE"], [""], ["v1"], ["pods", "pods/binding"])
    assert await rehearsed(*victims(3), *hero(3), webhook(others, EVICTIONS)) == (["v0"], ["v0", "v1", "v2"])


async def test_a_policy_counts_once_it_is_bound() -> None:
    objects = [*victims(3), *hero(3), policy(DELETIONS)]
    assert (await rehearsed(*objects))[0] == ["v0"]
    assert (await rehearsed(*objects, binding()))[0] == ["v0", "v1", "v2"]
    elsewhere = Selector({"kubernetes.io/metadata.name": "elsewhere"})
    objects.append(binding(MatchResources(namespace_selector=elsewhere)))
    assert (await rehearsed(*objects))[0] == ["v0", "v1", "v2"], "the labels of the namespace are not known"


async def test_an_eviction_is_another_request_than_a_deletion() -> None:
    respecting = gang(minimum=2)
    respecting.metadata.annotations = {BUDGETS_ANNOTATION: "Respect"}
    objects = [*victims(2), *hero(2)[1:], respecting]
    for rule, expected in ((DELETIONS, ["v0"]), (EVICTIONS, ["v0", "v1"])):
        async with staged(*objects, webhook(rule)) as stage:
            stage.know_admission()
            requests = Requests(stage)
            await stage.settle()
            assert sorted(requests.names("PATCH dry run")) == expected


async def test_a_sample_that_is_refused_has_all_of_its_sort_asked_about() -> None:
    other = pod("w0", node="n9", requests=BIG, priority=1, serviceAccountName="robot")
    async with staged(*victims(3), node("n9"), other, *hero(4)) as stage:
        stage.know_admission()
        requests = Requests(stage)
        refuse(stage, "DELETE dry run", denied, "v0", "v1", "v2")
        await stage.settle()
        assert sorted(requests.names("DELETE dry run")) == ["v0", "v1", "v2", "w0"]
        assert the_plan(stage)["status"]["phase"] == "Aborted"
        stage.clock += 100
        await stage.settle()
        assert stage.api.deleted == marked(stage) == []
        assert sorted(stage.phases()) == ["Aborted", "Unschedulable"], "all three are out of reach"


# ---- what is not known


def unreadable(stage: Stage) -> None:
    stage._views["validatingwebhookconfigurations"].unreadable(
        ObjectMeta("odd", uid="odd"), ValueError(), listed=True
    )


def forbidden(stage: Stage) -> None:
    stage.refuse(ValidatingAdmissionPolicy, 403)


def not_watched(stage: Stage) -> None:
    stage.know_admission(False)


@pytest.mark.parametrize("happens", [unreadable, forbidden, not_watched])
async def test_all_are_asked_about_if_something_is_not_known(happens: Callable[[Stage], None]) -> None:
    async with staged(*victims(3), *hero(3)) as stage:
        stage.know_admission()
        happens(stage)
        requests = Requests(stage)
        await stage.settle()
        assert sorted(requests.names("DELETE dry run")) == ["v0", "v1", "v2"]
        assert len(stage.api.deleted) == 3
        assert the_plan(stage)["status"]["skippedDryRuns"] == 0


async def test_a_kind_that_is_not_served_has_no_objects() -> None:
    async with staged(*victims(3), *hero(3)) as stage:
        stage.know_admission()
        stage.refuse(ValidatingAdmissionPolicy, 404)
        requests = Requests(stage)
        await stage.settle()
        assert requests.names("DELETE dry run") == ["v0"]


# ---- what comes later


def when(stage: Stage, is_time: Callable[[str, str], bool], happens: Callable[[], None]) -> None:
    """Have something happen at the first request (method and path) for which `is_time` is true."""
    done: list[str] = []

    def look(method: str, path: str) -> ApiError | None:
        if not done and is_time(method, path):
            done.append(path)
            happens()
        return None

    stage.api.refuse = look


def is_deletion(method: str, path: str) -> bool:
    """Whether the request deletes a pod."""
    return method == "DELETE" and "/pods/" in path


def dry_runs_until_first(requests: Requests, method: str) -> list[str]:
    """Pods whose deletion was tried before the first such request."""
    first = next(at for at, (sent, name, _) in enumerate(requests.sent) if sent == method and name[0] != "m")
    return [name for sent, name, _ in requests.sent[:first] if sent == "DELETE dry run"]


async def test_a_webhook_that_comes_before_the_first_eviction_is_asked_first() -> None:
    async with staged(*victims(3), *hero(3)) as stage:
        stage.know_admission()
        requests = Requests(stage)
        when(
            stage,
            lambda method, path: bool(requests.names("DELETE dry run")) and "preemptionplans" in path,
            lambda: stage.add(webhook(DELETIONS)),
        )
        await stage.settle()
        assert dry_runs_until_first(requests, "PATCH") == ["v0", "v0", "v1", "v2"]
        assert sorted(stage.api.deleted) == ["v0", "v1", "v2"]


async def test_a_webhook_that_comes_meanwhile_is_asked_about_the_units_that_have_not_begun() -> None:
    units = [*unit(2), *unit(2, name="other", first=2), *unit(2, name="third", first=4)]
    async with staged(*units, *hero(6)) as stage:
        stage.know_admission()
        requests = Requests(stage)
        when(stage, is_deletion, lambda: stage.add(webhook(DELETIONS, MARKS)))
        await stage.settle(steps=20)
        first = set(requests.names("DELETE")[:2])
        asked = requests.names("DELETE dry run")[1:]
        assert sorted(asked) == sorted({"u0", "u1", "u2", "u3", "u4", "u5"} - first)
        assert len(stage.api.deleted) == 6


async def test_units_that_have_begun_are_not_asked_about_again() -> None:
    class AllMayBeRefused:
        changes, is_known = 1, True

        def may_be_refused(self, _uid: str, *, by_eviction: bool) -> bool:
            return not by_eviction

    plan = in_phase("Evicting", victims=3).plan
    rehearsals = Rehearsals(cast(EvictionRequests, AllMayBeRefused()))
    first, *others = plan.spec.victims
    due = await rehearsals.due(plan, others[0], {first.uid})
    assert [victim.uid for victim, _ in due.pods] == [victim.uid for victim in others for _ in victim.pods]
    rehearsals.answered(plan, due)
    assert (await rehearsals.due(plan, others[0], {first.uid})).pods == []


async def test_a_refusal_that_comes_meanwhile_stops_the_plan_and_finishes_what_has_begun() -> None:
    units = [*unit(2), *unit(2, name="other", first=2)]
    async with staged(*units, *hero(4)) as stage:
        stage.know_admission()

        def refuses() -> None:
            stage.add(webhook(DELETIONS))
            refuse(stage, "DELETE dry run", denied)

        when(stage, is_deletion, refuses)
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == 2
        assert {int(name[1:]) // 2 for name in stage.api.deleted} in ({0}, {1}), "one whole unit"
        assert the_plan(stage)["status"]["conditions"][-1]["reason"] == "EvictionRefused"
        assert marked(stage) == []


async def test_all_units_are_looked_at_only_when_something_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise a plan with many victims would take a time that grows with the square of their number."""
    looked: list[str] = []
    real = EvictionRequests.may_be_refused

    def look(self: EvictionRequests, uid: str, *, by_eviction: bool) -> bool:
        looked.append(uid)
        return real(self, uid, by_eviction=by_eviction)

    monkeypatch.setattr(EvictionRequests, "may_be_refused", look)
    async with staged(*victims(20), *hero(20)) as stage:
        stage.know_admission()
        when(stage, is_deletion, lambda: stage.add(webhook(EVICTIONS)))
        await stage.settle(steps=20)
        assert len(stage.api.deleted) == 20
        assert len(looked) <= 3 * 20 + 20


async def test_a_change_of_its_status_only_is_none() -> None:
    red = pod("v9", node="n9", requests=BIG, priority=1, labels=RED)
    for generation, expected in ((1, ["v0", "v9"]), (2, ["v0", "v9", "v9"])):
        async with staged(*victims(3), node("n9"), red, *hero(4), webhook(DELETIONS, labels=RED)) as stage:
            stage.know_admission()
            requests, again = Requests(stage), webhook(DELETIONS, labels=RED, generation=generation)
            when(stage, is_deletion, partial(stage.add, again))
            await stage.settle()
            assert sorted(requests.names("DELETE dry run")) == expected


async def test_a_pod_that_has_got_other_labels_is_asked_about_before_it_goes() -> None:
    async with staged(*victims(3), *hero(3), webhook(DELETIONS, labels=RED)) as stage:
        stage.know_admission()
        requests = Requests(stage)
        red = pod("v2", node="n2", requests=BIG, priority=1, labels=RED)
        when(stage, is_deletion, lambda: stage.add(red))
        await stage.settle()
        assert requests.names("DELETE dry run") == ["v0", "v2"]
        assert len(stage.api.deleted) == 3


@pytest.mark.parametrize("known", [True, False])
async def test_another_process_asks_about_what_may_be_refused(known: bool) -> None:
    """The former one may have asked before the webhook came. Without a word of webhooks all was asked by that one."""
    async with staged(*victims(3), *hero(3)) as stage:
        stage.know_admission()
        when(stage, is_deletion, lambda: None)
        stage.api.refuse = lambda method, path: (
            ApiError(503, "", "away")
            if is_deletion(method, path)
            and stage.api.plans
            and next(iter(stage.api.plans.values())).get("status", {}).get("phase") == "Evicting"
            else None
        )
        await stage.settle()
        await stage.leading.evictions.close()
        stage.api.refuse = lambda _method, _path: None
        assert stage.api.deleted == []
        again = stage.restart()
        again.know_admission(known)
        red = pod("v2", node="n2", requests=BIG, priority=1, labels=RED)
        again.add(*victims(2), node("n2"), red, *hero(3), webhook(DELETIONS, labels=RED))
        requests = Requests(again)
        await again.settle()
        assert requests.names("DELETE dry run") == (["v2"] if known else [])
        assert len(again.api.deleted) == 3
