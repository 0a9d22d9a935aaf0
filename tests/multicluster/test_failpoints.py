"""The manager killed between its writes: the end is that of a run in which nobody died, and no time begins anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from tests.e2e.support import POLL_SECONDS, REPRIEVE, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.multicluster.history import MANAGER
from tests.kit.multicluster.rules import RULES
from tests.kit.often import ALL, SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import WORKERS, Trio

WRITES: Final = ("copy", "dry_run", "job", "deletion", "gate", "turn", "mirror")
PLACES: Final = [f"multikueue.{when}_{write}" for write in WRITES for when in ("before", "after")]
MANY: Final = [*PLACES, "multikueue.before_deactivation", "quota.before_write", "quota.after_write"]
"""The choice, the check that is Ready, and the end are writes of the quota plane: the manager dies at each of them."""
FEW: Final = ["multikueue.after_turn"]
"""Those that run in `make test`."""
PATIENT: Final[dict[str, Any]] = {
    "singleClusterPreemptionTimeoutSeconds": 300,
    "workerLostTimeoutSeconds": 60,
}
DEATHS: Final = {"quota.before_write": 8, "quota.after_write": 8}
"""How often the manager dies at a place; once, if it is not here."""


class Story:
    """Both workers are full. `high` preempts in one of them, runs, and ends; `stopped` runs and is deactivated."""

    def __init__(self, box: Box) -> None:
        self.box = box
        for name in box.workers:
            box.fill(name, "low", 2)
        box.job("high", 2, priority=5)
        box.job("stopped", 1)
        self.high, self.stopped = box.workload_of("high"), box.workload_of("stopped")
        manager = box.manager
        self._steps: list[tuple[Callable[[], bool], Callable[[], object]]] = [
            (lambda: manager.is_true(self.stopped, "Admitted"), self._deactivate),
            (lambda: manager.is_true(self.high, "Admitted") and self._runs("high", 2), self._end_pods),
            (lambda: manager.is_true(self.high, "Finished"), lambda: None),
            (
                lambda: manager.conditions(self.stopped).get("QuotaReserved", ("",))[0] == "False",
                lambda: None,
            ),
            (lambda: not any(place.copies() for place in box.workers.values()), lambda: None),
        ]
        """What is waited for, and what follows."""

    def go_on(self) -> bool:
        """Do what is due. Returns whether all is done."""
        if self._steps and self._steps[0][0]():
            self._steps.pop(0)[1]()
        return not self._steps

    def _runs(self, job: str, pods: int) -> bool:
        return any(
            [each["status"]["phase"] for each in place.pods(job)] == ["Running"] * pods
            for place in self.box.workers.values()
        )

    def _deactivate(self) -> None:
        self.box.manager.patch_spec("Workload", self.stopped, {"active": False}, namespaced=True)

    def _end_pods(self) -> None:
        for place in self.box.workers.values():
            place.end_pods("high")


@pytest.fixture
def recorder(trio: Trio) -> Iterator[Recorder]:
    """Of what happens from now on."""
    made = Recorder(trio)
    yield made
    made.close()


@pytest.mark.parametrize("place", MANY if ALL else FEW)
def test_the_manager_dies_and_the_end_is_the_same(
    trio: Trio, boxes: Boxes, recorder: Recorder, place: str
) -> None:
    """SIGKILL at nomination, copy, dry run, choice, deletion, Job, Ready, DispatchPlan, gate, mirror and finish. The
    turn has the default time, so a second one would mean that its time has begun anew."""
    box = boxes("dies", alpha=3, beta=3)
    trio.restart_manager(failpoints=f"{place}=kill", wait=False, **PATIENT)
    story = Story(box)
    deaths, deadline = 0, time.monotonic() + PATIENCE_SECONDS
    while not story.go_on():
        if not trio.process(MANAGER).running:
            deaths += 1
            again = deaths < DEATHS.get(place, 1)
            trio.start(MANAGER, failpoints=f"{place}=kill" if again else "", wait=False)
        if time.monotonic() > deadline:
            pytest.fail(
                f"it does not end after {deaths} deaths\n{box.story()}\n{recorder.history().story(box.name)}"
            )
        time.sleep(POLL_SECONDS)
    assert deaths == DEATHS.get(place, 1)
    _is_as_without_faults(story, recorder)


PAUSED_SECONDS: Final = 30.0


@SELDOM
@pytest.mark.parametrize("moment", ["copied", "turn", "evicts"])
def test_a_leader_is_paused_with_its_writes_on_their_way(
    trio: Trio, boxes: Boxes, recorder: Recorder, moment: str
) -> None:
    """Another one takes over. The former one wakes after 30 s, with its connections open."""
    trio.restart_manager(**PATIENT)
    box = boxes("paused", alpha=3, beta=3)
    story = Story(box)
    moments: dict[str, Callable[[], object]] = {
        "copied": lambda: any(place.copies() for place in box.workers.values()),
        "turn": lambda: box.manager.client.list(REPRIEVE, "DispatchPlan", box.name),
        "evicts": lambda: any(place.is_suspended("low") for place in box.workers.values()),
    }
    wait_for(lambda: story.go_on() or moments[moment](), what=box.story)
    for name in WORKERS:
        trio.proxy(name).disturb("Hold")
    time.sleep(0.3)  # what it writes now is held
    with trio.paused(MANAGER):
        for name in WORKERS:
            trio.proxy(name).disturb("Pass")
        trio.start(f"{MANAGER}-2", wait=False)
        until = time.monotonic() + PAUSED_SECONDS
        while time.monotonic() < until:
            story.go_on()
            time.sleep(POLL_SECONDS)
    wait_for(story.go_on, what=lambda: f"{box.story()}\n{recorder.history().story(box.name)}")
    _is_as_without_faults(story, recorder)


def _is_as_without_faults(story: Story, recorder: Recorder) -> None:
    history, box = recorder.history(), story.box
    wrong = [text for rule in RULES for text in rule(history)]
    assert not wrong, f"{wrong}\n{history.story(box.name)}"
    turns = box.manager.client.list(REPRIEVE, "DispatchPlan", box.name)
    assert [each["spec"]["workload"]["name"] for each in turns] == [story.high], history.story(box.name)
    assert box.manager.conditions(story.high)["Finished"] == ("True", "Succeeded")
    assert box.manager.get(story.stopped)["spec"]["active"] is False
