"""The command reads a live cluster, and says what it says of a dump of the same cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import msgspec
import pytest
import yaml

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import shell
from tests.e2e.proxies import tunnel
from tests.e2e.support import Sandbox, wait_for

KINDS: Final = "nodes,pods,namespaces,poddisruptionbudgets,priorityclasses,podgroups.reprieve.dev"
RBAC: Final = "rbac.authorization.k8s.io/v1"
ELSEWHERE: Final[Json] = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "elsewhere", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "nobody", "user": {}}],
    "contexts": [{"name": "elsewhere", "context": {"cluster": "elsewhere", "user": "nobody"}}],
}


class Waiting:
    """A gang of two waits for a node that two pods fill. No scheduler looks at it."""

    def __init__(self, plane: ControlPlane, sandbox: Sandbox, folder: Path) -> None:
        self._plane, self.sandbox, self.folder = plane, sandbox, folder
        self.node = sandbox.node("full", cpu="2")
        sandbox.wait_running(*sandbox.filler("low", self.node, 2))
        sandbox.gang("train", 2, priority=1000, cpu="1", schedulerName="nobody")

    def plan(self, options: str = "", *, kubeconfigs: str = "") -> CompletedProcess[str]:
        """`reprieve plan` for the gang."""
        before = f"KUBECONFIG={kubeconfigs} " if kubeconfigs else ""
        return shell(
            self._plane, f"{before}reprieve plan --for {self.sandbox.namespace}/train -o json {options}"
        )

    def dump(self) -> Path:
        """The cluster, as kubectl prints it."""
        path = self.folder / "cluster.json"
        result = shell(self._plane, f"kubectl get {KINDS} -A -o json > {path}")
        assert result.returncode == 0, result.stderr
        return path


@pytest.fixture
def waiting(
    control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox], tmp_path: Path
) -> Waiting:
    return Waiting(control_plane, sandboxes(control_plane), tmp_path)


def test_a_live_cluster_and_its_dump_give_one_answer(waiting: Waiting) -> None:
    live = waiting.plan()
    assert (live.returncode, live.stderr) == (0, "")
    spec = json.loads(live.stdout)["spec"]
    assert spec["outcome"] == "Preempts"
    assert sum(len(each["pods"]) for each in spec["victims"]) == 2
    assert waiting.plan(f"-f {waiting.dump()}").stdout == live.stdout


def test_an_overlay_replaces_objects_of_a_cluster_and_of_a_dump(waiting: Waiting) -> None:
    larger = waiting.sandbox.client.get("v1", "Node", waiting.node)
    larger["status"]["allocatable"]["cpu"] = "4"
    overlay = waiting.folder / "larger.json"
    overlay.write_bytes(msgspec.json.encode(larger))
    for source in ("", f"-f {waiting.dump()}"):
        result = waiting.plan(f"{source} --overlay {overlay}")
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["spec"]["outcome"] == "Fits"


def test_a_right_that_is_missing_is_named(waiting: Waiting) -> None:
    refused = waiting.plan("--as somebody")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("Error: a right is missing: ")
    assert 'User "somebody" cannot list resource' in refused.stderr
    assert waiting.plan("--as somebody --as-group system:masters").returncode == 0


@pytest.fixture
def lister(waiting: Waiting) -> Iterator[str]:
    """The options of somebody who may list everything, and get nothing."""
    user, client = f"{waiting.sandbox.namespace}-lister", waiting.sandbox.client
    role = {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": user}
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["list"]}]
    subjects = [{"kind": "User", "name": user, "apiGroup": RBAC.partition("/")[0]}]
    for body in (
        {"kind": "ClusterRole", "rules": rules},
        {"kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects},
    ):
        client.create({"apiVersion": RBAC, "metadata": {"name": user}, **body})
    yield f"--as {user} --as-group system:authenticated"
    for kind in ("ClusterRoleBinding", "ClusterRole"):
        client.delete(RBAC, kind, user)


def test_nobody_needs_the_right_to_the_lease(waiting: Waiting, lister: str) -> None:
    """It is named. The option comes before the Lease, so nothing is said of it then."""
    answer = waiting.plan().stdout
    allowed = wait_for(
        lambda: found if (found := waiting.plan(lister)).returncode == 0 else None, what="no right to list"
    )
    assert allowed.stdout == answer
    assert allowed.stderr.startswith("Not read: a right is missing: leases.coordination.k8s.io")
    assert 'cannot get resource "leases"' in allowed.stderr
    assert allowed.stderr.count("\n") == 1
    told = waiting.plan(f"{lister} --groups-by-owner Victims")
    assert (told.returncode, told.stdout, told.stderr) == (0, answer, "")


def test_kubectl_has_it_as_a_plugin(waiting: Waiting, control_plane: ControlPlane) -> None:
    """With the namespace of the context, and with names from the cluster."""
    space = waiting.sandbox.namespace
    config = waiting.folder / "config"
    body = yaml.safe_load(control_plane.kubeconfig.read_text())
    for each in body["contexts"]:
        each["context"]["namespace"] = space
    config.write_text(yaml.safe_dump(body))
    plugin = shell(control_plane, f"KUBECONFIG={config} kubectl reprieve plan --for train -o json")
    assert (plugin.returncode, plugin.stdout) == (0, waiting.plan().stdout), plugin.stderr

    def completed(words: str) -> list[str]:
        command = f"KUBECONFIG={config} kubectl __complete reprieve {words}"
        return shell(control_plane, command).stdout.splitlines()

    # Nobody waits long for a shell: a plane that is busy may have no names once.
    wait_for(lambda: completed("plan --for ''") == ["train", ":4"], what="no name of the group")
    root = f"--as somebody --as-group system:masters -n {space}"
    wait_for(
        lambda: completed(f"why pod {root} train-") == ["train-0", "train-1", ":4"], what="no names of pods"
    )
    refused = shell(control_plane, f"kubectl __complete reprieve why pod --as somebody -n {space} ''")
    assert refused.stdout.splitlines() == [":4"]


def test_the_context_says_which_cluster(waiting: Waiting, control_plane: ControlPlane) -> None:
    """KUBECONFIG may be a list. The first file that names a current context counts."""
    other = waiting.folder / "other.yaml"
    other.write_text(yaml.safe_dump(ELSEWHERE))
    both = f"{other}:{control_plane.kubeconfig}"
    assert waiting.plan(kubeconfigs=both).returncode == 0
    away = waiting.plan("--context elsewhere", kubeconfigs=both)
    assert (away.returncode, away.stdout) == (1, "")
    assert away.stderr.startswith("Error: the cluster cannot be read: no answer")
    unknown = waiting.plan("--context nowhere", kubeconfigs=both)
    assert unknown.returncode == 1
    assert "nowhere" in unknown.stderr


PLUGIN: Final = """#!/bin/sh
cd $(dirname $0)
echo run >> runs
token=$([ $(wc -l < runs) -gt 1 ] && cat token || echo expired)
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "'$token'"}}'
"""
"""Credentials that are refused at first. The second call gets better ones."""


def test_a_plugin_for_credentials_behind_a_proxy(waiting: Waiting, control_plane: ControlPlane) -> None:
    """`exec` and `proxy-url` of the kubeconfig. What the plugin says first is refused, so it is asked once more."""
    folder, space = waiting.folder, waiting.sandbox.namespace
    made = shell(
        control_plane,
        f"kubectl create serviceaccount reader -n {space} && kubectl create clusterrolebinding {space}-reader "
        f"--clusterrole cluster-admin --serviceaccount {space}:reader > /dev/null "
        f"&& kubectl create token reader -n {space} > {folder}/token",
    )
    assert made.returncode == 0, made.stderr
    (folder / "plugin").write_text(PLUGIN)
    (folder / "plugin").chmod(0o755)
    how = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": f"{folder}/plugin",
        "interactiveMode": "Never",
    }
    try:
        with tunnel() as (proxy, asked):
            body = yaml.safe_load(control_plane.kubeconfig.read_text())
            for each in body["users"]:
                each["user"] = {"exec": how}
            for each in body["clusters"]:
                each["cluster"]["proxy-url"] = proxy
            (folder / "config").write_text(yaml.safe_dump(body))
            answer = waiting.plan(kubeconfigs=str(folder / "config"))
        server = body["clusters"][0]["cluster"]["server"].removeprefix("https://")
    finally:
        shell(control_plane, f"kubectl delete clusterrolebinding {space}-reader")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout == waiting.plan().stdout
    assert set(asked) == {server}
    assert (folder / "runs").read_text() == "run\nrun\n"
    (folder / "plugin").write_text("#!/bin/sh\necho no luck >&2\nexit 3\n")
    failed = waiting.plan(kubeconfigs=str(folder / "config"))
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr.startswith("Error: the cluster cannot be read: ")
    assert failed.stderr.endswith("exec: process returned 3. no luck\n")
    assert failed.stderr.count("\n") == 1
