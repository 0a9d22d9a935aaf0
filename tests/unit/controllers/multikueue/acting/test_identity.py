"""Who the manager is, and the times that it keeps."""

from __future__ import annotations

from controllers.multikueue.acting.identity import Identity, life_settings
from controllers.multikueue.configuration import MultiKueueConfiguration
from controllers.multikueue.life.seen import Settings
from runtime.terms.term import Term
from tests.kit.clock import ManualClock


def test_each_term_of_each_process_writes_another_name() -> None:
    clock, settings = ManualClock(), MultiKueueConfiguration(origin="here", worker_lost_timeout_seconds=90)
    terms = Term(1, clock, holder="one"), Term(2, clock, holder="one"), Term(1, clock, holder="two")
    found = [Identity.of("uid", settings, term) for term in terms]
    assert len({each.term for each in found}) == 3
    assert (found[0].manager, found[0].origin, found[0].lost_seconds) == ("uid", "here", 90)


def test_times_become_microseconds() -> None:
    usual = life_settings(MultiKueueConfiguration(), has_gates=True)
    assert usual == Settings(True, True, 5_000_000, 300_000_000, None)
    other = MultiKueueConfiguration(
        order="FirstComeFirstServed",
        non_preempting_window_seconds=0,
        single_cluster_preemption_timeout_seconds=1.5,
        give_up_seconds=60,
    )
    assert life_settings(other, has_gates=False) == Settings(False, False, 0, 1_500_000, 60_000_000)
