"""kubectl with the webhooks: docs/tutorial-webhooks.md shows what it prints, and examples for Kueue are applied."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.plane import ControlPlane, Options

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "tutorial-webhooks.md").read_text()
KUEUE: Final = sorted((ROOT / "examples" / "webhooks").glob("kueue-*.yaml"))
SETTINGS: Final = re.compile(r"^```yaml\n(?P<settings>webhooks:\n(?:.*\n)*?)```$", re.MULTILINE)
SECTION: Final = re.compile(r"^## (?P<title>.*)$", re.MULTILINE)
BLOCK: Final = re.compile(r"^```console\n(?P<lines>(?:.*\n)*?)```$", re.MULTILINE)


def sessions() -> dict[str, list[tuple[str, str]]]:
    """By section: the commands, each with what it prints."""
    head, *rest = SECTION.split(PAGE)
    sections = {"Introduction": head} | dict(zip(rest[::2], rest[1::2], strict=True))
    shown = {title: "".join(BLOCK.findall(text)) for title, text in sections.items()}
    found: dict[str, list[tuple[str, str]]] = {}
    for title, lines in shown.items():
        for each in re.split(r"^\$ ", lines, flags=re.MULTILINE)[1:]:
            command, _, output = each.partition("\n")
            found.setdefault(title, []).append((command, output))
    return found


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """With the settings that the page has."""
    match = SETTINGS.search(PAGE)
    assert match is not None
    settings = yaml.safe_load(match["settings"])
    return start_plane(Options(api_only=True, webhooks=True, webhooks_settings=settings))


def test_it_has_the_four_scenarios_and_cleans_up() -> None:
    assert [title[:1] for title in sessions()] == ["I", "1", "2", "3", "4", "A"]


def run(plane: ControlPlane, *command: str) -> subprocess.CompletedProcess[str]:
    """Run it where the page is read, with kubectl and its configuration; what it complains of is among its output."""
    folder = binaries(["kubectl"])["kubectl"].parent
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubeconfig),
        "KUBECACHEDIR": str(plane.directory / "kubectl"),
    }
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def kubectl(plane: ControlPlane, *arguments: str) -> list[str]:
    """The lines that it prints. Fails the test with what it complains of."""
    result = run(plane, "kubectl", *arguments)
    assert result.returncode == 0, result.stdout
    return result.stdout.splitlines()


@pytest.mark.parametrize("title", sessions())
def test_it_shows_what_kubectl_prints(plane: ControlPlane, title: str) -> None:
    for command, output in sessions()[title]:
        result = run(plane, "bash", "-c", command)
        assert result.stdout == output, command
        assert (result.returncode != 0) == ("is invalid:" in output)


@pytest.mark.parametrize("file", KUEUE, ids=lambda file: file.stem)
def test_what_is_written_for_kueue_is_applied(plane: ControlPlane, file: Path) -> None:
    """As a whole, then again without a change; nothing is warned of, and nothing is left."""
    bodies = list(yaml.safe_load_all(file.read_text()))
    created = kubectl(plane, "apply", "-f", str(file))
    assert [line.rpartition(" ")[2] for line in created] == ["created"] * len(bodies), created
    again = kubectl(plane, "apply", "-f", str(file))
    assert [line.rpartition(" ")[2] for line in again] == ["unchanged"] * len(bodies), again
    kubectl(plane, "delete", "-f", str(file))
