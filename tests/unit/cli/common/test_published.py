"""The commands do what the leader does: its Lease says `groups.byOwner`, wherever it stands in a dump."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner, Result

from answers.reading.details import NamespaceObjects
from answers.reading.node_objects import NodeObjects
from answers.reading.published import LEASE
from cli.main import reprieve
from cli.plan.stream import plan_line
from tests.kit.pages import ROOT

Json = dict[str, Any]
EXAMPLES: Final = ROOT / "examples" / "groups"
TRAIN: Final = "research/PyTorchJob.kubeflow.org:train"
ROLLOUT: Final = "research/rollout"
NOW: Final = ("--now", "2026-03-01T12:00:00Z")


def example(name: str) -> list[Json]:
    documents = yaml.safe_load_all((EXAMPLES / f"{name}.yaml").read_text())
    return [each for body in documents for each in (body["items"] if body["kind"] == "List" else [body])]


CLUSTER: Final = example("cluster")
JOB: Final = example("pytorchjob")
"""A training job and its three pods, which run."""


def lease(said: str | None, name: str = "reprieve", namespace: str = "reprieve-system") -> Json:
    annotations = {"reprieve.dev/quota-mode": "Off"}
    if said is not None:
        annotations["reprieve.dev/groups-by-owner"] = said
    meta = {"name": name, "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


def waiting(pods: int) -> list[Json]:
    """The training job with `pods` of its pods. None has a node."""
    found = copy.deepcopy(JOB[: pods + 1])
    for each in found[1:]:
        del each["spec"]["nodeName"]
        each["spec"]["priority"], each["status"] = 200, {"phase": "Pending"}
    return found


def ask(folder: Path, things: list[Json], command: str, *arguments: str) -> Result:
    file = folder / "cluster.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
    return CliRunner().invoke(reprieve, [*command.split(), "-f", str(file), "-o", "json", *arguments])


def plan(folder: Path, things: list[Json], preemptor: str, *arguments: str) -> Json:
    result = ask(folder, things, f"plan --for {preemptor}", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    spec: Json = json.loads(result.stdout)["spec"]
    return spec


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("said", "kinds"),
    [("Victims", ["PodGroup"]), ("Gangs", ["PodGroup"]), (None, ["PodGroup"]), ("Off", ["Pod"])],
)
def test_with_off_its_pods_are_single_victims(
    said: str | None, kinds: list[str], is_first: bool, tmp_path: Path
) -> None:
    things = [*CLUSTER, *JOB]
    things = [lease(said), *things] if is_first else [*things, lease(said)]
    spec = plan(tmp_path, things, ROLLOUT)
    assert [each["kind"] for each in spec["victims"]] == kinds
    assert len(spec["victims"][0]["pods"]) == (3 if kinds == ["PodGroup"] else 1)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("said", "state"), [("Gangs", "Gathering"), ("Victims", "OfAnotherKind")])
def test_with_gangs_a_job_without_all_its_pods_waits(
    said: str, state: str, is_first: bool, tmp_path: Path
) -> None:
    things = [*CLUSTER, *waiting(2)]
    things = [lease(said), *things] if is_first else [*things, lease(said)]
    answer = json.loads(ask(tmp_path, things, f"why podgroup {TRAIN}").stdout)
    assert answer["state"] == state
    if said == "Gangs":
        assert (answer["numbers"]["minCount"], answer["numbers"]["members"]) == (3, 2)
    member = json.loads(ask(tmp_path, things, "why pod research/train-worker-0").stdout)
    assert [each["state"] for each in member["depends"]] == [state]


def test_with_gangs_all_its_pods_ask_at_once(tmp_path: Path) -> None:
    needed = {}
    for said in ("Victims", "Gangs"):
        spec = plan(tmp_path, [*CLUSTER, *waiting(3), lease(said)], TRAIN)
        needed[said] = len([each for each in spec["placements"] if not each.get("beyondMinCount")])
    assert needed == {"Victims": 0, "Gangs": 3}


def test_what_if_submits_a_gang(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(JOB[0]))
    nodes = [each for each in CLUSTER if each["kind"] == "Node"][:2]
    outcomes = {}
    for said in ("Victims", "Gangs"):
        result = ask(tmp_path, [*nodes, lease(said)], f"what-if {file}", *NOW)
        (step,) = json.loads(result.stdout)["steps"]
        outcomes[said] = step["outcome"]
    assert outcomes == {"Victims": "RunsInPart", "Gangs": "Waits"}


def test_diff_compares_settings(tmp_path: Path) -> None:
    """The Lease is an object like others: a file may have it with another setting."""
    file = tmp_path / "lease.yaml"
    file.write_text(yaml.safe_dump(lease("Gangs")))
    nodes = [each for each in CLUSTER if each["kind"] == "Node"][:2]
    things = [*nodes, lease("Victims"), *waiting(3)]
    result = ask(tmp_path, things, f"diff {file}", *NOW)
    answer = json.loads(result.stdout)
    assert (result.exit_code, answer["changed"][0]["kind"]) == (3, "Lease"), result.stderr
    fates = {
        (each["kind"], name, (each["now"] or {}).get("state"), (each["then"] or {}).get("state"))
        for each in answer["fates"]
        for name in each["names"]
    }
    assert ("PodGroup", TRAIN, None, "Waits") in fates, fates
    file.write_text(yaml.safe_dump(lease("gangs")))
    wrong = ask(tmp_path, things, f"diff {file}", *NOW)
    assert wrong.exit_code == 2
    assert "metadata.annotations[reprieve.dev/groups-by-owner]: " in wrong.stderr


@pytest.mark.parametrize(
    ("said", "arguments", "kind"),
    [("Off", ["--groups-by-owner", "Victims"], "PodGroup"), ("Gangs", ["--groups-by-owner", "Off"], "Pod")],
)
def test_the_option_comes_before_the_lease(
    said: str, arguments: list[str], kind: str, tmp_path: Path
) -> None:
    for things in ([lease(said), *CLUSTER, *JOB], [*CLUSTER, *JOB, lease(said)]):
        spec = plan(tmp_path, things, ROLLOUT, *arguments)
        assert [each["kind"] for each in spec["victims"]] == [kind]


def test_each_command_has_the_option(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(JOB[0]))
    nodes = [each for each in CLUSTER if each["kind"] == "Node"][:2]
    result = ask(tmp_path, nodes, f"what-if {file} --groups-by-owner Gangs", *NOW)
    assert json.loads(result.stdout)["steps"][0]["outcome"] == "Waits"
    things = [*nodes, *waiting(2)]
    result = ask(tmp_path, things, f"why podgroup {TRAIN} --groups-by-owner Gangs")
    assert json.loads(result.stdout)["state"] == "Gathering"
    more = tmp_path / "node.yaml"
    more.write_text(yaml.safe_dump(CLUSTER[2]))
    fates = {}
    for setting in ("Victims", "Gangs"):
        result = ask(tmp_path, [*nodes, *waiting(3)], f"diff {more} --groups-by-owner {setting}", *NOW)
        fates[setting] = [each["then"]["state"] for each in json.loads(result.stdout)["fates"]]
    assert fates == {"Victims": [], "Gangs": ["Fits"]}


def test_a_line_may_say_it() -> None:
    for things, said, kind in (
        ([*CLUSTER, *JOB], "Off", "Pod"),
        ([*CLUSTER, *JOB, lease("Off")], None, "Pod"),
        ([*CLUSTER, *JOB, lease("Off")], "Victims", "PodGroup"),
    ):
        line = {"objects": things, "for": ROLLOUT} | ({"groupsByOwner": said} if said else {})
        answer = plan_line(json.dumps(line).encode())
        assert [each["kind"] for each in answer["spec"]["victims"]] == [kind]


def test_a_namespace_comes_before_the_lease(tmp_path: Path) -> None:
    annotations = {"reprieve.dev/groups-by-owner": "Victims"}
    meta = {"name": "research", "annotations": annotations}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
    for late in itertools.permutations([lease("Off"), namespace]):
        spec = plan(tmp_path, [*CLUSTER, *JOB, *late], ROLLOUT)
        assert [each["kind"] for each in spec["victims"]] == ["PodGroup"]


def test_an_overlay_replaces_it(tmp_path: Path) -> None:
    file = tmp_path / "lease.yaml"
    file.write_text(yaml.safe_dump(lease("Off")))
    things = [*CLUSTER, *JOB, lease("Gangs")]
    spec = plan(tmp_path, things, ROLLOUT, "--overlay", str(file))
    assert [each["kind"] for each in spec["victims"]] == ["Pod"]


@pytest.mark.parametrize("command", ["plan --for research/rollout", "why podgroup research/rollout"])
def test_what_cannot_be_read_is_named_and_counts_for_nothing(command: str, tmp_path: Path) -> None:
    without = ask(tmp_path, [*CLUSTER, *JOB], command)
    result = ask(tmp_path, [*CLUSTER, *JOB, lease("off")], command)
    assert (result.exit_code, result.stdout) == (without.exit_code, without.stdout)
    said = "metadata.annotations[reprieve.dev/groups-by-owner]: 'off' is not Victims, Gangs or Off"
    assert result.stderr.startswith("Not counted: ")
    assert result.stderr.endswith(f"Lease reprieve-system/reprieve: {said}\n")


def test_other_leases_do_not_matter(tmp_path: Path) -> None:
    """A cluster has one for each node, and a program may call its own as it likes."""
    others = [
        lease("Off", "gpu-0", "kube-node-lease"),
        lease("Off", namespace="default"),
        lease("Off", "reprieve-webhooks"),
    ]
    result = ask(tmp_path, [*others, *CLUSTER, *JOB], "plan --for research/rollout", "-o", "text")
    assert "3 coordination.k8s.io/v1 Lease" in result.stderr
    assert "PodGroup" in result.stdout


def test_a_file_of_a_cluster_without_a_lease(tmp_path: Path) -> None:
    """`kubectl get --ignore-not-found` prints nothing."""
    empty = tmp_path / "lease.json"
    empty.write_text("")
    spec = plan(tmp_path, [*CLUSTER, *JOB], ROLLOUT, "-f", str(empty))
    assert [each["kind"] for each in spec["victims"]] == ["PodGroup"]


@pytest.mark.parametrize("by_owner", ["Off", None])
def test_a_missing_right_prevents_no_answer(by_owner: Any) -> None:
    """It is named, unless the Lease does not matter."""
    objects, world = NodeObjects(by_owner=by_owner), NamespaceObjects("a", 0, by_owner)
    assert objects.do_without(LEASE, "leases is forbidden")
    assert world.do_without(LEASE, "leases is forbidden")
    assert world.about()[0].without_nodes == ""
    notes = [] if by_owner else ["Not read: leases is forbidden"]
    assert (objects.notes, world.refused_notes()) == (notes, notes)
