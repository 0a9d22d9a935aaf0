"""Each combination of components that the file of values allows: the Configuration that each process reads then."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest
import yaml

from cli.common.configuration import Configuration, ConfigurationError, load
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import BASE, MANIFESTS, WEBHOOK_KINDS, render
from tests.kit.mounted import mounted
from tests.kit.values import OFFERED, VALUES, checkout, choose

FILES: Final = {"reprieve": "configuration.yaml", "reprieve-webhooks": "webhooks/configuration.yaml"}
"""By Deployment, the base's file."""
CERTIFICATE: Final = {"certFile": "/etc/reprieve/tls/tls.crt", "keyFile": "/etc/reprieve/tls/tls.key"}
SETS: Final[dict[str, dict[str, dict[tuple[str, ...], Any]]]] = {
    "quota-enforce": {
        "reprieve": {("quota", "mode"): "Enforce"},
        "reprieve-webhooks": {("webhooks", "queues"): True},
    },
    "kueue-installed": {"reprieve-webhooks": {("webhooks", "besideKueue"): True}},
    "quota-observe": {"reprieve": {("quota", "mode"): "Observe"}},
    "cert-manager": {"reprieve-webhooks": {("webhooks", "certificates", "files"): CERTIFICATE}},
}
"""By component and Deployment, the fields that it sets."""
CONTRADICTIONS: Final = {
    ("quota-enforce", "quota-observe"): (
        "reprieve",
        ': quota.mode: is "Enforce" in quota-enforce.yaml, and "Observe" in quota-observe.yaml',
    ),
    ("quota-enforce", "kueue-installed"): (
        "reprieve-webhooks",
        "/quota-enforce.yaml: webhooks.queues: cannot be true with webhooks.besideKueue: Kueue manages the queues",
    ),
}
"""Components that the page does not allow together, with the process that does not start, and what it says."""
PAGE: Final = (
    (MANIFESTS.parent / "docs" / "install.md").read_text().partition("### Settings")[2].partition("\n### ")[0]
)
BLOCK: Final = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
PATHS: Final = {path.rpartition("/")[2]: path for path in OFFERED}


class Process(NamedTuple):
    """What a Deployment starts."""

    folder: str
    """What `--config` names."""
    files: dict[str, str]
    """The content of that folder."""


def combinations() -> Iterator[tuple[str, ...]]:
    """All of the components that have settings. The others are added to the largest ones only."""
    for size in range(len(SETS) + 1):
        yield from itertools.combinations([name for name in PATHS if name in SETS], size)
    for without in ({"quota-enforce"}, {"kueue-installed", "quota-observe"}):
        yield tuple(name for name in PATHS if name not in without)


def contradicting(components: tuple[str, ...]) -> dict[str, str]:
    """By Deployment, what the process says."""
    return {name: said for pair, (name, said) in CONTRADICTIONS.items() if {*pair} <= {*components}}


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("checkout"))


def installed(manifests: Path, components: tuple[str, ...]) -> list[Json]:
    text = (MANIFESTS / VALUES).read_text()
    (manifests / VALUES).write_text(choose(text, [PATHS[name] for name in components]))
    return render(binaries(["kubectl"])["kubectl"], (manifests / VALUES).parent)


def processes(objects: list[Json]) -> dict[str, Process]:
    """By Deployment."""
    maps = {body["metadata"]["name"]: body["data"] for body in objects if body["kind"] == "ConfigMap"}
    found = {}
    for body in objects:
        if body["kind"] != "Deployment" or body["metadata"]["name"] not in FILES:
            continue
        pod = body["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        volumes = {each["name"]: each.get("configMap", {}).get("name") for each in pod["volumes"]}
        mounts = {each["mountPath"]: volumes[each["name"]] for each in container["volumeMounts"]}
        command, option, folder = container["args"]
        assert (command, option) == ("serve", "--config")
        found[body["metadata"]["name"]] = Process(folder, maps[mounts[folder]])
    return found


def expected(name: str, components: tuple[str, ...]) -> Configuration:
    """The base's settings, and those of the components."""
    settings: Json = msgspec.to_builtins(load(BASE / FILES[name]).configuration)
    for component in components:
        for path, value in SETS.get(component, {}).get(name, {}).items():
            section = settings
            for key in path[:-1]:
                section = section[key]
            section[path[-1]] = value
    return msgspec.convert(settings, Configuration)


@pytest.mark.parametrize("components", [*combinations()], ids=lambda names: "+".join(names) or "base")
def test_each_combination_has_all_settings_or_says_what_contradicts(
    manifests: Path, tmp_path: Path, components: tuple[str, ...]
) -> None:
    refused = contradicting(components)
    found = processes(installed(manifests, components))
    assert found.keys() == FILES.keys()
    for name, process in found.items():
        folder = mounted(tmp_path / name, process.files)
        if name not in refused:
            assert load(folder).configuration == expected(name, components)
            continue
        with pytest.raises(ConfigurationError) as caught:
            load(folder)
        assert str(caught.value) == f"{folder}{refused[name]}"


def test_cert_manager_looks_after_the_webhooks_of_quota_enforce(manifests: Path) -> None:
    objects = installed(manifests, ("quota-enforce", "cert-manager"))
    annotated = {
        (body["kind"], body["metadata"]["name"])
        for body in objects
        if "cert-manager.io/inject-ca-from" in body["metadata"].get("annotations", {})
    }
    assert annotated == {(kind, name) for kind in WEBHOOK_KINDS for name in ("reprieve", "reprieve-queues")}


def test_settings_of_ones_own_are_one_file_more(manifests: Path, tmp_path: Path) -> None:
    """As the page and the file of values say it, beside a component."""
    (settings,) = BLOCK.findall(PAGE)
    for name in ("settings.yaml", "webhooks-settings.yaml"):
        (manifests / VALUES).with_name(name).write_text(settings)
    chosen = choose((MANIFESTS / VALUES).read_text(), [PATHS["quota-enforce"]])
    before, generator, after = chosen.partition("# configMapGenerator:\n")
    lines, end, rest = after.partition("\n\n")
    text = (
        before + "\n".join(line.removeprefix("# ") for line in (generator + lines).splitlines()) + end + rest
    )
    (manifests / VALUES).write_text(text)
    found = processes(render(binaries(["kubectl"])["kubectl"], (manifests / VALUES).parent))
    for name, process in found.items():
        configuration = load(mounted(tmp_path / name, process.files)).configuration
        planning = msgspec.structs.replace(configuration.planning, gates="UntilPlanned")
        assert configuration == msgspec.structs.replace(expected(name, ("quota-enforce",)), planning=planning)


def test_every_component_with_a_file_for_a_process_is_combined() -> None:
    def adds(component: str) -> set[str]:
        kustomization = yaml.safe_load(
            (MANIFESTS / "components" / component / "kustomization.yaml").read_text()
        )
        return {each["name"] for each in kustomization.get("configMapGenerator", [])}

    names = {f"{name}-configuration" for name in FILES}
    assert {component for component in PATHS if adds(component) & names} == SETS.keys()


@pytest.mark.parametrize("folder", ["kueue", "kueue-observe", "cert-manager", "kind", "second-scheduler"])
def test_each_overlay_has_the_settings_of_its_components(tmp_path: Path, folder: str) -> None:
    overlay = MANIFESTS / "overlays" / folder
    content = yaml.safe_load((overlay / "kustomization.yaml").read_text())
    components = tuple(Path(path).name for path in content.get("components", []))
    for name, process in processes(render(binaries(["kubectl"])["kubectl"], overlay)).items():
        assert load(mounted(tmp_path / name, process.files)).configuration == expected(name, components)
