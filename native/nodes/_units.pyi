from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Flags = NDArray[np.uint8]

def list_units(
    pods: tuple[Int32s, Flags, Int32s, Int64s, Int64s, Flags],
    groups: tuple[Flags, Flags, Flags, Int64s, Int64s],
    on: Flags,
    below: int,
    but: int,
    rules: tuple[int, int, int, int],
) -> tuple[Int64s, Int64s, Int64s, Flags, Int64s, Int64s]: ...
def sorted_by(keys: Sequence[Int64s]) -> Int64s: ...
def rearranged(first: Int64s, pods: Int64s, order: Int64s) -> tuple[Int64s, Int64s]: ...
def free_up(room: Int64s, pods: Int64s, pod_node: Int32s, pod_class: Int32s, requests: Int64s) -> None: ...
def pieces_of(
    first: Int64s,
    pods: Int64s,
    pod_node: Int32s,
    pod_class: Int32s,
    requests: Int64s,
    index: Int64s,
    nodes: int,
) -> dict[str, NDArray[np.signedinteger]]: ...
def budgets_of(
    first: Int64s, pods: Int64s, pod_labels: Int32s, label_budget: Int32s
) -> dict[str, NDArray[np.signedinteger]]: ...
