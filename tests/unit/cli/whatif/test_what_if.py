"""`reprieve what-if` on files: quota first, then nodes, then the victims."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve

KUEUE = "kueue.x-k8s.io/v1beta2"
NOW = "2026-03-01T12:00:00Z"


def spec(cpu: str, **more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}


def thing(kind: str, name: str, version: str, **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "a", **more.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def job(name: str, cpu: str, *, queue: str = "", parallelism: int = 1, **more: Any) -> dict[str, Any]:
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    body = {"parallelism": parallelism, "template": {"spec": spec(cpu)}, **more}
    return thing("Job", name, "batch/v1", metadata={"labels": labels}, spec=body)


def node(name: str, cpu: str, **labels: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": cpu, "pods": "110"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }


def queues(cpu: int, **labels: str) -> list[dict[str, Any]]:
    quota = {"name": "f", "resources": [{"name": "cpu", "nominalQuota": cpu}]}
    body = {
        "namespaceSelector": {},
        "preemption": {"withinClusterQueue": "LowerPriority"},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    return [
        {
            "apiVersion": KUEUE,
            "kind": "ResourceFlavor",
            "metadata": {"name": "f"},
            "spec": {"nodeLabels": labels},
        },
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": body},
        thing("LocalQueue", "main", KUEUE, spec={"clusterQueue": "q"}),
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": "high"}, "value": 9},
    ]


def holder(name: str, cpu: str) -> dict[str, Any]:
    """A Workload with quota, and the Job that it belongs to."""
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{name}", "controller": True}
    assigned = {"name": "main", "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}, "count": 1}
    held = [
        {"type": each, "status": "True", "reason": each, "lastTransitionTime": "2026-03-01T10:00:00Z"}
        for each in ("QuotaReserved", "Admitted")
    ]
    return thing(
        "Workload",
        name,
        KUEUE,
        metadata={"uid": name, "ownerReferences": [owner], "creationTimestamp": "2026-03-01T09:00:00Z"},
        spec={
            "queueName": "main",
            "podSets": [{"name": "main", "count": 1, "template": {"spec": spec(cpu)}}],
        },
        status={"conditions": held, "admission": {"clusterQueue": "q", "podSetAssignments": [assigned]}},
    )


def pod_of(name: str, cpu: str, where: str) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{name}", "controller": True}
    meta = {"uid": f"pod-{name}", "ownerReferences": [owner]}
    return thing("Pod", f"{name}-0", "v1", metadata=meta, spec=spec(cpu, nodeName=where, priority=0))


def ask(path: Path, submitted: list[Any], cluster: list[Any], *more: str) -> Result:
    for name, items in (("submitted", submitted), ("cluster", cluster)):
        (path / name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    arguments = ["what-if", str(path / "submitted"), "-f", str(path / "cluster"), "--now", NOW, *more]
    return CliRunner().invoke(reprieve, arguments)


def steps(path: Path, submitted: list[Any], cluster: list[Any]) -> list[dict[str, Any]]:
    result = ask(path, submitted, cluster, "-o", "json")
    assert result.exit_code in (0, 3), result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)["steps"]
    assert (result.exit_code == 0) == all(each["outcome"] in ("Runs", "RunsAfterEvictions") for each in found)
    return found


def test_each_object_sees_what_came_before(tmp_path: Path) -> None:
    found = steps(
        tmp_path, [job("one", "2"), job("two", "2"), job("three", "1", parallelism=2)], [node("n", "5")]
    )
    assert [(each["outcome"], each["running"]) for each in found] == [
        ("Runs", 1),
        ("Runs", 1),
        ("RunsInPart", 1),
    ]


def test_a_job_that_nobody_resumes_creates_nothing(tmp_path: Path) -> None:
    (found,) = steps(tmp_path, [job("one", "2", suspend=True)], [node("n", "5")])
    assert found["outcome"] == "Suspended"


def test_a_job_without_quota_waits_and_its_nodes_are_not_asked(tmp_path: Path) -> None:
    (found,) = steps(tmp_path, [job("one", "2", queue="main")], [node("n", "5"), *queues(1)])
    assert (found["outcome"], found["quota"]["state"], found["plan"]) == (
        "WaitsForQuota",
        "ExceedsMaxQuota",
        None,
    )
    (found,) = steps(tmp_path, [job("one", "2", queue="other")], [node("n", "5"), *queues(4)])
    assert found["quota"]["state"] == "Misconfigured"


def test_quota_brings_the_nodes_of_its_flavor(tmp_path: Path) -> None:
    cluster = [node("n", "5"), node("fast", "2", kind="fast"), *queues(9, kind="fast")]
    found = steps(tmp_path, [job("one", "2", queue="main"), job("two", "2", queue="main")], cluster)
    assert [each["outcome"] for each in found] == ["Runs", "Waits"]
    assert found[0]["plan"]["placements"][0]["node"] == "fast"


def test_the_quota_of_the_first_is_used_for_the_second(tmp_path: Path) -> None:
    cluster = [node("n", "9"), *queues(3)]
    found = steps(tmp_path, [job("one", "2", queue="main"), job("two", "2", queue="main")], cluster)
    assert [each["outcome"] for each in found] == ["Runs", "WaitsForQuota"]


def test_who_loses_quota_leaves_nodes_and_waits_again(tmp_path: Path) -> None:
    high = job("one", "2", queue="main")
    high["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "high"
    cluster = [node("n", "2"), *queues(2), holder("low", "2"), pod_of("low", "2", "n")]
    (found,) = steps(tmp_path, [high], cluster)
    assert (found["outcome"], found["quota"]["state"]) == ("Runs", "Preempts")
    assert [(each["name"], each["state"]) for each in found["quotaConsequences"]] == [
        ("a/low", "NoCandidates")
    ]
    assert found["evicted"] == []


def test_objects_that_name_no_namespace_are_of_the_one_of_the_option(tmp_path: Path) -> None:
    bare = {**job("one", "1"), "metadata": {"name": "one"}}
    for options, name in (((), "default/one"), (("-n", "b"), "b/one")):
        result = ask(tmp_path, [bare], [node("n", "5")], "-o", "json", *options)
        assert json.loads(result.stdout)["steps"][0]["name"] == name


def test_a_gang_in_two_files_is_looked_at_once(tmp_path: Path) -> None:
    group = thing(
        "PodGroup",
        "g",
        "reprieve.dev/v1alpha1",
        spec={"schedulingPolicy": {"gang": {"minCount": 3}}, "priority": 5},
    )
    labels = {"reprieve.dev/pod-group": "g"}
    one = job("one", "1", parallelism=2)
    one["spec"]["template"]["metadata"] = {"labels": labels}
    bare = thing("Pod", "leader", "v1", metadata={"labels": labels}, spec=spec("1"))
    (found,) = steps(tmp_path, [one, bare, group], [node("n", "3"), pod_of("low", "3", "n")])
    assert (found["kind"], found["outcome"], found["pods"]) == ("PodGroup", "RunsAfterEvictions", 3)
    assert found["evicted"] == ["Pod a/low-0, priority 0"]
    assert found["consequences"][0]["fits"] is False
    (few,) = steps(tmp_path, [bare, group], [node("n", "3")])
    assert (few["outcome"], "1 of 3 members exist" in few["sentence"]) == ("Waits", True)


def test_a_workload_alone_is_asked_for_quota_and_nodes(tmp_path: Path) -> None:
    bare = holder("w", "2")
    del bare["status"]
    (found,) = steps(tmp_path, [bare], [node("n", "5"), *queues(2)])
    assert (found["kind"], found["outcome"], found["running"]) == ("Workload", "Runs", 1)


def test_what_cannot_be_used_is_said(tmp_path: Path) -> None:
    wrong = job("one", "2", queue="main")
    wrong["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "none"
    gated = thing("Pod", "p", "v1", spec=spec("1", schedulingGates=[{"name": "a.example/g"}]))
    classless = thing("Pod", "c", "v1", spec=spec("1", priorityClassName="none"))
    group = thing(
        "PodGroup", "g", "reprieve.dev/v1alpha1", spec={"schedulingPolicy": {"gang": {"minCount": 1}}}
    )
    group["spec"]["priorityClassName"] = "none"
    member = thing("Pod", "m", "v1", metadata={"labels": {"reprieve.dev/pod-group": "g"}}, spec=spec("1"))
    found = steps(tmp_path, [wrong, gated, classless, group, member], [node("n", "5")])
    outcomes = ["Misconfigured", "Gated", "Misconfigured", "Misconfigured"]
    assert [each["outcome"] for each in found] == outcomes
    assert "WorkloadPriorityClass none does not exist" in found[0]["sentence"]
    assert "PodGroup a/g: spec.priorityClassName: there is no PriorityClass 'none'" in found[3]["sentence"]


@pytest.mark.parametrize(
    ("submitted", "code", "said"),
    [
        ([thing("Job", "j", "batch/v1", spec={})], 2, "Job a/j: spec.template.spec.containers: is missing"),
        ([job("one", "much")], 2, 'resources.requests.cpu: "much" is not a quantity'),
        ([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}], 0, "Ignored, because"),
    ],
)
def test_bad_input_is_named(tmp_path: Path, submitted: list[Any], code: int, said: str) -> None:
    result = ask(tmp_path, submitted, [node("n", "5")])
    assert (result.exit_code, said in result.stderr) == (code, True), result.output


def test_nothing_is_an_answer_and_no_file_is_not(tmp_path: Path) -> None:
    assert ask(tmp_path, [], []).output == "Nothing is submitted that needs room.\n"
    assert CliRunner().invoke(reprieve, ["what-if"]).exit_code == 2


LABEL = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}}
ANNOTATED = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}, "spec": spec("1")}
OF_PLUGINS = thing("PodGroup", "g", "scheduling.x-k8s.io/v1alpha1", spec={"minMember": 3})


@pytest.mark.parametrize(
    ("group", "template"),
    [
        (OF_PLUGINS, {**LABEL, "spec": spec("1")}),
        (thing("PodGroup", "g", "scheduling.volcano.sh/v1beta1", spec={"minMember": 3}), ANNOTATED),
        (
            thing("PodGroup", "g", "scheduling.k8s.io/v1beta1", spec={"schedulingPolicy": {"gang": {"minCount": 3}}}),
            {"spec": spec("1", schedulingGroup={"podGroupName": "g"})},
        ),
    ],
)  # fmt: skip
def test_a_gang_of_another_kind_runs_whole_or_not_at_all(
    tmp_path: Path, group: dict[str, Any], template: dict[str, Any]
) -> None:
    """Whether its group is submitted with it, or exists already."""
    body = thing("Job", "j", "batch/v1", spec={"parallelism": 3, "template": template})
    for submitted, there in (([group, body], []), ([body], [group])):
        (step,) = steps(tmp_path, submitted, [node("n", "2"), *there])
        assert (step["kind"], step["outcome"], step["pods"]) == ("PodGroup", "Waits", 3)
        assert step["name"].startswith("a/podgroups.scheduling.")
        (step,) = steps(tmp_path, submitted, [node("n", "3"), *there])
        assert (step["outcome"], step["running"]) == ("Runs", 3)
    (alone,) = steps(tmp_path, [body], [node("n", "2")])
    assert (alone["kind"], alone["outcome"], alone["running"]) == ("Job", "RunsInPart", 2)


def test_a_gang_of_another_kind_asks_with_the_priority_of_its_pods(tmp_path: Path) -> None:
    group = thing("PodGroup", "g", "scheduling.x-k8s.io/v1alpha1", spec={"minMember": 2})
    running = thing("Pod", "low", "v1", spec=spec("2", nodeName="n", priority=5), status={"phase": "Running"})
    cluster = [node("n", "2"), running]

    def pods(*priorities: int) -> list[dict[str, Any]]:
        return [
            thing("Pod", f"p-{at}", "v1", spec=spec("1", priority=each), **LABEL)
            for at, each in enumerate(priorities)
        ]

    (step,) = steps(tmp_path, [group, *pods(9, 9)], cluster)
    assert (step["outcome"], step["evicted"]) == ("RunsAfterEvictions", ["Pod a/low, priority 5"])
    for priorities in ((5, 5), (9, 4), (9, 8)):
        (step,) = steps(tmp_path, [group, *pods(*priorities)], cluster)
        assert (step["outcome"], step["evicted"]) == ("Waits", [])


@pytest.mark.parametrize("name", ["pytorchjob", "leaderworkerset", "raycluster", "jobset"])
def test_the_owners_of_groups_make_pods(tmp_path: Path, name: str) -> None:
    """The first object of each example is the owner. It fits where nobody else is."""
    examples = Path(__file__).parents[4] / "examples" / "groups"
    owner = next(yaml.safe_load_all((examples / f"{name}.yaml").read_text()))
    nodes = [
        each
        for each in yaml.safe_load((examples / "cluster.yaml").read_text())["items"]
        if each["kind"] == "Node"
    ]
    (step,) = steps(tmp_path, [owner], nodes)
    assert (step["kind"], step["outcome"], step["pods"]) == (owner["kind"], "Runs", 3)
    (step,) = steps(tmp_path, [owner], nodes[:2])
    assert (step["outcome"], step["running"]) == ("RunsInPart", 2)


@pytest.mark.parametrize("on_namespace", [False, True])
@pytest.mark.parametrize("name", ["pytorchjob", "leaderworkerset", "raycluster", "jobset", "indexed-job"])
def test_owners_that_say_so_make_gangs(tmp_path: Path, name: str, on_namespace: bool) -> None:
    examples = Path(__file__).parents[4] / "examples" / "groups"
    owner = next(yaml.safe_load_all((examples / f"{name}.yaml").read_text()))
    items = yaml.safe_load((examples / "cluster.yaml").read_text())["items"]
    nodes = [each for each in items if each["kind"] == "Node"]
    said = {"annotations": {"reprieve.dev/groups-by-owner": "Gangs"}}
    space: dict[str, Any] = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "research"}}
    changed = space if on_namespace else owner
    changed["metadata"] = {**changed["metadata"], **said}
    (step,) = steps(tmp_path, [owner], [*nodes, space])
    assert (step["kind"], step["outcome"], step["running"]) == (owner["kind"], "Runs", 3)
    (step,) = steps(tmp_path, [owner], [*nodes[:2], space])
    assert (step["outcome"], step["running"]) == ("Waits", 0)


def test_each_replica_of_a_leader_worker_set_is_a_gang(tmp_path: Path) -> None:
    body = {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": spec("1")}}}
    said = {"annotations": {"reprieve.dev/groups-by-owner": "Gangs"}}
    replicas = thing("LeaderWorkerSet", "l", "leaderworkerset.x-k8s.io/v1", metadata=said, spec=body)
    found = steps(tmp_path, [replicas], [node("n", "3")])
    assert [(each["kind"], each["name"], each["outcome"]) for each in found] == [
        ("PodGroup", "a/LeaderWorkerSet.leaderworkerset.x-k8s.io:l-0", "Runs"),
        ("PodGroup", "a/LeaderWorkerSet.leaderworkerset.x-k8s.io:l-1", "Waits"),
    ]


def test_nobody_goes_for_owned_pods_that_differ_in_priority(tmp_path: Path) -> None:
    def role(priority: int) -> dict[str, Any]:
        return {"template": {"spec": spec("1", priority=priority)}}

    running = thing("Pod", "low", "v1", spec=spec("2", nodeName="n", priority=5), status={"phase": "Running"})
    said = {"annotations": {"reprieve.dev/groups-by-owner": "Gangs"}}
    for priorities, outcome in (((9, 9), "RunsAfterEvictions"), ((9, 8), "Waits")):
        roles = dict(zip(("Master", "Worker"), map(role, priorities), strict=True))
        body = thing("PyTorchJob", "p", "kubeflow.org/v1", metadata=said, spec={"pytorchReplicaSpecs": roles})
        (step,) = steps(tmp_path, [body], [node("n", "2"), running])
        assert step["outcome"] == outcome


def test_a_training_job_in_a_queue_gets_a_workload(tmp_path: Path) -> None:
    role = {"replicas": 2, "template": {"spec": spec("1")}}
    labels = {"labels": {"kueue.x-k8s.io/queue-name": "main"}}
    body = thing(
        "MPIJob", "m", "kubeflow.org/v2beta1", metadata=labels, spec={"mpiReplicaSpecs": {"Worker": role}}
    )
    (step,) = steps(tmp_path, [body], [node("n", "4"), *queues(2)])
    assert (step["outcome"], step["quota"]["state"], step["running"]) == ("Runs", "Fits", 2)
    (step,) = steps(tmp_path, [body], [node("n", "4"), *queues(1)])
    assert step["outcome"] == "WaitsForQuota"
    body["metadata"]["annotations"] = {"reprieve.dev/groups-by-owner": "Gangs"}
    for nodes, quota, outcome in ((1, 2, "Waits"), (2, 1, "WaitsForQuota"), (2, 2, "Runs")):
        (step,) = steps(tmp_path, [body], [node("n", str(nodes)), *queues(quota)])
        assert (step["kind"], step["outcome"]) == ("MPIJob", outcome)
