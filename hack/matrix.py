"""`make matrix`: live tests on several versions of Kubernetes, with feature gates off and on.

Each set-up is one run of pytest. The fixtures of the control planes read the set-up from the environment
(`tests/kit/versions.py`). `python -m hack.matrix 1.34 1.36` runs the set-ups of these versions only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from hack.controlplane.binaries import BINARIES, BinariesError, binaries
from hack.controlplane.modules import NEXT, VERSIONS

__all__ = ["APIS", "GATES", "LATE", "SET_UPS", "VERSION", "Outcome", "SetUp", "chosen", "run"]

ROOT: Final = Path(__file__).resolve().parent.parent
VERSION: Final = "REPRIEVE_E2E_VERSION"
"""The environment variable with the minor version of the servers, such as 1.36."""
GATES: Final = "REPRIEVE_E2E_GATES"
"""The one with the feature gates that are on, with commas between them."""
APIS: Final = "REPRIEVE_E2E_APIS"
"""The one with the API versions that are served beside the usual ones, with commas between them."""
CLUSTER: Final = "REPRIEVE_E2E_KUBECONFIG"
"""The one that would have the tests run on a cluster that is there already."""
MINUTES: Final = 60
"""How long all set-ups together may take. On two cores without other work they do."""
LATE: Final = 124
"""The exit status of tests that were ended because the time was over, as that of timeout(1)."""
NATIVE: Final = "scheduling.k8s.io/v1beta1"
"""The API of kube-scheduler's own groups that reprieve reads."""
LIVE: Final = ("tests/e2e", "tests/multicluster")
"""Where the tests with control planes are."""


@dataclass(frozen=True)
class SetUp:
    """A version of Kubernetes, and what is on there."""

    version: str
    gates: tuple[str, ...] = ()
    apis: tuple[str, ...] = ()
    """API versions that are served beside the usual ones."""
    files: tuple[str, ...] = ()
    """The files of tests that run, such as test_gangs.py. If empty: those that are marked."""
    mark: str = "matrix"
    """Which tests of the files run; `e2e`: all."""

    @property
    def environment(self) -> dict[str, str]:
        """What tells the tests of this set-up."""
        return {VERSION: self.version, GATES: ",".join(self.gates), APIS: ",".join(self.apis)}

    @property
    def arguments(self) -> list[str]:
        """What pytest is given."""
        return ["-m", self.mark, *([f"tests/e2e/{name}" for name in self.files] or LIVE)]

    def __str__(self) -> str:
        default = "defaults" if self.version == NEXT else "gates off"
        return " ".join([VERSIONS[self.version].version.removeprefix("v"), *(self.gates or (default,))])


FACTS: Final = ("test_scheduler_facts.py", "test_native_facts.py")
GROUPS: Final = tuple(f"test_native_{name}.py" for name in ("gangs", "steer", "attempts", "units"))
"""These turn the gate on themselves."""

SET_UPS: Final = (
    *(SetUp(version) for version in VERSIONS if version != NEXT),
    SetUp(
        "1.36",
        gates=("GenericWorkload", "GangScheduling", "WorkloadAwarePreemption"),
        apis=("scheduling.k8s.io/v1alpha2",),
        files=("test_gangs.py", "test_singles.py"),
    ),
    SetUp(
        "1.34",
        gates=("MutatingAdmissionPolicy",),
        apis=("admissionregistration.k8s.io/v1beta1",),
        files=("test_admission.py",),
        mark="e2e",
    ),
    # New clusters will be so.
    SetUp("1.37", gates=("GenericWorkload",), apis=(NATIVE,), mark="e2e"),
    SetUp(
        "1.37",
        gates=("GenericWorkload", "TopologyAwareWorkloadScheduling"),
        apis=(NATIVE,),
        files=("test_native_facts.py", "test_native_domains.py", *GROUPS),
        mark="e2e",
    ),
    SetUp(NEXT, files=(*FACTS, *GROUPS), mark="e2e"),
    SetUp(NEXT, gates=("GenericWorkload",), apis=(NATIVE,), files=(*FACTS, *GROUPS), mark="e2e"),
)
"""In the order in which they run."""


@dataclass(frozen=True)
class Outcome:
    """How a set-up went."""

    set_up: SetUp
    seconds: float
    """Of the tests. The time to build binaries does not count."""
    fault: str
    """Why it failed; empty if it did not."""

    def __str__(self) -> str:
        return f"{self.set_up}: {self.fault or 'passed'}, {self.seconds:.0f} s"


Tests = Callable[[SetUp, float], int]
"""Runs the tests of a set-up for some seconds at most. Returns the exit status of pytest, or `LATE`."""


def chosen(versions: Sequence[str]) -> tuple[SetUp, ...]:
    """The set-ups of these versions; all of them if no version is given. Raises ValueError if a version has none."""
    without = [version for version in versions if version not in {each.version for each in SET_UPS}]
    if without:
        raise ValueError(f"no set-up has version {', '.join(without)} (only {', '.join(VERSIONS)})")
    return tuple(each for each in SET_UPS if not versions or each.version in versions)


def run(
    set_ups: Sequence[SetUp],
    *,
    prepare: Callable[[SetUp], object],
    tests: Tests,
    say: Callable[[str], object],
    limit: float = MINUTES * 60,
    clock: Callable[[], float] = time.monotonic,
) -> list[Outcome]:
    """Run one set-up after the other, also after a failure, and say each outcome at once.

    `prepare` builds what a set-up needs, and may raise BinariesError. The tests of all set-ups together take at most
    `limit` seconds: what is left of them is the time of the next one. `clock` counts seconds.
    """
    outcomes = []
    for set_up in set_ups:
        say(f"{set_up}: begins")
        outcome = _outcome(set_up, prepare, tests, limit, clock)
        limit -= outcome.seconds
        outcomes.append(outcome)
        say(str(outcome))
    return outcomes


def _outcome(
    set_up: SetUp, prepare: Callable[[SetUp], object], tests: Tests, limit: float, clock: Callable[[], float]
) -> Outcome:
    if limit <= 0:
        return Outcome(set_up, 0, "not run: the time is over")
    try:
        prepare(set_up)
    except BinariesError as error:
        return Outcome(set_up, 0, f"no binaries: {error}")
    began = clock()
    status = tests(set_up, limit)
    return Outcome(set_up, clock() - began, _fault(status))


def _fault(status: int) -> str:
    if status == LATE:
        return "ended before its last test: the time is over"
    return f"failed (pytest ended with {status})" if status else ""


def pytest_in(set_up: SetUp, options: Sequence[str], environment: Mapping[str, str], limit: float) -> int:
    """Run pytest for a set-up in a process of its own, for `limit` seconds at most. Returns its exit status, or `LATE`:
    also without any test, it is not 0."""
    command = [sys.executable, "-m", "pytest", *options, *set_up.arguments]
    own = {name: value for name, value in environment.items() if name != CLUSTER} | set_up.environment
    try:
        return subprocess.run(command, cwd=ROOT, env=own, check=False, timeout=limit).returncode
    except subprocess.TimeoutExpired:  # the control planes end with it
        return LATE


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("versions", nargs=-1)
@click.option("--option", "options", multiple=True, help="For pytest, such as --option=--numprocesses=3.")
@click.option("--minutes", default=MINUTES, show_default=True, help="How long all tests may take.")
def main(versions: Sequence[str], options: Sequence[str], minutes: int) -> None:
    """Run the set-ups of these VERSIONS of Kubernetes, or all set-ups."""
    try:
        set_ups = chosen(versions)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    outcomes = run(
        set_ups,
        prepare=lambda each: binaries(BINARIES, each.version),
        tests=lambda each, limit: pytest_in(each, options, os.environ, limit),
        say=click.echo,
        limit=minutes * 60,
    )
    click.echo("\n".join(["", *map(str, outcomes)]))
    if any(each.fault for each in outcomes):
        sys.exit(1)


if __name__ == "__main__":
    main(prog_name="python -m hack.matrix")
