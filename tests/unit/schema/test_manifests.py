"""The random manifests that are compared with an API server: every kind and every field that is read is among them."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from api.validation import convert
from hack.fidelity.reads import READ
from hack.fidelity.written import COMPARED, NOT_COMPARED, written
from nodes.groups.made_pods import Written
from schema.defaults.filling import KINDS, SHALLOW

MANIFESTS = 300
OF_SERVERS = ("metadata.", "status.", "apiVersion", "kind")
"""What people do not write, or what every object has."""
NOT_WRITTEN = {
    ".metadata.": "as above",
    "restartPolicyRules": "behind a feature gate",
    "containers[].restartPolicy": "behind a feature gate",
    "bindMountOptions": "behind a feature gate",
    "schedulingGroup": "behind a feature gate",
    "spec.resources.claims": "only containers may have claims",
    "spec.priority": "an API server refuses another one than that of the class",
    "template.spec.preemptionPolicy": "Kueue does not read it",
    "template.spec.serviceAccountName": "Kueue does not read it",
    "template.spec.resourceClaims": "no defaults: they are in pods",
    "template.spec.initContainers[].resources.claims": "as in pods",
    "globalDefault": "it would matter to all pods",
    "topologyName": "it needs a Topology",
    "timeAdded": "a kubelet writes it",
    "preemptionGates": "no defaults",
    "priorityClassRef": "no defaults",
    "podsetSliceRequiredTopologyConstraints": "no defaults",
    "concurrentAdmissionPolicy": "no defaults",
    "flavorFungibility.preference": "no defaults",
    "withinClusterQueueConfig": "no defaults",
}
"""Parts of the paths of fields that are left out, and why."""


@cache
def paths_of(hint: Any, path: str) -> frozenset[str]:
    """The fields without fields of their own below this one."""
    if get_origin(hint) in (Union, types.UnionType):
        return frozenset().union(
            *(paths_of(each, path) for each in get_args(hint) if each is not types.NoneType)
        )
    if get_origin(hint) is list:
        return paths_of(get_args(hint)[0], f"{path}[]")
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        fields = zip(hint.__struct_fields__, hint.__struct_encode_fields__, strict=True)
        hints = get_type_hints(hint)
        found = [paths_of(hints[name], f"{path}.{encoded}".lstrip(".")) for name, encoded in fields]
        return frozenset().union(*found) or frozenset({path})
    return frozenset({path})


def set_in(value: Any, path: str = "") -> Iterator[str]:
    """The paths in a manifest, of objects as well."""
    if isinstance(value, dict):
        yield path
        for name, part in value.items():
            yield from set_in(part, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        yield path
        for item in value:
            yield from set_in(item, f"{path}[]")
    else:
        yield path


def test_every_kind_that_is_read_is_compared_or_has_a_reason() -> None:
    assert COMPARED.keys() | NOT_COMPARED.keys() == READ.keys()
    assert not COMPARED.keys() & NOT_COMPARED.keys()


def test_every_kind_with_defaults_is_read() -> None:
    compared = {struct for kind in (*COMPARED, *NOT_COMPARED) for struct in READ[kind]}
    missing = [
        kind for kind in (*KINDS, *SHALLOW) if not any(issubclass(struct, kind) for struct in compared)
    ]
    assert missing == []


@pytest.mark.parametrize("kind", COMPARED, ids=lambda kind: kind[1])
def test_every_field_that_is_read_is_in_some_manifest(kind: tuple[str, str]) -> None:
    random = Random(0)
    manifests = [written(random, kind, f"m{number}", "ns") for number in range(MANIFESTS)]
    found = {path for each in manifests for path in set_in(each)}
    for struct in READ[kind]:
        for each in manifests:
            convert(each, struct)
        if struct is not Written:
            hint: Any = struct
            wanted = {path for path in paths_of(hint, "") if not path.startswith(OF_SERVERS)}
            missing = sorted(path for path in wanted - found if not any(part in path for part in NOT_WRITTEN))
            assert missing == []
