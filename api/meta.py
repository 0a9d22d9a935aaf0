"""apimachinery's metadata types, as far as reprieve reads them (meta/v1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import Meta

__all__ = [
    "CheckName",
    "Condition",
    "Conditions",
    "Count",
    "Defaulting",
    "LabelSelector",
    "LabelSelectorRequirement",
    "List",
    "ListMeta",
    "Name",
    "ObjectMeta",
    "OwnerReference",
    "OrDefault",
    "Quantity",
    "Struct",
    "Time",
    "controller_reference",
]

T = TypeVar("T")
if TYPE_CHECKING:
    OrDefault = Annotated[T, "null is taken, and replaced by the default"]
else:
    OrDefault = T | None

SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
"""The pattern for schemas. `api.names` has the same pattern for code."""

Quantity = str | int | float
"""A quantity that is not parsed yet. Manifests may write numbers."""
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, Meta(max_length=253, pattern=SUBDOMAIN)]
"""The name of an object: a DNS subdomain (RFC 1123)."""
CheckName = Annotated[str, Meta(min_length=1, max_length=316)]
"""The name of an AdmissionCheck."""
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A time as RFC 3339 text that is not parsed yet."""


class Struct(msgspec.Struct, rename="camel", gc=False, omit_defaults=True):
    """Base of every wire type. Keys are camelCase, defaults are left out, unknown fields are ignored.

    `gc=False`: wire objects form trees and never cycles, so the garbage collector need not check a large mirror.
    """


class Defaulting(Struct):
    """Base of types with `OrDefault` fields. Like an API server, it replaces an explicit null by the default."""

    def __post_init__(self) -> None:
        for name, default in _defaults(type(self)):
            if getattr(self, name) is None:
                setattr(self, name, default())


@cache
def _defaults(kind: type[Struct]) -> tuple[tuple[str, Callable[[], Any]], ...]:
    """Pairs of (field, function that makes its default), for every field with a default other than null."""
    fields = zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False)
    # A default is a plain value or has a factory.
    return tuple(
        (name, getattr(default, "factory", lambda value=default: value))
        for name, default in fields
        if default is not None and default is not msgspec.NODEFAULT
    )


class OwnerReference(Struct):
    """meta/v1 OwnerReference. At most one owner of an object is its controller."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


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
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None


def controller_reference(meta: ObjectMeta) -> OwnerReference | None:
    """The owner that controls the object; None if it has none."""
    for owner in meta.owner_references or ():  # a loop, because every event of a pod comes here
        if owner.controller:
            return owner
    return None


class ListMeta(Struct):
    """meta/v1 ListMeta."""

    resource_version: str = ""
    # `continue` is a keyword; the rename rule would give `continue_`.
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class List(Defaulting, Generic[T]):
    """The answer to a list request. API servers send `items` without their kind and apiVersion.

    An empty list of metadata has null items.
    """

    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: OrDefault[list[T]] = msgspec.field(default_factory=list)


class Condition(Struct):
    """meta/v1 Condition. It can also read core/v1 PodCondition and NodeCondition."""

    type: str
    """What it is about."""
    status: str
    """Whether it holds: True, False or Unknown."""
    reason: str = ""
    """Why, in one word."""
    message: str = ""
    """Why, in a sentence."""
    last_transition_time: str | None = None
    """When the status changed."""
    observed_generation: int = 0
    """The generation of the object that the condition describes."""


Conditions = Annotated[list[Condition], Meta(max_length=16)]


class LabelSelectorRequirement(Struct):
    """meta/v1 LabelSelectorRequirement; `operator` is In, NotIn, Exists or DoesNotExist."""

    key: str
    """The label."""
    operator: str
    """In or NotIn, with values; Exists or DoesNotExist, without."""
    values: list[str] | None = None
    """The values that the label may have, or may not."""


class LabelSelector(Struct):
    """meta/v1 LabelSelector: both parts must hold; the empty selector matches everything."""

    match_labels: dict[str, str] | None = None
    """Labels to have, with their values."""
    match_expressions: list[LabelSelectorRequirement] | None = None
    """What else must hold of the labels."""
