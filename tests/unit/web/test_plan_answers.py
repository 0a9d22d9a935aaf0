"""Plans and evictions over HTTP: for whoever may see everything, and for tenants."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
import pytest

from api.meta import ObjectMeta
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan
from api.withholding import readable
from tests.kit.stored_plans import BOUND, OBSERVED, PROPOSED, read, turn
from tests.unit.web.page_stage import Api, cluster_page, files_page
from web.sources.files import Files
from web.wire.history import EvictedBy, Evictions
from web.wire.plans import PlanAnswer, Plans

TOKEN: Final = "a.token"
BY: Final[dict[str, type[msgspec.Struct]]] = {
    "plans": Plans,
    "plans/team-a/hero-bound": PlanAnswer,
    "plans/team-a/tune-turn-1": PlanAnswer,
    "evictions": Evictions,
    "who-evicted/team-b/sweep-0": EvictedBy,
}
"""The struct of each answer."""


def source() -> Files:
    """Plans of team-a, which name victims of team-b in a second object each."""
    whole = [
        ClusterPreemptionPlan(
            metadata=ObjectMeta(name=whole_plan_name("team-a", each.metadata.name)), spec=each.spec
        )
        for each in (BOUND, OBSERVED)
    ]
    known = [msgspec.structs.replace(each, spec=readable(each.spec)) for each in (BOUND, OBSERVED)]
    return Files(read(*known, *whole, PROPOSED, turn()))


@pytest.mark.parametrize("path", BY)
async def test_an_answer_has_the_fields_of_its_description(path: str) -> None:
    async with files_page(files=source()) as page:
        status, body, _ = await page.ask(path, await page.log_in(code=page.code))
    assert status == 200
    assert msgspec.to_builtins(msgspec.convert(body, BY[path])) == body


async def test_plans_for_one_preemptor_are_those_of_its_kind_and_name() -> None:
    async with files_page(files=source()) as page:
        secret = await page.log_in(code=page.code)
        found: dict[str, list[str]] = {}
        for preemptor in ("podgroup/team-a/hero", "pod/team-a/hero", "workload/team-a/tune"):
            _, body, _ = await page.ask(f"plans?preemptor={preemptor}", secret)
            found[preemptor] = [each["name"] for each in body["plans"]]
    assert found == {
        "podgroup/team-a/hero": ["hero-bound", "hero-observed"],
        "pod/team-a/hero": [],
        "workload/team-a/tune": ["tune-turn-1", "tune-proposed"],
    }


async def asked(path: str, *rights: str) -> tuple[int, Any]:
    """What somebody with these rights is answered."""
    api = Api()
    api.add(TOKEN, "anna", *rights)
    async with cluster_page(api, files=source()) as page:
        status, body, _ = await page.ask(path, TOKEN)
    return status, body


@pytest.mark.parametrize(
    "path", ["plans?namespace=team-a", "plans/team-a/hero-bound", "evictions?namespace=team-a"]
)
async def test_a_tenant_sees_its_plans_without_names_of_others(path: str) -> None:
    status, body = await asked(path, "list preemptionplans in team-a", "list pods in team-a")
    assert status == 200
    assert "hero" in json.dumps(body)
    assert "team-b" not in json.dumps(body)
    assert "sweep" not in json.dumps(body)
    assert "list" in " ".join(body["missing"])
    status, body = await asked(path, "list preemptionplans", "list clusterpreemptionplans")
    assert ("team-b" in json.dumps(body)) == (not path.startswith("plans?"))


async def test_a_right_for_one_kind_of_plan_tells_nothing_of_the_other_kind() -> None:
    for name in ("hero-bound", "nothing"):
        status, body = await asked(f"plans/team-a/{name}", "list dispatchplans in team-a")
        assert (status, body["right"]) == (403, "list preemptionplans in team-a")
    status, body = await asked("plans/team-a/nothing", "list dispatchplans", "list preemptionplans")
    assert (status, body["reason"]) == (404, "NotFound")


async def test_a_victim_may_know_its_evictor_only_with_a_right_to_its_plans() -> None:
    path = "who-evicted/team-b/sweep-0"
    status, body = await asked(path, "list pods in team-b")
    assert (status, body["evictions"]) == (200, [])
    assert body["missing"] == ["list preemptionplans in all namespaces", "list events in team-b"]
    _, body = await asked(path, "list pods in team-b", "list events in team-b", "list preemptionplans")
    assert [each["plan"] for each in body["evictions"]] == ["team-a/hero-bound"]
    assert "missing" not in body
