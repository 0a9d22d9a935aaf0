"""Who passed a preemptor is remembered once its plan was in vain, and for as long as it waits."""

from __future__ import annotations

import msgspec

from api.workloads import Workload
from controllers.quota.plans.passers import Passers
from quota.cycle.promises import Promise
from quota.state.workloads import key_of
from tests.kit.quota.objects import held, workload

PREEMPTOR = workload("preemptor", "q", 1, priority=10)
PASSER = workload("passer", "guest", 1, priority=50)


def promised(priority: int = 10) -> Promise:
    return Promise(key_of(PREEMPTOR), "q", priority, {}, frozenset())


class Stage:
    def __init__(self) -> None:
        self.workloads = {key_of(each): each for each in (PREEMPTOR, PASSER)}
        self.passers = Passers(self.workloads)

    def put(self, item: Workload) -> None:
        self.workloads[key_of(item)] = item

    def was_passed(self) -> None:
        self.passers.admitted(PASSER, [promised()])
        self.put(held(PASSER, 1))
        self.passers.failed(PREEMPTOR)


def test_a_preemptor_waits_while_one_that_passed_it_waits() -> None:
    stage = Stage()
    stage.was_passed()
    assert stage.passers.waiting(PREEMPTOR) == ""
    stage.put(PASSER)
    assert stage.passers.waiting(PREEMPTOR) == key_of(PASSER)
    del stage.workloads[key_of(PASSER)]
    assert stage.passers.waiting(PREEMPTOR) == ""


def test_nobody_passes_a_plan_that_was_not_in_vain() -> None:
    stage = Stage()
    stage.passers.admitted(PASSER, [promised()])
    assert stage.passers.waiting(PREEMPTOR) == ""
    stage.passers.admitted(PREEMPTOR, [])
    stage.passers.failed(PREEMPTOR)
    assert stage.passers.waiting(PREEMPTOR) == ""


def test_only_a_higher_priority_passes() -> None:
    stage = Stage()
    stage.passers.admitted(PASSER, [promised(50)])
    stage.passers.failed(PREEMPTOR)
    assert stage.passers.waiting(PREEMPTOR) == ""
    stage.was_passed()
    lower = msgspec.structs.replace(PASSER, spec=msgspec.structs.replace(PASSER.spec, priority=10))
    stage.put(lower)
    assert stage.passers.waiting(PREEMPTOR) == ""


def test_another_workload_of_the_same_name_is_not_the_passer() -> None:
    stage = Stage()
    stage.was_passed()
    meta = msgspec.structs.replace(PASSER.metadata, uid="another")
    stage.put(msgspec.structs.replace(PASSER, metadata=meta))
    assert stage.passers.waiting(PREEMPTOR) == ""


def test_others_may_preempt_once_a_passer_waits_no_longer() -> None:
    stage = Stage()
    assert not stage.passers.has_waited(PASSER, None)
    stage.was_passed()
    assert stage.passers.has_waited(PASSER, None)
    assert stage.passers.has_waited(PASSER, held(PASSER, 1))
    assert not stage.passers.has_waited(PASSER, PASSER)
    assert not stage.passers.has_waited(held(PASSER, 1), None)
    stage.passers.forget(PREEMPTOR.metadata.uid)
    assert not stage.passers.has_waited(PASSER, None)
