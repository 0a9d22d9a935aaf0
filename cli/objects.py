"""Cluster objects from files: JSON or YAML, Lists, several documents, as kubectl prints and takes them."""

from __future__ import annotations

import codecs
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import API_VERSION, PodGroup, PodGroupSchedulingPolicy, PodGroupSpec
from api.meta import Struct
from api.priority import UnknownPriorityClass, group_priority, preemption_policy
from api.validation import FieldError, convert, explain
from api.yaml import Json, YamlError, documents
from cli.checks import check_budget, check_group, check_node, check_pod
from cluster.snapshot import Snapshot
from cluster.tables import Tables

__all__ = ["InputError", "JsonDocument", "Objects", "read_file"]

T = TypeVar("T")

STDIN: Final = "-"
DEFAULT_NAMESPACE: Final = "default"
MAX_LIST_DEPTH: Final = 8
PEEK: Final = 1024
"""How much of a file tells whether it is JSON."""


class InputError(ValueError):
    """Bad input; the message names file, document, object and field as far as they are known."""


class Kind(NamedTuple):
    """How objects of one kind are read, checked and stored."""

    struct: type[Any]
    namespaced: bool
    check: Callable[[Any], None]
    store: Callable[[Tables, Any], object]


KINDS: Final[dict[tuple[str, str], Kind]] = {
    ("v1", "Node"): Kind(Node, False, check_node, Tables.upsert_node),
    ("v1", "Pod"): Kind(Pod, True, check_pod, Tables.upsert_pod),
    (API_VERSION, "PodGroup"): Kind(PodGroup, True, check_group, Tables.upsert_group),
    ("policy/v1", "PodDisruptionBudget"): Kind(PodDisruptionBudget, True, check_budget, Tables.upsert_budget),
    ("scheduling.k8s.io/v1", "PriorityClass"): Kind(
        PriorityClass, False, lambda _: None, Tables.upsert_priority_class
    ),
}


class Name(Struct):
    """What of its metadata names an object."""

    name: str = ""
    namespace: str = ""


class Header(Struct):
    """What every object says of itself."""

    api_version: str = ""
    kind: str = ""
    metadata: Name | None = None


class Items(Struct, Generic[T]):
    """What every list has; Go writes an empty one as null."""

    items: list[T] | None = None


class Document(Protocol):
    """An object that is not typed yet. What is not as it must be is a FieldError."""

    def read(self, kind: type[Any]) -> Any:
        """As that struct."""

    def items(self) -> list[Document]:
        """Of a list."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """Bytes that are known to be JSON."""

    raw: msgspec.Raw | bytes

    def read(self, kind: type[Any]) -> Any:
        """As that struct, straight from the bytes."""
        try:
            return msgspec.json.decode(self.raw, type=kind)
        except msgspec.ValidationError as error:
            raise explain(error, msgspec.json.decode(self.raw), kind) from None

    def items(self) -> list[Document]:
        """Of a list, without reading them."""
        return [JsonDocument(item) for item in self.read(Items[msgspec.Raw]).items or ()]


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A document that has been read from YAML."""

    value: Json

    def read(self, kind: type[Any]) -> Any:
        """As that struct."""
        return convert(self.value, kind)

    def items(self) -> list[Document]:
        """Of a list."""
        return [YamlDocument(item) for item in self.read(Items[Any]).items or ()]


class Objects:
    """Everything that was read, as tables. Every method raises InputError for what cannot be used."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.ignored: Counter[str] = Counter()
        """Objects of kinds that say nothing about preemption, by apiVersion and kind."""
        self._places: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._unclassed: list[tuple[Pod, str]] = []

    def add_file(self, data: bytes, source: str) -> None:
        """Every object in a file's UTF-8 text; `source` names the file in messages."""
        for number, document in enumerate(_parse(data, source), start=1):
            if document is not None:
                self.add(document, f"{source}: document {number}")

    def add(self, document: Document, place: str) -> None:
        """An object, or the objects of a list; `place` is for messages."""
        self._add(document, place, Header(), MAX_LIST_DEPTH)

    def snapshot(self) -> Snapshot:
        """What was read, once it all was."""
        for pod, place in self._unclassed:
            _admit(pod, self.tables, place)
            self._store(KINDS["v1", "Pod"], pod, place)
        self._unclassed.clear()
        return self.tables.snapshot()

    def place(self, subject: str) -> str:
        """Where an object ("PodGroup default/a") was read, itself included; empty if it was not."""
        return self._places.get(subject, "")

    def _add(self, document: Document, place: str, default: Header, depth: int) -> None:
        with _located(place):
            header = _header(document, default)
        if header.kind.endswith("List"):
            with _located(place):
                items = _items(document, depth)
            # The elements of a PodList need not say that they are Pods; those of a List must.
            kind = header.kind.removesuffix("List")
            element = Header(header.api_version, kind) if kind else Header()
            for index, item in enumerate(items):
                self._add(item, f"{place}, items[{index}]", element, depth - 1)
        elif reader := KINDS.get((header.api_version, header.kind)):
            self._take(reader, header, document, place)
        else:
            self.ignored[f"{header.api_version} {header.kind}"] += 1

    def _take(self, kind: Kind, header: Header, document: Document, place: str) -> None:
        meta = header.metadata or Name()
        namespace = (meta.namespace or DEFAULT_NAMESPACE) if kind.namespaced else ""
        key = f"{namespace}/{meta.name}" if namespace else meta.name
        subject = f"{header.kind} {key}"
        place = f"{place}, {subject}"
        with _located(place):
            if not meta.name:
                raise FieldError("metadata.name", "is missing")
            self._only(self._places, subject, place, "this object is there twice, also in")
            thing = document.read(kind.struct)
            thing.metadata.namespace = namespace
            thing.metadata.uid = thing.metadata.uid or f"{header.kind}/{key}"
            kind.check(thing)
        if isinstance(thing, Pod) and thing.spec.priority is None:
            self._unclassed.append((thing, place))
        else:
            self._store(kind, thing, place)

    def _store(self, kind: Kind, thing: Any, place: str) -> None:
        with _located(place):
            if isinstance(thing, Pod):
                self._only(self._uids, thing.metadata.uid, place, "metadata.uid: is also that of")
            kind.store(self.tables, thing)

    @staticmethod
    def _only(places: dict[str, str], key: str, place: str, problem: str) -> None:
        other = places.setdefault(key, place)
        if other is not place:
            raise FieldError("", f"{problem} {other}")


def read_file(path: str) -> bytes:
    """A file's UTF-8 text, `-` for standard input. Raises InputError naming the file."""
    try:
        data = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        data.decode()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 (byte {error.start + 1})") from None
    return data.removeprefix(codecs.BOM_UTF8)


def _parse(data: bytes, source: str) -> Iterator[Document | None]:
    """JSON as it is, anything else as YAML, which JSON with an error in it becomes for its better messages."""
    if data[:PEEK].lstrip().startswith(b"{"):
        try:
            msgspec.json.decode(data, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            yield JsonDocument(data)
            return
    try:
        for value in documents(data.decode()):
            yield None if value is None else YamlDocument(value)
    except YamlError as error:
        raise InputError(f"{source}: {error}") from None


def _header(document: Document, default: Header) -> Header:
    header: Header = document.read(Header)
    header.kind = header.kind or default.kind
    header.api_version = header.api_version or default.api_version
    for name, value in (("apiVersion", header.api_version), ("kind", header.kind)):
        if not value:
            raise FieldError(name, "is missing")
    return header


def _items(document: Document, depth: int) -> list[Document]:
    if not depth:
        raise FieldError("items", f"lists in lists, more than {MAX_LIST_DEPTH} deep")
    return document.items()


def _admit(pod: Pod, tables: Tables, place: str) -> None:
    """Give the pod the priority and policy that admission would have: those of a group with its class."""
    spec = PodGroupSpec(PodGroupSchedulingPolicy(), priority_class_name=pod.spec.priority_class_name)
    stand_in = PodGroup(metadata=pod.metadata, spec=spec)
    try:
        pod.spec.priority = group_priority(stand_in, tables.priority_classes)
        pod.spec.preemption_policy = pod.spec.preemption_policy or preemption_policy(
            stand_in, tables.priority_classes
        )
    except UnknownPriorityClass as error:
        raise InputError(
            f"{place}: spec.priorityClassName: there is no PriorityClass {error.priority_class}"
        ) from None


@contextmanager
def _located(place: str) -> Iterator[None]:
    """Say where it was that something was wrong."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, msgspec.DecodeError) as error:
        raise InputError(f"{place}: {error}") from None
    except RecursionError:
        raise InputError(f"{place}: is nested too deeply") from None
