"""What a stored plan withholds from the readers of its namespace, and that it is resumed all the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.plan_names import whole_plan_name
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from api.withholding import withhold
from controllers.gangs.keys import LonePod, spoken_in
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.withheld_names import spoken_pod, with_names
from kube.errors import ApiError
from runtime.plans import whole_plans
from tests.kit.objects import gang, group, node, pod, tables
from tests.kit.stage import PLANS, Stage, staged

WHOLE = "/apis/reprieve.dev/v1alpha1/clusterpreemptionplans"
BIG = {"cpu": "4"}
OURS, FOREIGN = "default", "secret"


def spec_of(victims: list[Victim]) -> PreemptionPlanSpec:
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", OURS, "gang", "uid", 100),
        outcome="Preempts",
        reason="because",
        victims=victims,
    )


def ours(_: str, namespace: str) -> bool:
    """What the readers of the plan's namespace may know."""
    return namespace in ("", OURS)


@st.composite
def victims(draw: st.DrawFn) -> Victim:
    """Of one of two namespaces. Every name contains its own."""
    namespace = draw(st.sampled_from((OURS, FOREIGN)))
    number = draw(st.integers(0, 99))
    pods = [
        VictimPod(namespace, f"{namespace}-{number}-{each}", f"u{number}-{each}", f"n{each}")
        for each in range(draw(st.integers(1, 3)))
    ]
    if len(pods) > 1:
        return Victim("PodGroup", namespace, f"{namespace}-g{number}", f"g{number}", 1, False, pods)
    return Victim("Pod", namespace, pods[0].name, pods[0].uid, 1, False, pods)


@given(st.lists(victims()))
def test_no_name_of_another_namespace_is_left_and_nothing_else_is_lost(found: list[Victim]) -> None:
    spec = spec_of(found)
    readable = withhold(spec, ours)
    assert FOREIGN not in msgspec.json.encode(readable).decode()
    if FOREIGN not in msgspec.json.encode(spec).decode():
        assert readable is spec
    for before, after in zip(spec.victims, readable.victims, strict=True):
        assert (after.kind, after.uid, after.priority) == (before.kind, before.uid, before.priority)
        assert [(each.uid, each.node) for each in after.pods] == [
            (each.uid, each.node) for each in before.pods
        ]
        assert before.namespace == FOREIGN or after == before
    assert withhold(readable, ours) == readable


def test_the_mirror_gives_the_names_back() -> None:
    """Also of a group that goes whole. Of pods that are gone nobody knows them, and nobody needs them."""
    unit = group("unit", namespace=FOREIGN)
    pods = [
        pod(f"u{number}", namespace=FOREIGN, node=f"n{number}", group="unit", priority=1)
        for number in range(2)
    ]
    single = pod("v", namespace=FOREIGN, node="n2", priority=1)
    names = [VictimPod(FOREIGN, each.metadata.name, each.metadata.uid, "n0") for each in (*pods, single)]
    spec = spec_of(
        [
            Victim("PodGroup", FOREIGN, "unit", unit.metadata.uid, 1, False, names[:2]),
            Victim("Pod", FOREIGN, "v", single.metadata.uid, 1, False, names[2:]),
        ]
    )
    readable = withhold(spec, ours)
    assert with_names(readable, Roster(tables(unit, *pods, single))) == spec
    some = with_names(readable, Roster(tables(unit, pods[1])))
    assert [victim.name for victim in some.victims] == ["unit", ""]
    assert [each.name for victim in some.victims for each in victim.pods] == ["", "u1", ""]


def test_messages_name_a_foreign_pod_by_its_uid_and_no_foreign_preemptor() -> None:
    assert spoken_pod(VictimPod(OURS, "v", "1", "n0"), OURS) == "pod default/v"
    assert spoken_pod(VictimPod(FOREIGN, "v", "1", "n0"), OURS) == "pod 1"
    assert spoken_in((OURS, "g"), OURS) == "PodGroup default/g"
    assert spoken_in((FOREIGN, "g"), OURS) == "another namespace's PodGroup"
    assert spoken_in(LonePod(FOREIGN, "p", "1").key, OURS) == "another namespace's Pod"


@pytest.mark.parametrize("length", [1, 60, 178, 253])
def test_the_name_of_the_whole_plan_fits_and_keeps_the_digest(length: int) -> None:
    plan = f"{'a' * (length - 11)}-0123456789" if length > 11 else "a"
    name = whole_plan_name("n" * 63, plan)
    assert len(name) <= 253
    assert name.startswith("n" * 63 + ".a")
    assert name.endswith(plan[-11:])


# ---- the process


def members() -> list[Any]:
    return [node("n0"), node("n1"), gang(minimum=2), *(hero(f"m{number}") for number in range(2))]


def hero(name: str) -> Any:
    return pod(name, group="gang", requests=BIG)


def foreign(**fields: Any) -> list[Any]:
    return [
        pod(f"v{n}", namespace=FOREIGN, node=f"n{n}", requests=BIG, priority=1, **fields) for n in range(2)
    ]


def readable(stage: Stage) -> str:
    """All that was written into the preemptor's namespace."""
    of_pods = [write.body for write in stage.api.written if "/events" in write.path]
    ours = [
        body for body in of_pods if body.get("regarding", {}).get("namespace", body.get("namespace")) == OURS
    ]
    groups = stage.api.of("/apis/reprieve.dev/v1alpha1/podgroups")
    return msgspec.json.encode([stage.api.plans, groups, ours]).decode()


async def test_the_plan_withholds_the_names_and_the_whole_one_is_stored_first() -> None:
    async with staged(*members(), *foreign()) as stage:
        await stage.settle()
        ((name, plan),) = stage.api.plans.items()
        assert [victim["uid"] for victim in plan["spec"]["victims"]] == ["uid-secret-v0", "uid-secret-v1"]
        assert FOREIGN not in readable(stage).replace("uid-secret", "")
        assert '"reason":"Preempting"' in readable(stage), "events are among what is read here"
        whole = stage.api.of(WHOLE)[f"default.{name}"]
        assert [victim["name"] for victim in whole["spec"]["victims"]] == ["v0", "v1"]
        written = [write.path for write in stage.api.written if write.method == "POST"]
        assert written.index(WHOLE) < written.index(PLANS.replace("/preempt", "/namespaces/default/preempt"))
        assert sorted(stage.api.deleted) == ["v0", "v1"]


async def test_nothing_is_done_for_a_plan_whose_whole_one_cannot_be_stored() -> None:
    async with staged(*members(), *foreign()) as stage:
        stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "no") if (method, path) == ("POST", WHOLE) else None
        )
        await stage.settle()
        assert stage.api.plans == {}
        assert stage.api.deleted == []


async def test_a_plan_without_foreign_victims_has_no_whole_one() -> None:
    own = [pod(f"v{n}", node=f"n{n}", requests=BIG, priority=1) for n in range(2)]
    async with staged(*members(), *own) as stage:
        await stage.settle()
        assert len(stage.api.plans) == 1
        assert stage.api.of(WHOLE) == {}


async def test_the_next_process_goes_on_without_the_names() -> None:
    """One victim has gone meanwhile; the other one is found by its UID."""
    async with staged(*members(), *foreign()) as stage:
        stage.api.refuse = lambda method, path: (
            ApiError(503, "Unavailable", "no") if method == "DELETE" and path.endswith("/v1") else None
        )
        await stage.settle()
        assert stage.api.deleted == ["v0"]
        stage.api.refuse = lambda _method, _path: None
        again = stage.restart()
        again.add(*members(), foreign()[1])
        await again.settle()
        assert again.api.deleted == ["v0", "v1"]
        (plan,) = again.api.plans.values()
        assert plan["status"]["phase"] in ("Evicting", "Ready")


async def test_a_refusal_says_nothing_of_what_the_api_server_said_of_a_foreign_pod() -> None:
    async with staged(*members(), *foreign()) as stage:
        stage.api.refuse = lambda method, path: (
            ApiError(403, "Forbidden", "secret/v0") if method == "DELETE dry run" and "v0" in path else None
        )
        await stage.settle()
        ends = [each["status"]["conditions"][-1] for each in stage.api.plans.values()]
        said = [each["message"] for each in ends if each["reason"] == "EvictionRefused"]
        assert said == ["pod uid-secret-v0 cannot be evicted: 403 Forbidden"]
        assert "secret/v0" not in readable(stage)


async def test_a_whole_plan_goes_once_its_plan_has_gone() -> None:
    async with staged(*members(), *foreign()) as stage:
        await stage.settle()
        ((name, plan),) = stage.api.plans.items()
        again = stage.restart()
        again.add(*members(), *foreign())
        again.list_plans()
        sweep = again.leading.evictions.store.whole.sweep
        await sweep()
        assert list(stage.api.of(WHOLE)) == [f"default.{name}"]
        again.controller.known.promises.claims.stored.delete("default", name)
        await sweep()
        assert list(stage.api.of(WHOLE)) == [f"default.{name}"], "not so soon again"
        again.clock += whole_plans.SWEEP_SECONDS
        await sweep()
        assert stage.api.of(WHOLE) == {}
        assert msgspec.convert(plan, PreemptionPlan).spec.victims[0].name == ""
