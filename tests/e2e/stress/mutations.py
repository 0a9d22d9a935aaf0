"""Breaks reprieve on purpose, and looks whether histories find it.

python -m tests.e2e.stress.mutations [--only NAME] [--seed N]

Each mutation changes a copy of the tree. Two processes run that copy in a directed history, which has to find
something. The same history of the tree itself must find nothing.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from hack.controlplane.binaries import BinariesError
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import ProcessFailedError
from tests.e2e.stress import directed, observing
from tests.e2e.stress.directed import Scenario
from tests.e2e.stress.mirrors import ROOT, showing
from tests.e2e.stress.observing import OBSERVER, Observed
from tests.e2e.stress.run import REPLICATED, Result, judge, with_natives

__all__ = ["MUTATIONS", "Edit", "Mutation", "mutated"]

LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "*.c", "build", "docs", "bench", "*.egg-info")


@dataclass(frozen=True)
class Edit:
    """A change of one file. The text is there exactly once."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutation:
    """A fault that we make, and the history that has to find it."""

    edits: tuple[Edit, ...]
    scenario: Scenario


MUTATIONS: Final[Mapping[str, Mutation]] = {
    "no-lease-check": Mutation(
        (
            Edit(
                "runtime/terms/term.py",
                "        return max(0.0, self._end - self._clock.monotonic())\n",
                "        return math.inf\n",
            ),
            Edit("runtime/terms/term.py", "        self._ended.set()\n", ""),
        ),
        directed.cut_off,
    ),
    "no-resource-version": Mutation(
        (
            Edit(
                "controllers/gangs/evicting/evictor.py",
                "pod.namespace, pod.name, pod.uid, version, wanted=",
                "pod.namespace, pod.name, pod.uid, wanted=",
            ),
        ),
        directed.cut_off,
    ),
    "no-fresh-comparison": Mutation(
        (
            Edit(
                "runtime/mirror/freshness.py",
                "    old = [view for view in views if view.listed_from < since]\n",
                "    old: list[View[Any]] = []\n",
            ),
        ),
        directed.stale,
    ),
    "no-withdrawal": Mutation(
        (
            Edit(
                "controllers/gangs/evicting/marking.py",
                "            await self._pods.unmark_disruption_target(namespace, name, uid)\n",
                "            pass\n",
            ),
        ),
        directed.ended_by_another,
    ),
    "no-wake": Mutation(
        (
            Edit("controllers/gangs/waking/asking.py", "        self._want(self._parked.take_all())\n", ""),
            Edit("controllers/gangs/waking/asking.py", "        self._want(self._parked.take(why))\n", ""),
            Edit(
                "controllers/gangs/waking/asking.py",
                "        self._want(self._parked.wishes(turned_down))\n",
                "",
            ),
            Edit("controllers/gangs/waking/waking.py", "            self.waker.recall(pod)\n", ""),
        ),
        directed.turned_down,
    ),
    "no-spared-units": Mutation(
        (
            Edit(
                "controllers/gangs/promised/spared.py",
                "        refused = self._judge(key, pod, requests, names)\n",
                "        refused = list[str]()\n",
            ),
        ),
        directed.beside_a_unit,
    ),
    "no-count-of-who-comes": Mutation(
        (
            Edit(
                "controllers/gangs/promised/free_room.py",
                "self._promises.coming(pod, node)",
                "{}",
            ),
        ),
        directed.beyond_minimum,
    ),
    "no-rehearsal-where-a-policy-matches": Mutation(
        (
            Edit(
                "controllers/gangs/mirror/eviction_requests.py",
                "        return self._admission.may_reach(mark, end)\n",
                "        return False\n",
            ),
        ),
        directed.refused,
    ),
    "probes-are-believed-for-members-that-differ": Mutation(
        (
            Edit(
                "controllers/gangs/mirror/probes.py",
                "Kind(view.pod_class.key, labels, ",
                "Kind(view.pod_class.key, frozenset(), ",
            ),
        ),
        directed.different,
    ),
    "account-begins-again": Mutation(
        (
            Edit(
                "controllers/account/ledger.py",
                "            each.decision is not None and each.decision.uid == decision.uid\n",
                "            False\n",
            ),
            Edit(
                "controllers/account/ledger.py",
                "self._case_at(decision.owner, decision.created)",
                "self._open(decision.owner.uid)",
            ),
        ),
        directed.accounted,
    ),
    "account-serves-pieces": Mutation(
        (
            Edit(
                "controllers/account/cases.py",
                "if ran is not None and self.whole_at is not None and max(ran, self.whole_at) <= last:",
                "if ran is not None and ran <= last:",
            ),
        ),
        directed.accounted,
    ),
    "account-breaks-nothing": Mutation(
        (
            Edit(
                "controllers/account/cases.py",
                "sum(running[unit] > count for unit, count in gone.items())",
                "sum(running[unit] < count for unit, count in gone.items())",
            ),
        ),
        directed.accounted,
    ),
    "account-sees-no-pieces": Mutation(
        (
            Edit(
                "controllers/account/cases.py",
                "self.pieces_since = now if goes_on and self.end is None else None",
                "self.pieces_since = None",
            ),
        ),
        directed.accounted,
    ),
    "account-adds-up": Mutation(
        (
            Edit(
                "controllers/account/saying.py",
                "pods=max(ours.pods, theirs.pods)",
                "pods=ours.pods + theirs.pods",
            ),
        ),
        directed.accounted,
    ),
    "account-never-ends": Mutation(
        (
            Edit(
                "controllers/account/cases.py",
                "if self.end is None or now < self.end + LATE_SECONDS:",
                "if self.end is None or self.victims:",
            ),
        ),
        directed.accounted,
    ),
}


def mutated(edits: Iterable[Edit], folder: Path) -> Path:
    """A copy of the tree with these changes. Raises ValueError if the code has changed so that one does not apply."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=LEFT_OUT)
    for edit in edits:
        path = tree / edit.file
        path.write_text(edited(path.read_text(), edit))
    return tree


def edited(text: str, edit: Edit) -> str:
    """The text of a file after a change of it. Raises ValueError if the old text is not there exactly once."""
    if text.count(edit.old) != 1:
        raise ValueError(f"{edit.file} has {text.count(edit.old)} times: {edit.old.strip()}")
    return text.replace(edit.old, edit.new)


def assert_fits(edits: Iterable[Edit]) -> None:
    """Each of these edits changes the code as it is, and leaves it readable."""
    for edit in edits:
        text = (ROOT / edit.file).read_text()
        changed = edited(text, edit)
        assert changed != text
        compile(changed, edit.file, "exec")


@click.command()
@click.option("--only", type=click.Choice(list(MUTATIONS)), default=None, help="Only this mutation.")
@click.option("--seed", type=int, default=None, help="Decides the sizes. Default: another one each time.")
def main(only: str | None, seed: int | None) -> None:
    """Break a copy of the tree in one way after the other; histories have to find it."""
    seed = random.randrange(1 << 32) if seed is None else seed
    chosen = {name: each for name, each in MUTATIONS.items() if only in (None, name)}
    failed = []
    for name, mutation in chosen.items():
        with tempfile.TemporaryDirectory(prefix="reprieve-mutation-") as folder:
            result = _run(seed, mutation.scenario, showing(mutated(mutation.edits, Path(folder))))
        click.echo(f"{name}: {'found' if result.violations else 'NOT FOUND'}\n{result}\n")
        failed += [] if result.violations else [name]
    for scenario in dict.fromkeys(id(each.scenario) for each in chosen.values()):
        names = [name for name, each in chosen.items() if id(each.scenario) == scenario]
        result = _run(seed, chosen[names[0]].scenario, {})
        what = f"without {', '.join(names)}"
        click.echo(f"{what}: {'SOMETHING IS FOUND' if result.violations else 'nothing is found'}\n{result}\n")
        failed += [what] if result.violations else []
    click.echo(f"seed {seed}: {len(chosen)} mutations, failed {failed}")
    sys.exit(bool(failed))


def _run(seed: int, scenario: Scenario, options: Mapping[str, Any]) -> Result | Observed:
    folder = Path(tempfile.mkdtemp(prefix="reprieve-stress-"))
    common = OBSERVER if scenario.observes else REPLICATED
    common = with_natives(common, scenario.native) if scenario.native else common
    common = {**common, "scheduler_settings": scenario.scheduler} if scenario.scheduler else common
    plane = ControlPlane(folder, replace(Options(), **{**common, **options}))
    try:
        with plane:
            if scenario.observes:
                return observing.judge(plane, seed, scenario.run)
            return judge(plane, seed, scenario.run, bound=scenario.bound)
    except (BinariesError, ProcessFailedError) as error:
        raise click.ClickException(str(error)) from None
    finally:
        plane.discard()


if __name__ == "__main__":
    main(prog_name="python -m tests.e2e.stress.mutations")
