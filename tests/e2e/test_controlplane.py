"""The local control plane itself: real scheduling, several at once, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from api.times import parse_rfc3339
from hack.controlplane.client import Json
from hack.controlplane.nodes import is_played
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process, ProcessFailedError, stop_recorded, write_records
from tests.e2e.support import PlaneFactory, Sandbox, SandboxFactory, created, names, wait_for
from tests.kit.clock import PATIENCE_SECONDS

CRDS: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
NOT_READY: Final = "node.kubernetes.io/not-ready"


@pytest.fixture
def alone(control_plane: ControlPlane, sandboxes: SandboxFactory) -> Sandbox:
    """A sandbox beside the scheduler alone."""
    return sandboxes(control_plane)


def test_a_pod_is_bound_runs_and_goes(alone: Sandbox) -> None:
    node = alone.node("n0", cpu="2")
    alone.pod("a", cpu="1")
    assert alone.wait_bound("a")["a"] == node
    alone.wait_running("a")
    alone.delete_pod("a")
    alone.wait_gone("a")
    assert alone.history.deleted() == ["a"]
    assert alone.history.evicted() == []
    alone.remove()


def test_the_scheduler_preempts_and_the_history_shows_it(alone: Sandbox) -> None:
    node = alone.node("n0", cpu="1")
    alone.filler("low", node, 1, priority=10, cpu="1")
    alone.pod("high", priority=100, cpu="1")
    assert alone.wait_bound("high") == {"high": node}
    assert alone.history.evictions() == {"low-0": 1}
    assert node in alone.history.nominations("high")
    alone.remove()


def test_a_pod_with_a_finalizer_lingers_until_it_is_released(alone: Sandbox) -> None:
    node = alone.node("n0", cpu="1")
    alone.filler("low", node, 1, cpu="1", finalizers=["reprieve.dev/linger"])
    alone.pod("next", cpu="1")
    alone.delete_pod("low-0")
    wait_for(lambda: (alone.get_pod("low-0") or {})["metadata"].get("deletionTimestamp"))
    assert "next" not in alone.bound()
    alone.release("low-0")
    alone.wait_bound("next")
    alone.remove()


@pytest.fixture
def kwok(control_plane: ControlPlane) -> Iterator[Process]:
    """KWOK, to be paused for a while."""
    process = control_plane.processes["kwok"]
    yield process
    process.resume()


def test_a_node_that_kwok_has_not_seen_is_waited_for(alone: Sandbox, kwok: Process) -> None:
    """Its not-ready taint goes all the same: the taint is no sign."""
    kwok.pause()
    name = alone.node("late", wait=False)
    wait_for(lambda: NOT_READY not in taints(alone.client.get("v1", "Node", name)), what="it keeps its taint")
    assert not is_played(alone.client.get("v1", "Node", name))
    kwok.resume()
    alone.wait_nodes(name)
    assert is_played(alone.client.get("v1", "Node", name))
    alone.remove()


def test_pods_that_are_older_than_kwoks_knowledge_of_their_node_run(alone: Sandbox, kwok: Process) -> None:
    for number in range(10):  # of its two watches now one is first, now the other
        kwok.pause()
        node = alone.node(f"late-{number}", wait=False)
        pod = alone.pod(f"pod-{number}", node_name=node)
        kwok.resume()
        alone.wait_running(pod)
    alone.remove()


def test_two_do_not_meet_and_down_ends_one_of_them(
    alone: Sandbox, control_plane: ControlPlane, planes: PlaneFactory
) -> None:
    """`down` ends every process of its plane, and frees the folder. The other plane goes on. The second one has begun
    with what was applied to the first one."""
    began = time.time()
    plane = planes()
    applied = plane.client.list(*CRDS)
    assert names(applied) == names(control_plane.client.list(*CRDS)) != []
    assert all(parse_rfc3339(created(each)) < began - 1 for each in applied)
    assert set(control_plane.layout.port.values()) & set(plane.layout.port.values()) == set()
    alone.node("only-here")
    assert plane.client.list("v1", "Node") == []
    pids = [process.pid for process in plane.processes.values() if process.running]
    assert len(pids) == 5
    plane.down()
    assert [pid for pid in pids if runs(pid)] == []
    assert not (plane.directory / "processes.json").exists()
    assert sum(process.running for process in control_plane.processes.values()) == 5
    alone.remove()


def test_an_owner_that_is_killed_takes_its_processes_along(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from hack.controlplane.processes import Process\n"
        "process = Process('sleep', ['/bin/sleep', '600'], Path(sys.argv[1]))\n"
        "process.start(); print(process.pid, flush=True); time.sleep(600)"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path / "log"],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": "."},
    )
    with owner:
        pid = int((owner.stdout or sys.stdin.buffer).readline())
        wait_for(lambda: b"sleep" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0])
        owner.kill()
    wait_for(lambda: not runs(pid), what=f"{pid} lives on")


def test_a_pid_that_is_someone_elses_by_now_is_left_alone(tmp_path: Path) -> None:
    process = Process("sleep", ["/bin/sleep", "600"], tmp_path / "log")
    process.start()
    records = tmp_path / "processes.json"
    write_records(records, [process])
    text = records.read_text()
    records.write_text(text.replace('"started": "', '"started": "1'))
    assert stop_recorded(records) == []
    assert process.running
    records.write_text(text)
    assert stop_recorded(records) == ["sleep"]
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGTERM


def test_a_component_that_fails_says_why(tmp_path: Path) -> None:
    plane = ControlPlane(tmp_path / "plane", Options(feature_gates={"NoSuchGate": True}))
    with pytest.raises(ProcessFailedError, match="NoSuchGate"):
        plane.up()
    assert not any(process.running for process in plane.processes.values())


def test_a_paused_process_can_be_stopped(tmp_path: Path) -> None:
    process = Process("sleep", ["/bin/sleep", "600"], tmp_path / "log")
    process.start()
    pid = process.pid
    process.pause()
    wait_for(lambda: state(pid) == "T")
    process.stop()
    assert not runs(pid)


def taints(node: Json) -> list[str]:
    """Their keys."""
    return [taint["key"] for taint in node["spec"].get("taints", ())]


def state(pid: int) -> str:
    """R, S, T and so on, as the kernel has it; empty when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def runs(pid: int) -> bool:
    return state(pid) not in ("", "Z")
