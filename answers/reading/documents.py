"""Reads objects from files and lines: JSON or YAML, Lists, and several documents in a file, as kubectl does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from answers.errors import InputError
from answers.reading.strangers import (
    STATUS,
    KindName,
    ReportedStatus,
    is_table,
    misspelled,
    other_version,
    plural,
    said,
)
from answers.reading.texts import NO_OBJECTS, Document, JsonDocument, parsed
from api.meta import Struct
from api.progress import Count
from api.validation import FieldError
from api.yaml import MAX_ALIASED
from schema.defaults.filling import filled

__all__ = [
    "DEFAULT_NAMESPACE",
    "Document",
    "Header",
    "JsonDocument",
    "Kind",
    "Name",
    "One",
    "Reader",
    "located",
    "only",
    "split_key",
]

DEFAULT_NAMESPACE: Final = "default"
MAX_LIST_DEPTH: Final = 8

UNUSABLE: Final = (ValueError, msgspec.DecodeError, RecursionError)
"""What is raised for an object that cannot be used."""


class One(NamedTuple):
    """The name of an object."""

    plural: str
    """What paths call its kind."""
    namespace: str
    name: str


class Kind(NamedTuple):
    """How objects of one kind are read and checked."""

    struct: type[Any]
    namespaced: bool
    check: Callable[[Any], object] = lambda _: None
    title: str = ""
    """What messages call it, if a kind of another API group has the same name. By default its kind."""
    one: One | None = None
    """The only object of the kind that matters. By default all do."""
    newer: tuple[str, ...] = ()
    """Newer versions of the kind. A live cluster is asked for this one only if it serves none of them."""


class Name(Struct):
    """The metadata that names an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""


class Header(Struct):
    """The fields that say what an object is."""

    api_version: str = ""
    kind: str = ""
    metadata: Name | None = None


class Reader(ABC):
    """Takes objects of some kinds out of documents. Every method raises InputError for an object
    that cannot be used."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]]
    """By apiVersion and kind."""
    fields: ClassVar[Mapping[tuple[str, str], str]] = {}
    """Field selectors: a live cluster may have many objects of these kinds that do not matter."""
    matter: ClassVar[str]
    """The subject for which objects of other kinds do not matter."""
    most_aliased: ClassVar[int] = MAX_ALIASED
    """How many nodes aliases of YAML may repeat."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        """What people should know of the reading, a line each: kinds that are done without."""
        self.ignored: Counter[str] = Counter()
        """The number of objects of other kinds, by apiVersion and kind."""
        self.count = Count("reading objects")
        """The objects that were read, of those that are known to be there."""
        self.namespace = DEFAULT_NAMESPACE
        """Of objects that name none."""
        self._places: dict[str, str] = {}
        self._replaced: frozenset[str] = frozenset()
        self._replacing = False
        """Whether an overlay is being read."""
        self._other_versions: dict[str, str] = {}
        """What is said of versions that are done without. Kinds of one version need one sentence."""

    def selector(self, kind: tuple[str, str]) -> str:
        """A field selector: which objects of the kind a live cluster is asked for. Empty: all."""
        return self.fields.get(kind, "")

    @abstractmethod
    def keep(self, thing: Any, place: str) -> None:
        """Store an object that was read and checked. `place` is for messages."""

    def unusable(self, api_version: str, kind: str) -> str:
        """What is wrong with the apiVersion of another kind; "" if the object can be ignored.

        May raise FieldError for a fault in another field.
        """
        return ""

    def other(self, header: Header, document: Document, place: str) -> bool:
        """Take an object of another kind. False: it does not matter. May raise FieldError."""
        return False

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """Whether the command has an answer without the objects of a kind.

        `problem`: the right that is missing, or the version that objects in files have.
        """
        return False

    def unnamed(self, prefix: str) -> str:
        """The name of an object that has only the prefix of one (`generateName`); "" if such an object is a fault."""
        return ""

    def replacing(self, thing: Any) -> Any:
        """An object of an overlay as it counts."""
        return thing

    def add_file(self, data: bytes, source: str) -> None:
        """Read every object in a file's UTF-8 text. `source` names the file in messages."""
        for number, document in enumerate(parsed(data, source, most_aliased=self.most_aliased), start=1):
            if document is not None:
                self.add(document, f"{source}: document {number}")

    def add_overlay(self, data: bytes, source: str) -> None:
        """As `add_file`. These objects take the place of others of the same names, which are read later."""
        self._replacing = True
        self.add_file(data, source)
        self._replacing = False
        self._replaced = frozenset(self._places)

    def add(self, document: Document, place: str) -> None:
        """Read an object, or the objects of a list. `place` is for messages."""
        self._add(document, place, Header(), MAX_LIST_DEPTH)

    def add_json(self, body: bytes, place: str) -> None:
        """The same for JSON of an API server."""
        self.add(JsonDocument(body), place)

    def place(self, subject: str) -> str:
        """Where an object ("PodGroup default/a") was read, with its name; "" if it was not read."""
        return self._places.get(subject, "")

    def ignored_notes(self) -> list[str]:
        """A line about the objects that were ignored; none if all were read."""
        if not self.ignored:
            return []
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(self.ignored.items()))
        return [f"Ignored, because they do not matter for {self.matter}: {kinds}"]

    def _add(self, document: Document, place: str, default: Header, depth: int) -> None:
        try:
            header = _header(document, default)
            if header.kind.endswith("List"):
                items = list(_items(document, depth))
                self.count.expect(len(items))
                # In a PodList the items need not say that they are Pods. In a List they must.
                kind = header.kind.removesuffix("List")
                element = Header(header.api_version, kind) if kind else Header()
                for index, item in enumerate(items):
                    self._add(item, f"{place}, items[{index}]", element, depth - 1)
                return
            if (reader := self._kind_of(header)) is not None:
                self.take(reader, header, document, place)
            elif not self.other(header, document, place):
                self._pass_by(header, document, place)
            self.count.step()
        except UNUSABLE as error:
            raise _wrong(error, place) from None

    def _pass_by(self, header: Header, document: Document, place: str) -> None:
        """Ignore an object of another kind. Raises FieldError if it seems to be meant for one of the kinds."""
        name = header.api_version, header.kind
        if " ".join(name) in self.ignored:
            self.ignored[" ".join(name)] += 1
            return
        if name == STATUS:
            raise FieldError("", said(document.read(ReportedStatus)))
        if is_table(name):
            raise FieldError("", NO_OBJECTS)
        if problem := self.unusable(*name):
            raise FieldError("apiVersion", problem)
        known = () if name in self.kinds else tuple(self.kinds)
        if meant := misspelled(name, known):
            raise FieldError("kind", f"{header.api_version} has no {header.kind}; is {meant} meant?")
        kind = other_version(name, known)
        if kind is None:
            self.ignored[" ".join(name)] += 1
        else:
            problem = f"{name[0]} is not read, only {kind[0]}{_printing(kind)}"
            first = self._other_versions.setdefault(name[0], f"{place}: {problem}")
            if not self.do_without(kind, first):
                raise FieldError("apiVersion", problem)

    def _kind_of(self, header: Header) -> Kind | None:
        """How the object is read; None if it does not matter."""
        kind = self.kinds.get((header.api_version, header.kind))
        if kind is None or kind.one is None:
            return kind
        meta = header.metadata or Name()
        is_it = (meta.namespace or self.namespace, meta.name) == (kind.one.namespace, kind.one.name)
        return kind if is_it else None

    def take(self, kind: Kind, header: Header, document: Document, place: str) -> None:
        """Read an object of one of the kinds, check it and keep it."""
        meta = header.metadata or Name()
        namespace = (meta.namespace or self.namespace) if kind.namespaced else ""
        name = meta.name or (meta.generate_name and self.unnamed(meta.generate_name))
        key = f"{namespace}/{name}" if namespace else name
        title = kind.title or header.kind
        subject = f"{title} {key}"
        place = f"{place}, {subject}"
        try:
            if not name:
                raise FieldError("metadata.name", "is missing")
            if subject in self._replaced:
                return
            only(self._places, subject, place, "this object is defined twice, also in")
            thing = document.read(kind.struct)
            thing.metadata.name, thing.metadata.namespace = name, namespace
            filled(thing)
            thing.metadata.uid = thing.metadata.uid or f"{title}/{key}"
            kind.check(thing)
            self.keep(self.replacing(thing) if self._replacing else thing, place)
        except UNUSABLE as error:
            raise _wrong(error, place) from None


def only(places: dict[str, str], key: str, place: str, problem: str) -> None:
    """Note where the key was read. Raises FieldError if it was read before."""
    other = places.setdefault(key, place)
    if other is not place:
        raise FieldError("", f"{problem} {other}")


def split_key(key: str, field: str) -> tuple[str, str]:
    """Namespace and name. Raises InputError if the key is not NAMESPACE/NAME."""
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InputError(f"{field}: is not UTF-8: {key!r}") from None
    namespace, slash, name = key.partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise InputError(f"{field}: expected NAMESPACE/NAME, not {key!r}")
    return namespace, name


def _header(document: Document, default: Header) -> Header:
    header: Header = document.read(Header)
    header.kind = header.kind or default.kind
    header.api_version = header.api_version or default.api_version
    if not header.api_version:
        raise FieldError("apiVersion", "is missing")
    if not header.kind:
        raise FieldError("kind", "is missing")
    return header


def _printing(kind: KindName) -> str:
    """The command that prints objects in this version. The core group has only one."""
    group, slash, version = kind[0].partition("/")
    return f": kubectl get {plural(kind[1])}.{version}.{group} prints it" if slash else ""


def _items(document: Document, depth: int) -> Iterable[Document]:
    if not depth:
        raise FieldError("items", f"lists are nested more than {MAX_LIST_DEPTH} deep")
    return document.items()


@contextmanager
def located(place: str) -> Iterator[None]:
    """Add the place to the errors that are raised inside."""
    try:
        yield
    except UNUSABLE as error:
        raise _wrong(error, place) from None


def _wrong(error: Exception, place: str) -> InputError:
    """The error with the place of the object that it is about."""
    if isinstance(error, InputError):
        return error
    problem = "is nested too deeply" if isinstance(error, RecursionError) else error
    return InputError(f"{place}: {problem}")
