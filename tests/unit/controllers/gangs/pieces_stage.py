"""A gang in pieces: three of four members are bound, on an API server that is a few dictionaries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from api.core import Pod
from api.groups import INITIALLY_SCHEDULED, PodGroupStatus
from api.meta import Condition
from api.times import rfc3339
from kube.conditions import field_manager
from runtime.mirror.resources import GROUPS
from tests.kit.eviction_stage import events
from tests.kit.objects import GANG, gang, node, pod
from tests.kit.stage import Stage, staged

__all__ = [
    "JOBS",
    "OURS",
    "ago",
    "in_pieces",
    "kept",
    "manager_of",
    "member",
    "released",
    "says",
    "wait",
]


JOBS = "/apis/batch/v1/jobs"


def manager_of(type_: str) -> dict[str, Any]:
    """Our field manager of a condition."""
    return {
        "manager": field_manager(type_),
        "operation": "Apply",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:conditions": {f'k:{{"type":"{type_}"}}': {"f:status": {}}}}},
    }


OURS = manager_of(INITIALLY_SCHEDULED)


def ago(stage: Stage, seconds: float) -> str:
    return rfc3339(stage.api.clock.wall() - seconds)


def member(stage: Stage, name: str, where: str = "", **fields: Any) -> Pod:
    """A member that was created 200 seconds ago; if it is bound, since 100 seconds."""
    bound = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ago(stage, 100)}
    given = {"created": ago(stage, 200), "controller": "set", **fields}
    return pod(name, node=where, group=GANG, conditions=[bound] if where else None, **given)


@asynccontextmanager
async def in_pieces(*others: Any, since: float = 150.0, **fields: Any) -> AsyncIterator[Stage]:
    """Three of four members are bound. The PodGroup has said that the gang waits before that."""
    async with staged(*(node(f"n{number}", cpu="1") for number in range(3)), *others) as stage:
        says(stage, since)
        stage.add(*(member(stage, f"m{number}", f"n{number}", **fields) for number in range(3)))
        stage.add(member(stage, "m3", **fields))
        yield stage


def says(
    stage: Stage, since: float, manager: dict[str, Any] | None = None, type_: str = INITIALLY_SCHEDULED
) -> None:
    """The PodGroup has said for `since` seconds that the gang waits."""
    said = Condition(type_, "False", "Unschedulable", "", ago(stage, since))
    stage.add(msgspec.structs.replace(gang(minimum=4), status=PodGroupStatus([said])))
    stage.api.of(GROUPS.path)[GANG]["metadata"]["managedFields"] = [manager or OURS]


async def wait(stage: Stage, seconds: float = 121.0) -> None:
    """Time passes, and everything that is due is done."""
    await stage.settle()
    stage.clock += seconds
    await stage.settle()
    await stage.settle()


def released(stage: Stage) -> list[str]:
    return sorted(stage.api.deleted)


def kept(stage: Stage) -> str:
    """Why the members stayed."""
    assert released(stage) == []
    (note,) = events(stage, "PartialGangKept")
    return note
