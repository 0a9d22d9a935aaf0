"""The version of Kubernetes on which the scenarios run: that of a set-up of `hack/matrix.py`, or the default."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pytest

from hack.controlplane.modules import VERSIONS
from hack.controlplane.plane import Options
from hack.controlplane.versions import default_version, knows
from hack.matrix import APIS, GATES, VERSION
from tests.kit.often import ALL

__all__ = ["IN_MATRIX", "THERE", "as_set_up", "needs", "needs_set_up_with", "older_than"]

THERE: Final = os.environ.get(VERSION, "")
"""The minor version, such as 1.36; "" is the default."""
IN_MATRIX: Final = pytest.mark.skipif(
    VERSION not in os.environ and not ALL, reason="runs in make matrix and make test-e2e"
)
"""Of tests of Kubernetes that take long. `make test` leaves them out."""


def as_set_up(options: Options, environment: Mapping[str, str] = os.environ) -> Options:
    """The options on the version and with the gates and APIs of the environment. What a test asks for wins."""
    gates, apis = (dict.fromkeys(environment.get(name, "").split(","), True) for name in (GATES, APIS))
    for each in (gates, apis):
        each.pop("", None)
    return replace(
        options,
        version=options.version or environment.get(VERSION, ""),
        feature_gates={**gates, **(options.feature_gates or {})},
        runtime_config={**apis, **(options.runtime_config or {})},
    )


def older_than(version: str) -> bool:
    """Whether the scenarios run on an older minor version than this one of `VERSIONS`."""
    return list(VERSIONS).index(THERE or default_version()) < list(VERSIONS).index(version)


def needs(name: str, why: str) -> pytest.MarkDecorator:
    """Skips a test on versions that do not know a controller, a feature gate or an API version of `KNOWN`."""
    reason = f"Kubernetes {THERE or default_version()} does not know {name}: {why}"
    return pytest.mark.skipif(not knows(THERE, name), reason=reason)


def needs_set_up_with(
    gate: str, *, matrix_only: bool = False, environment: Mapping[str, str] = os.environ
) -> pytest.MarkDecorator:
    """Skips a test in the set-ups of the matrix where a feature gate is off. `matrix_only`: also outside of the matrix,
    where a plane of the test's own would have to turn the gate on."""
    on = gate in environment.get(GATES, "").split(",")
    skipped = not on and (matrix_only or VERSION in environment)
    return pytest.mark.skipif(skipped, reason=f"runs where make matrix has {gate} on")
