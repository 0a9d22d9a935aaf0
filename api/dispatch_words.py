"""What the check of a dispatched Workload says of each cluster, so that programs can read it, too.

The manager writes the message. `reprieve why` and `reprieve clusters` read it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal

from api.plan_results import PlanCost
from api.words import counted

__all__ = [
    "ADMITTED",
    "ASKS",
    "AWAY",
    "LOST",
    "MAY_PREEMPT",
    "OUT",
    "WAITS",
    "Stand",
    "cost_text",
    "lines_of",
    "message_of",
    "stand_of",
]

ADMITTED: Final = "admitted"
ASKS: Final = "would have to preempt, and waits for its turn"
AWAY: Final = "not connected"
LOST: Final = "lost"
MAY_PREEMPT: Final = "may preempt until"
OUT: Final = "not in this attempt"
WAITS: Final = "waits for quota"

Stand = Literal["Admitted", "Asks", "Away", "Lost", "MayPreempt", "Out", "Waits", "Asked"]
"""Where a cluster stands. Asked: nothing else is known."""
BEGINS: Final[Mapping[str, Stand]] = {
    ADMITTED: "Admitted",
    ASKS: "Asks",
    AWAY: "Away",
    LOST: "Lost",
    MAY_PREEMPT: "MayPreempt",
    OUT: "Out",
    WAITS: "Waits",
}
"""How a cluster's line begins."""


def message_of(since: str, lines: Iterable[tuple[str, str]]) -> str:
    """The message: when the quota was reserved, and a line for each cluster. What a cluster said stays on its line: it
    cannot say something in the name of another one."""
    said = (f"{name}: {' '.join(text.split())}" for name, text in lines)
    return "\n".join([f"No cluster has it yet; its quota is held since {since}.", *said])


def lines_of(message: str, names: Collection[str]) -> dict[str, str]:
    """What the message says of each of these clusters. Nothing is known of one without a line."""
    found = dict[str, str]()
    for line in message.splitlines():
        name, colon, text = line.partition(": ")
        if colon and name in names:
            found.setdefault(name, text)
    return found


def stand_of(text: str) -> Stand:
    """Where the cluster stands that this is said of."""
    return next((stand for begins, stand in BEGINS.items() if text.startswith(begins)), "Asked")


def cost_text(cost: PlanCost) -> str:
    """What a preemption costs, in words."""
    workloads, pods = counted(cost.workloads, "Workload"), counted(cost.pods, "pod")
    return f"{workloads} of priority {cost.highest_victim_priority} or less, {pods}"
