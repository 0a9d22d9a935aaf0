from collections.abc import Sequence

from native.quota.quotas import Ask, Found, Quotas

class Ledger:
    """Who holds which quota. Not to be changed while a search runs on it: give the search a snapshot.

    A holder is known by ClusterQueue, priority, reservation, order and whether it is on its way out.
    """

    def __init__(self, quotas: Quotas) -> None: ...
    def __len__(self) -> int: ...
    def snapshot(self) -> Ledger:
        """An independent copy; holders are copied only where one of the two changes."""

    def admit(
        self,
        queue: int,
        holder: object,
        priority: int,
        reserved: int,
        queued: int,
        order: int,
        evicting: bool,
        frs: Sequence[int],
        amounts: Sequence[int],
    ) -> None:
        """Count a holder. `order` ranks UIDs; FRs that it has 0 of count as used.

        Raises OverflowError with the FR if more than 2**62 - 1 of it would be held, ValueError where it is.
        """

    def release(self, queue: int, priority: int, reserved: int, order: int, evicting: bool) -> object:
        """Count a holder no longer, and return it. Raises KeyError."""

    def holders(self, queue: int) -> list[object]:
        """Those of a ClusterQueue in the order in which they would be preempted."""

    def reserve(self, queue: int, frs: Sequence[int], amounts: Sequence[int]) -> None:
        """Usage without a holder."""

    def unreserve(self, queue: int, frs: Sequence[int], amounts: Sequence[int]) -> None:
        """Take back what was reserved."""

    def usage(self, node: int, fr: int) -> int:
        """Of a Cohort: what its children cannot keep to themselves."""

    def quota(self, node: int, fr: int) -> int:
        """The quota of its subtree, without what the nodes below do not lend."""

    def potential(self, node: int, fr: int) -> int:
        """What the node could reach if nobody used anything."""

    def available(self, queue: int, fr: int) -> int:
        """What the ClusterQueue can take now, 0 or more."""

    def height(self, queue: int, fr: int, amount: int) -> tuple[int, bool]:
        """Of the smallest subtree whose quota suffices, and whether there is a larger one."""

    def share(self, node: int) -> tuple[bool, float, float]:
        """Dominant resource share: borrowing at weight 0, ratio in thousandths, ratio over weight."""

    def search(self, ask: Ask, strategies: tuple[int, ...] | None, trace: bool = False) -> Found:
        """The targets of preemption; `strategies` are those of fair sharing, None is without."""

    def simulate(self, ask: Ask, strategies: tuple[int, ...] | None) -> tuple[int, int]:
        """For a single FR: what kind of preemption would do, and the height of the quota it then takes."""
