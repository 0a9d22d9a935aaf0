"""The admission server behind a real API server, over TLS: who is refused, and what happens while it is away."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.manifests import WEBHOOK_KINDS, apply_webhooks, render
from hack.controlplane.objects import pod, pod_group, priority_class
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process, wait_until
from tests.e2e.webhook_server import ADMISSION
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.manifests import KUEUE, kueue

GROUP = ("reprieve.dev/v1alpha1", "PodGroup")


def queue(name: str) -> Json:
    return kueue("ClusterQueue", name, spec={"namespaceSelector": {}})


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """An API server, and webhooks that soon look at stored objects again."""
    settings = {"webhooks": {"recheckSeconds": 0.5}}
    return start_plane(Options(api_only=True, webhooks=True, webhooks_settings=settings))


@pytest.fixture
def away(plane: ControlPlane) -> Iterator[Process]:
    """The process of the webhooks, which does not run. A test may start it."""
    process = plane.processes["reprieve-webhooks"]
    process.stop()
    yield process
    if not process.running:
        plane.start_webhooks()


def kubectl(plane: ControlPlane, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [str(binaries(["kubectl"])["kubectl"]), f"--kubeconfig={plane.kubeconfig}", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def test_kubectl_apply_says_which_field_cannot_work(plane: ControlPlane) -> None:
    """Of two lending limits one is more than there is: only the webhook compares the two."""
    flavor = {
        "name": "default",
        "resources": [{"name": "cpu", "nominalQuota": "4", "lendingLimit": "5"}],
    }
    bad = queue("lender")
    bad["spec"] |= {
        "cohortName": "all",
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}],
    }
    result = kubectl(plane, "apply", "-f", "-", stdin=yaml.safe_dump(bad))
    assert result.returncode == 1
    assert 'The ClusterQueue "lender" is invalid' in result.stderr
    assert "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit" in result.stderr
    flavor["resources"] = [{"name": "cpu", "nominalQuota": "4", "lendingLimit": "4"}]
    result = kubectl(plane, "apply", "-f", "-", stdin=yaml.safe_dump(bad))
    assert (result.returncode, result.stdout) == (0, "clusterqueue.kueue.x-k8s.io/lender created\n")


def test_a_refusal_has_the_causes_of_the_api_servers_own(plane: ControlPlane) -> None:
    bad = queue("labels")
    bad["spec"]["resourceGroups"] = [
        {
            "coveredResources": ["not a name"],
            "flavors": [{"name": "f", "resources": [{"name": "not a name", "nominalQuota": 1}]}],
        }
    ]
    with pytest.raises(ApiError, match=r"spec\.resourceGroups\[0\]\.coveredResources\[0\]") as caught:
        plane.client.create(bad)
    assert caught.value.status == 422


def test_defaults_are_filled_in(plane: ControlPlane) -> None:
    client = plane.client
    client.create(priority_class("webhooks-high", 1000))
    group = group_of("webhooks-high")
    path = f"{path_of('reprieve.dev/v1alpha1', 'PodGroup', 'default')}?dryRun=All"
    assert client.request("POST", path, group)["spec"]["priority"] == 1000


def test_a_class_and_its_group_are_applied_from_one_file(plane: ControlPlane) -> None:
    """Again and again the group comes as soon as its class is stored; and a class that is not there is refused."""
    names = [f"pair-{number}" for number in range(100)]
    pairs = [(priority_class(name, number), group_of(name)) for number, name in enumerate(names)]
    bodies = [body for pair in pairs[:50] for body in pair]
    applied = kubectl(plane, "apply", "-f", "-", stdin=yaml.safe_dump_all(bodies))
    assert (applied.returncode, applied.stderr) == (0, "")
    for pair in pairs[50:]:  # on one connection, quicker than kubectl is
        for body in pair:
            plane.client.create(body)
    stored = {each["metadata"]["name"]: each for each in plane.client.list(*GROUP)}
    assert [stored[name]["spec"]["priority"] for name in names] == list(range(100))
    with pytest.raises(ApiError) as refused:
        plane.client.create(group_of("nowhere"))
    assert [(cause["field"], cause["reason"]) for cause in refused.value.causes] == [
        ("spec.priorityClassName", "FieldValueNotFound")
    ]


def group_of(name: str) -> Json:
    """A PodGroup with the class of its name."""
    return pod_group(name, min_count=1, priority_class=name)


def test_pods_of_a_group_are_created_while_the_webhooks_are_away(plane: ControlPlane, away: Process) -> None:
    """failurePolicy: what is only warned of waits for nobody, our own kinds do."""
    plane.client.request("POST", f"{path_of('v1', 'ServiceAccount', 'default')}", account())
    plane.client.create(pod("member", group="gang"))
    with pytest.raises(ApiError, match="failed calling webhook"):
        plane.client.create(queue("after"))


def test_what_came_in_while_nobody_was_asked_says_so(plane: ControlPlane, away: Process) -> None:
    """Stored without the webhooks, then found by them; put right, and found to be right."""
    client = plane.client
    for kind in WEBHOOK_KINDS:
        client.delete(ADMISSION, kind, "reprieve")
    wait_until(lambda: is_created(client, unfair()), PATIENCE_SECONDS, lambda: "the API server still asks")
    client.create(unfair() | {"kind": "Cohort", "spec": {"fairSharing": {"weight": "-1"}}})
    client.create(group_of("unknown"))
    client.create(two_minimums())
    stored: list[tuple[str, str, str, str | None]] = [
        (KUEUE, "ClusterQueue", "unfair", None),
        (KUEUE, "Workload", "minimums", "default"),
        ("reprieve.dev/v1alpha1", "PodGroup", "unknown", "default"),
    ]
    apply_webhooks(client, render(binaries(["kubectl"])["kubectl"]), plane.layout)
    away.start()
    for each in stored:
        wait_until(
            partial(has_validity, client, each, "False"), PATIENCE_SECONDS, f"{each} has no condition".__str__
        )
    wait_until(lambda: [*warnings(client, "Cohort")] != [], PATIENCE_SECONDS, "there is no event".__str__)
    (note,) = warnings(client, "Cohort")
    assert note.startswith("spec.fairSharing: ")
    client.patch(KUEUE, "ClusterQueue", "unfair", {"spec": {"fairSharing": {"weight": "1"}}})
    wait_until(
        partial(has_validity, client, stored[0], "True"), PATIENCE_SECONDS, "it is not taken back".__str__
    )


def test_a_lease_that_somebody_deletes_is_made_again(plane: ControlPlane) -> None:
    lease = ("coordination.k8s.io/v1", "Lease", "reprieve-webhooks", "reprieve-system")

    def holder() -> str:
        return str((plane.client.find(*lease) or {"spec": {}})["spec"].get("holderIdentity", ""))

    wait_until(lambda: bool(holder()), PATIENCE_SECONDS, lambda: "nobody re-checks")
    plane.client.delete(*lease)
    wait_until(lambda: bool(holder()), PATIENCE_SECONDS, lambda: "there is no Lease")


def has_validity(client: Client, identity: tuple[str, str, str, str | None], status: str) -> bool:
    """Whether the object's condition has that status."""
    conditions = client.get(*identity).get("status", {}).get("conditions", [])
    return status in [each["status"] for each in conditions if each["type"] == "reprieve.dev/Valid"]


def warnings(client: Client, kind: str) -> list[str]:
    """What events say of objects of that kind."""
    events = client.list("events.k8s.io/v1", "Event")
    return [each["note"] for each in events if (each["type"], each["regarding"]["kind"]) == ("Warning", kind)]


def is_created(client: Client, body: Json) -> bool:
    """Whether nothing is in the way."""
    try:
        client.create(body)
    except ApiError as error:
        if "failed calling webhook" not in str(error):
            raise
        return False
    return True


def unfair() -> Json:
    """A ClusterQueue that only the webhook refuses."""
    body = queue("unfair")
    body["spec"]["fairSharing"] = {"weight": "-1"}
    return body


def two_minimums() -> Json:
    """A Workload that only the webhook refuses."""
    template = {"spec": {"containers": [{"name": "main", "image": "main"}], "restartPolicy": "Never"}}
    pod_sets = [{"name": name, "count": 2, "minCount": 1, "template": template} for name in ("a", "b")]
    return kueue("Workload", "minimums", "default", spec={"podSets": pod_sets})


def account() -> Json:
    """What no controller makes here."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
