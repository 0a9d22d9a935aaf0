"""The objects that `reprieve validate` reads: objects to judge, and objects that rules need to know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Final, Literal, NamedTuple

from answers.errors import InputError
from answers.reading.documents import DEFAULT_NAMESPACE, Document, Header, Kind, Name, Reader, located, only
from api.core import PriorityClass
from api.groups import API_VERSION, PodGroup
from api.priority import SYSTEM_CLASSES, global_default
from api.validation import FieldError, convert
from cli.common.configuration import WHOLE, Configuration, read_off
from cli.common.merging import Merged
from cli.validate.verdicts import JUDGED, Context, Write
from schema import KNOWN
from webhooks.configuration import settings_of
from webhooks.facts import UNKNOWN, Unknown
from webhooks.settings import Settings

__all__ = ["LocatedObject", "Objects", "writes"]

PRIORITY_CLASS: Final = ("scheduling.k8s.io/v1", "PriorityClass")
CONFIGURATION: Final = (API_VERSION, "Configuration")
GROUPS: Final = frozenset(kind.group for kind in KNOWN.values())


NAMES: Final = {kind.lower(): kind for kind in (*KNOWN, CONFIGURATION[1])}
ALIKE: Final = 0.8
"""How alike two names must be (`difflib`) for a hint that one is a misspelling of the other."""


class Key(NamedTuple):
    """The identity of an object."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class LocatedObject:
    """An object as it was written, with the place where it was read."""

    key: Key
    value: dict[str, Any]
    place: str


class Objects(Reader):
    """The objects to judge, as they were written, and the facts among them. Methods raise InputError."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **{
            (version, kind): Kind(dict, kind == "Pod" or KNOWN[kind].namespaced)
            for kind, version in JUDGED.items()
        },
        PRIORITY_CLASS: Kind(PriorityClass, False),
        CONFIGURATION: Kind(Configuration, False),
    }
    matter: ClassVar[str] = "validation"

    def __init__(self) -> None:
        super().__init__()
        self.found: list[LocatedObject] = []
        self._configuration = Merged(WHOLE)
        self._classes: dict[str, PriorityClass] = {}
        self._groups: dict[tuple[str, str], PodGroup] = {}

    def keep(self, thing: Any, place: str) -> None:
        """Store an object that was read."""
        match thing:
            case PriorityClass():
                self._classes[thing.metadata.name] = thing
            case LocatedObject():
                self.found.append(thing)
            case _:
                pass

    def unusable(self, api_version: str, kind: str) -> str:
        """Why a version of one of our kinds is not known. Raises FieldError if the kind is nearly one of ours."""
        group = api_version.partition("/")[0]
        if group not in GROUPS:
            return ""
        if kind in KNOWN:
            return f"only {KNOWN[kind].api_version} is known for {kind}, not {api_version}"
        # Kueue has kinds that are not known here. Our own group has no other kinds.
        if (meant := _meant(kind)) or group == API_VERSION.partition("/")[0]:
            hint = f"; is {meant} meant?" if meant else ""
            raise FieldError("kind", f"{api_version} has no {kind}{hint}")
        return ""

    def take(self, kind: Kind, header: Header, document: Document, place: str) -> None:
        """Keep an object to judge as it is written, even if it is wrong."""
        with located(place):
            if kind.struct is dict:
                self._take(kind, header, document, place)
            elif kind.struct is Configuration:
                self._note_configuration(document, place)
            else:
                super().take(kind, header, document, place)

    def _take(self, kind: Kind, header: Header, document: Document, place: str) -> None:
        meta = header.metadata or Name()
        key = Key(header.kind, (meta.namespace or DEFAULT_NAMESPACE) if kind.namespaced else "", meta.name)
        if meta.name:
            only(self._places, str(key), place, "this object is defined twice, also in")
        # In a PodList the items need not say that they are Pods.
        value = {"apiVersion": header.api_version, "kind": header.kind} | document.read(dict)
        self.keep(LocatedObject(key, value, place), place)
        if key.kind == "PodGroup":
            self._note_group(key, document)

    def _note_group(self, key: Key, document: Document) -> None:
        """Note a group to compare pods with. A group that is wrong gets its own verdict."""
        try:
            self._groups[key.namespace, key.name] = document.read(PodGroup)
        except FieldError:
            return

    def _note_configuration(self, document: Document, place: str) -> None:
        """Add the fields of a Configuration. It may be one of the files that `serve --config FOLDER` merges."""
        part: dict[str, Any] = document.read(dict)
        read_off(part)
        self._configuration.add(part, place)

    # The interface of webhooks.facts.Facts. What the files do not have may still be in the cluster.

    def priority_class(self, name: str) -> PriorityClass | Literal[Unknown.UNKNOWN]:
        """The class, if it is among the files."""
        return self._classes.get(name) or SYSTEM_CLASSES.get(name) or UNKNOWN

    def default_priority_class(self) -> PriorityClass | Literal[Unknown.UNKNOWN]:
        """The global default, if it is among the files."""
        return global_default(self._classes.values()) or UNKNOWN

    def pod_group(self, namespace: str, name: str) -> PodGroup | Literal[Unknown.UNKNOWN]:
        """The group, if it is among the files."""
        return self._groups.get((namespace, name), UNKNOWN)

    def native_group(self, namespace: str, name: str) -> Literal[Unknown.UNKNOWN]:
        """Never known: PodGroups of Kubernetes' own kind are not among the kinds that are judged."""
        return UNKNOWN

    def local_queue(self, namespace: str, name: str) -> Literal[Unknown.UNKNOWN]:
        """Never known: Jobs are not among the kinds that are judged."""
        return UNKNOWN

    def dispatches(self, namespace: str, queue: str) -> Literal[Unknown.UNKNOWN]:
        """Never known."""
        return UNKNOWN

    def namespace_labels(self, name: str) -> Literal[Unknown.UNKNOWN]:
        """Never known."""
        return UNKNOWN

    def complete(self, stored: Objects) -> None:
        """Add the facts of the stored objects. Where both have an object, this one's counts."""
        self._classes = stored._classes | self._classes
        self._groups = stored._groups | self._groups
        self._configuration.complete(stored._configuration)

    def context(self, user: str) -> Context:
        """The context for verdicts on requests of this user. Raises InputError for a fault of the Configuration."""
        return Context(self, self._settings(), user)

    def _settings(self) -> Settings:
        """The settings of the Configuration, or the defaults without one."""
        document = self._configuration.document
        try:
            found: Configuration = convert(document, Configuration)
        except FieldError as error:
            raise InputError(f"{', '.join(self._configuration.names(error.path))}: {error}") from None
        if found.webhooks is None:
            return Settings()
        return settings_of(found.webhooks, found.jobs, found.planning)


def _meant(kind: str) -> str:
    """The known kind with a name that is alike; "" if there is none."""
    return next((NAMES[name] for name in get_close_matches(kind.lower(), NAMES, 1, ALIKE)), "")


def writes(new: Objects, old: Objects) -> Iterator[tuple[LocatedObject, Write]]:
    """A request for each new object: an update if the old objects have it, otherwise a create."""
    stored: dict[Key, LocatedObject] = {found.key: found for found in old.found}
    for found in new.found:
        before = stored.get(found.key)
        yield found, Write(found.key.kind, found.value, before.value if before else None)
