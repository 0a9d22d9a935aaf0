"""Checks of kube-scheduler's own pod groups: whether it plans for them, what reprieve does, and how long they wait."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.kinds import Program, SeenPod
from answers.doctor.schedulers import RELEASE, configurations, running
from answers.doctor.seen import Seen
from api.published import MAX_BACKOFF, NATIVE_GROUPS
from api.validation import FieldError
from api.words import counted, some
from controllers.gangs.scheduler.configuration import parse
from nodes.search.preemptors.trying import longest_wait
from nodes.state.pods.pods import ENDED

__all__ = ["alpha", "backoffs", "gates"]

GATE: Final = "GenericWorkload"
"""kube-scheduler's gate. With it the scheduler places its own pod groups as a whole, and evicts for them."""
FIRST_BETA: Final = (1, 37)
"""The first version in which the API of the groups is no longer alpha."""
ALPHA: Final = re.compile(r"scheduling\.k8s\.io/(v1alpha\d+)=true")
"""In an API server's option --runtime-config."""
USUAL_BACKOFF: Final = 10.0
"""podMaxBackoffSeconds, if nothing else is said."""
LONG_SECONDS: Final = 60.0
"""Who may wait for longer is named."""
MODES: Final = {
    "Steer": "kube-scheduler evicts for its own PodGroups, and reprieve chooses where",
    "Drive": "reprieve evicts for kube-scheduler's own PodGroups",
    "Off": "kube-scheduler evicts for its own PodGroups by its own rule",
}
"""By planning.nativeGroups."""


def gates(seen: Seen, now: float) -> list[Finding]:
    """Whether kube-scheduler places pod groups itself, and what reprieve does about it."""
    programs = list(running(seen))
    if not programs:
        return [note("gates", "no pod shows the options of a kube-scheduler")]
    if not any(_gate(each) for each in programs):
        return [well("gates", f"no kube-scheduler runs with the gate {GATE} in its options")]
    says = f"a kube-scheduler runs with the gate {GATE}"
    if (planning := seen.planning_mode()) in ("Off", "Observe"):
        return [note("gates", f"{says}. planning.mode is {planning}: {MODES['Off']}")]
    mode = seen.published().get(NATIVE_GROUPS, "")
    if mode not in MODES:
        return [note("gates", f"{says}, and the Lease does not say what planning.nativeGroups is")]
    finding = note if mode == "Off" else well
    return [finding("gates", f"{says}. planning.nativeGroups is {mode}: {MODES[mode]}")]


def alpha(seen: Seen, now: float) -> list[Finding]:
    """Alpha versions of these groups that are on. reprieve does not read them."""
    old = sorted({each.image for each in running(seen) if _gate(each) and _is_alpha(each)})
    served = sorted({found for each in seen.all(SeenPod) for found in _served(each)})
    found = []
    if old:
        message = f"{some(old)} runs with the gate {GATE}: the PodGroups of this version are alpha"
        found.append(note("alpha", f"{message}, and reprieve leaves them alone"))
    if served:
        found.append(note("alpha", f"an API server serves {some(served)}, which reprieve does not read"))
    return found


def backoffs(seen: Seen, now: float) -> list[Finding]:
    """Whether the scheduler's backoff lets groups wait for long that wait now. Nothing else brings them back."""
    waiting = Counter(_group(pod) for pod in seen.all(SeenPod) if _waits(pod))
    if not waiting:
        return []
    most = _max_backoff(seen)
    slow = {name: longest_wait(most, members) for name, members in waiting.items()}
    slow = {name: seconds for name, seconds in slow.items() if seconds > LONG_SECONDS}
    if not slow:
        return [
            well(
                "backoff", f"{counted(len(waiting), 'PodGroup')} of kube-scheduler wait for a minute at most"
            )
        ]
    named = some(f"{name}: {seconds:.0f} s" for name, seconds in sorted(slow.items()))
    message = f"podMaxBackoffSeconds is {most:g}, so a PodGroup may wait for an attempt for as long as this: {named}"
    return [fault("backoff", "NativeGangsWaitLong", message)]


def _group(pod: SeenPod) -> str:
    group = pod.spec.scheduling_group
    return f"{pod.metadata.namespace}/{(group.pod_group_name if group is not None else '') or ''}"


def _waits(pod: SeenPod) -> bool:
    """Whether it is a pod of such a group that has no node."""
    group = pod.spec.scheduling_group
    is_member = group is not None and bool(group.pod_group_name)
    leaves = pod.metadata.deletion_timestamp is not None or pod.status.phase in ENDED
    return is_member and not pod.spec.node_name and not leaves


def _max_backoff(seen: Seen) -> float:
    """podMaxBackoffSeconds: as the process says it, else the longest of the configurations that call us."""
    said = seen.published().get(MAX_BACKOFF, "")
    if re.fullmatch(r"\d+(\.\d+)?", said):
        return float(said)
    found = []
    for _, text in configurations(seen):
        try:
            found.append(parse(text).backoffs.last)
        except FieldError:  # another check says so
            continue
    return max(found, default=USUAL_BACKOFF)


def _is_alpha(program: Program) -> bool:
    match = RELEASE.search(program.image)
    return match is not None and (int(match[1]), int(match[2])) < FIRST_BETA


def _served(pod: SeenPod) -> set[str]:
    """The alpha versions that an API server in the pod serves."""
    programs = pod.spec.containers or ()
    return {version for each in programs for version in ALPHA.findall(_words(each))}


def _words(program: Program) -> str:
    return " ".join((*(program.command or ()), *(program.args or ())))


def _gate(program: Program) -> bool:
    """Whether the options turn the gate on. Of several values the last one counts."""
    values: list[str] = re.findall(rf"[=, ]{GATE}=(\w+)", _words(program))
    return bool(values) and values[-1].lower() in ("true", "t", "1")
