"""`reprieve release --held`: an administrator withdraws what Enforce has left, after the rights have gone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from click.testing import Result

from api.times import rfc3339_micro
from tests.kit.answering_all import answer_all
from tests.kit.eviction_stage import hero, impatient, unit
from tests.kit.leftovers import left
from tests.kit.objects import pod
from tests.kit.phases import CASES, Reach, some_gone
from tests.kit.stage import Api, Stage

__all__ = ["impatient"]

Invoke = Callable[..., Result]

LEASES = "/apis/coordination.k8s.io/v1/leases"
HELD = [{"type": "reprieve.dev/Held", "status": "True", "reason": "Gathering", "message": "waits"}]

pytestmark = pytest.mark.usefixtures("impatient")


def reached(objects: list[Any], reach: Reach) -> Api:
    """What a process of Enforce leaves in this phase, with a pod that is gated and one that is held."""

    async def work() -> Api:
        with ThreadPoolExecutor(1) as executor:
            stage = Stage(executor, Api())
            stage.add(*objects)
            await reach(stage)
            await stage.close()
            gate = [{"name": "reprieve.dev/gang"}]
            stage.add(pod("gated", group="late", schedulingGates=gate), pod("told", conditions=HELD))
            stage.api.refuse = lambda _method, _path: None
            return stage.api

    return asyncio.run(work())


@pytest.mark.parametrize(("objects", "reach"), CASES)
def test_nothing_is_left_of_any_phase(
    objects: list[Any], reach: Reach, monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    api = reached(objects, reach)
    answer_all(monkeypatch, api)
    before = len(api.written)
    looked = invoke("release", "--held", "--dry-run")
    assert looked.exit_code == 1
    assert "Pod default/gated: the pod is marked, gated, nominated or held" in looked.stdout
    assert len(api.written) == before
    result = invoke("release", "--held", "--finish-begun", "-o", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {"Pod default/gated", "Pod default/told"} <= {*json.loads(result.stdout)["freed"]}
    assert left(api) == []
    assert invoke("release", "--held", "--dry-run").stdout == "0 objects held.\n"
    assert invoke("release", "--held").exit_code == 0


def test_a_group_in_pieces_is_named_and_finished_only_if_asked(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    api = reached([*unit(3), *hero(3)], some_gone)
    answer_all(monkeypatch, api)
    result = invoke("release", "--held")
    assert result.exit_code == 1
    assert "--finish-begun deletes the others (PodGroup default/unit)" in result.stderr
    assert len(api.deleted) == 1
    assert any("in pieces" in each for each in left(api))
    assert api.ungated == ["gated"], "all others are free"
    assert invoke("release", "--held", "--finish-begun").exit_code == 0
    assert len(api.deleted) == 3
    assert left(api) == []


def test_not_while_a_process_enforces(monkeypatch: pytest.MonkeyPatch, invoke: Invoke) -> None:
    api = reached([*unit(2), *hero(2)], some_gone)
    answer_all(monkeypatch, api)
    spec = {"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": rfc3339_micro(time.time())}
    notes = {"reprieve.dev/planning-mode": "Enforce"}
    lease = {"metadata": {"name": "reprieve", "namespace": "reprieve-system", "annotations": notes}}
    api.put(LEASES, {**lease, "spec": spec})
    before = len(api.written)
    result = invoke("release", "--held")
    assert (result.exit_code, len(api.written)) == (1, before)
    assert "pod-1 leads with planning.mode Enforce" in result.stderr
    assert invoke("release", "--held", "--dry-run").exit_code == 1, "to look is allowed"
    api.of(LEASES)["reprieve"]["metadata"]["annotations"] = {"reprieve.dev/planning-mode": "Observe"}
    assert invoke("release", "--held", "--finish-begun").exit_code == 0


@pytest.mark.parametrize("option", ["--dry-run", "--finish-begun"])
def test_its_options_belong_to_it(option: str, invoke: Invoke) -> None:
    result = invoke("release", option)
    assert (result.exit_code, result.stderr) == (2, f"Error: {option}: only with --held\n")
