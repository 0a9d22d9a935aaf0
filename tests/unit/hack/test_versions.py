"""What a plane leaves out because its version of Kubernetes does not know it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from hack.controlplane.components import CONTROLLERS, Layout, Options
from hack.controlplane.modules import NEXT, VERSIONS
from hack.controlplane.ports import Ports
from hack.controlplane.versions import KNOWN, default_version, known, knows

PROTECTION: Final = "podgroup-protection-controller"
GATES: Final = {"GenericWorkload": True, "GangScheduling": True, "WorkloadWithJob": False, "NoSuchGate": True}
APIS: Final = {f"scheduling.k8s.io/{version}": True for version in ("v1alpha2", "v1beta1")}


@pytest.fixture
def ports() -> Iterator[Ports]:
    taken = Ports()
    yield taken
    taken.release()


def flags(folder: Path, ports: Ports, version: str) -> dict[str, dict[str, str]]:
    """By component: the flags of a plane that asks for things that are not in all versions."""
    options = Options(version=version, feature_gates=GATES, runtime_config=APIS)
    layout = Layout(folder / "plane", options, ports)
    layout.write()
    return {
        name: {flag: value for each in arguments for flag, _, value in [each.partition("=")]}
        for name, arguments in layout.arguments().items()
    }


@pytest.mark.parametrize(
    ("version", "gates", "apis"),
    [
        ("1.34", "NoSuchGate=true", None),
        ("1.35", "GenericWorkload=true,GangScheduling=true,NoSuchGate=true", None),
        (
            "1.36",
            "GenericWorkload=true,GangScheduling=true,WorkloadWithJob=false,NoSuchGate=true",
            "scheduling.k8s.io/v1alpha2=true",
        ),
        (
            "1.37",
            "GenericWorkload=true,WorkloadWithJob=false,NoSuchGate=true",
            "scheduling.k8s.io/v1beta1=true",
        ),
        (
            NEXT,
            "GenericWorkload=true,WorkloadWithJob=false,NoSuchGate=true",
            "scheduling.k8s.io/v1beta1=true",
        ),
    ],
)
def test_what_a_version_does_not_know_is_left_out(
    tmp_path: Path, ports: Ports, version: str, gates: str, apis: str | None
) -> None:
    """A gate that no version knows is given: the servers refuse it, so a misspelt one is found."""
    found = flags(tmp_path, ports, version)
    for name in ("kube-apiserver", "kube-scheduler", "kube-controller-manager"):
        assert found[name]["--feature-gates"] == gates
    assert found["kube-apiserver"].get("--runtime-config") == apis
    without = [PROTECTION] if version in ("1.34", "1.35") else []
    controllers = found["kube-controller-manager"]["--controllers"].split(",")
    assert controllers == [each for each in CONTROLLERS if each not in without]


def test_without_a_version_the_default_is_meant(tmp_path: Path, ports: Ports) -> None:
    assert default_version() == "1.37"
    assert [name for name in KNOWN if knows("", name) != knows("1.37", name)] == []
    assert (
        flags(tmp_path, ports, "")["kube-apiserver"]["--runtime-config"] == "scheduling.k8s.io/v1beta1=true"
    )


def test_versions_are_numbers() -> None:
    """1.100 is newer than 1.37."""
    assert knows("1.100", "CompositePodGroup")
    assert not knows("1.100", "WorkloadAwarePreemption")
    assert not knows("1.9", PROTECTION)


def test_the_next_version_is_the_one_that_go_mod_names() -> None:
    assert VERSIONS[NEXT].minor == "1.38"
    assert [name for name in KNOWN if knows(NEXT, name) != knows("1.38", name)] == []
    assert not knows(NEXT, "GangScheduling")


def test_the_order_stays() -> None:
    assert known("1.36", ["b", PROTECTION, "CompositePodGroup", "a"]) == ["b", PROTECTION, "a"]


@pytest.mark.parametrize("name", KNOWN)
def test_each_name_is_left_out_somewhere_and_known_somewhere(name: str) -> None:
    """Otherwise it does not belong into the table."""
    assert {knows(version, name) for version in VERSIONS} == {True, False}
