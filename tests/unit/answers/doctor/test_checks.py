"""Each fault is made in a cluster where all is well, and is found."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.doctor.checks import examine
from answers.doctor.findings import FAULTS, Finding
from answers.reading.documents import JsonDocument
from answers.reading.seen import SeenObjects
from api.times import rfc3339
from tests.kit.examples import examples
from tests.kit.healthy import NOW, bundle, healthy, only, pod
from tests.kit.manager import EMBED, TRAIN, TURN, manager_objects

Json = dict[str, Any]
Change = Callable[[list[Json]], object]


def examined(objects: list[Json], target: str = "") -> list[Finding]:
    seen = SeenObjects()
    seen.add(
        JsonDocument(msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": objects})), "test"
    )
    return list(examine(seen.seen(), NOW, target).found)


def faults(objects: list[Json], target: str = "") -> list[str]:
    return [each.fault for each in examined(objects, target) if each.fault]


def remove(kind: str, name: str = "") -> Change:
    return lambda objects: objects.remove(only(objects, kind, name))


def in_lease(**fields: Any) -> Change:
    return lambda objects: only(objects, "Lease")["spec"].update(fields)


def annotation(name: str, value: str) -> Change:
    return lambda objects: only(objects, "Lease")["metadata"]["annotations"].update({name: value})


def in_scheduler(old: str, new: str) -> Change:
    def change(objects: list[Json]) -> None:
        data = only(objects, "ConfigMap")["data"]
        assert old in data["kube-scheduler.yaml"]
        data["kube-scheduler.yaml"] = data["kube-scheduler.yaml"].replace(old, new)

    return change


def program(**fields: Any) -> Change:
    return lambda objects: only(objects, "Pod", "kube-scheduler")["spec"]["containers"][0].update(fields)


def in_hook(ca: str) -> Change:
    def change(objects: list[Json]) -> None:
        only(objects, "ValidatingWebhookConfiguration")["webhooks"][0]["clientConfig"]["caBundle"] = ca

    return change


def add(*things: Json) -> Change:
    return lambda objects: objects.extend(things)


def native(members: int, **spec: Any) -> list[Json]:
    """The pods of a PodGroup of kube-scheduler's own kind."""
    spec = {"schedulingGroup": {"podGroupName": "train"}, **spec}
    return [pod(f"train-{number}", **spec) for number in range(members)]


def both(first: Change, second: Change) -> Change:
    return lambda objects: (first(objects), second(objects))


def plan(phase: str, age: float) -> Json:
    spec = {
        "preemptor": {
            "kind": "Pod", "apiVersion": "v1", "namespace": "team", "name": "p", "uid": "u", "priority": 1
        },
        "outcome": "Preempts",
        "reason": "it fits",
    }  # fmt: skip
    at = rfc3339(NOW - age)
    meta = {"name": "p-1", "namespace": "team", "creationTimestamp": at}
    status = {"phase": phase, "lastDecisionTime": at}
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionPlan",
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def namespace(name: str, why: str = "upgrade", until: str | None = None) -> Json:
    """One that is paused."""
    said = {"reprieve.dev/paused": why} | ({} if until is None else {"reprieve.dev/paused-until": until})
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "annotations": said}}


KUEUE: Json = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "kueue-controller-manager",
        "namespace": "kueue-system",
        "labels": {"app.kubernetes.io/name": "kueue"},
    },
    "spec": {"template": {"spec": {"containers": [{"name": "manager", "image": "kueue:v0.14.0"}]}}},
}


def array(*, annotated: bool = True, limit: int = 1, **spec: Any) -> list[Json]:
    """A Job of two pods that run."""
    annotations = {"reprieve.dev/gang": "true"} if annotated else {}
    meta = {"name": "array", "namespace": "team", "uid": "uid-array", "annotations": annotations}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"backoffLimit": limit, **spec}}
    pods = [pod(f"array-{number}", nodeName="a") for number in range(2)]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "array", "uid": "uid-array", "controller": True}
    for each in pods:
        each["metadata"] |= {"namespace": "team", "ownerReferences": [owner]}
    return [job, *pods]


def manager(about: tuple[str, str] = TRAIN, change: Callable[[Json], object] = lambda _: None) -> Change:
    """The objects of a manager of several clusters, one of them changed."""

    def made(objects: list[Json]) -> None:
        found = manager_objects()
        change(found[about])
        objects.extend(found.values())

    return made


def in_cluster(number: int = 0, **condition: str) -> Callable[[Json], object]:
    """Other fields of that condition of a cluster, or of a check."""
    return lambda thing: thing["status"]["conditions"][number].update(condition)


def without(field: str) -> Callable[[Json], object]:
    return lambda thing: thing.pop(field)


IGNORING: Json = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
NOT_READY: Change = lambda objects: only(objects, "EndpointSlice")["endpoints"][0].update(  # noqa: E731
    conditions={"ready": False}
)
NOT_SERVED: Change = lambda objects: only(objects, "CustomResourceDefinition", "podgroups")[  # noqa: E731
    "spec"
]["versions"][0].update(served=False)
OLDER: Change = lambda objects: only(objects, "CustomResourceDefinition", "podgroups")["spec"][  # noqa: E731
    "versions"
][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("schedulingPolicy")
CANARY: Change = both(
    annotation("reprieve.dev/planning-mode", "Enforce"),
    annotation("reprieve.dev/enforced-namespaces", '{"matchLabels":{"canary":"yes"}}'),
)
MADE: dict[str, list[Change]] = {
    "DefinitionMissing": [remove("CustomResourceDefinition", "podgroups")],
    "DefinitionNotServed": [NOT_SERVED],
    "DefinitionOlder": [OLDER],
    "NotInstalled": [
        lambda objects: [remove(kind)(objects) for kind in ("Deployment", "Lease")],
    ],
    "NobodyLeads": [
        in_lease(holderIdentity=""),
        in_lease(renewTime=rfc3339(NOW - 60)),
        remove("Lease"),
    ],
    "PreemptIgnorable": [in_scheduler("ignorable: false", "ignorable: true")],
    "PreemptNotIgnorable": [annotation("reprieve.dev/planning-mode", mode) for mode in ("Observe", "Off")],
    "WebhookGatesForNobody": [annotation("reprieve.dev/planning-mode", mode) for mode in ("Observe", "Off")],
    "PauseEndUnreadable": [add(namespace("reprieve-system", until="tomorrow"))],
    "HeldWithoutRights": [
        annotation("reprieve.dev/holds", '{"gates":2,"lacksRights":true}'),
        annotation("reprieve.dev/holds", '{"unknown":true,"lacksRights":true}'),
    ],
    "SchedulerDoesNotCall": [annotation("reprieve.dev/schedulers", text) for text in ("{}", "no JSON")],
    "NotEveryNodeIsOffered": [in_scheduler("ToScore: 100", "ToScore: 50")],
    "SchedulerConfigurationWrong": [in_scheduler("preemptVerb", "bindVerb")],
    "SchedulerNotSupported": [program(image="kube-scheduler:v1.33.9")],
    "NativeGangsWaitLong": [
        add(*native(37)),
        both(annotation("reprieve.dev/pod-max-backoff-seconds", "31"), add(*native(4))),
        both(in_scheduler("profiles:", "podMaxBackoffSeconds: 31\nprofiles:"), add(*native(4))),
    ],
    "CertificateExpired": [in_hook(bundle(-3))],
    "CertificateEndsSoon": [in_hook(bundle(3))],
    "CertificateUnreadable": [in_hook(""), in_hook("bm8=")],
    "RightsMissing": [
        remove("ClusterRoleBinding", "enforce"),
        annotation("reprieve.dev/rights-missing", "delete pods"),
        lambda objects: objects.remove(next(each for each in objects if each["kind"] == "ClusterRole")),
    ],
    "WebhookDown": [remove("EndpointSlice"), NOT_READY],
    "NothingEnforced": [CANARY, both(CANARY, add(namespace("team")))],
    "WebhookSelectsOthers": [CANARY],
    "PlansOld": [add(plan("Evicting", 3600))],
    "PlansExpired": [add(plan("Expired", 60))],
    "JobsFailForGood": [add(*array())],
    "SchedulerUnknown": [add(pod("lost", schedulerName="typo"))],
    "TwoManageQuota": [add(KUEUE)],
    "ClusterInactive": [manager()],
    "OriginTaken": [manager(("MultiKueueCluster", "south"), in_cluster(reason="OriginInUse"))],
    "ClusterNotWatched": [manager(("MultiKueueCluster", "east"), without("status"))],
    "GatesNotHonoured": [manager(("MultiKueueCluster", "west"), in_cluster(1, status="False"))],
    "ClusterCheckInactive": [manager(("AdmissionCheck", "clusters"), in_cluster(status="False"))],
    "ManagerRightsMissing": [manager()],
    "ClusterGone": [manager(EMBED, lambda workload: workload["status"].update(clusterName="north"))],
    "TurnsOld": [manager(TURN, lambda turn: turn["spec"]["workload"].update(attempt="2026-02-01T00:00:00Z"))],
}
ADDED = [
    "PlansOld",
    "SchedulerUnknown",
    "TwoManageQuota",
    "NativeGangsWaitLong",
    "WebhookDown",
    "CertificateExpired",
    "ClusterGone",
]


def test_all_is_well_in_a_healthy_cluster() -> None:
    assert faults(healthy()) == []


@pytest.mark.parametrize("name", sorted(FAULTS.keys() - {"ComponentMissing"}))
def test_each_fault_is_found(name: str) -> None:
    for change in MADE[name]:
        objects = healthy()
        change(objects)
        assert name in faults(objects)


def test_what_is_held_is_said() -> None:
    for text, says in (
        ("", "nothing is left of a former Enforce"),
        ('{"gates":2,"pods":1}', "a former Enforce still holds: 2 gates, 1 held pod"),
        ("no JSON", "a former Enforce still holds: it is not known yet what"),
    ):
        objects = healthy()
        annotation("reprieve.dev/holds", text)(objects)
        assert [each.message for each in examined(objects) if each.check == "holds"] == [says]
        assert faults(objects) == []


def observer(mode: str = "Observe") -> list[Json]:
    """A cluster in which reprieve observes, as it is installed: no scheduler calls it."""
    objects = healthy()
    both(annotation("reprieve.dev/planning-mode", mode), annotation("reprieve.dev/schedulers", "{}"))(objects)
    annotation("reprieve.dev/quota-mode", "Off")(objects)
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "EndpointSlice", "ConfigMap")
    return [
        each
        for each in objects
        if each["kind"] not in kinds and each["metadata"]["name"] != "reprieve-enforce"
    ]


@pytest.mark.parametrize("mode", ["Observe", "Off"])
def test_all_is_well_where_it_observes(mode: str) -> None:
    assert faults(observer(mode)) == []
    said = {each.check: each for each in examined(observer(mode))}
    assert (said["calls"].level, said["rights"].level, said["webhooks"].level) == ("Note", "OK", "Note")


@pytest.mark.parametrize("mode", ["Observe", "Off"])
def test_rights_beyond_the_mode_are_a_note(mode: str) -> None:
    objects = [
        *observer(mode),
        *(each for each in healthy() if each["metadata"]["name"] == "reprieve-enforce"),
    ]
    assert faults(objects) == []
    first, beyond = [each for each in examined(objects) if each.check == "rights"]
    assert (first.level, beyond.level) == ("OK", "Note")
    assert "has rights of Enforce: delete pods, patch pods, create pods/eviction" in beyond.message


def test_the_leader_says_which_rights_its_term_lacks() -> None:
    objects = observer()
    annotation("reprieve.dev/rights-missing", "delete pods, patch pods")(objects)
    (said,) = [each for each in examined(objects) if each.check == "rights"]
    assert (
        "planning.mode is Enforce, and the service account reprieve-system/reprieve lacks delete pods, patch"
        in (said.message)
    )
    assert said.fault == "RightsMissing"


def test_before_it_acts_it_is_said_what_is_missing() -> None:
    """Rights, a component, and the entries of the scheduler; and nothing where all is there."""
    objects = observer()
    found = {each.check: each for each in examined(objects, "Enforce") if each.fault}
    assert {name: each.fault for name, each in found.items()} == {
        "calls": "SchedulerDoesNotCall",
        "rights": "RightsMissing",
        "webhooks": "ComponentMissing",
    }
    assert "lacks delete pods, patch pods, create pods/eviction" in found["rights"].message
    assert "components/enforce" in found["webhooks"].message
    (entries,) = [each for each in healthy() if each["kind"] == "ConfigMap"]
    ignorable = {"kube-scheduler.yaml": OBSERVED.read_text()}
    assert faults([*objects, {**entries, "data": ignorable}]) == []
    assert "PreemptIgnorable" in faults([*objects, {**entries, "data": ignorable}], "Enforce")
    assert faults(healthy(), "Enforce") == []
    assert faults(healthy(), "Observe") == ["PreemptNotIgnorable", "WebhookGatesForNobody"]


OBSERVED = Path("manifests/components/extender/kube-scheduler.yaml")


def test_without_a_lease_a_scheduler_cannot_have_called() -> None:
    objects = healthy()
    remove("Lease")(objects)
    assert faults(objects) == ["NobodyLeads", "SchedulerDoesNotCall"]


@pytest.mark.parametrize(("scheduled_at", "found"), [(-70, []), (-50, ["SchedulerDoesNotCall"])])
def test_a_cluster_without_new_pods_has_no_calls(scheduled_at: int, found: list[str]) -> None:
    objects = healthy()
    annotation("reprieve.dev/schedulers", "{}")(objects)
    in_lease(acquireTime=rfc3339(NOW - 60))(objects)
    bound = pod("bound", nodeName="a")
    at = rfc3339(NOW + scheduled_at)
    bound["status"] = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]}
    assert faults([*objects, bound]) == found


@pytest.mark.parametrize(
    "change",
    [
        add(pod("gated", schedulerName="typo", schedulingGates=[{"name": "wait"}])),
        add(pod("bound", schedulerName="typo", nodeName="a")),
        add(plan("Evicting", 60)),
        add(*array(annotated=False)),
        add(*array(limit=2)),
        add(*array(podFailurePolicy=IGNORING)),
        add(plan("Bound", 3600)),
        add(plan("Observed", 3600)),
        both(add(KUEUE), annotation("reprieve.dev/quota-mode", "Observe")),
        program(command=["kube-scheduler", "--feature-gates=GenericWorkload=false"]),
        program(command=["kube-scheduler", "--feature-gates=GenericWorkload=true"]),
        program(
            command=["kube-scheduler", "--feature-gates=GenericWorkload=true"], image="kube-scheduler:v1.36.3"
        ),
        add(*native(36)),
        add(*native(100, nodeName="a")),
        both(annotation("reprieve.dev/pod-max-backoff-seconds", "5"), add(*native(100))),
    ],
)
def test_what_may_be_wanted_is_no_fault(change: Change) -> None:
    objects = healthy()
    change(objects)
    assert faults(objects) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"command": ["kube-scheduler", "--feature-gates=A=false,GenericWorkload=true"]},
        {"args": ["--feature-gates", "GenericWorkload=true"]},
    ],
)
@pytest.mark.parametrize(
    ("mode", "level", "words"),
    [
        (
            "Steer",
            "OK",
            "planning.nativeGroups is Steer: kube-scheduler evicts for its own PodGroups, and reprieve",
        ),
        ("Drive", "OK", "planning.nativeGroups is Drive: reprieve evicts"),
        (
            "Off",
            "Note",
            "planning.nativeGroups is Off: kube-scheduler evicts for its own PodGroups by its own rule",
        ),
        ("", "Note", "the Lease does not say what planning.nativeGroups is"),
    ],
)
def test_where_the_scheduler_places_groups_the_mode_is_named(
    fields: Json, mode: str, level: str, words: str
) -> None:
    objects = healthy()
    both(program(**fields), annotation("reprieve.dev/native-groups", mode))(objects)
    (said,) = [each for each in examined(objects) if each.check == "gates"]
    assert said.level == level
    assert words in said.message


@pytest.mark.parametrize("mode", ["Observe", "Off"])
def test_where_nothing_is_enforced_nobody_has_to_call_and_the_mode_is_named(mode: str) -> None:
    objects = observer(mode)
    program(command=["kube-scheduler", "--feature-gates=GenericWorkload=true"])(objects)
    assert faults(objects) == []
    said = {each.check: each for each in examined(objects)}
    assert f"planning.mode {mode}" in said["process"].message
    assert (said["calls"].level, said["gates"].level) == ("Note", "Note")
    assert f"planning.mode is {mode}: kube-scheduler evicts" in said["gates"].message


def test_alpha_versions_of_groups_are_noted() -> None:
    objects = healthy()
    program(
        command=["kube-scheduler", "--feature-gates=GenericWorkload=true"], image="kube-scheduler:v1.36.3"
    )(objects)
    assert [each.message for each in examined(objects) if each.check == "alpha"] == [
        "kube-scheduler:v1.36.3 runs with the gate GenericWorkload: the PodGroups of this version are alpha, and "
        "reprieve leaves them alone"
    ]
    server = pod("kube-apiserver", nodeName="a")
    server["spec"]["containers"][0]["command"] = [
        "kube-apiserver",
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
    ]
    (said,) = [each for each in examined([*healthy(), server]) if each.check == "alpha"]
    assert (said.level, said.fault) == ("Note", "")
    assert "serves v1alpha2" in said.message


def test_a_scheduler_that_looked_at_one_pod_is_known() -> None:
    looked = pod("looked", schedulerName="other")
    looked["status"] = {
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    }
    assert faults([*healthy(), pod("next", schedulerName="other"), looked]) == []


def test_an_old_ca_beside_a_new_one_is_no_fault() -> None:
    """While a CA is renewed, both are in the bundle."""
    both = b"".join(base64.b64decode(bundle(days)) for days in (-3, 100))
    objects = healthy()
    in_hook(base64.b64encode(both).decode())(objects)
    assert faults(objects) == []


def test_gangs_are_counted_by_kind_and_those_that_wait_say_why() -> None:
    member = pod("m")
    member["metadata"]["labels"] = {"reprieve.dev/pod-group": "g"}
    volcano = pod("v")
    volcano["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "w"}
    why = {
        "type": "reprieve.dev/Scheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "no room",
    }
    group = {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "team"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
        "status": {"conditions": [why]},
    }
    replica = list(yaml.safe_load_all(Path("examples/groups/leaderworkerset.yaml").read_text()))
    seen = [*healthy(), member, volcano, group, *array(), *replica]
    said = {each.check: each.message for each in examined(seen)}
    named = (
        "1 Job.batch, 1 LeaderWorkerSet.leaderworkerset.x-k8s.io, 1 podgroups.reprieve.dev, "
        "1 podgroups.scheduling.volcano.sh"
    )
    assert said["gangs"] == f"groups with pods: {named}"
    assert said["jobs"] == (
        "evicted as a group, these Jobs fail for good: team/array: it loses 2 pods, and its backoffLimit is 1"
    )
    assert said["waiting"] == "team/g: Unschedulable: no room"


@pytest.mark.parametrize(
    ("setting", "counts"), [("Gangs", True), ("Victims", True), ("Off", False), ("off", True)]
)
def test_the_setting_of_the_process_says_which_pods_are_groups(setting: str, counts: bool) -> None:
    """One that cannot be read is shown as it is, and Victims counts."""
    objects, member = healthy(), pod("worker", nodeName="a")
    owner = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "name": "train",
        "uid": "u",
        "controller": True,
    }
    member["metadata"]["ownerReferences"] = [owner]
    assert any("groups.byOwner not known" in each.message for each in examined(objects))
    annotation("reprieve.dev/groups-by-owner", setting)(objects)
    said = {each.check: each.message for each in examined([*objects, member])}
    assert ("PyTorchJob.kubeflow.org" in said["gangs"]) is counts
    assert f"groups.byOwner {setting}, " in said["process"]


@settings(max_examples=examples(200))
@given(data=st.data())
def test_the_order_of_objects_does_not_matter(data: st.DataObject) -> None:
    names = st.lists(st.sampled_from(ADDED), unique=True)
    objects = healthy()
    for name in data.draw(names):
        MADE[name][0](objects)
    assert examined(data.draw(st.permutations(objects))) == examined(objects)


def test_pauses_that_hold_are_named_first_that_of_the_whole_cluster() -> None:
    objects = healthy()
    objects += [
        namespace("a", until=rfc3339(NOW + 60)),
        namespace("over", until=rfc3339(NOW)),
        namespace("reprieve-system", why="storage"),
    ]
    said = [each for each in examined(objects) if each.check == "pauses"]
    assert [each.level for each in said] == ["Note", "Note"]
    assert [each.message for each in said] == [
        "evictions are paused in the whole cluster: storage",
        f"evictions for namespace a and in it are paused until {rfc3339(NOW + 60)}: upgrade",
    ]


def test_many_pauses_are_counted() -> None:
    objects = healthy()
    objects += [namespace(f"n{number:02}") for number in range(14)]
    said = [each.message for each in examined(objects) if each.check == "pauses"]
    assert len(said) == 11
    assert said[-1] == "4 more namespaces are paused"
