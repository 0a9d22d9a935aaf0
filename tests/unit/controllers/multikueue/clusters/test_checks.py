"""What AdmissionChecks of a manager say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.checks import AdmissionCheck, MultiKueueConfig
from controllers.multikueue.clusters.activity import CONNECTED, Activity
from controllers.multikueue.clusters.checks import ConfigError, State, clusters_of, state_of

PARAMETERS = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "all"}


def check(parameters: dict[str, str] | None = None) -> AdmissionCheck:
    spec: dict[str, Any] = {"controllerName": "kueue.x-k8s.io/multikueue", "parameters": parameters}
    return msgspec.convert({"metadata": {"name": "c"}, "spec": spec}, AdmissionCheck)


def configs(*clusters: str, **spec: str) -> dict[str, MultiKueueConfig]:
    value = {"metadata": {"name": "all"}, "spec": {"clusters": list(clusters), **spec}}
    return {"all": msgspec.convert(value, MultiKueueConfig)}


def state(*clusters: str, known: str = "", active: str = "") -> State:
    return state_of(
        check(PARAMETERS), configs(*clusters).get, set(known.split()), lambda name: name in active.split()
    )


def test_all_clusters_are_there() -> None:
    assert state("b", "a", known="a b", active="a b") == (True, "Active", "The admission check is active")


def test_some_are_missing_or_inactive() -> None:
    assert state("d", "c", "b", "a", known="a b", active="a") == (
        True,
        "SomeActiveClusters",
        "Missing clusters: [d c], Inactive clusters: [b]",
    )
    assert state("a", "b", known="a b", active="b") == (True, "SomeActiveClusters", "Inactive clusters: [a]")


def test_none_can_be_used() -> None:
    assert state("a", "b", known="b") == (
        False,
        "NoUsableClusters",
        "Missing clusters: [a], Inactive clusters: [b]",
    )


@pytest.mark.parametrize(
    ("parameters", "config", "error"),
    [
        (None, configs("a"), "missing parameters reference"),
        (
            PARAMETERS | {"apiGroup": "bad.group"},
            configs("a"),
            'wrong group "bad.group", expecting "kueue.x-k8s.io": bad parameters reference',
        ),
        (
            PARAMETERS | {"kind": "Bad"},
            configs("a"),
            'wrong kind "Bad", expecting "MultiKueueConfig": bad parameters reference',
        ),
        (PARAMETERS, {}, 'multikueueconfigs.kueue.x-k8s.io "all" not found'),
        (
            PARAMETERS,
            configs("a", quotaManagement="Automated"),
            "spec.quotaManagement of MultiKueueConfig all: Automated is not supported",
        ),
    ],
)
def test_parameters_that_cannot_be_used(
    parameters: dict[str, str] | None, config: dict[str, MultiKueueConfig], error: str
) -> None:
    with pytest.raises(ConfigError):
        clusters_of(check(parameters), config.get)
    assert state_of(check(parameters), config.get, {"a"}, lambda _: True) == (
        False,
        "BadConfig",
        f"Cannot load the AdmissionChecks parameters: {error}",
    )


def test_clusters_keep_the_order_of_the_config() -> None:
    assert clusters_of(check(PARAMETERS), configs("b", "a", quotaManagement="Manual").get) == ("b", "a")


# ---- MultiKueueClusters


def test_the_message_says_how_often_and_when_again() -> None:
    """13091."""
    assert (CONNECTED.reason, CONNECTED.message, CONNECTED.is_active) == ("Active", "Connected", True)
    failed = Activity("ClientConnectionFailed", "no answer in time", 3, 1_767_225_600.0)
    assert failed.message == (
        "no answer in time; connection attempts: 3, next connection attempt: 2026-01-01T00:00:00Z"
    )
    assert not failed.is_active
    unloaded = Activity.unloaded("BadKubeConfig", "no key")
    assert (unloaded.reason, unloaded.message) == ("BadKubeConfig", "load client config failed: no key")
