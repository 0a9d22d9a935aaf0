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
from extender.configuration import ExtenderConfiguration, TLSConfiguration
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS, WEBHOOK_KINDS, render
from tests.kit.mounted import mounted
from tests.kit.values import OFFERED, VALUES, checkout, choose

FILES: Final = {
    "reprieve": ("base/configuration.yaml", "base/extender.yaml"),
    "reprieve-webhooks": ("webhooks/configuration.yaml",),
    "reprieve-page": ("components/page/configuration.yaml",),
}
"""By Deployment, its files without components."""
TLS: Final = TLSConfiguration(
    cert_file="/etc/reprieve/tls/tls.crt",
    key_file="/etc/reprieve/tls/tls.key",
    client_ca_file="/etc/reprieve/tls/ca.crt",
)
LISTENER: Final = ExtenderConfiguration(bind_address="0.0.0.0", tls=TLS)  # noqa: S104  # in a pod
CERTIFICATE: Final = {"certFile": "/etc/reprieve/tls/tls.crt", "keyFile": "/etc/reprieve/tls/tls.key"}
SETS: Final[dict[str, dict[str, dict[tuple[str, ...], Any]]]] = {
    "extender": {"reprieve": {("extender",): msgspec.to_builtins(LISTENER)}},
    "enforce": {"reprieve": {("planning", "mode"): "Enforce"}},
    "quota-enforce": {
        "reprieve": {("quota", "mode"): "Enforce"},
        "reprieve-webhooks": {("webhooks", "queues"): True},
    },
    "kueue-installed": {"reprieve-webhooks": {("webhooks", "besideKueue"): True}},
    "quota-observe": {"reprieve": {("quota", "mode"): "Observe"}},
    "cert-manager": {"reprieve-webhooks": {("webhooks", "certificates", "files"): CERTIFICATE}},
    "page": {},
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
ACTING: Final = ("certificates", "extender", "rights", "enforce")
BESIDE: Final = ("quota-enforce", "kueue-installed", "quota-observe")
"""Whether, and by whom, quota is managed."""
LACKING: Final = {
    ("enforce",): "reprieve-kube-scheduler",
    ("rights", "enforce"): "reprieve-kube-scheduler",
    ("quota-enforce",): "reprieve-webhooks-configuration",
    ("extender", "rights", "quota-enforce"): "reprieve-webhooks-configuration",
}
"""Components that need others, with the ConfigMap that kustomize misses then."""
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
    """What reprieve may do, from the observer on; where it acts, all of the components with settings beside it."""
    yield from ((), ("quota-observe", "kueue-installed"))
    called = ("certificates", "extender")
    yield ("page",)
    yield from (called, (*called, "rights"), (*called, "quota-observe", "monitoring"))
    yield from (("extender", "cert-manager"), ("extender", "cert-manager", "kueue-installed"))
    for size in range(len(BESIDE) + 1):
        for beside in itertools.combinations(BESIDE, size):
            yield (*ACTING, *beside)
            yield (*ACTING[1:], *beside, "cert-manager")
    for without in ({"quota-enforce", "certificates"}, {"kueue-installed", "quota-observe", "cert-manager"}):
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


def shipped(name: str, folder: Path) -> Configuration:
    """The settings of a Deployment without components."""
    files = {Path(each).name: (MANIFESTS / each).read_text() for each in FILES[name]}
    return load(mounted(folder / "shipped" / name, files)).configuration


def expected(name: str, components: tuple[str, ...], folder: Path) -> Configuration:
    """The settings of a Deployment, and those of the components."""
    settings: Json = msgspec.to_builtins(shipped(name, folder))
    for component in components:
        for path, value in SETS.get(component, {}).get(name, {}).items():
            section = settings
            for key in path[:-1]:
                section = section[key]
            section[path[-1]] = value
    return msgspec.convert(settings, Configuration)


def deployments(components: tuple[str, ...]) -> set[str]:
    """Those that run: there are webhooks where reprieve acts."""
    more = {"enforce": "reprieve-webhooks", "page": "reprieve-page"}
    return {"reprieve", *(name for component, name in more.items() if component in components)}


@pytest.mark.parametrize("components", [*combinations()], ids=lambda names: "+".join(names) or "base")
def test_each_combination_has_all_settings_or_says_what_contradicts(
    manifests: Path, tmp_path: Path, components: tuple[str, ...]
) -> None:
    refused = contradicting(components)
    objects = installed(manifests, components)
    found = processes(objects)
    assert found.keys() == deployments(components)
    for name, process in found.items():
        folder = mounted(tmp_path / name, process.files)
        if name not in refused:
            assert load(folder).configuration == expected(name, components, tmp_path)
            continue
        with pytest.raises(ConfigurationError) as caught:
            load(folder)
        assert str(caught.value) == f"{folder}{refused[name]}"
    listens, acts = "extender" in components, "enforce" in components
    names = {(body["kind"], body["metadata"]["name"]) for body in objects}
    assert (("Service", "reprieve") in names) == listens
    assert (("ClusterRole", "reprieve-enforce") in names) == ("rights" in components)
    assert any(kind in WEBHOOK_KINDS for kind, _ in names) == acts
    assert entries(objects) == ([(True, acts is False)] if listens else [])
    assert any(kind == "Secret" for kind, _ in names) == ("certificates" in components)


def entries(objects: list[Json]) -> list[tuple[bool, bool]]:
    """Of each file for the administrator of kube-scheduler: whether filter and preempt are ignorable."""
    found = []
    for body in objects:
        if (body["kind"], body["metadata"]["name"]) == ("ConfigMap", "reprieve-kube-scheduler"):
            (text,) = body["data"].values()
            asked = yaml.safe_load(text)["extenders"]
            found.append(tuple(each["ignorable"] for each in asked))
    return found


@pytest.mark.parametrize("components", LACKING, ids="+".join)
def test_what_a_component_needs_is_missed_at_once(manifests: Path, components: tuple[str, ...]) -> None:
    with pytest.raises(RuntimeError, match=LACKING[components]):
        installed(manifests, components)


def test_who_enforces_without_a_listener_does_not_start(tmp_path: Path) -> None:
    """Whoever puts the files together by hand."""
    files = {Path(each).name: (MANIFESTS / each).read_text() for each in FILES["reprieve"]}
    files["enforce.yaml"] = (MANIFESTS / "components" / "enforce" / "configuration.yaml").read_text()
    with pytest.raises(
        ConfigurationError, match=r"/enforce\.yaml: planning\.mode: cannot be Enforce if extender"
    ):
        load(mounted(tmp_path, files))


def test_cert_manager_looks_after_the_webhooks_of_quota_enforce(manifests: Path) -> None:
    objects = installed(manifests, (*ACTING[1:], "quota-enforce", "cert-manager"))
    annotated = {
        (body["kind"], body["metadata"]["name"])
        for body in objects
        if "cert-manager.io/inject-ca-from" in body["metadata"].get("annotations", {})
    }
    assert annotated == {(kind, name) for kind in WEBHOOK_KINDS for name in ("reprieve", "reprieve-queues")}


def test_settings_of_ones_own_are_one_file_more(manifests: Path, tmp_path: Path) -> None:
    """As the page and the file of values say it, beside a component."""
    (settings,) = BLOCK.findall(PAGE)
    folder = (manifests / VALUES).with_name("settings")
    for name in ("settings.yaml", "webhooks-settings.yaml"):
        (folder / name).write_text(settings)
    kustomization = folder / "kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("  # - ", "  - ").replace("  #   ", "    "))
    components = (*ACTING, "quota-enforce")
    found = processes(installed(manifests, (*components, "settings")))
    assert found.keys() == deployments(components)
    for name, process in found.items():
        configuration = load(mounted(tmp_path / name, process.files)).configuration
        planning = msgspec.structs.replace(configuration.planning, gates="UntilPlanned")
        assert configuration == msgspec.structs.replace(
            expected(name, components, tmp_path), planning=planning
        )


def test_every_component_with_a_file_for_a_process_is_combined() -> None:
    def adds(component: str) -> set[str]:
        kustomization = yaml.safe_load(
            (MANIFESTS / "components" / component / "kustomization.yaml").read_text()
        )
        targets = (each.get("target", {}) for each in kustomization.get("patches", []))
        patched = {each.get("name", "") for each in targets if each.get("kind") == "ConfigMap"}
        return patched | {each["name"] for each in kustomization.get("configMapGenerator", [])}

    names = {f"{name}-configuration" for name in FILES}
    found = {name for name in PATHS if PATHS[name] != name and adds(name) & names}
    assert found == SETS.keys()


@pytest.mark.parametrize("folder", ["kueue", "kueue-observe", "cert-manager", "kind", "second-scheduler"])
def test_each_overlay_has_the_settings_of_its_components(tmp_path: Path, folder: str) -> None:
    overlay = MANIFESTS / "overlays" / folder
    content = yaml.safe_load((overlay / "kustomization.yaml").read_text())
    components = tuple(Path(path).name for path in content.get("components", []))
    for name, process in processes(render(binaries(["kubectl"])["kubectl"], overlay)).items():
        configuration = load(mounted(tmp_path / name, process.files)).configuration
        assert configuration == expected(name, components, tmp_path)
        if name == "reprieve":
            assert configuration.planning.mode == ("Observe" if folder == "kueue-observe" else "Enforce")
