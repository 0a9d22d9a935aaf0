"""Values that are wrong fail before anything is installed, and the message names them."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml

from hack.charts.schema import OWNED, schema
from hack.controlplane.client import Json
from tests.kit.charts import MAIN, ChartError, hooks_of, rendered

CALLED: Final[Json] = {"scheduler": {"entries": "Cluster"}}
ACTING: Final[Json] = {"mode": "Enforce", **CALLED}

WRONG: Final[dict[str, tuple[Json, str]]] = {
    "an unknown value": ({"modes": "Enforce"}, "additional properties 'modes' not allowed"),
    "an unknown field": (
        {"scheduler": {"entry": "Cluster"}},
        "at '/scheduler': additional properties 'entry' not allowed",
    ),
    "a wrong word": ({"mode": "Evict"}, "at '/mode': value must be one of 'Enforce', 'Observe', 'Off'"),
    "a wrong type": ({"replicas": "two"}, "at '/replicas': got string, want integer"),
    "too few": ({"replicas": 0}, "at '/replicas': minimum: got 0, want 1"),
    "a limit": ({"limits": {"podsPerPlan": "many"}}, "at '/limits/podsPerPlan'"),
    "a selector": ({"selector": {"matchLabel": {}}}, "at '/selector'"),
    "a digest": ({"image": {"digest": "sha256:1"}}, "at '/image/digest'"),
    "a setting": (
        {"configuration": {"planning": {"gate": "Off"}}},
        "at '/configuration/planning': additional properties 'gate' not allowed",
    ),
    "the type of a setting": (
        {"configuration": {"planning": {"searchBudget": "10"}}},
        "at '/configuration/planning/searchBudget': got string, want integer",
    ),
    "a word of a setting": (
        {"configuration": {"planning": {"gates": "Always"}}},
        "at '/configuration/planning/gates': value must be one of",
    ),
    "a setting of the webhooks": (
        {"webhooks": {"configuration": {"webhooks": {"queues": True}}}},
        "at '/webhooks/configuration/webhooks': additional properties 'queues' not allowed",
    ),
    "a setting of the page": (
        {"page": {"configuration": {"planning": {}}}},
        "at '/page/configuration': additional properties 'planning' not allowed",
    ),
}
REFUSED: Final[dict[str, Json]] = {
    "mode: Enforce needs scheduler.entries": {"mode": "Enforce"},
    "rights: Observe does not go with mode: Enforce": {**ACTING, "rights": "Observe"},
    "mode: Off without scheduler.entries": {"mode": "Off"},
    "scheduler.entries: Second needs mode: Enforce": {"scheduler": {"entries": "Second"}},
    "certificates: CertManager needs scheduler.entries": {"certificates": "CertManager"},
    "quota: Enforce needs mode: Enforce": {**CALLED, "quota": "Enforce"},
    "quota: Enforce does not go with kueue.installed": {
        **ACTING,
        "quota": "Enforce",
        "kueue": {"installed": True},
    },
    "selector: must be empty with quota: Enforce": {
        **ACTING,
        "quota": "Enforce",
        "selector": {"matchLabels": {"a": "b"}},
    },
    "multikueue.manager: needs quota: Enforce": {**ACTING, "multikueue": {"manager": True}},
    "configuration.multikueue: needs multikueue.manager": {"configuration": {"multikueue": {"origin": "a"}}},
    "configuration.extender: needs scheduler.entries": {"configuration": {"extender": {"maxBodyBytes": 1}}},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_value_fails_with_its_path(name: str) -> None:
    values, message = WRONG[name]
    with pytest.raises(ChartError) as caught:
        rendered(values)
    assert message in str(caught.value)


@pytest.mark.parametrize("message", REFUSED)
def test_values_that_do_not_go_together_are_refused(message: str) -> None:
    with pytest.raises(ChartError) as caught:
        rendered(REFUSED[message])
    assert message in str(caught.value)


def test_another_namespace_is_refused() -> None:
    with pytest.raises(
        ChartError, match="namespace: is default; install the chart with --namespace reprieve-system"
    ):
        rendered({}, namespace="default")


@pytest.mark.parametrize("off", ["Off", False], ids=["a word", "without quotes"])
def test_off_is_understood_in_both_forms(off: Any) -> None:
    values = {**CALLED, "mode": off, "quota": off, "configuration": {"planning": {"gates": off}}}
    (body,) = (
        each for each in rendered(values) if each["kind"] == "ConfigMap" and "planning.yaml" in each["data"]
    )
    assert yaml.safe_load(body["data"]["planning.yaml"])["planning"]["mode"] == "Off"


def test_what_a_value_sets_is_no_setting() -> None:
    """A process refuses two files that say different things of one field."""
    fields = schema()["properties"]["configuration"]["properties"]
    for path in OWNED:
        section = fields
        *sections, name = path.split(".")
        for each in sections:
            section = section[each]["properties"]
        assert name not in section, path


def named(objects: list[Json], kind: str) -> set[str]:
    return {each["metadata"]["name"] for each in objects if each["kind"] == kind}


def test_only_who_has_the_rights_to_hold_anything_has_a_hook() -> None:
    assert hooks_of(rendered(CALLED)) == []
    for values in (ACTING, {**CALLED, "rights": "Enforce"}):
        hooks = hooks_of(rendered(values))
        assert {each["kind"] for each in hooks} == {
            "Job",
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
        }
        assert {each["metadata"]["name"] for each in hooks} == {"reprieve-release"}
        assert {each["metadata"]["annotations"]["helm.sh/hook"] for each in hooks} == {"post-delete"}


@pytest.mark.parametrize(("installed", "successor"), [(False, "Kubernetes"), (True, "Kueue")])
def test_the_hook_leaves_the_cluster_to_who_is_there(installed: bool, successor: str) -> None:
    (job,) = (
        each for each in rendered({**ACTING, "kueue": {"installed": installed}}) if each["kind"] == "Job"
    )
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["release", "--to", successor]


def test_a_service_monitor_finds_the_pods_of_every_process() -> None:
    values = {**ACTING, "page": {"enabled": True}, "monitoring": {"monitor": "ServiceMonitor"}}
    objects = rendered(values)
    assert named(objects, "PodMonitor") == set()
    (monitor,) = (each for each in objects if each["kind"] == "ServiceMonitor")
    chosen = monitor["spec"]["selector"]["matchLabels"].items()
    services = [
        each for each in objects if each["kind"] == "Service" and chosen <= each["metadata"]["labels"].items()
    ]
    pods = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in objects
        if each["kind"] == "Deployment"
    }
    selected = {
        name
        for name, labels in pods.items()
        for each in services
        if each["spec"]["selector"].items() <= labels.items()
    }
    assert len(services) == len(pods) == 3
    assert selected == {*pods}


def test_every_pod_keeps_to_the_restricted_standard() -> None:
    values = {
        "mode": "Enforce",
        "scheduler": {"entries": "Second"},
        "page": {"enabled": True},
    }
    pods = [
        each["spec"]["template"]["spec"] for each in rendered(values) if each["kind"] in ("Deployment", "Job")
    ]
    assert len(pods) == 5
    for pod in pods:
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_the_comments_of_the_values_say_each_limit() -> None:
    """A limit in a comment can be used as it stands there."""
    text = (MAIN / "values.yaml").read_text()
    for name in schema()["properties"]["limits"]["anyOf"][0]["properties"]:
        assert f"# {name}: " in text
