"""What a profile of kube-scheduler's configuration file says of its filters."""

from __future__ import annotations

from typing import Any, Final

import pytest
import yaml

from api.validation import FieldError
from controllers.gangs.scheduler.configuration import SchedulerConfiguration, parse
from nodes.filters.profile import DEFAULT_PROFILE, Profile
from nodes.search.decision import decide_group
from nodes.state.tables import Tables
from tests.kit.objects import GANG, gang, node, pod

EXTENDER: Final[dict[str, Any]] = {
    "urlPrefix": "https://reprieve:9443/v1",
    "filterVerb": "filter",
    "preemptVerb": "preempt",
}
SSD: Final[dict[str, Any]] = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}]
    }
}
HARD: Final[dict[str, Any]] = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}


def read(profile: dict[str, Any], **extender: Any) -> SchedulerConfiguration:
    file = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [EXTENDER | extender],
        "profiles": [profile],
    }
    return parse(yaml.safe_dump(file))


def profile(fields: dict[str, Any], **extender: Any) -> Profile:
    return read(fields, **extender).profiles["default-scheduler"]


def plugins(**points: Any) -> dict[str, Any]:
    """`point=(enabled, disabled)`."""
    return {
        "plugins": {
            point: {
                "enabled": [{"name": name} for name in enabled],
                "disabled": [{"name": name} for name in disabled],
            }
            for point, (enabled, disabled) in points.items()
        }
    }


def args(plugin: str, **fields: Any) -> dict[str, Any]:
    return {"pluginConfig": [{"name": plugin, "args": fields}]}


@pytest.mark.parametrize(
    ("fields", "off"),
    [
        ({}, set()),
        (plugins(multiPoint=([], ["NodePorts"])), {"NodePorts"}),
        (plugins(filter=([], ["NodePorts"])), {"NodePorts"}),
        (plugins(score=([], ["NodePorts"])), set()),
        (plugins(multiPoint=(["NodePorts"], ["NodePorts"])), set()),
        (plugins(multiPoint=([], ["NodePorts"]), filter=(["NodePorts"], [])), set()),
        (plugins(multiPoint=(["NodePorts"], []), filter=([], ["NodePorts"])), {"NodePorts"}),
        (plugins(filter=([], ["NodeAffinity"])), {"NodeAffinity"}),
        (plugins(filter=([], ["VolumeBinding"])), set()),
        (plugins(filter=([], ["VolumeBinding"]), preFilter=([], ["VolumeBinding"])), {"VolumeBinding"}),
    ],
)
def test_filters_are_off_at_multi_point_or_filter(fields: dict[str, Any], off: set[str]) -> None:
    assert profile(fields).off == off


def test_a_star_disables_all_that_is_not_enabled_again() -> None:
    off = profile(plugins(multiPoint=(["NodePorts"], ["*"]))).off
    assert "NodePorts" not in off
    assert {"NodeResourcesFit", "InterPodAffinity", "VolumeBinding"} <= off


def test_a_pre_filter_that_goes_on_is_known() -> None:
    assert profile(plugins(filter=([], ["VolumeBinding", "NodePorts"]))).half_off == {"VolumeBinding"}


def test_filters_of_others_are_named() -> None:
    found = profile(plugins(filter=(["Mine", "NodePorts"], []), preFilter=(["Other"], []), score=(["S"], [])))
    assert found.named == (
        "plugin Mine of the scheduler's profile",
        "plugin Other of the scheduler's profile",
    )


def test_a_filter_without_its_pre_filter_is_named() -> None:
    found = profile(plugins(multiPoint=([], ["NodePorts", "TaintToleration"]), filter=(["NodePorts"], [])))
    assert found.named == ("filter NodePorts without its preFilter",)
    assert profile(plugins(preFilter=([], ["NodeAffinity"]))).named == ()


def test_a_profile_without_settings_is_the_default() -> None:
    assert profile({}) == DEFAULT_PROFILE
    assert profile(args("PodTopologySpread", defaultingType="System")) == DEFAULT_PROFILE
    soft = HARD | {"whenUnsatisfiable": "ScheduleAnyway"}
    listed = args("PodTopologySpread", defaultingType="List", defaultConstraints=[soft])
    assert profile(listed) == DEFAULT_PROFILE


@pytest.mark.parametrize(
    ("resource", "ignored"),
    [
        ("example.com/a", True),
        ("example.com/b", False),
        ("group.io/any", True),
        ("cpu", False),
        ("kubernetes.io/a", False),
        ("requests.example.com/a", False),
    ],
)
def test_only_extended_resources_are_ignored(resource: str, ignored: bool) -> None:
    names = ["example.com/a", "cpu", "kubernetes.io/a", "requests.example.com/a"]
    fields = args("NodeResourcesFit", ignoredResources=names, ignoredResourceGroups=["group.io"])
    assert profile(fields).ignores(resource) is ignored


def test_what_an_extender_manages_replaces_the_ignored_resources() -> None:
    found = profile(
        args("NodeResourcesFit", ignoredResources=["example.com/a"]),
        managedResources=[{"name": "example.com/b", "ignoredByScheduler": True}, {"name": "example.com/c"}],
    )
    assert found.ignored_resources == {"example.com/b"}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (args("NodeResourcesFit", ignoredResources="all"), "args.ignoredResources: "),
        (args("NodeResourcesFit", ignoredResources=["a b"]), "args.ignoredResources[0]: "),
        (args("NodeResourcesFit", ignoredResourceGroups=["a/b"]), "args.ignoredResourceGroups[0]: "),
        (args("NodeAffinity", addedAffinity=7), "args.addedAffinity: "),
        (
            args("NodeAffinity", addedAffinity={"requiredDuringSchedulingIgnoredDuringExecution": {}}),
            "args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: ",
        ),
        (
            args(
                "PodTopologySpread",
                defaultingType="List",
                defaultConstraints=[HARD, HARD | {"whenUnsatisfiable": "x"}],
            ),
            "args.defaultConstraints[1].whenUnsatisfiable: ",
        ),
        (args("PodTopologySpread", defaultConstraints=[HARD]), "args.defaultingType: "),
        (args("PodTopologySpread", defaultingType="Some"), "args.defaultingType: "),
    ],
)
def test_an_error_names_the_field(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(FieldError) as raised:
        read(fields)
    assert str(raised.value).startswith(f"profiles[0].pluginConfig[0].{error}")


def test_an_invalid_plugin_is_named_by_its_field() -> None:
    with pytest.raises(FieldError) as raised:
        read({"plugins": {"filter": {"disabled": [{}]}}})
    assert str(raised.value).startswith("profiles[0].plugins.filter.disabled[0].name: ")


# ---- what follows for a plan


def decided(fields: dict[str, Any], *members: Any, **running: Any) -> tuple[str, list[str]]:
    """The decision for a gang of one on a node where another pod runs that stays."""
    tables = Tables(profiles=read(fields).profiles)
    tables.upsert_node(node("n1", cpu="4", labels={"kubernetes.io/hostname": "n1"}))
    tables.upsert_pod(pod("there", node="n1", priority=1000, **running))
    tables.upsert_group(gang(minimum=1))
    for each in members:
        tables.upsert_pod(each)
    spec = decide_group(tables.snapshot(), "default", GANG)
    return spec.outcome, list(spec.not_modelled)


PORT: Final = [{"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]


def test_added_affinity_counts() -> None:
    member = pod("m", group=GANG)
    assert decided(args("NodeAffinity", addedAffinity=SSD), member) == ("Unschedulable", [])
    other = pod("m", group=GANG, schedulerName="other")
    assert decided(args("NodeAffinity", addedAffinity=SSD), other) == ("Fits", [])


def test_ignored_resources_are_not_asked_for() -> None:
    member = pod("m", group=GANG, requests={"example.com/a": "1"})
    assert decided({}, member) == ("Unschedulable", [])
    assert decided(args("NodeResourcesFit", ignoredResources=["example.com/a"]), member) == ("Fits", [])


def test_a_filter_that_is_off_lets_members_beside_others() -> None:
    member = pod("m", group=GANG, containers=PORT)
    assert decided({}, member, containers=PORT) == ("Unschedulable", [])
    assert decided(plugins(filter=([], ["NodePorts"])), member, containers=PORT) == ("Fits", [])


def test_what_nobody_models_is_named() -> None:
    member = pod("m", group=GANG)
    spread = args("PodTopologySpread", defaultingType="List", defaultConstraints=[HARD])
    assert decided(spread, member) == ("Fits", ["default topology spread of the scheduler's profile"])
    own = pod("m", group=GANG, topologySpreadConstraints=[HARD | {"whenUnsatisfiable": "ScheduleAnyway"}])
    assert decided(spread, own) == ("Fits", [])
    foreign = plugins(filter=(["Mine"], []))
    assert decided(foreign, member) == ("Fits", ["plugin Mine of the scheduler's profile"])
