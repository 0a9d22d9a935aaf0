"""Jobs in queues: what a new one gets, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from api.checks import AdmissionCheck, AdmissionCheckSpec
from api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    ClusterQueue,
    ClusterQueueSpec,
    LocalQueue,
    LocalQueueSpec,
)
from api.meta import LabelSelector, ObjectMeta
from webhooks.facts import NO_FACTS, Facts, KnownFacts
from webhooks.rules import Object, Operation, Request, default, validate
from webhooks.settings import QueueSettings, Settings

QUEUE = "kueue.x-k8s.io/queue-name"
MOST = "kueue.x-k8s.io/max-exec-time-seconds"
PREBUILT = "kueue.x-k8s.io/prebuilt-workload-name"
LEAST = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS = "kueue.x-k8s.io/job-completions-equal-parallelism"
INDEXED = {"completionMode": "Indexed", "parallelism": 3, "completions": 3}
DEFAULT_QUEUE = LocalQueue(
    metadata=ObjectMeta(name="default", namespace="team"), spec=LocalQueueSpec(cluster_queue="cq")
)
WITH_DEFAULT = KnownFacts(queues=[DEFAULT_QUEUE])
ALL = Settings(queues=QueueSettings(without_queue_name=True))
QUEUES = Settings(queues=QueueSettings())
CHOSEN = Settings(
    queues=QueueSettings(
        without_queue_name=True,
        namespaces=LabelSelector(match_labels={"queued": "yes"}),
    )
)


def job(
    labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **spec: Any
) -> Object:
    metadata: Object = {"name": "j", "namespace": "team"}
    metadata |= {"labels": labels} if labels is not None else {}
    metadata |= {"annotations": annotations} if annotations is not None else {}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"template": {}, **spec}}


def asked(new: Object, settings: Settings, facts: Facts, operation: Operation = "CREATE") -> Object:
    before = copy.deepcopy(new)
    old = new if operation == "UPDATE" else None
    made = default(Request(kind="Job", operation=operation, new=new, old=old, settings=settings, facts=facts))
    assert new == before, "the request is not changed"
    return made


@pytest.mark.parametrize("suspend", [{}, {"suspend": False}, {"suspend": None}])
@pytest.mark.parametrize("facts", [NO_FACTS, WITH_DEFAULT])
def test_a_job_in_a_queue_is_suspended(suspend: Any, facts: Facts) -> None:
    assert asked(job({QUEUE: "q"}, **suspend), QUEUES, facts) == job({QUEUE: "q"}, suspend=True)


@pytest.mark.parametrize("labels", [None, {}, {QUEUE: ""}, {"team": "x"}])
def test_a_job_without_a_queue_gets_the_default_one(labels: dict[str, str] | None) -> None:
    made = asked(job(labels), QUEUES, WITH_DEFAULT)
    assert made == job({**(labels or {}), QUEUE: "default"}, suspend=True)


@pytest.mark.parametrize("facts", [NO_FACTS, KnownFacts()])
def test_a_job_without_a_queue_is_suspended_only_if_the_setting_says_so(facts: Facts) -> None:
    new = job()
    assert asked(new, QUEUES, facts) is new
    assert asked(new, ALL, facts) == job(suspend=True)


def test_only_in_namespaces_that_are_selected() -> None:
    new, labels = job(), {"team": {"queued": "no"}}
    assert asked(new, CHOSEN, KnownFacts(queues=[DEFAULT_QUEUE], namespaces=labels)) is new
    assert asked(new, CHOSEN, WITH_DEFAULT) is new  # the namespace is not known yet
    labels = {"team": {"queued": "yes"}}
    assert asked(new, CHOSEN, KnownFacts(namespaces=labels)) == job(suspend=True)
    other = job({QUEUE: "q"})
    assert asked(other, CHOSEN, NO_FACTS) == job({QUEUE: "q"}, suspend=True)


@pytest.mark.parametrize(
    ("new", "settings"),
    [
        (job({QUEUE: "q"}), Settings()),
        (job({QUEUE: "q"}), Settings(queues=QueueSettings(frameworks=frozenset({"reprieve.dev/podgroup"})))),
        (job({QUEUE: "q"}, managedBy="kueue.x-k8s.io/multikueue"), ALL),
        (job({QUEUE: "q"}, suspend=True), ALL),
        ({"metadata": None, "spec": None}, ALL),
    ],
)
def test_other_jobs_stay_as_they_are(new: Object, settings: Settings) -> None:
    assert asked(new, settings, WITH_DEFAULT) is new


MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def dispatching(controller: str = MULTIKUEUE, name: str = "default") -> KnownFacts:
    """The facts of a queue whose ClusterQueue has a check by this controller."""
    queue = LocalQueue(
        metadata=ObjectMeta(name=name, namespace="team"), spec=LocalQueueSpec(cluster_queue="cq")
    )
    rules = AdmissionChecksStrategy([AdmissionCheckStrategyRule("check")])
    cluster_queue = ClusterQueue(
        metadata=ObjectMeta(name="cq"), spec=ClusterQueueSpec(admission_checks_strategy=rules)
    )
    check = AdmissionCheck(metadata=ObjectMeta(name="check"), spec=AdmissionCheckSpec(controller))
    return KnownFacts(queues=[queue], cluster_queues=[cluster_queue], checks=[check])


@pytest.mark.parametrize("manager", ["", "kubernetes.io/job-controller", None, MULTIKUEUE])
@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_that_runs_in_another_cluster_is_not_run_here(manager: str | None, suspend: bool) -> None:
    spec: dict[str, Any] = {"suspend": suspend} | ({} if manager == "" else {"managedBy": manager})
    made = asked(job({QUEUE: "q"}, **spec), QUEUES, dispatching(name="q"))
    assert made == job({QUEUE: "q"}, suspend=True, managedBy=MULTIKUEUE)
    assert asked(made, QUEUES, dispatching(name="q")) is made


def test_a_job_gets_the_default_queue_and_its_manager_at_once() -> None:
    made = asked(job(), QUEUES, dispatching())
    assert made == job({QUEUE: "default"}, suspend=True, managedBy=MULTIKUEUE)


def test_who_runs_other_jobs_stays_as_it_is() -> None:
    foreign = job({QUEUE: "q"}, managedBy="example.com/mine")
    assert asked(foreign, QUEUES, dispatching(name="q")) is foreign
    for facts in (dispatching("example.com/check", "q"), dispatching(name="other"), NO_FACTS):
        assert asked(job({QUEUE: "q"}), QUEUES, facts) == job({QUEUE: "q"}, suspend=True)
    unqueued = job(managedBy=MULTIKUEUE)
    assert asked(unqueued, ALL, dispatching()) is unqueued
    later = job({QUEUE: "q"})
    assert asked(later, QUEUES, dispatching(name="q"), "UPDATE") is later


def test_a_job_that_is_there_is_not_suspended_by_an_update() -> None:
    new = job({QUEUE: "q"})
    assert asked(new, QUEUES, WITH_DEFAULT, "UPDATE") is new


def fields(new: Object, old: Object | None = None, settings: Settings = QUEUES) -> set[str]:
    operation: Operation = "CREATE" if old is None else "UPDATE"
    verdict = validate(Request(kind="Job", operation=operation, new=new, old=old, settings=settings))
    return {each.field for each in verdict.causes}


@pytest.mark.parametrize(
    ("labels", "annotations", "spec", "field"),
    [
        ({QUEUE: "Not_A_Name"}, None, {}, f"metadata.labels[{QUEUE}]"),
        ({QUEUE: "q", PREBUILT: "Not_A_Name"}, None, {}, f"metadata.labels[{PREBUILT}]"),
        ({QUEUE: "q"}, {PREBUILT: "Not_A_Name"}, {}, f"metadata.annotations[{PREBUILT}]"),
        ({QUEUE: "q", MOST: "0"}, None, {}, f"metadata.labels[{MOST}]"),
        ({QUEUE: "q", MOST: "-1"}, None, {}, f"metadata.labels[{MOST}]"),
        ({QUEUE: "q", MOST: "ten"}, None, {}, f"metadata.labels[{MOST}]"),
        ({QUEUE: "q", MOST: "2147483648"}, None, {}, f"metadata.labels[{MOST}]"),
        ({QUEUE: "q"}, {LEAST: "x"}, {"parallelism": 3}, f"metadata.annotations[{LEAST}]"),
        ({QUEUE: "q"}, {LEAST: "3"}, {"parallelism": 3}, f"metadata.annotations[{LEAST}]"),
        ({QUEUE: "q"}, {LEAST: "2"}, {"parallelism": 3, "completions": 2}, f"metadata.annotations[{LEAST}]"),
        ({QUEUE: "q"}, {FOLLOWS: "yes"}, INDEXED, f"metadata.annotations[{FOLLOWS}]"),
        ({QUEUE: "q"}, {FOLLOWS: "true"}, {}, f"metadata.annotations[{FOLLOWS}]"),
        ({QUEUE: "q"}, {FOLLOWS: "true"}, INDEXED | {"completions": 4}, "spec.completions"),
        ({QUEUE: "q"}, {FOLLOWS: "1"}, INDEXED | {"parallelism": None}, "spec.completions"),
    ],
)
def test_a_fault_is_refused_when_it_is_new(labels: Any, annotations: Any, spec: Any, field: str) -> None:
    bad = job(labels, annotations, **spec)
    assert fields(bad) == {field}
    assert fields(bad, settings=Settings()) == set()
    assert fields({**bad, "spec": {**bad["spec"], "suspend": True}}, bad) == set()  # it was stored already


@pytest.mark.parametrize(
    ("labels", "annotations", "spec"),
    [
        ({QUEUE: "q", MOST: "1", PREBUILT: "w"}, None, {}),
        ({QUEUE: "q"}, {LEAST: "2"}, {"parallelism": 3}),
        ({QUEUE: "q"}, {LEAST: "2", FOLLOWS: "true"}, INDEXED),
        ({QUEUE: "q"}, {FOLLOWS: "false"}, {"parallelism": 3}),
        (None, None, {}),
    ],
)
def test_other_jobs_are_taken(labels: Any, annotations: Any, spec: Any) -> None:
    assert fields(job(labels, annotations, **spec)) == set()


def test_the_queue_changes_only_while_the_job_is_suspended() -> None:
    path = {f"metadata.labels[{QUEUE}]"}
    assert fields(job({QUEUE: "b"}), job({QUEUE: "a"})) == path
    assert fields(job({}), job({QUEUE: "a"})) == path
    assert fields(job({QUEUE: "b"}), job({QUEUE: "a"}, suspend=True)) == path
    assert fields(job({QUEUE: "b"}, suspend=True), job({QUEUE: "a"})) == set()
    assert fields(job({QUEUE: "a"}), job({QUEUE: "a"}, suspend=True)) == set()


def test_a_prebuilt_workload_does_not_change() -> None:
    old = job({QUEUE: "a", PREBUILT: "w"}, suspend=True)
    assert fields(job({QUEUE: "a"}, suspend=True), old) == {f"metadata.labels[{PREBUILT}]"}
    same = job({QUEUE: "a"}, {PREBUILT: "w"}, suspend=True)
    assert fields(same, old) == set(), "the same Workload, named as Kueue does it since 0.18"
    other = job({QUEUE: "a", PREBUILT: "w"}, {PREBUILT: "x" * 100}, suspend=True)
    assert fields(other, old) == {f"metadata.annotations[{PREBUILT}]"}


def test_the_time_limit_changes_only_while_the_job_is_suspended() -> None:
    path = {f"metadata.labels[{MOST}]"}
    stays, changed = {QUEUE: "a", MOST: "1"}, {QUEUE: "a", MOST: "2"}
    assert fields(job(changed), job(stays)) == path
    assert fields(job(changed, suspend=True), job(stays)) == path
    assert fields(job(changed, suspend=True), job(stays, suspend=True)) == set()


def test_parallelism_stays_while_a_job_with_partial_admission_runs() -> None:
    old = job({QUEUE: "a"}, {LEAST: "1"}, parallelism=3)
    assert fields(job({QUEUE: "a"}, {LEAST: "1"}, parallelism=2), old) == {"spec.parallelism"}
    waits = job({QUEUE: "a"}, {LEAST: "1"}, parallelism=3, suspend=True)
    assert fields(job({QUEUE: "a"}, {LEAST: "1"}, parallelism=2, suspend=True), waits) == set()


@pytest.mark.parametrize(("count", "follows"), [(2, "false"), (1, "false"), (2, "true"), (1, "true")])
def test_a_partial_admission_and_its_end_are_taken(count: int, follows: str) -> None:
    """Also if as few pods start as suffice: the annotation is then no longer below the number of pods."""
    annotations = {LEAST: "1", FOLLOWS: follows}
    waits = job({QUEUE: "a"}, annotations, suspend=True, **INDEXED)
    fewer = {"parallelism": count, "completions": count if follows == "true" else 3}
    runs = job({QUEUE: "a"}, annotations, suspend=False, **(INDEXED | fewer))
    stopped = {**runs, "spec": {**runs["spec"], "suspend": True}}
    for old, new in ((waits, runs), (runs, stopped), (stopped, waits)):
        assert fields(new, old) == set()


def test_a_changed_minimum_is_checked() -> None:
    old = job({QUEUE: "a"}, {LEAST: "1"}, parallelism=3, suspend=True)
    assert fields(job({QUEUE: "a"}, {LEAST: "3"}, parallelism=3, suspend=True), old) == {
        f"metadata.annotations[{LEAST}]"
    }


def test_completions_begin_to_follow_only_while_the_job_is_suspended() -> None:
    path = {f"metadata.annotations[{FOLLOWS}]"}
    runs, with_it = job({QUEUE: "a"}, {}, **INDEXED), job({QUEUE: "a"}, {FOLLOWS: "true"}, **INDEXED)
    assert fields(with_it, runs) == path
    assert fields(runs, with_it) == path
    assert fields(with_it, {**runs, "spec": {**runs["spec"], "suspend": True}}) == set()
