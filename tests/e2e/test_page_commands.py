"""Commands of the pages that need a cluster, and that no other test takes from its page."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import pytest

from api.groups import API_VERSION
from api.meta import ObjectMeta
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import shell
from tests.e2e.support import Sandbox
from tests.kit.page_commands import LIVE, READS, READS_INLINE, commands, inline, run_by

TAKEN: Final = {each.text for each in commands() if run_by(each)}
READING: Final = {
    each.text: dict[str, str]() for each in commands() if READS.match(each.text) and each.text not in TAKEN
}

IN_SENTENCES: Final = {text: dict[str, str]() for _, text in inline() if READS_INLINE.match(text)}


@pytest.fixture
def names(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> dict[str, str]:
    """A namespace, and a plan in the namespace of kubectl's context."""
    preemptor = Preemptor("PodGroup", API_VERSION, "default", "train", "uid", 100)
    spec = PreemptionPlanSpec(preemptor=preemptor, outcome="Unschedulable", reason="it does not fit")
    plan = PreemptionPlan(metadata=ObjectMeta(name="train-1", namespace="default"), spec=spec)
    control_plane.client.apply(msgspec.to_builtins(plan))
    return {"plan": plan.metadata.name, "namespace": sandboxes(control_plane).namespace}


def test_they_end_well(control_plane: ControlPlane, names: dict[str, str], tmp_path: Path) -> None:
    assert min(len(READING), len(IN_SENTENCES)) > 5
    for text, others in (READING | IN_SENTENCES | LIVE).items():
        command = text
        for old, new in others.items():
            command = command.replace(old, new.format_map(names))
        result = shell(control_plane, f"cd {shlex.quote(str(tmp_path))} && {command}")
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    control_plane.client.delete(API_VERSION, "PreemptionPlan", "train-1", "default")
