"""The targets of `make fuzz`, for seconds; and whether it would say that something is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz import targets
from tests.fuzz.near import NEAR
from tests.fuzz.oracle import ask
from tests.fuzz.targets import TARGETS
from tests.kit.examples import MANY_EXAMPLES, examples

ROOT: Final = Path(__file__).resolve().parents[2]
RUNS: Final = max(2000, examples(5000))
EXAMPLES: Final = int(os.environ.get("REPRIEVE_FUZZ_EXAMPLES", examples(500)))
DRIVERS: Final = [
    pytest.param(
        "with_atheris", marks=pytest.mark.skipif(find_spec("atheris") is None, reason="there is none here")
    ),
    "with_hypothesis",
]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Python with these arguments, to its end."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("name", TARGETS)
def test_so_many_inputs_are_good(name: str, tmp_path: Path) -> None:
    ended = run("-m", "tests.fuzz", "--runs", RUNS, "--folder", tmp_path, name)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"{RUNS:,} inputs  good" in ended.stdout


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_nearly_right_is_read_as_by_the_api_server(name: str) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
    @given(NEAR[name])
    def read(text: bytes) -> None:
        TARGETS[name].check(text)

    read()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("quantity", b"9" * 100_000),
        ("quantity", b"9" * 30_000 + b"." + b"9" * 30_000),
        ("quantity", b"-" + b"1" * 5000 + b"e-4990"),
        ("quantity", b"1." + b"0" * 30_000 + b"1Gi"),
        ("quantity", b"0" * 30_000 + b"1x"),
        ("quantity", b"1e1" + b"0" * 30_000),
        ("quantity", b"1e2147483647"),
        ("quantity", b"1" * 30 + b"e-2147483648"),
        ("quantity", "1e2147483647\u2003".encode()),
        ("quantity", b"7\xff"),
        ("quantity", b"\xc2\x85" + b"7"),
        ("duration", b"0." + b"0" * 310 + b"9" * 30_000 + b"h"),
        ("duration", b"9" * 100_000 + b"ns"),
        ("duration", b"1ns" * 30_000),
        ("review", b"\0" + b"[" * 1_000_000),
    ],
    ids=lambda value: f"{value[:6]!r} {len(value)}" if isinstance(value, bytes) else value,
)
def test_long_and_odd_ones(name: str, text: bytes) -> None:
    TARGETS[name].check(text)


def test_a_difference_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("quantity", b"1.5") == [1500, 2]
    monkeypatch.setattr(targets, "value", lambda _: 3)
    with pytest.raises(AssertionError, match=r"b'1.5': \[1500, 3\], and the API server \[1500, 2\]"):
        TARGETS["quantity"].check(b"1.5")
    monkeypatch.setattr(targets, "parse_duration", lambda _: 1)
    with pytest.raises(AssertionError, match="the API server"):
        TARGETS["duration"].check(b"1s")


FAULTS: Final = [
    ("raise KeyError", 600),
    pytest.param("while True: pass", 1, marks=MANY_EXAMPLES),
    ("b'x' * (5 << 28)", 600),
]
FAILING = """
import sys
from dataclasses import replace
from pathlib import Path
from hypothesis import strategies as st
from tests.fuzz import driving
from tests.fuzz.targets import TARGETS

folder = Path(sys.argv[1])

def check(text):
    if text.startswith(b"bad"):
        (folder / "reached").touch()
        {does}

target = replace(TARGETS["duration"], check=check, seeds=lambda: [b"ba", b"bad"], words=("bad",))
driving.HANG_SECONDS = {hangs}
run = driving.Run(folder, 0, 0)
if sys.argv[2] == "with_atheris":
    driving.with_atheris(target, run)
else:
    driving.with_hypothesis(target, run, st.sampled_from([b"ba", b"bad"]))
"""


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize(("does", "hangs"), FAULTS)
def test_what_fails_is_kept(tmp_path: Path, driver: str, does: str, hangs: int) -> None:
    """Where a second is a hang, a busy machine may hang before it reaches the bad input: then another one is kept."""
    ended = run("-c", FAILING.format(does=does, hangs=hangs), tmp_path, driver)
    assert ended.returncode not in (0, None), ended.stderr
    [kept] = (tmp_path / "failed").iterdir()
    assert kept.read_bytes().startswith(b"bad") or not (tmp_path / "reached").exists()


def test_the_command_says_where(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"1.5Gi")
    assert run("-m", "tests.fuzz", "--input", text, "quantity").returncode == 0
    # A file where a folder must be, so that there is a failure though no target has any.
    (tmp_path / "review" / "failed").mkdir(parents=True)
    (tmp_path / "review" / "failed" / "crash-1").write_bytes(b"")
    (tmp_path / "review" / "seeds").write_bytes(b"")
    ended = run("-m", "tests.fuzz", "--runs", 10, "--folder", tmp_path, "review")
    assert ended.returncode == 1
    assert "FAILED" in ended.stdout
    assert f"python -m tests.fuzz --input {tmp_path}/review/failed/crash-1 review" in ended.stderr
