"""Fuzzes the parsers and the review decoder; what fails is kept, and said.

python -m tests.fuzz [--seconds N | --runs N] [NAME ...]     all of them at once
python -m tests.fuzz --input FILE NAME                       one input again, which failed
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from hack.controlplane.binaries import BinariesError, binaries, cache_root
from tests.fuzz.targets import TARGETS

ROOT: Final = Path(__file__).resolve().parents[2]
GRACE_SECONDS: Final = 120
"""For the start and the last input."""


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, type=click.Choice(list(TARGETS)))
@click.option("--seconds", type=click.IntRange(0), default=600, show_default=True, help="0: no limit.")
@click.option("--runs", type=click.IntRange(0), default=0, help="The most inputs, the same ones each time.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Where everything is kept.")
@click.option(
    "--input", "again", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Only this."
)
def main(names: tuple[str, ...], seconds: int, runs: int, folder: Path | None, again: Path | None) -> None:
    """Fuzz the parsers and the review decoder."""
    names = names or tuple(TARGETS)
    if again is not None:
        for name in names:
            TARGETS[name].check(again.read_bytes())
        return
    try:
        binaries(["parsers"])  # by one of them, before the others wait for it
    except BinariesError as error:
        raise click.ClickException(str(error)) from None
    folder = folder or cache_root().parent / "fuzz"
    click.echo(f"fuzzing {', '.join(names)}; corpus, log and failures are kept in {folder}")
    failed = [
        name for name, code in _driven(names, folder, seconds, runs).items() if not _told(name, folder, code)
    ]
    sys.exit(bool(failed))


def _driven(names: tuple[str, ...], folder: Path, seconds: int, runs: int) -> dict[str, int | None]:
    """The exit status of each; None if it did not end."""
    processes: dict[str, subprocess.Popen[bytes]] = {}
    statuses: dict[str, int | None] = {}
    try:
        for name in names:
            (folder / name).mkdir(parents=True, exist_ok=True)
            with (folder / name / "log").open("wb") as log:
                processes[name] = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "tests.fuzz.driving",
                        name,
                        folder / name,
                        str(seconds),
                        str(runs),
                    ],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
        for name, process in processes.items():
            try:
                statuses[name] = process.wait(seconds + GRACE_SECONDS if seconds else None)
            except subprocess.TimeoutExpired:
                statuses[name] = None
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return statuses


def _told(name: str, folder: Path, status: int | None) -> bool:
    """Whether all is well, which is said."""
    log = (folder / name / "log").read_text(errors="replace")
    executed = re.findall(r"^stat::number_of_executed_units:\s*(\d+)$", log, re.MULTILINE)
    click.echo(
        f"{name:10} {int(executed[-1]) if executed else 0:12,} inputs  {'good' if status == 0 else 'FAILED'}"
    )
    if status == 0:
        return True
    click.echo(log[-4000:], err=True)
    click.echo(f"{name} {'did not end' if status is None else f'ended with {status}'}; its inputs:", err=True)
    for path in sorted((folder / name / "failed").glob("*")):
        click.echo(f"  python -m tests.fuzz --input {path} {name}", err=True)
    return False


if __name__ == "__main__":
    main(prog_name="python -m tests.fuzz")
