"""Groups of other programs, live: what is said of them."""

from __future__ import annotations

from typing import Any

from api.core import Pod
from tests.kit.objects import node, pod
from tests.kit.stage import Stage, staged

LABEL = "scheduling.x-k8s.io/pod-group"


def member(name: str, **fields: Any) -> Pod:
    return pod(name, labels={LABEL: "mpi"}, **fields)


def events(stage: Stage) -> list[tuple[str, str, str]]:
    """Reason, kind and name of the object, and note of each event, in order."""
    stored = stage.api.of("/apis/events.k8s.io/v1/events").values()
    return [
        (each["reason"], f"{each['regarding']['kind']} {each['regarding']['name']}", each["note"])
        for each in stored
    ]


async def test_pods_of_several_priorities_are_named_once() -> None:
    pods = [member("a", node="n0", priority=5), member("b", node="n0", priority=9)]
    async with staged(node("n0"), *pods) as stage:
        await stage.settle()
        note = "podgroups.scheduling.x-k8s.io:mpi is evicted whole at priority 5, that of pod a: b has 9"
        assert events(stage) == [("PodGroupPriorityDiffers", "Pod a", note)]
        stage.add(member("c", node="n0", priority=9))
        await stage.settle()
        assert len(events(stage)) == 1
        stage.delete(pods[0])
        await stage.settle()
        stage.add(member("d", node="n0", priority=3))
        await stage.settle()
        assert [each[1] for each in events(stage)] == ["Pod a", "Pod d"]
