"""What an extender can know of attempts, shown on a real scheduler with an extender that only listens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import msgspec
import orjson

from api.disruption import DISRUPTION_TARGET
from api.meta import Condition
from api.preempted import mark_in
from api.times import rfc3339
from controllers.gangs.answering import BoundPod
from controllers.gangs.mirror.marked_pods import PARTIAL_GANG_RELEASED, PREEMPTED
from controllers.gangs.scheduler.messages import PreemptionOutcome, preemption_outcome
from extender.verbs import Verbs
from extender.wire import preemption_decoder
from hack.controlplane.client import path_of
from hack.controlplane.stub_extender import answering
from kube.client import STRATEGIC_MERGE_PATCH
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, condition, wait_for
from tests.kit.verbs import StillWorld
from tests.kit.versions import older_than

LOOPBACK = "127.0.0.1"
LINGERS = "example.com/lingers"
CLAIMS = "no new claims to deallocate, " if older_than("1.37") else ""
"""What the scheduler says before it tells how preemption ended."""
KEPT_OUT = "kept-out"
"""The filter turns pods of this name down, and says that evictions may help."""


def listening(calls: dict[str, list[bytes]]) -> AbstractContextManager[str]:
    """An extender that keeps preempt's bodies by pod, and evicts nobody. Yields its URL."""

    def answer(path: str, body: bytes) -> dict[str, object]:
        sent = json.loads(body)
        name = sent["Pod"]["metadata"]["name"]
        if path.endswith("preempt"):
            calls.setdefault(name, []).append(body)
            return {"NodeNameToMetaVictims": {}}
        nodes = sent["NodeNames"]
        failed = dict.fromkeys(nodes, "kept out") if name == KEPT_OUT else {}
        return {"NodeNames": [each for each in nodes if each not in failed], "FailedNodes": failed}

    return answering(answer)


def message(sandbox: Sandbox, name: str) -> str:
    """What the scheduler says of a pod that it could not bind."""
    said = wait_for(lambda: condition(sandbox.get_pod(name) or {}, "PodScheduled"), what=sandbox.report)
    assert (said["status"], said["reason"]) == ("False", "Unschedulable")
    text: str = said["message"]
    return text


def test_what_the_scheduler_calls_and_what_it_writes(planes: PlaneFactory, sandboxes: SandboxFactory) -> None:
    """Without a candidate there is no preempt call, and the message says why."""
    calls: dict[str, list[bytes]] = {}
    with listening(calls) as url:
        extenders = [
            {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True, "ignorable": True},
            {"urlPrefix": url, "preemptVerb": "preempt", "nodeCacheCapable": True},
        ]
        sandbox = sandboxes(planes(scheduler_settings={"extenders": extenders}))
        nodes = [sandbox.node(name, cpu="1") for name in ("n0", "n1")]
        for number, node in enumerate(nodes):
            sandbox.filler(f"low-{number}", node, 1, priority=10)

        sandbox.pod("no-lower", priority=5)
        sandbox.pod("too-big", priority=100, cpu="9")
        sandbox.client.create(sandbox.pod_body("never") | {"spec": never(sandbox)})
        texts = {name: message(sandbox, name) for name in ("no-lower", "too-big", "never")}
        full = f"0/2 nodes are available: 2 Insufficient cpu. {CLAIMS}"
        found = "preemption: 0/2 nodes are available: "
        assert texts == {
            "no-lower": f"{full}{found}2 No preemption victims found for incoming pod.",
            "too-big": f"{full}{found}2 Preemption is not helpful for scheduling.",
            "never": f"{full}preemption: not eligible due to preemptionPolicy=Never.",
        }
        assert calls == {}

        sandbox.pod("answered", priority=100)
        texts["answered"] = message(sandbox, "answered")
        assert texts["answered"] == f"{full}preemption: no candidate node for preemption"
        assert calls.keys() == {"answered"}

        for name in texts:
            sandbox.delete_pod(name)
        sandbox.wait_gone(*texts)
        room = sandbox.node("roomy", cpu="3")
        sandbox.filler("low-2", room, 1, priority=10)
        sandbox.pod(KEPT_OUT, priority=100, nodeSelector={"kubernetes.io/hostname": room})
        texts[KEPT_OUT] = message(sandbox, KEPT_OUT)
        assert f'preemption: expected at least one victim pod on node "{room}"' in texts[KEPT_OUT]
        assert KEPT_OUT not in calls

        assert {name: preemption_outcome(text) for name, text in texts.items()} == {
            "no-lower": PreemptionOutcome.NO_CANDIDATES,
            "too-big": PreemptionOutcome.NO_CANDIDATES,
            "never": PreemptionOutcome.NEVER,
            "answered": PreemptionOutcome.EMPTY_ANSWER,
            KEPT_OUT: PreemptionOutcome.EXPECTED_VICTIM,
        }
        pods = {
            pod["metadata"]["uid"]: BoundPod(pod["spec"].get("nodeName", ""), 10, False)
            for pod in sandbox.list_pods()
        }
        for body in calls["answered"]:
            assert given_back(body, pods) == candidates(body)


def never(sandbox: Sandbox) -> dict[str, object]:
    """The spec of a pod whose class does not let it preempt."""
    spec: dict[str, object] = sandbox.pod_body("never")["spec"]
    return {**spec, "priorityClassName": sandbox.priority(200, policy="Never")}


def candidates(body: bytes) -> bytes:
    """The bytes of the candidates in a preempt call, the last field that the scheduler sends."""
    return body.rstrip().partition(b'"NodeNameToMetaVictims":')[2].removesuffix(b"}")


def given_back(body: bytes, pods: dict[str, BoundPod]) -> bytes:
    """Our own answer to it, without groups in the cluster."""
    assert orjson.loads(candidates(body)), "somebody is to go"
    answer = Verbs(StillWorld(pods=pods)).preempt(preemption_decoder.decode(body))
    return answer.removeprefix(b'{"NodeNameToMetaVictims":').removesuffix(b"}")


def test_the_scheduler_writes_only_what_differs_from_the_mark_that_it_saw(
    planes: PlaneFactory, sandboxes: SandboxFactory
) -> None:
    """Our marks are withdrawn between its decision and its write. What was the same is gone with our mark."""
    marked: list[Callable[..., None]] = []

    def answer(_path: str, body: bytes) -> dict[str, object]:
        marked[-1]({"$patch": "delete"})
        return {"NodeNameToMetaVictims": json.loads(body)["NodeNameToMetaVictims"]}

    with answering(answer) as url:
        extenders = [{"urlPrefix": url, "preemptVerb": "preempt", "nodeCacheCapable": True}]
        sandbox = sandboxes(planes(scheduler_settings={"extenders": extenders}))
        found = {}
        for name, reason in (("evicted", PREEMPTED), ("released", PARTIAL_GANG_RELEASED)):
            node = sandbox.node(f"of-{name}", cpu="1")
            (victim,) = sandbox.filler(name, node, 1, priority=10, finalizers=[LINGERS])
            marked.append(partial(mark, sandbox, victim))
            ours = {"status": "True", "reason": reason, "message": "for x [term 1 of y]"}
            marked[-1]({**ours, "lastTransitionTime": rfc3339(time.time())})
            sandbox.pod(f"instead-of-{name}", priority=100)
            found[name] = marked_and_leaving(sandbox, victim)
            sandbox.release(victim)
        assert {name: (each.status, each.reason) for name, each in found.items()} == {
            "evicted": ("", ""),
            "released": ("", PREEMPTED),
        }
        assert [mark_in([each]) for each in found.values()] == list(found.values())


def mark(sandbox: Sandbox, name: str, change: dict[str, str]) -> None:
    """Mark a pod, or withdraw the mark, as reprieve does."""
    path = path_of("v1", "Pod", sandbox.namespace, name)
    body = {"status": {"conditions": [{"type": DISRUPTION_TARGET, **change}]}}
    sandbox.client.request("PATCH", f"{path}/status", body, STRATEGIC_MERGE_PATCH)


def marked_and_leaving(sandbox: Sandbox, name: str) -> Condition:
    """What a pod says when somebody has asked for its deletion."""
    wait_for(lambda: (sandbox.get_pod(name) or {})["metadata"].get("deletionTimestamp"), what=sandbox.report)
    return msgspec.convert(condition(sandbox.get_pod(name) or {}, DISRUPTION_TARGET), Condition)
