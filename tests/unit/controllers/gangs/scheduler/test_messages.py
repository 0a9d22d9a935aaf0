"""What the scheduler's messages say, in the words of 1.34.3, 1.36.3 and 1.37.1."""

from __future__ import annotations

import pytest

from controllers.gangs.scheduler.messages import PreemptionOutcome, filter_was_called, preemption_outcome
from controllers.gangs.scheduler.rejections import HOLD_MARK

NO_CANDIDATES = PreemptionOutcome.NO_CANDIDATES
FULL = "0/2 nodes are available: 2 Insufficient cpu. "
HELD = f"0/2 nodes are available: 1 Insufficient cpu, 1 {HOLD_MARK}pod group team/gang is Planned. "

SAID = [
    ("0/2 nodes are available: 2 No preemption victims found for incoming pod.", NO_CANDIDATES),
    ("0/2 nodes are available: 2 Preemption is not helpful for scheduling.", NO_CANDIDATES),
    (
        "0/3 nodes are available: 1 No preemption victims found for incoming pod, "
        "2 Preemption is not helpful for scheduling.",
        NO_CANDIDATES,
    ),
    # Evicting every pod of lower priority would not be enough there.
    (
        "0/2 nodes are available: 1 Insufficient cpu, 1 No preemption victims found for incoming pod.",
        NO_CANDIDATES,
    ),
    ("not eligible due to preemptionPolicy=Never.", PreemptionOutcome.NEVER),
    ("not eligible due to a terminating pod on the nominated node.", PreemptionOutcome.TERMINATING),
    ("not eligible due to terminating pod on the nominated node.", PreemptionOutcome.TERMINATING),
    ('expected at least one victim pod on node "n2"', PreemptionOutcome.EXPECTED_VICTIM),
    ("no candidate node for preemption", PreemptionOutcome.EMPTY_ANSWER),
    ("something that no version says", PreemptionOutcome.OTHER),
    ("", PreemptionOutcome.OTHER),
]


@pytest.mark.parametrize(("said", "outcome"), SAID)
@pytest.mark.parametrize("before", [FULL, HELD])
@pytest.mark.parametrize("version", ["1.34.3", "1.36.3", "1.37.1"])
def test_what_is_said_of_preemption(said: str, outcome: PreemptionOutcome, before: str, version: str) -> None:
    claims = "no new claims to deallocate, " if version != "1.37.1" else ""
    message = f"{before}{claims}preemption: {said}"
    assert preemption_outcome(message) is outcome
    assert preemption_outcome(message + ".") is outcome


@pytest.mark.parametrize(
    "message",
    [
        "",
        "0/2 nodes are available: 2 Insufficient cpu.",
        "0/2 nodes are available: 2 No preemption victims found for incoming pod.",
        "no nodes available to schedule pods",
        "0/1 nodes are available: 1 a plugin about-preemption: 0/1 nodes are available: none.",
    ],
)
def test_a_message_without_the_scheduler_s_preemption_says_nothing_of_it(message: str) -> None:
    assert preemption_outcome(message) is PreemptionOutcome.OTHER


def test_an_error_beside_a_list_of_nodes_is_no_list() -> None:
    message = (
        f'{FULL}preemption: 0/2 nodes are available: 1 x, expected at least one victim pod on node "n2".'
    )
    assert preemption_outcome(message) is PreemptionOutcome.EXPECTED_VICTIM


def test_our_reasons_tell_that_filter_was_called() -> None:
    ending = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    assert filter_was_called(HELD + ending)
    assert not filter_was_called(FULL + ending)
