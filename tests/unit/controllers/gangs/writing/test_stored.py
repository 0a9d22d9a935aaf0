"""Plans of the quota plane are none of the gang controller's: it evicts, ends, deletes and counts nothing for them."""

from __future__ import annotations

from typing import Any

import msgspec

from api.meta import Condition, ObjectMeta
from api.plans import (
    PREEMPTOR_KIND,
    Phase,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
    Preemptor,
    PreemptorQuota,
    Victim,
    VictimPod,
    VictimQuota,
)
from api.times import rfc3339
from controllers.gangs.lifecycle.stored_plan import FINALIZER
from controllers.gangs.writing.stored import StoredPlans
from runtime.plans import whole_plans
from tests.kit.objects import gang, node, pod
from tests.kit.stage import PLANS, Stage, staged

WHOLE = "/apis/reprieve.dev/v1alpha1/clusterpreemptionplans"
BIG = {"cpu": "4"}


def plan(phase: Phase | None, *, kind: Any = "Workload", pods: bool = False) -> PreemptionPlan:
    """For a Workload of the gang's name. `pods`: whoever forged it names the pod that fills the node, too."""
    quota = PreemptorQuota("q", "/q", 1, 0, [])
    given_back = VictimQuota("InClusterQueue", "q", "/q", "2026-01-01T00:00:00Z")
    named = [VictimPod("default", "v", "uid-default-v", "n0")] if pods else []
    spec = PreemptionPlanSpec(
        preemptor=Preemptor(
            kind, "kueue.x-k8s.io/v1beta2", "default", "gang", "uid-default-gang", 100, quota
        ),
        outcome="Preempts",
        reason="because",
        victims=[Victim("Workload", "default", "v", "uid-default-v", 1, False, named, given_back)],
    )
    condition = Condition("Evicting", "True", "Evicting", "", rfc3339(0))
    status = PreemptionPlanStatus(phase=phase, conditions=[condition]) if phase is not None else None
    meta = ObjectMeta(
        name="gang-0",
        namespace="default",
        creation_timestamp=rfc3339(0),
        labels={PREEMPTOR_KIND: "Workload"},
        finalizers=[FINALIZER],
    )
    return PreemptionPlan(metadata=meta, spec=spec, status=status)


def objects() -> list[Any]:
    return [node("n0"), gang(minimum=1), pod("v", node="n0", requests=BIG, priority=1)]


async def settled(stage: Stage, *plans: PreemptionPlan) -> dict[str, Any]:
    """What is stored, once the controller has done what it wants."""
    for each in plans:
        stage.api.put(PLANS, msgspec.to_builtins(each))
        stage.api.put(WHOLE, {"metadata": {"name": "default.gang-0", "labels": {PREEMPTOR_KIND: "Workload"}}})
    await stage.settle()
    stage.clock += whole_plans.SWEEP_SECONDS + 100 * 86400
    await stage.settle()
    return msgspec.json.decode(msgspec.json.encode(stage.api.plans))  # type: ignore[no-any-return]  # JSON


async def test_nobody_goes_and_nothing_is_written() -> None:
    for phase in ("Evicting", None, "QuotaReserved", "Aborted"):
        async with staged(*objects()) as stage:
            before = plan(phase, pods=True)
            after = await settled(stage, before)
            assert stage.api.deleted == []
            assert after["gang-0"]["metadata"]["finalizers"] == [FINALIZER]
            assert after["gang-0"].get("status") == msgspec.to_builtins(before).get("status")
            assert not [each for each in stage.api.written if "preemptionplans" in each.path]
            assert stage.controller.known.promises.claims.has_victim("uid-default-v") is False
            assert stage.reserved == 0


async def test_the_gang_of_the_same_name_gets_a_plan_of_its_own() -> None:
    async with staged(*objects(), pod("m0", group="gang", requests=BIG)) as stage:
        await stage.settle()
        stage.api.put(PLANS, msgspec.to_builtins(plan("Evicting")))
        await stage.settle()
        assert stage.api.deleted == ["v"]
        assert len(stage.api.plans) == 2


def test_the_store_does_not_keep_them() -> None:
    told: list[Any] = []
    stored = StoredPlans(told.append)
    assert stored.upsert(plan("Evicting")) is False
    assert (len(stored), told) == (0, [])
    assert stored.upsert(plan("Evicting", kind="PodGroup"))
    assert stored.upsert(plan("Evicting")), "another plan of the name: the former one is gone"
    assert (len(stored), len(told)) == (0, 2)
