"""Bare clients beside our rows: each row meets the same pods, and the table has all processes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

from rich.console import Console

from bench.floor import Bare, Cost, Deleted, Load, costs_table, measure
from bench.place import Place

LOAD: Final = Load(cast(Place, None), Path("kubeconfig"), "load=victim", 16)


class Client:
    """It deletes all pods that there are at the moment."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self._log = name, log

    def delete(self, load: Load, *, mark: bool) -> Deleted:
        """See `bench.floor.Bare`."""
        self._log.append(f"{self.name} {'marks' if mark else 'deletes'}")
        return Deleted(pods=30, seconds=2.0, cpu=0.5)


def readings() -> Iterator[dict[str, float]]:
    """etcd takes a second between two readings."""
    second = 0.0
    while True:
        yield {"etcd": second}
        second += 1.0


def test_pods_are_restored_before_each_row() -> None:
    log, spent = list[str](), readings()
    clients: list[Bare] = [Client("a", log), Client("b", log)]
    costs = measure(LOAD, lambda: log.append("restore"), lambda: next(spent), clients)
    assert log == [
        line for each in ("a deletes", "b deletes", "a marks", "b marks") for line in ("restore", each)
    ]
    assert [cost.name for cost in costs] == [
        "bare deletes, a",
        "bare deletes, b",
        "bare marks and deletes, a",
        "bare marks and deletes, b",
    ]
    assert all(cost.cpu == {"etcd": 1.0, "client": 0.5} for cost in costs)
    assert {cost.rate for cost in costs} == {15.0}


def test_the_table_compares_each_row_with_the_first() -> None:
    costs = [
        Cost("ours", 100, 2.0, {"etcd": 1.0, "reprieve": 2.0}),
        Cost("bare", 100, 1.0, {"etcd": 0.5, "client": 3.0}),
        Cost("nobody", 0, 0.0),
    ]
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(costs_table(costs))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
        ["ours", "100", "50", "1.00", "1.0", "2.0", ""],
        ["bare", "100", "100", "0.50", "0.5", "", "3.0"],
        ["nobody", "0", "0", "", "", "", ""],
    ]
