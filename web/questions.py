"""What a request asks for, as far as its address says it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, NamedTuple, cast, get_args

from multidict import MultiMapping

from answers.plan import PlanKind
from answers.reports.prices import price_of, prices_of
from answers.reports.report import BY, By
from answers.why import WhyKind
from api.durations import parse_span
from web.errors import bad_request
from web.readers.rights import MOST_NAMESPACES

__all__ = [
    "MOST_FOUND",
    "RESOURCE",
    "TOPOLOGY_KEY",
    "Looked",
    "ReportQuestion",
    "Topics",
    "check_namespace",
    "choice_of",
    "name_of",
    "names_of",
    "namespaces_of",
    "object_of",
    "plan_object_of",
    "preemptor_of",
    "report_of",
    "search_of",
    "topics_of",
]

LABEL: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""The name of a namespace."""
NAME: Final = re.compile(r"[^/]{1,512}", re.DOTALL)
"""A name of an object. Groups of other kinds are named by their kind, too, and files may have anything. None has a
slash."""
KINDS: Final = get_args(WhyKind)
PLAN_KINDS: Final = get_args(PlanKind)
MAP: Final = "map"
TOPICS: Final = (MAP, "waiting", "plans", "queues")
TOPOLOGY_KEY: Final = "topologyKey"
RESOURCE: Final = "resource"
MOST_QUERY: Final = 253
MOST_CHOSEN: Final = 317
"""Of a label's key, or a resource's name, with its prefix."""
MOST_FOUND: Final = 50
WEEK: Final = "7d"
MOST_PRICES: Final = 50


class Looked(NamedTuple):
    """How somebody looks at the map."""

    topology_key: str
    resource: str


class Topics(NamedTuple):
    """What a stream is about."""

    others: tuple[str, ...]
    """All but the map."""
    map: Looked | None
    """None: it is not about the map."""


@dataclass(frozen=True, slots=True)
class ReportQuestion:
    """Which report is asked for."""

    seconds: int
    """How far back."""
    by: By
    namespace: str
    """Of the preemptors. Empty: all."""
    prices: tuple[tuple[str, Decimal], ...]
    """By resource, in the order of their names."""


def namespaces_of(query: MultiMapping[str]) -> tuple[str, ...]:
    """The namespaces that the reader names: `?namespace=a,b`. Raises Refused for too many, and for what is no name."""
    found = [each for each in query.get("namespace", "").split(",") if each]
    if len(set(found)) > MOST_NAMESPACES:
        raise bad_request(f"namespace: at most {MOST_NAMESPACES} can be named")
    for each in found:
        check_namespace(each, "namespace")
    return tuple(sorted(set(found)))


def object_of(kind: str, namespace: str, name: str, *, is_live: bool) -> tuple[WhyKind, str, str]:
    """What an answer is about. `is_live`: an API server is asked about the namespace. Raises Refused."""
    if kind not in KINDS:
        raise bad_request(f"the kind must be one of {', '.join(KINDS)}")
    return cast(WhyKind, kind), *names_of(namespace, name, is_live=is_live)


def names_of(namespace: str, name: str, *, is_live: bool) -> tuple[str, str]:
    """The namespace and the name of an object. `is_live`: an API server is asked about them. Raises Refused."""
    if is_live:
        check_namespace(namespace, "the namespace")
    if NAME.fullmatch(namespace) is None or NAME.fullmatch(name) is None:
        raise bad_request("this is no name of an object")
    return namespace, name


def preemptor_of(query: MultiMapping[str]) -> tuple[str, str, str] | None:
    """The kind in small letters, namespace and name of `?preemptor=KIND/NAMESPACE/NAME`; None without it. Raises
    Refused."""
    given = query.get("preemptor")
    if given is None:
        return None
    kind, _, rest = given.partition("/")
    namespace, _, name = rest.partition("/")
    if kind not in KINDS:
        raise bad_request(f"preemptor: the kind must be one of {', '.join(KINDS)}")
    return kind, *names_of(namespace, name, is_live=False)


def name_of(namespace: str, name: str, *, is_live: bool) -> str:
    """NAMESPACE/NAME of an object, or its NAME if it has no namespace. `is_live`: see `object_of`. Raises Refused."""
    if namespace and is_live:
        check_namespace(namespace, "the namespace")
    if any(NAME.fullmatch(each) is None for each in (namespace or name, name)):
        raise bad_request("this is no name of an object")
    return f"{namespace}/{name}" if namespace else name


def plan_object_of(kind: str, namespace: str, name: str, *, is_live: bool) -> tuple[PlanKind, str, str]:
    """What a plan is for. `is_live`: see `object_of`. Raises Refused."""
    if kind not in PLAN_KINDS:
        raise bad_request(f"the kind must be one of {', '.join(PLAN_KINDS)}")
    name_of(namespace, name, is_live=is_live)
    return cast(PlanKind, kind), namespace, name


def choice_of(query: MultiMapping[str], name: str) -> str:
    """What the reader has chosen; empty for the usual. Raises Refused."""
    chosen = query.get(name, "")
    if len(chosen) > MOST_CHOSEN:
        raise bad_request(f"{name}: must have at most {MOST_CHOSEN} characters")
    return chosen


def search_of(query: MultiMapping[str]) -> str:
    """What is searched for, in lower case. Raises Refused."""
    asked = query.get("q", "").strip().lower()
    if not asked or len(asked) > MOST_QUERY:
        raise bad_request(f"q: must have 1 to {MOST_QUERY} characters")
    return asked


def report_of(query: MultiMapping[str]) -> ReportQuestion:
    """Which report is asked for, in the words of the command's options. Raises Refused."""
    by, given = query.get("by", "day"), query.getall("price", [])
    if by not in BY:
        raise bad_request(f"by: must be one of {', '.join(BY)}")
    namespace = query.get("preemptorNamespace", "")
    if len(namespace) > MOST_QUERY:
        raise bad_request("preemptorNamespace: is no name of a namespace")
    if len(given) > MOST_PRICES:
        raise bad_request(f"price: at most {MOST_PRICES} can be given")
    try:
        seconds = parse_span(query.get("since", WEEK))
    except ValueError as error:
        raise bad_request(f"since: {error}") from None
    try:
        prices = prices_of(price_of(each) for each in given)
    except ValueError as error:
        raise bad_request(f"price: {error}") from None
    return ReportQuestion(seconds, by, namespace, tuple(sorted(prices.items())))


def topics_of(query: MultiMapping[str]) -> Topics:
    """What a stream is about. Raises Refused."""
    topics = tuple(dict.fromkeys(each for each in query.get("topics", "").split(",") if each))
    if not topics or not set(topics) <= set(TOPICS):
        raise bad_request(f"topics: must be of {', '.join(TOPICS)}")
    looked = None
    if MAP in topics:
        looked = Looked(choice_of(query, TOPOLOGY_KEY), choice_of(query, RESOURCE))
    return Topics(tuple(each for each in topics if each != MAP), looked)


def check_namespace(text: str, what: str) -> None:
    """Raises Refused if it is no name of a namespace. `what`: for the message."""
    if LABEL.fullmatch(text) is None:
        raise bad_request(f"{what}: is no name of a namespace")
