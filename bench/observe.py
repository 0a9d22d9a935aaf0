"""An observer that no scheduler calls, beside a process that enforces, and beside a cluster without reprieve.

Every node is nearly full of pods of high priority, and gangs wait that cannot fit. One cluster is used for all of it:
first without reprieve, then with an observer, with a process that enforces, and at last without reprieve again. A
kube-scheduler that does not know reprieve serves all pods. At rest, nothing is created or deleted for a minute:
searches and writes are counted by reprieve's metrics, and its requests by the audit log. Then ordinary pods that find
room arrive for a minute. They are more important than the gangs, which the scheduler tries again after each deletion.

REPRIEVE_BENCH_OBSERVE has the number of nodes, of pods on each, and of gangs, such as 5000,30,1000. That size needs
GOGC=60 in the environment on a machine with 23 GB of memory.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import yaml
from rich.console import Console
from rich.table import Table

from bench.metrics import Samples, grown, quantile, reprieve_metrics
from bench.place import Place
from bench.waiting import PEER, PRIORITIES, Measured, Size, Waiting
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane, Options

__all__ = ["AGAIN", "ENFORCES", "OBSERVES", "WITHOUT", "Rest", "requests_in", "run", "table"]

SIZE: Final = os.environ.get("REPRIEVE_BENCH_OBSERVE", "200,10,50")
WITHOUT, OBSERVES, ENFORCES, AGAIN = "without reprieve", "Observe, not called", "Enforce", "without, again"
REST_SECONDS: Final = 60.0
QUIET_SECONDS: Final = 15.0
"""A process is at rest once it has searched, and then neither searched nor written for this long."""
LIMIT_SECONDS: Final = 900.0
READS: Final = ("get", "list", "watch")
SEARCHES, WRITES = "reprieve_planning_seconds_count", "reprieve_write_seconds_count"
REPORT: Final = "report"
"""What a write of a PreemptionReport is called there."""
SETTINGS: Final[Mapping[str, Mapping[str, Mapping[str, str] | None]]] = {
    OBSERVES: {"planning": {"mode": "Observe"}, "extender": None},
    ENFORCES: {"planning": {"mode": "Enforce"}},
}
OPTIONS: Final = Options(
    reprieve=True,
    start_reprieve=False,
    schedulers=[PEER],
    scheduler_settings={"percentageOfNodesToScore": 100},
)


@dataclass(frozen=True, slots=True)
class Rest:
    """What a process did in a minute in which nothing happened."""

    searches: int
    writes: int
    """Without the report of the day."""
    requests: Mapping[str, int]
    """Requests that write, by verb and resource."""
    resident: int
    """Memory, in bytes."""
    first_look: float
    """Seconds from the start of the process until it was at rest."""


def run(console: Console) -> bool:
    """Print the table. Returns whether each ordinary pod was bound, and the observer did nothing at rest.

    A process that enforces has pulses to write now and then, by which kube-scheduler tries waiting pods again.
    """
    size = Size.of(SIZE)
    console.print(
        f"[bold]Observing[/]: {size.nodes:,} nodes, {size.nodes * size.pods:,} pods, {size.gangs:,} gangs"
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprieve-bench-")))
        plane = stack.enter_context(ControlPlane(folder, OPTIONS))
        status = stack.enter_context(console.status("the cluster fills"))
        rests, ordinary = _measure(plane, size, status.update)
    console.print(table(rests, ordinary))
    rest = rests[OBSERVES]
    quiet = not (rest.searches or rest.writes or rest.requests)
    return quiet and not any(each.unbound for each in ordinary.values())


def _measure(
    plane: ControlPlane, size: Size, tell: Callable[[str], None]
) -> tuple[dict[str, Rest], dict[str, Measured]]:
    place = Place(plane.client, "observe")
    load = Waiting(place, size, None, scheduler=PEER, ordinary=PRIORITIES["highest"])
    load.fill(plane.etcd)
    load.wait_with(size.gangs, are_groups=False, ungated=1)
    place.client.create_all(
        place.pod_group(f"w1-{number}", min_count=8, priority=PRIORITIES["middle"])
        for number in range(size.gangs)
    )
    tell(WITHOUT)
    ordinary, rests = {WITHOUT: load.measure(groups=False)}, dict[str, Rest]()
    file = plane.directory / "reprieve.yaml"
    shipped = file.read_text()
    for name in (OBSERVES, ENFORCES):
        tell(name)
        file.write_text(_in_mode(shipped, name))
        plane.start_reprieve()
        rests[name] = _rest(plane)
        if name == OBSERVES:
            ordinary[name] = load.measure(groups=False)
        plane.reprieve.stop()
    tell(AGAIN)
    ordinary[AGAIN] = load.measure(groups=False)
    return rests, ordinary


def _in_mode(configuration: str, name: str) -> str:
    """The Configuration, with the settings of this row."""
    settings = yaml.safe_load(configuration)
    for section, wanted in SETTINGS[name].items():
        settings[section] = None if wanted is None else {**(settings.get(section) or {}), **wanted}
    return yaml.safe_dump(settings)


def _rest(plane: ControlPlane) -> Rest:
    read, began = partial(reprieve_metrics, plane), time.monotonic()
    _wait_quiet(read)
    looked = time.monotonic() - began - QUIET_SECONDS
    before, logged = read(), plane.audit_log.stat().st_size
    time.sleep(REST_SECONDS)
    after = read()
    with plane.audit_log.open("rb") as log:
        log.seek(max(0, logged - 1))
        log.readline()  # the rest of a line that was being written
        requests = requests_in(line for line in log if line.endswith(b"\n"))
    return Rest(
        searches=round(grown(before, after, SEARCHES)),
        writes=_writes(before, after),
        requests=requests,
        resident=_resident(plane.reprieve.pid),
        first_look=looked,
    )


def _wait_quiet(read: Callable[[], Samples]) -> None:
    """Until something has been searched, and nothing has been searched or written for a while. Raises TimeoutError."""
    end, before, since = time.monotonic() + LIMIT_SECONDS, read(), time.monotonic()
    while time.monotonic() - since < QUIET_SECONDS or not grown({}, before, SEARCHES):
        if time.monotonic() > end:
            raise TimeoutError("reprieve does not come to rest")
        time.sleep(1.0)
        now = read()
        if grown(before, now, SEARCHES) or _writes(before, now):
            before, since = now, time.monotonic()


def _writes(before: Samples, after: Samples) -> int:
    """Without the report of the day, which has how long was observed, and is due every five minutes."""
    return round(grown(before, after, WRITES) - grown(before, after, WRITES, what=REPORT))


def requests_in(lines: Iterable[str | bytes]) -> dict[str, int]:
    """What reprieve has written by an audit log, by verb and resource."""
    found = dict[str, int]()
    for line in lines:
        event = json.loads(line)
        if event["user"]["username"] == REPRIEVE_USER and event["verb"] not in READS:
            name = f"{event['verb']} {(event.get('objectRef') or {}).get('resource', '')}"
            found[name] = found.get(name, 0) + 1
    return found


def _resident(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def table(rests: Mapping[str, Rest], ordinary: Mapping[str, Measured]) -> Table:
    """A row for each setting. Ratios: memory to that of Enforce, p99 to that without reprieve."""
    shown = Table(
        *("", "searches at rest", "writes", "requests that write", "memory", "of Enforce", "until at rest"),
        *("ordinary pods", "not bound", "p50 s to bind", "p99", "p99, of without"),
    )
    alone = quantile(ordinary[WITHOUT].ordinary, 0.99)
    for name in (WITHOUT, OBSERVES, ENFORCES, AGAIN):
        row, rest, each = [name], rests.get(name), ordinary.get(name)
        if rest is None:
            row += [""] * 6
        else:
            requests = ", ".join(f"{count} {what}" for what, count in sorted(rest.requests.items()))
            ratio = f"{rest.resident / rests[ENFORCES].resident:.2f}"
            row += [str(rest.searches), str(rest.writes), requests or "0", f"{rest.resident / 2**20:.0f} MiB"]
            row += [ratio, f"{rest.first_look:.0f} s"]
        if each is not None:
            middle, high = (quantile(each.ordinary, at) for at in (0.5, 0.99))
            row += [str(len(each.ordinary)), str(each.unbound), f"{middle:.3f}", f"{high:.3f}"]
            row.append(f"{high / alone:.2f}")
        shown.add_row(*row)
    return shown
