"""README's first screen and docs/observe-to-enforce.md: their commands as they stand, on a cluster that has never seen
reprieve. No kubelet runs pods here, so a process of this machine stands for the Deployment, with its account."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.controlplane.client import Json
from hack.controlplane.plane import ControlPlane, Options
from hack.demo.stage import Side
from tests.e2e.audit import beyond_an_observer
from tests.e2e.releases import shell
from tests.e2e.support import wait_for
from tests.kit.often import SELDOM

ROOT: Final = Path(__file__).parents[2]
SCREEN: Final = (ROOT / "README.md").read_text().partition("\n## ")[0]
WALK: Final = (ROOT / "docs" / "observe-to-enforce.md").read_text().partition("\n## With Kustomize\n")[0]
BLOCK: Final = re.compile(r"^```(?P<language>sh|yaml)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SECTION: Final = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
RBAC: Final = "rbac.authorization.k8s.io/v1", "ClusterRole"
NAMESPACE: Final = "reprieve-system"
WITHOUT_ANSWER: Final = 3
"""The exit status of commands that found faults, or nothing that they can report."""
COMPARED: Final = "the scheduler preempted 3 pods"


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """Nothing of reprieve is installed. Its process starts later."""
    settings = {"planning": {"mode": "Observe"}}
    return start_plane(Options(reprieve=True, reprieve_settings=settings, start_reprieve=False, manifests=()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands need of a checkout."""
    made = tmp_path_factory.mktemp("checkout")
    for name in ("charts", "hack", ".venv"):
        (made / name).symlink_to(ROOT / name)
    return made


def first_screen() -> list[str]:
    (block,) = (match["text"] for match in BLOCK.finditer(SCREEN))
    return block.splitlines()


def is_told(report: str, before: int) -> bool:
    """Whether the report compares a decision, or says that one more than `before` came too late."""
    late = re.search(r"(\d+) were not made on the state before", report)
    return COMPARED in report or (late is not None and int(late[1]) > before)


def test_the_four_commands_evict_nobody(plane: ControlPlane, folder: Path) -> None:
    """Beside them the scheduler evicts three pods in vain, and the report says so."""
    install, *charts, report = first_screen()
    assert install == "pipx install ."
    for command in charts:
        result = shell(plane, command, folder)
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
    plane.start_reprieve()
    stage = Side("", plane)

    def said() -> str:
        return shell(plane, report, folder).stdout

    for tries in range(3):
        stage.fill()
        wait_for(lambda: stage.look().count("batch") == 3, what="the nodes are not full")
        stage.start_gang(4)
        # On a busy machine the scheduler may be sooner than the observer: then another gang comes.
        wait_for(lambda tries=tries: is_told(said(), tries), what=said)  # type: ignore[misc]  # bound by its default
        if COMPARED in said():
            break
        stage.clear()
    assert COMPARED in said()
    assert "reprieve would have evicted 0" in said()
    assert beyond_an_observer(plane.audit_log) == []
    assert "reprieve-enforce" not in roles(plane)
    stage.clear()


def steps() -> Iterator[tuple[str, str, str]]:
    """(section, language, text) of each block of the walk."""
    _, *rest = SECTION.split(WALK)
    for title, text in zip(rest[::2], rest[1::2], strict=True):
        for match in BLOCK.finditer(text):
            yield title, match["language"], match["text"]


@SELDOM
def test_the_walk_from_observe_to_enforce_and_back(plane: ControlPlane, folder: Path) -> None:
    """It follows the first screen on the same cluster, and ends as it began."""
    plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
    seen: dict[str, list[str]] = {}
    for title, language, text in steps():
        if language == "yaml":
            (folder / "values.yaml").write_text(text)
            continue
        for command in text.splitlines():
            result = shell(plane, command, folder)
            good = (0, WITHOUT_ANSWER) if command.startswith("reprieve ") else (0,)
            assert result.returncode in good, f"{command}\n{result.stdout}\n{result.stderr}"
        seen.setdefault(title, []).append(state(plane))
    assert list(seen) == [
        "1. Observe",
        "2. Ask what would change",
        "3. Be called",
        "4. A canary",
        "5. Enforce",
        "Back",
    ]
    assert seen["1. Observe"] == ["Observe"]
    assert seen["3. Be called"][-1] == "Observe, called"
    assert set(seen["4. A canary"][1:]) == {"Enforce in labelled namespaces, called, may evict"}
    assert seen["5. Enforce"] == ["Enforce, called, may evict"]
    assert seen["Back"] == ["Observe, called, may evict", "Observe"]


def state(plane: ControlPlane) -> str:
    """What is installed, in words."""
    planning = configured(plane).get("planning", {})
    words = [planning.get("mode", "Observe")]
    if selector := planning.get("enforcedNamespaceSelector"):
        words[0] += " in labelled namespaces"
        assert gated(plane).items() >= selector["matchLabels"].items()
    if plane.client.find("v1", "Service", "reprieve", NAMESPACE) is not None:
        words.append("called")
    if "reprieve-enforce" in roles(plane):
        words.append("may evict")
    return ", ".join(words)


def gated(plane: ControlPlane) -> Json:
    """The labels of namespaces for whose pods the webhook is called."""
    kind = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
    webhooks = plane.client.get(*kind, "reprieve")["webhooks"]
    (pods,) = (each for each in webhooks if each["name"] == "pods.mutate.reprieve.dev")
    labels: Json = pods["namespaceSelector"].get("matchLabels", {})
    return labels


def configured(plane: ControlPlane) -> Json:
    """The merged files of the ConfigMap that the Deployment mounts."""
    pod = plane.client.get("apps/v1", "Deployment", "reprieve", NAMESPACE)["spec"]["template"]["spec"]
    names = [each["configMap"]["name"] for each in pod["volumes"] if "configMap" in each]
    merged: Json = {}
    for name in names:
        data = plane.client.get("v1", "ConfigMap", name, NAMESPACE)["data"]
        for text in data.values():
            for section, fields in (yaml.safe_load(text) or {}).items():
                merged[section] = (
                    {**merged.get(section, {}), **fields} if isinstance(fields, dict) else fields
                )
    return merged


def roles(plane: ControlPlane) -> set[str]:
    return {each["metadata"]["name"] for each in plane.client.list(*RBAC)}


@SELDOM
def test_the_first_command_installs_the_command(tmp_path: Path) -> None:
    """From a copy of what git has, with a pipx of its own. It compiles the kernels."""
    (command, *_) = first_screen()
    checkout = tmp_path / "checkout"
    for name in subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True).split("\0"):
        if name and not name.startswith(("tests/", "bench/", "docs/", "hack/")):
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    venv.create(tmp_path / "tools", with_pip=True)
    tools = tmp_path / "tools" / "bin"
    subprocess.run([tools / "python", "-m", "pip", "install", "--quiet", "pipx"], check=True)
    # Without our own programs: pipx would take our uv in place of pip, which knows where packages come from here.
    others = [
        each for each in os.environ["PATH"].split(os.pathsep) if Path(each) != Path(sys.executable).parent
    ]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(tools), *others]),
        "PIPX_HOME": str(tmp_path / "pipx"),
        "PIPX_BIN_DIR": str(tmp_path / "bin"),
    }
    result = subprocess.run(
        ["bash", "-euc", command], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr
    answer = subprocess.run(
        [tmp_path / "bin" / "reprieve", "--help"], capture_output=True, check=True, text=True
    )
    assert "report" in answer.stdout
