"""What the check says of each cluster, as it is written and as it is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.dispatch_words import cost_text, lines_of, message_of, stand_of
from api.plan_results import PlanCost

NAMES = st.from_regex(r"[a-z]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True)


@given(said=st.dictionaries(NAMES, st.text(), max_size=5))
def test_what_is_written_is_read_again(said: dict[str, str]) -> None:
    message = message_of("2026-03-01T12:00:00Z", said.items())
    assert lines_of(message, said) == {name: " ".join(text.split()) for name, text in said.items()}


@pytest.mark.parametrize("line_break", ["\n", "\r", "\u2028", "\x0b", "\x85"])
def test_a_cluster_says_nothing_in_the_name_of_another(line_break: str) -> None:
    message = message_of(
        "2026-03-01T12:00:00Z", [("a", f"waits{line_break}b: admitted"), ("b", "lost: by us")]
    )
    assert lines_of(message, ["a", "b"]) == {"a": "waits b: admitted", "b": "lost: by us"}


def test_the_message_of_another_manager_says_nothing_of_clusters() -> None:
    assert lines_of('The workload got reservation on "a"', ["a"]) == {}
    assert lines_of("", ["a"]) == {}


@pytest.mark.parametrize(
    ("text", "stand"),
    [
        ("admitted", "Admitted"),
        ("would have to preempt, and waits for its turn; 1 Workload of priority 5 or less, 2 pods", "Asks"),
        ("may preempt until 2026-03-01T12:05:03Z", "MayPreempt"),
        ("lost: no answer", "Lost"),
        ("not connected: no answer", "Away"),
        ("not in this attempt: there is no namespace a", "Out"),
        ("waits for quota: 4 more needed", "Waits"),
        ("the copy is about to be made", "Asked"),
        ("", "Asked"),
    ],
)
def test_a_line_tells_where_a_cluster_stands(text: str, stand: str) -> None:
    assert stand_of(text) == stand


def test_a_cost_in_words() -> None:
    assert cost_text(PlanCost(50, 150, 3, 1, 3600)) == "3 Workloads of priority 50 or less, 1 pod"
