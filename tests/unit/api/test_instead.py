"""Sums of what preemptions cost."""

from __future__ import annotations

import msgspec

from api.instead import LINES, MOST_SECONDS, Costs, Instead, InsteadVictims, beyond_ours, sum_of

ONE = Costs(
    served_nobody={"cpu": 10},
    idle_remainders={"nvidia.com/gpu": 5},
    held_in_pieces={"cpu": 7},
    victims={"cpu": 30, "nvidia.com/gpu": 40},
    ours={"cpu": 15, "memory": 3},
    unknown=1,
    unknown_ours=2,
)


def test_the_sum_adds_every_amount_by_resource() -> None:
    total = sum_of([ONE, Costs(victims={"cpu": 1, "memory": 2}, unknown=4), ONE])
    assert total.victims == {"cpu": 61, "nvidia.com/gpu": 80, "memory": 2}
    assert (total.served_nobody, total.held_in_pieces) == ({"cpu": 20}, {"cpu": 14})
    assert (total.unknown, total.unknown_ours) == (6, 4)
    assert ONE.victims == {"cpu": 30, "nvidia.com/gpu": 40}, "it is not changed"
    assert sum_of([]) == Costs()


def test_every_amount_is_a_line() -> None:
    amounts = {name for name in Costs.__struct_fields__ if isinstance(getattr(Costs(), name), dict)}
    assert amounts == set(LINES)


def test_a_sum_stays_a_number_that_every_reader_can_hold() -> None:
    assert sum_of([Costs(ours={"a/b": MOST_SECONDS})] * 3).ours == {"a/b": MOST_SECONDS}


def test_beyond_ours_is_what_neither_served_nobody_nor_is_ours() -> None:
    assert beyond_ours(ONE) == {"cpu": 5, "nvidia.com/gpu": 40}
    assert beyond_ours(Costs(victims={"cpu": 10}, served_nobody={"cpu": 10}, ours={"cpu": 5})) == {"cpu": 0}
    assert beyond_ours(Costs(victims={"cpu": 10}, ours={"cpu": 50})) == {"cpu": 0}, "ours would be dearer"


def test_costs_come_back_as_they_were_written() -> None:
    assert msgspec.json.decode(b'{"victims": {"pods": 1}}', type=Instead).costs == Costs()
    new = Instead(victims=InsteadVictims(), costs=ONE)
    assert msgspec.json.decode(msgspec.json.encode(new), type=Instead) == new
