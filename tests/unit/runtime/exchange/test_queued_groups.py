"""What the controllers tell each other about PodGroups in queues."""

from __future__ import annotations

from api.core import Pod, PodSpec
from api.meta import ObjectMeta
from runtime.exchange.queued_groups import QueuedGroups, Stop

POD = Pod(ObjectMeta(namespace="n", name="p"), PodSpec())


class Queues:
    """Every group of the namespace `n` waits."""

    def why_waits(self, pod: Pod) -> str:
        return "no quota" if self.waits((pod.metadata.namespace, "g")) else ""

    def waits(self, key: tuple[str, str]) -> bool:
        return key[0] == "n"


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


def test_whoever_knows_the_queues_is_asked() -> None:
    queued = QueuedGroups()
    queued.answered_by(Queues())
    assert queued.waits(("n", "g"))
    assert not queued.waits(("other", "g"))
    assert queued.why_waits(POD) == "no quota"


def test_without_the_controller_of_queues_nobody_waits() -> None:
    assert not QueuedGroups().waits(("n", "g"))
    assert not QueuedGroups().why_waits(POD)
