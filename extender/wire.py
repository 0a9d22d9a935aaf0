"""The scheduler's extender types (k8s.io/kube-scheduler/extender/v1) in the nodeCacheCapable form.

The Go types carry no JSON tags, so keys are the Go field names. `null` for a node or a pod in a preempt answer would
panic the scheduler: the types here cannot say it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec
import orjson

from api.core import Pod

__all__ = [
    "NULL",
    "ExtenderArgs",
    "ExtenderPreemptionArgs",
    "MetaPod",
    "MetaVictims",
    "Verb",
    "Wire",
    "filter_all",
    "filter_none",
    "filter_only",
    "offered_to",
    "preemption_all",
    "preemption_result",
    "uids_of",
]


Verb = Literal["filter", "preempt"]
NULL: Final = msgspec.Raw(b"null")


class Wire(msgspec.Struct, rename="pascal", gc=False):
    """Base: Go's field names; unknown fields ignored."""


class ExtenderArgs(Wire):
    """A filter request. Nodes stay raw: most answers give them back untouched."""

    pod: Pod
    nodes: msgspec.Raw = NULL
    node_names: msgspec.Raw = NULL


class MetaPod(Wire):
    """A victim, by UID."""

    uid: str = msgspec.field(name="UID")


class MetaVictims(Wire):
    """The victims that the scheduler's dry run found on one node, most important first."""

    pods: list[MetaPod] | None = None
    num_pdb_violations: int = msgspec.field(default=0, name="NumPDBViolations")


class ExtenderPreemptionArgs(Wire):
    """A preempt request. `node_name_to_meta_victims` stays raw: most answers give it back untouched."""

    pod: Pod
    node_name_to_meta_victims: msgspec.Raw = NULL


filter_decoder = msgspec.json.Decoder(ExtenderArgs)
preemption_decoder = msgspec.json.Decoder(ExtenderPreemptionArgs)
names_decoder = msgspec.json.Decoder(list[str] | None)
candidates_decoder = msgspec.json.Decoder(dict[str, MetaVictims] | None)


def offered_to(args: ExtenderPreemptionArgs) -> dict[str, list[str]] | None:
    """The candidates of a call whose answer does not depend on them. None if they cannot be read."""
    try:
        return uids_of(candidates_decoder.decode(args.node_name_to_meta_victims) or {})
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def uids_of(offered: Mapping[str, MetaVictims]) -> dict[str, list[str]]:
    """Candidates: the victims' UIDs by node."""
    return {node: [pod.uid for pod in each.pods or ()] for node, each in offered.items()}


def filter_all(raw_names: msgspec.Raw, raw_nodes: msgspec.Raw = NULL) -> bytes:
    """The filter answer that keeps every offered node. Names and nodes are passed on as they came."""
    return b"".join(
        (
            b'{"Nodes":',
            bytes(raw_nodes),
            b',"NodeNames":',
            bytes(raw_names),
            b',"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}',
        )
    )


def filter_only(kept: list[str], rejected: dict[str, str]) -> bytes:
    """The filter answer that keeps `kept`; preemption on the `rejected` (name to reason) would not help.

    The scheduler treats nodes that are in neither the same way, without a reason (1.37: NodeToStatus).
    """
    return orjson.dumps(
        {
            "Nodes": None,
            "NodeNames": kept,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": rejected,
            "Error": "",
        }
    )


def filter_none(names: list[str], reason: str) -> bytes:
    """The filter answer that keeps no node. One node's reason speaks for all: of 5,000 they would be 340 KB."""
    return filter_only([], dict.fromkeys(names[:1], reason))


def preemption_all(raw_candidates: msgspec.Raw) -> bytes:
    """The preempt answer that keeps every candidate; they are passed on as they came."""
    return b"".join((b'{"NodeNameToMetaVictims":', bytes(raw_candidates), b"}"))


def preemption_result(nodes: dict[str, MetaVictims]) -> bytes:
    """The preempt answer: evict on one of these nodes; with none of them, evict nothing."""
    return msgspec.json.encode({"NodeNameToMetaVictims": nodes})
