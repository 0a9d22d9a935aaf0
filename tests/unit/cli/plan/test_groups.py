"""`reprieve plan` on the groups of other programs, as examples/groups shows them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import reprieve

EXAMPLES: Final = Path(__file__).parents[4] / "examples" / "groups"
CLUSTER: Final = EXAMPLES / "cluster.yaml"
UID: Final = "00000000-0000-4000-8000-00000000000"
NAMES: Final = {
    "indexed-job": f"Job.batch:ring:{UID}8",
    "jobset": f"JobSet.jobset.x-k8s.io:sim:{UID}2",
    "leaderworkerset": f"LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-0:{UID}5",
    "native": "podgroups.scheduling.k8s.io:was",
    "pytorchjob": f"PyTorchJob.kubeflow.org:train:{UID}1",
    "raycluster": f"RayCluster.ray.io:tune:{UID}9",
    "scheduler-plugins": "podgroups.scheduling.x-k8s.io:mpi",
    "volcano": "podgroups.scheduling.volcano.sh:spark",
}


def plan(kinds: list[str], *arguments: str) -> Result:
    files = [CLUSTER, *(EXAMPLES / f"{kind}.yaml" for kind in kinds)]
    named = [argument for path in files for argument in ("-f", str(path))]
    return CliRunner().invoke(reprieve, ["plan", *named, "--for", "research/rollout", *arguments])


def test_every_example_is_here() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.yaml")) == sorted([*NAMES, CLUSTER.stem])


@pytest.mark.parametrize("kind", NAMES)
def test_each_kind_goes_whole(kind: str) -> None:
    result = plan([kind], "-o", "json")
    assert result.exit_code == 0, result.output
    spec: dict[str, Any] = json.loads(result.stdout)["spec"]
    [victim] = spec["victims"]
    assert (victim["kind"], victim["name"], victim["priority"]) == ("PodGroup", NAMES[kind], 10)
    assert [pod["node"] for pod in victim["pods"]] == ["gpu-0", "gpu-1", "gpu-2"]


@pytest.mark.parametrize("left", ["none", "forged"])
def test_without_its_stateful_sets_a_replica_is_known_by_its_labels(left: str, tmp_path: Path) -> None:
    """With one that nobody controls, its pod is alone."""
    documents = list(yaml.safe_load_all((EXAMPLES / "leaderworkerset.yaml").read_text()))
    for each in documents:
        if each["metadata"]["name"] == "llm":
            each["metadata"].pop("ownerReferences", None)
    keep = ("Pod", "LeaderWorkerSet") if left == "none" else ("Pod", "LeaderWorkerSet", "StatefulSet")
    path = tmp_path / "replica.yaml"
    path.write_text(yaml.safe_dump_all([each for each in documents if each["kind"] in keep]))
    arguments = ["plan", "-f", str(CLUSTER), "-f", str(path), "--for", "research/rollout", "-o", "json"]
    result = CliRunner().invoke(reprieve, arguments)
    assert result.exit_code == 0, result.output
    victims = [(each["kind"], each["name"]) for each in json.loads(result.stdout)["spec"]["victims"]]
    if left == "none":
        assert victims == [("PodGroup", "LeaderWorkerSet.leaderworkerset.x-k8s.io:llm-0")]
    else:
        assert {kind for kind, _ in victims} == {"Pod"}


def test_people_read_the_kind_and_the_name() -> None:
    result = plan(["pytorchjob"])
    assert "research/PyTorchJob.kubeflow.org:train" in "".join(result.stdout.split())
    assert UID not in result.stdout


@pytest.mark.parametrize(
    ("limit", "policy", "said"),
    [
        (2, False, "research/ring: it loses 3 pods, and its backoffLimit is 2"),
        (2, True, ""),
        (3, False, ""),
    ],
)
def test_jobs_that_would_fail_are_named(tmp_path: Path, limit: int, policy: bool, said: str) -> None:
    documents = list(yaml.safe_load_all((EXAMPLES / "indexed-job.yaml").read_text()))
    spec = documents[0]["spec"]
    spec["backoffLimit"] = limit
    if not policy:
        del spec["podFailurePolicy"]
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all(documents))
    command = ["plan", "-f", str(CLUSTER), "-f", str(tmp_path / "job.yaml"), "--for", "research/rollout"]
    output = CliRunner().invoke(reprieve, command).stdout
    assert ("Jobs that fail for good" in output) == bool(said)
    assert said in " ".join(output.split())


def waiting(kind: str, tmp_path: Path) -> str:
    """The example of this kind, with pods that wait."""
    documents = list(yaml.safe_load_all((EXAMPLES / f"{kind}.yaml").read_text()))
    for each in documents:
        if each["kind"] == "Pod":
            del each["spec"]["nodeName"]
            each["spec"]["priority"] = 200
            each["status"] = {"phase": "Pending"}
    path = tmp_path / f"{kind}.yaml"
    path.write_text(yaml.safe_dump_all(documents))
    return str(path)


@pytest.mark.parametrize("kind", ["native", "scheduler-plugins", "volcano"])
@pytest.mark.parametrize("called", ["whole", "bare"])
def test_a_gang_of_another_kind_is_planned_for(kind: str, called: str, tmp_path: Path) -> None:
    name = NAMES[kind] if called == "whole" else NAMES[kind].partition(":")[2]
    files = ["-f", str(CLUSTER), "-f", waiting(kind, tmp_path)]
    result = CliRunner().invoke(reprieve, ["plan", *files, "--for", f"research/{name}", "-o", "json"])
    assert result.exit_code == 0, result.output
    plan = json.loads(result.stdout)
    preemptor = plan["spec"]["preemptor"]
    assert (preemptor["kind"], preemptor["name"], preemptor["priority"]) == ("PodGroup", NAMES[kind], 200)
    assert len(plan["spec"]["placements"]) == 3
    assert plan["metadata"]["name"].startswith(NAMES[kind].replace(":", ".") + "-")


OWNED: Final = ("indexed-job", "jobset", "leaderworkerset", "pytorchjob", "raycluster")


@pytest.mark.parametrize("kind", OWNED)
@pytest.mark.parametrize("by_owner", ["Gangs", "Victims"])
def test_pods_of_an_owner_are_a_gang_where_their_namespace_says_so(
    kind: str, by_owner: str, tmp_path: Path
) -> None:
    """Of such a gang three pods must run, which is what the owner's object says. The others ask one by one."""
    meta = {"name": "research", "annotations": {"reprieve.dev/groups-by-owner": by_owner}}
    space = tmp_path / "namespace.yaml"
    space.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": meta}))
    files = ["-f", str(CLUSTER), "-f", str(space), "-f", waiting(kind, tmp_path)]
    result = CliRunner().invoke(reprieve, ["plan", *files, "--for", f"research/{NAMES[kind]}", "-o", "json"])
    assert result.exit_code == 0, result.output
    placements = json.loads(result.stdout)["spec"]["placements"]
    needed = [each for each in placements if not each.get("beyondMinCount")]
    assert (len(placements), len(needed)) == (3, 3 if by_owner == "Gangs" else 0)


def test_a_name_of_several_groups_is_not_guessed(tmp_path: Path) -> None:
    files = ["-f", str(CLUSTER)]
    for kind in ("volcano", "scheduler-plugins"):
        text = Path(waiting(kind, tmp_path)).read_text().replace("spark", "mpi")
        (tmp_path / f"{kind}.yaml").write_text(text.replace("name: mpi-", f"name: {kind}-"))
        files += ["-f", str(tmp_path / f"{kind}.yaml")]
    result = CliRunner().invoke(reprieve, ["plan", *files, "--for", "research/mpi"])
    assert result.exit_code == 2
    assert "several groups are called research/mpi" in result.output
