"""How the part `standbys` of the bench judges what it sees."""

from __future__ import annotations

import json
import math
from typing import Any, Final

import msgspec
import pytest
import yaml

from bench.standby_faults import FAILURES, PROBE_SECONDS, lease_settings
from bench.standby_gang import deletions
from bench.standby_stream import longest_gap
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.manifests import BASE
from runtime.terms.election import LeaderElectionConfiguration, check_leader_election

FAILURE_THRESHOLD: Final = 3
"""The default of Kubernetes."""


@pytest.mark.parametrize(
    ("moments", "gap"),
    [
        ([0, 1, 11, 12, 13, 19, 20, 40], 6),
        ([13, 20, 12, 1, 40, 11, 19, 0], 6),
        ([0, 5, 15, 19], 10),
        ([0, 11, 12, 30], 18),
        ([0, 30], 30),
        ([0, 1, 2], math.inf),
        ([12], math.inf),
        ([], math.inf),
    ],
    ids=[
        "inside",
        "any order",
        "lasts at the fault",
        "lasts at the end",
        "throughout",
        "before",
        "one",
        "none",
    ],
)
def test_the_longest_gap_lasts_at_some_time_of_the_change(moments: list[float], gap: float) -> None:
    assert longest_gap(moments, 11, 19.5) == gap


def test_the_lease_is_the_products_one() -> None:
    settings = msgspec.convert(lease_settings(15)["leaderElection"], LeaderElectionConfiguration)
    assert settings == LeaderElectionConfiguration()


@pytest.mark.parametrize("seconds", [3, 7, 60])
def test_another_lease_is_one_that_reprieve_accepts(seconds: int) -> None:
    settings = msgspec.convert(lease_settings(seconds)["leaderElection"], LeaderElectionConfiguration)
    check_leader_election(settings)
    assert settings.lease_duration_seconds == seconds


def test_replicas_are_probed_as_in_a_cluster() -> None:
    deployment = yaml.safe_load((BASE / "deployment.yaml").read_text())
    probe = deployment["spec"]["template"]["spec"]["containers"][0]["readinessProbe"]
    assert probe["periodSeconds"] == PROBE_SECONDS
    assert probe.get("failureThreshold", FAILURE_THRESHOLD) == FAILURES


def deletion(name: str, code: int, user: str = REPRIEVE_USER, **options: Any) -> str:
    return json.dumps(
        {
            "verb": "delete",
            "user": {"username": user},
            "objectRef": {"resource": "pods", "name": name},
            "requestObject": options,
            "responseStatus": {"code": code},
        }
    )


def test_deletions_of_an_audit_log() -> None:
    lines = [
        deletion("a", 200),
        deletion("a", 409),
        deletion("b", 200, dryRun=["All"]),
        deletion("c", 200, user="kwok"),
        deletion("d", 504),
    ]
    half = deletion("e", 200)[:40]
    assert list(deletions("\n".join([*lines, half]))) == [("a", 200), ("a", 409), ("d", 504)]
