"""The chart and kustomize make the same objects."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import WEBHOOK_KINDS, render
from tests.kit.charts import comparable, differences, rendered
from tests.kit.values import OFFERED, VALUES, checkout, choose

PATHS: Final = {path.rpartition("/")[2]: path for path in OFFERED}
NOT_IN_THE_CHART: Final = frozenset({"certificates"})
"""The chart makes no Secrets."""
HEAD: Final = "apiVersion: reprieve.dev/v1alpha1\nkind: Configuration\n"
CALLED: Final[Json] = {"scheduler": {"entries": "Cluster"}}
ACTING: Final[Json] = {**CALLED, "mode": "Enforce"}
ACTS: Final = ("extender", "rights", "enforce")
MONITORED: Final[Json] = {"monitoring": {"monitor": "PodMonitor", "rules": True, "dashboard": True}}
MANAGER: Final[Json] = {"origin": "east", "order": "FirstComeFirstServed"}
SELECTOR: Final[Json] = {
    "matchLabels": {"reprieve.dev/enforced": "true"},
    "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["system"]}],
}
LIMITS: Final[Json] = {"podsPerPlan": 100, "podsPerHour": 1_000_000}
SETTINGS: Final[Json] = {
    "planning": {"gates": "UntilPlanned", "nativeGroups": "Off", "searchBudget": 12_345_678},
    "jobs": {"manageJobsWithoutQueueName": True},
}
WEBHOOKS: Final[Json] = {"webhooks": {"recheckSeconds": 60, "maxBodyBytes": 16_777_216}}
DIGEST: Final = f"sha256:{'0123456789abcdef' * 4}"


@dataclass(frozen=True, slots=True)
class Set:
    """Values of the chart, and the kustomization that does the same."""

    values: Json = field(default_factory=dict)
    components: tuple[str, ...] = ()
    settings: Json = field(default_factory=dict)
    webhooks: Json = field(default_factory=dict)
    """Of the component `settings`: the files for reprieve and for the webhooks."""
    more: Json = field(default_factory=dict)
    """What else is in kustomization.yaml."""


def selected() -> Json:
    """What docs/modes.md says of the webhook for pods."""
    requirements = [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "reprieve-system"],
        },
        *SELECTOR["matchExpressions"],
    ]
    selector = {"matchLabels": SELECTOR["matchLabels"], "matchExpressions": requirements}
    patch = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "reprieve"},
        "webhooks": [{"name": "pods.mutate.reprieve.dev", "namespaceSelector": selector}],
    }
    return {"patches": [{"patch": yaml.safe_dump(patch)}]}


def replaced(kind: str, name: str, path: str, value: Any) -> Json:
    """A patch of one field."""
    return {
        "target": {"kind": kind, "name": name},
        "patch": yaml.safe_dump([{"op": "add", "path": path, "value": value}]),
    }


POD: Final = "/spec/template/spec"
MOVED: Final[Json] = {
    "values": {
        "image": {"repository": "registry.example/reprieve", "digest": DIGEST, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "replicas": 3,
        "resources": {"limits": {"memory": "4Gi"}},
        "placement": {"nodeSelector": {"pool": "system"}, "priorityClassName": "high"},
    },
    "more": {
        "images": [{"name": "reprieve", "newName": "registry.example/reprieve", "digest": DIGEST}],
        "replicas": [{"name": "reprieve", "count": 3}],
        "patches": [
            replaced("Deployment", "reprieve", f"{POD}/{path}", value)
            for path, value in {
                "imagePullSecrets": [{"name": "registry"}],
                "nodeSelector": {"pool": "system"},
                "priorityClassName": "high",
                "containers/0/imagePullPolicy": "Always",
                "containers/0/resources/limits/memory": "4Gi",
            }.items()
        ],
    },
}
DEFAULTS: Final = frozenset({"configuration.yaml"})
"""The name of files that say what is the default, too."""
LARGEST: Final = "all where reprieve manages quota"
SETS: Final[dict[str, Set]] = {
    "an observer": Set(),
    "an observer, the page": Set({"page": {"enabled": True}}, ("page",)),
    "an observer beside Kueue": Set(
        {"quota": "Observe", "kueue": {"installed": True}}, ("kueue-installed", "quota-observe")
    ),
    "a called observer": Set(CALLED, ("extender",)),
    "a called observer, cert-manager": Set(
        {**CALLED, "certificates": "CertManager", "kueue": {"installed": True}},
        ("extender", "kueue-installed", "cert-manager"),
    ),
    "a called observer, monitored": Set({**CALLED, **MONITORED}, ("extender", "monitoring")),
    "the way back": Set({**CALLED, "rights": "Enforce"}, ("extender", "rights")),
    "off": Set({**CALLED, "mode": "Off"}, ("extender",), settings={"planning": {"mode": "Off"}}),
    "enforce": Set(ACTING, ACTS),
    "a second scheduler": Set(
        {
            "mode": "Enforce",
            "scheduler": {
                "entries": "Second",
                "image": {"repository": "registry.example/kube-scheduler", "tag": "v1.36.3"},
            },
        },
        (*ACTS, "second-scheduler"),
        more={
            "images": [
                {
                    "name": "kube-scheduler",
                    "newName": "registry.example/kube-scheduler",
                    "newTag": "v1.36.3",
                }
            ]
        },
    ),
    "quota": Set({**ACTING, "quota": "Enforce"}, (*ACTS, "quota-enforce")),
    "enforce beside Kueue": Set(
        {**ACTING, "quota": "Observe", "kueue": {"installed": True}},
        (*ACTS, "kueue-installed", "quota-observe"),
    ),
    "cert-manager": Set({**ACTING, "certificates": "CertManager"}, (*ACTS, "cert-manager")),
    LARGEST: Set(
        {
            **MONITORED,
            "mode": "Enforce",
            "scheduler": {"entries": "Second"},
            "quota": "Enforce",
            "page": {"enabled": True},
            "certificates": "CertManager",
        },
        (*ACTS, "second-scheduler", "quota-enforce", "monitoring", "page", "cert-manager"),
    ),
    "a manager of several clusters": Set(
        {
            **ACTING,
            "quota": "Enforce",
            "multikueue": {"manager": True},
            "configuration": {"multikueue": MANAGER},
        },
        (*ACTS, "quota-enforce"),
        settings={"multikueue": MANAGER},
        more={"resources": ["../base", "../multikueue"]},
    ),
    "a worker of a manager": Set(
        {**ACTING, "quota": "Enforce", "multikueue": {"worker": True}},
        (*ACTS, "quota-enforce"),
        more={"resources": ["../base", "../multikueue-worker"]},
    ),
    "settings": Set(
        {**ACTING, "configuration": SETTINGS, "webhooks": {"configuration": WEBHOOKS}},
        ACTS,
        settings=SETTINGS,
        webhooks={
            "planning": {name: SETTINGS["planning"][name] for name in ("gates", "nativeGroups")},
            "jobs": SETTINGS["jobs"],
            **WEBHOOKS,
        },
    ),
    "settings of the page": Set(
        {"page": {"enabled": True, "configuration": {"page": {"sessionSeconds": 600}}}},
        ("page",),
        more={
            "patches": [
                replaced(
                    "ConfigMap",
                    "reprieve-page-configuration",
                    "/data/settings.yaml",
                    f"{HEAD}page: {{sessionSeconds: 600}}\n",
                )
            ]
        },
    ),
    "one namespace after the other": Set(
        {**ACTING, "selector": SELECTOR, "limits": LIMITS},
        ACTS,
        settings={"planning": {"enforcedNamespaceSelector": SELECTOR, "limits": LIMITS}},
        more=selected(),
    ),
    "another image, other places": Set(**MOVED),
}
"""The components are in the order of manifests/install/kustomization.yaml."""


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return checkout(tmp_path_factory.mktemp("checkout"))


def kustomized(manifests: Path, case: Set) -> list[Json]:
    """What kustomize makes of the file of values, with these components and settings."""
    file = manifests / VALUES
    shipped = checkout_text(manifests)
    has_settings = bool(case.settings or case.webhooks)
    names = (*case.components, *(("settings",) if has_settings else ()))
    content = yaml.safe_load(choose(shipped, [PATHS[name] for name in names]))
    file.write_text(yaml.safe_dump({**content, **case.more}))
    if has_settings:
        write_settings(file.parent / "settings", case)
    return render(binaries(["kustomize"])["kustomize"], file.parent)


@cache
def checkout_text(manifests: Path) -> str:
    """The file of values as it is shipped."""
    return (manifests / VALUES).read_text()


def write_settings(folder: Path, case: Set) -> None:
    """What a user writes into the files of the component `settings`."""
    generators = [{"name": "reprieve-configuration", "files": ["settings.yaml"]}]
    (folder / "settings.yaml").write_text(HEAD + yaml.safe_dump(case.settings or {"planning": {}}))
    if case.webhooks:
        (folder / "webhooks-settings.yaml").write_text(HEAD + yaml.safe_dump(case.webhooks))
        generators.append({"name": "reprieve-webhooks-configuration", "files": ["webhooks-settings.yaml"]})
    merged = [{**each, "namespace": "reprieve-system", "behavior": "merge"} for each in generators]
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    (folder / "kustomization.yaml").write_text(
        yaml.safe_dump({**kustomization, "configMapGenerator": merged})
    )


@pytest.mark.parametrize("name", SETS)
def test_the_chart_makes_what_kustomize_makes(manifests: Path, tmp_path: Path, name: str) -> None:
    case = SETS[name]
    ours = comparable(rendered(case.values), tmp_path / "helm")
    theirs = comparable(kustomized(manifests, case), tmp_path / "kustomize")
    assert differences(ours, theirs) == []
    assert not [each["data"] for each in ours.values() if "error" in (each.get("data") or {})]


def test_the_sets_have_every_component() -> None:
    used = {name for case in SETS.values() for name in case.components}
    settings = {"settings"} if any(case.settings for case in SETS.values()) else set()
    assert used | settings == PATHS.keys() - NOT_IN_THE_CHART
    resources = {each for case in SETS.values() for each in case.more.get("resources", ())}
    assert {"../multikueue", "../multikueue-worker"} <= resources


@pytest.fixture(scope="module")
def sides(manifests: Path) -> dict[str, list[Json]]:
    """The largest set, by who has rendered it."""
    case = SETS[LARGEST]
    return {"helm": rendered(case.values), "kustomize": kustomized(manifests, case)}


def leaves(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values."""
    if isinstance(body, dict | list) and body:
        for key, value in body.items() if isinstance(body, dict) else enumerate(body):
            yield from leaves(value, (*path, key))
    else:
        yield path


def changed(body: Json, path: tuple[Any, ...]) -> Json:
    """The object with another value at a path. A name with a hash gets another name."""
    found = copy.deepcopy(body)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    old = inner[path[-1]]
    inner[path[-1]] = not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else f"x{old}"
    return found


@pytest.mark.parametrize("side", ["helm", "kustomize"])
def test_a_change_of_any_value_is_found(sides: dict[str, list[Json]], side: str, tmp_path: Path) -> None:
    compared = 0
    for body in sides[side]:
        before = comparable([body], tmp_path / "before" / str(compared))
        if not before:  # the Namespace, and hooks
            continue
        for path in leaves(body):
            compared += 1
            after = comparable([changed(body, path)], tmp_path / "after" / str(compared))
            assert differences(before, after), f"{body['kind']} {body['metadata']['name']} {path}"
    assert compared > 1000


@pytest.mark.parametrize("side", ["helm", "kustomize"])
def test_an_object_that_only_one_side_has_is_found(
    sides: dict[str, list[Json]], side: str, tmp_path: Path
) -> None:
    whole = comparable(sides[side], tmp_path / "whole")
    assert len(whole) > 60
    for key in whole:
        rest = {each: body for each, body in whole.items() if each != key}
        assert differences(whole, rest) == differences(rest, whole) == [" ".join(filter(None, key))]


@pytest.mark.parametrize("side", ["helm", "kustomize"])
def test_a_file_that_only_one_side_has_is_found(
    sides: dict[str, list[Json]], side: str, tmp_path: Path
) -> None:
    dropped = 0
    for number, body in enumerate(sides[side]):
        if body["kind"] != "ConfigMap":
            continue
        for name in body["data"].keys() - DEFAULTS:
            less = copy.deepcopy(body)
            del less["data"][name]
            before = comparable([body], tmp_path / f"{number}-{name}" / "before")
            after = comparable([less], tmp_path / f"{number}-{name}" / "after")
            assert differences(before, after), name
            dropped += 1
    assert dropped > 5


def test_a_name_without_a_hash_is_found(sides: dict[str, list[Json]], tmp_path: Path) -> None:
    (body,) = (
        each for each in sides["helm"] if each["metadata"]["name"].startswith("reprieve-configuration-")
    )
    bare = copy.deepcopy(body)
    bare["metadata"]["name"] = "reprieve-configuration"
    one, other = (comparable([each], tmp_path / name) for name, each in {"hash": body, "bare": bare}.items())
    assert differences(one, other)


def test_the_webhooks_are_the_same_objects_in_every_set(sides: dict[str, list[Json]]) -> None:
    """There are four, and cert-manager looks after them."""
    kinds = [body["kind"] for body in sides["helm"] if body["kind"] in WEBHOOK_KINDS]
    assert sorted(kinds) == sorted([*WEBHOOK_KINDS, *WEBHOOK_KINDS])
