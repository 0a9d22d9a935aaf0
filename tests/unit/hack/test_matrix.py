"""The set-ups of the matrix: which ones run, how the tests learn theirs, and that a failure ends nothing."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from hack import matrix
from hack.controlplane.binaries import BinariesError
from hack.controlplane.modules import NEXT, VERSIONS
from hack.controlplane.plane import Options
from hack.controlplane.versions import default_version, knows
from hack.matrix import LATE, SET_UPS, SetUp, chosen, run
from tests.kit.versions import as_set_up, needs, needs_set_up_with, older_than

OFF: Final = [SetUp(version) for version in ("1.34", "1.35", "1.36")]
GATED: Final = SetUp("1.36", gates=("A", "B"), apis=("g/v1",), files=("test_gangs.py",))


def nothing(set_up: SetUp) -> None:
    """The binaries are there."""


def seconds(*steps: float) -> Callable[[], float]:
    """A clock that shows these times, one after the other."""
    return iter(steps).__next__


def test_each_version_runs_with_the_gates_off_first() -> None:
    assert [each.version for each in SET_UPS if not each.gates] == list(VERSIONS)
    old = [version for version in VERSIONS if version != NEXT]
    assert SET_UPS[: len(old)] == tuple(SetUp(version) for version in old)


def test_a_live_test_that_is_not_marked_runs_with_the_gate_of_new_clusters() -> None:
    (every,) = (each for each in SET_UPS if each.mark == "e2e" and not each.files)
    assert (every.version, every.gates) == (default_version(), ("GenericWorkload",))
    assert every.arguments == ["-m", "e2e", "tests/e2e", "tests/multicluster"]
    assert SET_UPS[0].arguments == ["-m", "matrix", "tests/e2e", "tests/multicluster"]
    assert (str(SET_UPS[0]), str(SetUp(NEXT))) == ("1.34.4 gates off", "1.38.0-alpha.0 defaults")


def test_each_version_knows_what_is_on_there() -> None:
    """Otherwise the plane would leave it out, and the set-up would be another one."""
    assert [
        (str(each), name)
        for each in SET_UPS
        for name in (*each.gates, *each.apis)
        if not knows(each.version, name)
    ] == []


def test_the_files_of_a_set_up_exist() -> None:
    assert [
        name
        for each in SET_UPS
        for name in each.files
        if not (matrix.ROOT / "tests" / "e2e" / name).is_file()
    ] == []


def test_the_next_version_and_domains_run_all_native_tests() -> None:
    native = {each.name for each in (matrix.ROOT / "tests" / "e2e").glob("test_native_*.py")}
    rows = [set(each.files) for each in SET_UPS if each.version == NEXT or len(each.gates) == 2]
    assert [native - each for each in rows] == [set(), {"test_native_domains.py"}, {"test_native_domains.py"}]


def test_the_choice_keeps_the_order() -> None:
    assert chosen([]) == SET_UPS
    assert chosen(["1.36", "1.34"]) == tuple(each for each in SET_UPS if each.version in ("1.34", "1.36"))
    with pytest.raises(ValueError, match=r"no set-up has version 1\.33, 1\.3 \(only 1\.34, "):
        chosen(["1.36", "1.33", "1.3"])


def test_it_goes_on_after_a_failure_and_says_each_outcome_at_once() -> None:
    statuses = iter([0, 1, 5])
    said: list[str] = []
    outcomes = run(
        OFF,
        prepare=nothing,
        tests=lambda each, limit: next(statuses),
        say=said.append,
        clock=seconds(100, 107, 200, 203.6, 300, 301),
    )
    assert [bool(each.fault) for each in outcomes] == [False, True, True]
    assert said == [
        "1.34.4 gates off: begins",
        "1.34.4 gates off: passed, 7 s",
        "1.35.4 gates off: begins",
        "1.35.4 gates off: failed (pytest ended with 1), 4 s",
        "1.36.3 gates off: begins",
        "1.36.3 gates off: failed (pytest ended with 5), 1 s",
    ]


def test_a_version_without_binaries_fails_and_the_next_one_runs() -> None:
    ran = []

    def prepare(set_up: SetUp) -> None:
        if set_up.version == "1.34":
            raise BinariesError("there is no go on the PATH")

    def tests(set_up: SetUp, limit: float) -> int:
        ran.append(set_up)
        return 0

    outcomes = run(OFF, prepare=prepare, tests=tests, say=str, clock=itertools.count().__next__)
    assert [each.fault for each in outcomes] == ["no binaries: there is no go on the PATH", "", ""]
    assert ran == OFF[1:]


def test_the_tests_of_all_set_ups_share_the_time() -> None:
    """The second one is ended when it is over, and the third one does not begin."""
    limits = []

    def tests(set_up: SetUp, limit: float) -> int:
        limits.append(limit)
        return 0 if limit == 60 else LATE

    clock = seconds(0, 20, 100, 140)
    outcomes = run(OFF, prepare=nothing, tests=tests, say=str, limit=60, clock=clock)
    assert limits == [60, 40]
    assert [str(each) for each in outcomes] == [
        "1.34.4 gates off: passed, 20 s",
        "1.35.4 gates off: ended before its last test: the time is over, 40 s",
        "1.36.3 gates off: not run: the time is over, 0 s",
    ]


def test_tests_that_take_too_long_are_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert matrix.pytest_in(GATED, [], {"PATH": os.environ["PATH"]}, 0.1) == LATE


@pytest.mark.parametrize(("bad", "status"), [("", 0), ("1.35", 1)])
def test_the_status_is_not_zero_if_one_failed(monkeypatch: pytest.MonkeyPatch, bad: str, status: int) -> None:
    asked = []

    def tests(set_up: SetUp, options: tuple[str, ...], environment: object, limit: float) -> int:
        asked.append((set_up.version, options, limit))
        return int(set_up.version == bad)

    monkeypatch.setattr(matrix, "binaries", lambda names, version: {})
    monkeypatch.setattr(matrix, "pytest_in", tests)
    result = CliRunner().invoke(
        matrix.main, ["--option=--maxfail", "--option=3", "--minutes=2", "1.35", "1.34"]
    )
    assert result.exit_code == status
    assert [each[0] for each in asked] == ["1.34", "1.35", "1.34"]
    assert {each[1] for each in asked} == {("--maxfail", "3")}
    assert 0 < asked[1][2] <= asked[0][2] == 120
    assert result.output.splitlines()[-3].startswith("1.34.4 gates off: passed, ")


def test_a_version_without_a_set_up_is_refused() -> None:
    result = CliRunner().invoke(matrix.main, ["1.33"])
    assert (result.exit_code, "no set-up has version 1.33" in result.output) == (2, True)


def test_pytest_gets_the_set_up_and_no_cluster_of_somebody(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A program in pytest's place writes down what it gets, and ends with 3."""
    said, program = tmp_path / "said", tmp_path / "python"
    names = (matrix.VERSION, matrix.GATES, matrix.APIS, matrix.CLUSTER, "OTHER")
    wanted = "|".join(f"${{{name}-unset}}" for name in names)
    program.write_text(f'#!/bin/sh\necho "{wanted}|$*" > {said}\nexit 3\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    environment = {matrix.CLUSTER: "somebody's", matrix.VERSION: "1.34", "OTHER": "kept"}
    assert matrix.pytest_in(GATED, ["-x"], environment, 60) == 3
    assert said.read_text() == "1.36|A,B|g/v1|unset|kept|-m pytest -x -m matrix tests/e2e/test_gangs.py\n"


def test_a_plane_of_the_tests_is_as_the_set_up_says() -> None:
    options = as_set_up(Options(reprieve=True), GATED.environment)
    assert options == Options(
        version="1.36", reprieve=True, feature_gates={"A": True, "B": True}, runtime_config={"g/v1": True}
    )


def test_what_a_test_asks_for_wins() -> None:
    asked = Options(version="1.35", feature_gates={"A": False, "C": True}, runtime_config={"g/v1": False})
    options = as_set_up(asked, GATED.environment)
    assert options.version == "1.35"
    assert options.feature_gates == {"A": False, "B": True, "C": True}
    assert options.runtime_config == {"g/v1": False}


def test_without_a_set_up_a_plane_stays_as_it_is() -> None:
    assert as_set_up(Options(), {}) == Options(feature_gates={}, runtime_config={})
    assert as_set_up(Options(), OFF[0].environment).feature_gates == {}


def test_a_test_that_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.kit.versions.THERE", "1.35")
    mark = needs("WorkloadWithJob", "no Job has a PodGroup").mark
    reason = "Kubernetes 1.35 does not know WorkloadWithJob: no Job has a PodGroup"
    assert (mark.args, mark.kwargs["reason"]) == ((True,), reason)
    assert needs("GenericWorkload", "no matter").mark.args == (False,)


@pytest.mark.parametrize(
    ("environment", "skipped"),
    [({}, (False, True)), (OFF[0].environment, (True, True)), (GATED.environment, (False, False))],
    ids=["outside-of-the-matrix", "gate-off", "gate-on"],
)
def test_what_needs_a_gate_runs_in_the_set_ups_that_have_it_on(
    environment: dict[str, str], skipped: tuple[bool, bool]
) -> None:
    marks = [needs_set_up_with("B", matrix_only=only, environment=environment).mark for only in (False, True)]
    assert tuple(mark.args[0] for mark in marks) == skipped
    assert marks[0].kwargs["reason"] == "runs where make matrix has B on"


@pytest.mark.parametrize(("there", "older"), [("1.36", True), ("1.37", False), ("", False), (NEXT, False)])
def test_what_differs_by_version_goes_by_the_one_that_is_there(
    monkeypatch: pytest.MonkeyPatch, there: str, older: bool
) -> None:
    monkeypatch.setattr("tests.kit.versions.THERE", there)
    assert older_than("1.37") is older
