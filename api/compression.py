"""The stored form of a large plan. Lists that would exceed etcd's size limit are compressed.

Then the list (`victims`, `placements`) is empty. `compressedVictims` (`compressedPlacements`) is the base64 of the
xz-compressed JSON list. A user can read it without reprieve:

    kubectl get preemptionplan NAME -o jsonpath='{.spec.compressedVictims}' | base64 -d | xz -d

The format is xz because long names repeat at distances beyond zlib's window.
"""

from __future__ import annotations

import base64
import lzma
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from api.plans import Placement, PreemptionPlanSpec, Victim

__all__ = ["compress", "expand"]

T = TypeVar("T")

MAX_EXPANDED: Final = 256 * 1024 * 1024
"""The maximum number of bytes after expansion. A larger list is refused."""
PRESET: Final = 6
"""Higher presets take four times as long and save nothing on plans."""

victims_decoder = msgspec.json.Decoder(list[Victim])
placements_decoder = msgspec.json.Decoder(list[Placement])


def compress(spec: PreemptionPlanSpec, *, above_pods: int) -> PreemptionPlanSpec:
    """The stored form of a plan: with counts, and with compressed lists of more than `above_pods` pods.

    A Workload counts as one pod.
    """
    units, pods = len(spec.victims), sum(len(victim.pods) for victim in spec.victims)
    counted = UNSET if spec.preemptor.kind == "Workload" else pods
    stored = msgspec.structs.replace(spec, victim_units=units, victim_pods=counted)
    if max(units, pods) > above_pods:
        stored.victims, stored.compressed_victims = [], _deflate(spec.victims)
    if len(spec.placements) > above_pods:
        stored.placements, stored.compressed_placements = [], _deflate(spec.placements)
    return stored


def expand(spec: PreemptionPlanSpec) -> PreemptionPlanSpec:
    """The plain form of a stored plan. Raises ValueError for a damaged compressed field."""
    plain = msgspec.structs.replace(
        spec, victim_units=UNSET, victim_pods=UNSET, compressed_victims=UNSET, compressed_placements=UNSET
    )
    if not isinstance(spec.compressed_victims, UnsetType):
        plain.victims = _inflate(spec.compressed_victims, victims_decoder, "compressedVictims")
    if not isinstance(spec.compressed_placements, UnsetType):
        plain.placements = _inflate(spec.compressed_placements, placements_decoder, "compressedPlacements")
    return plain


def _deflate(items: list[Victim] | list[Placement]) -> str:
    return base64.b64encode(lzma.compress(msgspec.json.encode(items), preset=PRESET)).decode()


def _inflate(text: str, decoder: msgspec.json.Decoder[T], field: str) -> T:
    inflater = lzma.LZMADecompressor(memlimit=MAX_EXPANDED)
    try:
        inflated = inflater.decompress(base64.b64decode(text, validate=True), MAX_EXPANDED)
        # If the data is cut or too large, the text is not a complete JSON document, and this raises.
        return decoder.decode(inflated)
    except (lzma.LZMAError, ValueError) as error:  # msgspec's and binascii's errors are ValueErrors
        raise ValueError(f"spec.{field}: {error}") from error
