"""Which pods kube-scheduler has marked."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.core import Pod
from controllers.gangs.mirror.scheduler_marks import GONE_SECONDS, SchedulerMarks
from tests.kit.clock import ManualClock
from tests.kit.objects import make, pod

MARK: dict[str, Any] = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "PreemptionByScheduler",
    "message": "default-scheduler: preempting to accommodate a higher priority pod",
}


def marked(**fields: Any) -> Pod:
    body = msgspec.to_builtins(pod("v", node="n0"))
    body["status"]["conditions"] = [MARK | fields]
    return make(Pod, body)


def test_a_mark_counts_from_when_it_is_first_seen_until_the_pod_is_gone() -> None:
    clock = ManualClock()
    marks = SchedulerMarks(clock)
    marks.pod_changed("v", pod("v", node="n0"))
    assert "v" not in marks
    clock.advance(1.0)
    marks.pod_changed("v", marked())
    clock.advance(1.0)
    marks.pod_changed("v", marked())
    assert "v" in marks
    assert (marks.on("n0", since=1001.0), marks.on("n0", since=1001.5), marks.on("n1", since=0.0)) == (
        {"v"},
        set(),
        set(),
    )
    marks.pod_changed("v", None)
    assert ("v" in marks, list(marks), marks.on("n0", since=0.0)) == (False, [], set())


def test_the_last_mark_on_some_nodes_counts_also_if_the_pod_is_gone() -> None:
    clock = ManualClock()
    marks = SchedulerMarks(clock)
    assert marks.last_on(["n0"]) == 0.0
    marks.pod_changed("v", marked())
    clock.advance(1.0)
    marks.pod_changed("w", marked())
    assert (marks.last_on(["n0", "n1"]), marks.last_on(["n1"])) == (1001.0, 0.0)
    marks.pod_changed("w", None)
    assert marks.last_on(["n0"]) == 1001.0
    clock.advance(GONE_SECONDS + 1.0)
    marks.pod_changed("x", None)
    assert marks.on("n0", since=0.0) == {"v"}
    assert marks.last_on(["n0"]) == 1000.0


def test_who_is_gone_was_evicted_all_the_same() -> None:
    """A pod without a grace period is gone within milliseconds, and a plan may be looked at only then."""
    clock = ManualClock()
    marks = SchedulerMarks(clock)
    for name in ("withdrawn", "v", "there"):
        marks.pod_changed(name, marked())
    marks.pod_changed("withdrawn", pod("withdrawn", node="n0"))
    marks.pod_changed("v", None)
    assert marks.ever_on("n0", since=0.0) == {"v", "there"}
    assert (marks.ever_on("n1", since=0.0), marks.ever_on("n0", since=1001.0)) == (set(), set())
    clock.advance(GONE_SECONDS + 1.0)
    assert marks.ever_on("n0", since=0.0) == {"there"}


@pytest.mark.parametrize(
    "fields",
    [
        {"message": "PodGroup a/b (priority 1) preempts this pod [term 3 of reprieve-0]"},
        {"status": "False"},
        {"reason": "TerminationByKubelet"},
        {"status": "", "reason": "TerminationByKubelet"},
        {"reason": ""},
    ],
)
def test_other_conditions_are_none(fields: dict[str, str]) -> None:
    marks = SchedulerMarks(ManualClock())
    marks.pod_changed("v", marked(**fields))
    assert "v" not in marks
