"""kube-scheduler's configuration file: which lists are complete, and which pods never come to us."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from api.validation import FieldError
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.lifecycle.settings import Confirmation
from controllers.gangs.scheduler.attempts import Backoffs
from controllers.gangs.scheduler.configuration import Limits, SchedulerConfiguration, parse
from controllers.gangs.scheduler.file import load
from kube.client import ApiClient
from runtime.mirror.views import Views
from tests.kit.stage import Api

BASE = Path("manifests/components/enforce/kube-scheduler.yaml")
FILTER: dict[str, Any] = {"urlPrefix": "https://reprieve:9443/v1", "filterVerb": "filter", "ignorable": True}
PREEMPT: dict[str, Any] = {"urlPrefix": "https://reprieve:9443/v1", "preemptVerb": "preempt"}
OURS = [FILTER, PREEMPT]
OTHER: dict[str, Any] = {"urlPrefix": "https://other/api", "filterVerb": "fit", "preemptVerb": "evict"}
GPUS = [{"name": "nvidia.com/gpu", "ignoredByScheduler": True}]


def read(**fields: Any) -> SchedulerConfiguration:
    file = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": OURS,
        **fields,
    }
    return parse(yaml.safe_dump(file))


def preemption(**args: Any) -> list[dict[str, Any]]:
    return [
        {"name": "ImageLocality", "args": {"minCandidateNodesPercentage": 100}},
        {"name": "DefaultPreemption", "args": {"kind": "DefaultPreemptionArgs", **args}},
    ]


# ---- limits


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, Limits(100, 100)),
        ({"percentageOfNodesToScore": 100}, Limits(None, 100)),
        ({"percentageOfNodesToScore": 99}, Limits(100, 100)),
        ({"percentageOfNodesToScore": None, "profiles": None}, Limits(100, 100)),
        ({"profiles": [{"percentageOfNodesToScore": 100}]}, Limits(None, 100)),
        ({"percentageOfNodesToScore": 100, "profiles": [{"percentageOfNodesToScore": 0}]}, Limits(100, 100)),
        ({"percentageOfNodesToScore": 100, "profiles": [{}]}, Limits(None, 100)),
        ({"profiles": [{"pluginConfig": preemption()}]}, Limits(100, 100)),
        ({"profiles": [{"pluginConfig": preemption(minCandidateNodesPercentage=100)}]}, Limits(100, None)),
        ({"profiles": [{"pluginConfig": preemption(minCandidateNodesPercentage=10)}]}, Limits(100, 100)),
        ({"profiles": [{"pluginConfig": preemption(minCandidateNodesAbsolute=7)}]}, Limits(100, 7)),
        ({"profiles": [{"pluginConfig": preemption(minCandidateNodesAbsolute=0)}]}, Limits(100, 0)),
        ({"profiles": [{"pluginConfig": [{"name": "DefaultPreemption"}]}]}, Limits(100, 100)),
    ],
)
def test_limits_of_the_only_profile(fields: dict[str, Any], limits: Limits) -> None:
    scheduler = read(**fields)
    assert scheduler.limits_of("default-scheduler") == limits
    assert scheduler.limits_of("") == limits


def test_each_profile_has_its_own_limits_and_an_unknown_one_the_defaults() -> None:
    all_nodes = {"schedulerName": "all", "percentageOfNodesToScore": 100}
    scheduler = read(profiles=[{"schedulerName": "some"}, all_nodes])
    assert scheduler.limits_of("some") == Limits(100, 100)
    assert scheduler.limits_of("all") == Limits(None, 100)
    assert scheduler.limits_of("default-scheduler") == Limits(100, 100)


def test_without_a_file_the_scheduler_s_defaults_count() -> None:
    scheduler = SchedulerConfiguration()
    assert scheduler.limits_of("any") == Limits(100, 100)
    assert not scheduler.keeps_away([])


@pytest.mark.parametrize(
    ("limit", "length", "complete"), [(100, 99, True), (100, 100, False), (0, 0, False), (None, 5000, True)]
)
def test_a_list_is_complete_if_it_is_shorter_than_its_limit(
    limit: int | None, length: int, complete: bool
) -> None:
    assert Limits(limit, None).is_filter_complete(length) is complete
    assert Limits(None, limit).are_candidates_complete(length) is complete


@pytest.mark.parametrize(
    ("extenders", "limits"),
    [
        ([OTHER, *OURS], Limits(0, 0)),
        ([*OURS, OTHER], Limits(0, 100)),  # filter is ignorable: it is called after the other one
        ([*OURS, OTHER | {"ignorable": True}], Limits(100, 100)),
        ([OTHER | {"filterVerb": ""}, *OURS], Limits(100, 0)),
        # Two entries may be ours: the other one may shorten the list.
        ([*OURS, FILTER | {"urlPrefix": "http://x/v1"}], Limits(0, 100)),
        ([{"urlPrefix": "https://other/api", "prioritizeVerb": "rank"}, *OURS], Limits(100, 100)),
    ],
)
def test_a_list_that_another_extender_may_have_shortened_is_never_complete(
    extenders: list[dict[str, Any]], limits: Limits
) -> None:
    assert read(extenders=extenders).limits_of("") == limits


def test_a_scheduler_that_looks_at_every_node_may_have_other_extenders() -> None:
    profile = {"pluginConfig": preemption(minCandidateNodesPercentage=100)}
    scheduler = read(percentageOfNodesToScore=100, profiles=[profile], extenders=[OTHER, *OURS])
    assert scheduler.limits_of("") == Limits(None, None)


# ---- managedResources


@pytest.mark.parametrize(
    ("extenders", "asked", "away"),
    [
        (OURS, ["cpu"], False),
        ([FILTER | {"managedResources": GPUS}, PREEMPT], ["cpu"], True),
        ([FILTER, PREEMPT | {"managedResources": GPUS}], ["cpu"], True),
        ([FILTER | {"managedResources": GPUS}, PREEMPT], ["cpu", "nvidia.com/gpu"], False),
        ([FILTER | {"managedResources": []}, PREEMPT], ["cpu"], False),
        ([OTHER | {"managedResources": GPUS}, *OURS], ["cpu"], False),
        # Both verbs in one entry.
        ([FILTER | PREEMPT | {"managedResources": GPUS}], ["cpu"], True),
        # Two entries may be ours: the pod surely comes to us only if both are interested.
        ([*OURS, FILTER | {"urlPrefix": "http://x/v1/", "managedResources": GPUS}], ["cpu"], True),
    ],
)
def test_pods_that_managed_resources_keep_away(
    extenders: list[dict[str, Any]], asked: list[str], away: bool
) -> None:
    assert read(extenders=extenders).keeps_away(asked) is away


# ---- the file


def test_the_file_that_we_recommend() -> None:
    scheduler = load(str(BASE))
    assert scheduler.limits_of("default-scheduler") == Limits(None, 100)
    assert not scheduler.managed


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"apiVersion": "kubescheduler.config.k8s.io/v2"}, "apiVersion: "),
        ({"kind": "Deployment"}, "kind: "),
        ({"percentageOfNodesToScore": 101}, "percentageOfNodesToScore: "),
        ({"percentageOfNodesToScore": "all"}, "percentageOfNodesToScore: "),
        ({"profiles": [{"schedulerName": "a"}, {}]}, "profiles[1].schedulerName: is missing"),
        ({"profiles": [{"schedulerName": "a"}] * 2}, "profiles[1].schedulerName: a is there twice"),
        (
            {"profiles": [{"pluginConfig": preemption(minCandidateNodesAbsolute=-1)}]},
            "profiles[0].pluginConfig[1].args.minCandidateNodesAbsolute: ",
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "DefaultPreemption", "args": []}]}]},
            "profiles[0].pluginConfig[0].args: ",
        ),
        ({"extenders": [PREEMPT]}, "extenders: has no entry for reprieve: no filterVerb"),
        ({"extenders": [FILTER, OTHER]}, "extenders: has no entry for reprieve: no preemptVerb"),
        ({"extenders": [FILTER | {"managedResources": [{}]}]}, "extenders[0].managedResources[0].name: "),
        ({"podInitialBackoffSeconds": 0}, "podInitialBackoffSeconds: "),
        ({"podInitialBackoffSeconds": 11}, "podMaxBackoffSeconds: is less than podInitialBackoffSeconds"),
    ],
)
def test_an_error_names_the_field(fields: dict[str, Any], error: str) -> None:
    with pytest.raises(FieldError) as raised:
        read(**fields)
    assert str(raised.value).startswith(error)


def test_fields_of_no_matter_may_be_anything() -> None:
    scheduler = read(
        leaderElection=7,
        parallelism="much",
        profiles=[{"plugins": None, "pluginConfig": [{"name": "ImageLocality", "args": 7}]}],
        extenders=[
            FILTER | {"weight": "much", "nodeCacheCapable": None},
            PREEMPT | {"managedResources": None},
        ],
    )
    assert scheduler.limits_of("") == Limits(100, 100)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"a: [", "line "),
        (b"", "expected one document, found 0"),
        (b"a: 1\n---\nb: 1\n", "expected one document, found 2"),
        (b"\xff\xfe\xff", "is not UTF-8"),
        (b"apiVersion: v1\n", "apiVersion: "),
        (None, "No such file"),
    ],
)
def test_an_error_names_setting_and_file(content: bytes | None, error: str, tmp_path: Path) -> None:
    path = tmp_path / "scheduler.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FieldError) as raised:
        load(str(path))
    assert str(raised.value).startswith(f"planning.schedulerConfiguration: {path}: {error}")


@pytest.mark.parametrize("entry", [0, 1])
async def test_require_is_refused_where_pods_never_come_to_us(entry: int, tmp_path: Path) -> None:
    """Filter and preempt are two entries: one that keeps pods away is enough."""
    path = tmp_path / "scheduler.yaml"

    def start(confirmation: Confirmation, managed: list[dict[str, Any]]) -> None:
        extenders = [
            {**each, "managedResources": managed} if i == entry else each for i, each in enumerate(OURS)
        ]
        header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
        path.write_text(yaml.safe_dump({**header, "extenders": extenders}))
        planning = PlanningConfiguration(confirmation=confirmation, scheduler_configuration=str(path))
        api = Api()
        client = cast(ApiClient, api)
        with ThreadPoolExecutor(1) as executor:
            GangController(planning, client, Views(client, clock=api.clock), executor, api.clock)

    with pytest.raises(FieldError) as raised:
        start("Require", GPUS)
    assert str(raised.value) == (
        f"planning.confirmation: cannot be Require, because reprieve's entry in {path} has managedResources "
        "(nvidia.com/gpu): pods that do not ask for them are never confirmed"
    )
    start("Prefer", GPUS)
    start("Off", GPUS)
    start("Require", [])


def test_backoffs() -> None:
    assert read().backoffs == Backoffs(1.0, 10.0)
    assert read(podInitialBackoffSeconds=2, podMaxBackoffSeconds=60).backoffs == Backoffs(2, 60)
    assert read(podMaxBackoffSeconds=1).backoffs == Backoffs(1.0, 1)
