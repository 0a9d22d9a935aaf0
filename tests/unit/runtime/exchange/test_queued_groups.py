"""What the controllers tell each other about PodGroups in queues."""

from __future__ import annotations

from runtime.exchange.queued_groups import QueuedGroups, Stop


def test_only_changes_are_told() -> None:
    queued, told = QueuedGroups(), list[int]()
    with queued.told(lambda: told.append(len(queued.stops))):
        queued.stop(("n", "g"), Stop("u", "why"))
        queued.stop(("n", "g"), Stop("u", "why"))
        queued.stop(("n", "g"), Stop("u", "another reason"))
        queued.go_on(("n", "g"))
        queued.go_on(("n", "g"))
    queued.stop(("n", "g"), Stop("u", "why"))
    assert told == [1, 1, 0]
    queued.clear()
    assert not queued.stops


def test_without_the_controller_of_queues_nobody_waits() -> None:
    assert not QueuedGroups().waits(("n", "g"))
