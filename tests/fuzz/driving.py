"""Runs one target in this process, which ends with it: with atheris, or with hypothesis where there is none.

    python -m tests.fuzz.driving NAME FOLDER SECONDS RUNS

FOLDER keeps the corpus, and the inputs that failed. No SECONDS or no RUNS (0) is no limit.
"""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

try:
    import atheris
except ImportError:  # it is not made for this machine
    atheris = None

# What is imported in here counts the branches that are taken, by which atheris chooses its inputs.
with atheris.instrument_imports(include=["api", "webhooks"]) if atheris else nullcontext():
    from tests.fuzz.near import NEAR
    from tests.fuzz.targets import TARGETS, Target

__all__ = ["Run", "atheris", "with_atheris", "with_hypothesis"]

HANG_SECONDS: Final = 20
"""For one input."""
MEMORY_MIB: Final = 1024
"""What the deployment's container may use."""


@dataclass(frozen=True)
class Run:
    """Where it keeps what, and when it ends."""

    folder: Path
    seconds: int
    runs: int

    def made(self, name: str) -> Path:
        """A folder in the folder."""
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def with_atheris(target: Target, run: Run) -> None:
    """Guided by what is covered; ends the process. What failed before is tried first."""
    for number, text in enumerate(target.seeds()):
        (run.made("seeds") / str(number)).write_bytes(text)
    words = run.folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words if word))
    options = {
        "artifact_prefix": f"{run.made('failed')}/",
        "dict": words,
        "max_len": target.longest,
        "max_total_time": run.seconds,
        "runs": run.runs or -1,
        "seed": 1 if run.runs else 0,  # as many as were asked for, the same ones each time
        "timeout": HANG_SECONDS,
        "rss_limit_mb": 0,  # it looks once a second, and would blame the input that it finds
        "print_final_stats": 1,
    }
    arguments = [sys.argv[0], *(f"-{name}={value}" for name, value in options.items())]
    arguments += [str(run.made(name)) for name in ("corpus", "failed", "seeds")]
    mutator = {"custom_mutator": _with_other_json} if target.is_json else {}
    atheris.Setup(arguments, _frugal(target), **mutator)
    atheris.Fuzz()


def _frugal(target: Target) -> Callable[[bytes], None]:
    """The check of a target, which fails for the input that takes too much memory, too."""

    def check(text: bytes) -> None:
        target.check(text)
        assert _peak_mib() < MEMORY_MIB

    return check


def _escaped(word: str) -> str:
    """As libFuzzer's dictionaries are written."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


def _with_other_json(data: bytes, longest: int, number: int) -> bytes:
    """Another value in some place of the JSON after the first byte; bytes would hardly ever stay JSON."""
    chosen = random.Random(number)
    try:
        body = json.loads(data[1:])
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or not body or chosen.random() < 0.3:
        return bytes(atheris.Mutate(data, longest))
    place: Any = body
    while True:
        key = chosen.choice(list(place) if isinstance(place, dict) else range(len(place)))
        child = place[key]
        if not isinstance(child, dict | list) or not child or chosen.random() < 0.1:
            break
        place = child
    text = json.dumps(child).encode()
    try:
        place[key] = json.loads(atheris.Mutate(text, len(text) + 32))
    except (ValueError, RecursionError):
        place[key] = chosen.choice([None, True, 0, -1, 0.5, "", "1Ki", "4h", [], {}, [child], {"": child}])
    return (data[:1] + json.dumps(body).encode())[:longest]


def with_hypothesis(target: Target, run: Run, near: st.SearchStrategy[bytes]) -> None:
    """From seeds and strategies. Raises what the target raises, when the input is kept."""
    trying = run.made("failed") / "trying"
    check_frugally = _frugal(target)
    until = time.monotonic() + run.seconds if run.seconds else float("inf")
    tried = 0

    def check(text: bytes) -> None:
        nonlocal tried
        tried += 1
        trying.write_bytes(text)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            check_frugally(text)
        except BaseException:
            trying.replace(trying.with_name("crash"))
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    for text in target.seeds():
        check(text)
    while time.monotonic() < until and not (run.runs and tried >= run.runs):
        batch = min(1000, run.runs - tried) if run.runs else 1000
        some = settings(
            max_examples=batch, database=None, deadline=None, suppress_health_check=list(HealthCheck)
        )
        seed(tried)(settings(some, phases=[Phase.generate])(given(near)(check)))()
    trying.unlink(missing_ok=True)
    print(f"stat::number_of_executed_units: {tried}", file=sys.stderr)


def _peak_mib() -> float:
    """The most memory that was ever resident."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 if sys.platform == "linux" else 1024**2)


def main() -> None:
    """See above."""
    name, folder, seconds, runs = sys.argv[1:]
    target, run = TARGETS[name], Run(Path(folder), int(seconds), int(runs))
    if atheris:
        with_atheris(target, run)
    else:
        with_hypothesis(target, run, NEAR[name])


if __name__ == "__main__":
    main()
