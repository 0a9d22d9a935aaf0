"""apimachinery's metadata types, as far as reprieve reads them (meta/v1)."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

__all__ = [
    "Condition",
    "LabelSelector",
    "LabelSelectorRequirement",
    "List",
    "ListMeta",
    "ObjectMeta",
    "Struct",
]

T = TypeVar("T")


class Struct(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    """Base of every wire type: camelCase keys, defaults left out, unknown fields ignored.

    `gc=False`: wire objects form trees, never cycles, and a large mirror must not pay for collecting them.
    """


class ObjectMeta(Struct):
    """meta/v1 ObjectMeta. Times are RFC 3339 strings as the API server wrote them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class ListMeta(Struct):
    """meta/v1 ListMeta."""

    resource_version: str = ""
    # `continue` is a keyword; the rename rule would give `continue_`.
    continue_: str = msgspec.field(default="", name="continue")


class List(Struct, Generic[T]):
    """The envelope of a list answer; `items` lack their own kind and apiVersion, as API servers send them."""

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] = msgspec.field(default_factory=list)


class Condition(Struct):
    """meta/v1 Condition, also wide enough for core/v1 PodCondition and NodeCondition."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int = 0


class LabelSelectorRequirement(Struct):
    """meta/v1 LabelSelectorRequirement; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: list[str] | None = None


class LabelSelector(Struct):
    """meta/v1 LabelSelector: both parts must hold; the empty selector matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None
