"""What an API server makes of random manifests, compared with what our reading makes of them, field by field.

Both sides are the structs that engines read, so every field that is read is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle, islice
from random import Random
from time import monotonic, sleep
from typing import Any, Final

from answers.reading.node_objects import give_priority
from answers.reading.submissions import complete
from api.core import Pod, PriorityClass
from api.limits import LimitRange, RuntimeClass
from api.validation import convert
from hack.controlplane.client import RESOURCES, ApiError, Client, Json, path_of
from hack.fidelity.reads import READ
from hack.fidelity.same import plain
from hack.fidelity.written import COMPARED, Kind, written
from hack.fidelity.written_pods import CLASSES, RUNTIMES
from nodes.groups.kinds.table import kind_of
from nodes.groups.made_pods import Written, made_pods
from schema.defaults.admission import admitted
from schema.defaults.filling import filled, filled_for_admission
from schema.defaults.limit_ranges import Summary, summary_of

__all__ = ["Comparison", "Unlike", "compare_stored"]

PODS_OF_EACH: Final = 60
"""Pods of one namespace, which has LimitRanges of its own."""
POD: Final = ("v1", "Pod")
SECONDS: Final = 30.0
FORBIDDEN: Final = 403


@dataclass(frozen=True, slots=True)
class Unlike:
    """A field that is different, and the manifest."""

    path: str
    ours: object
    theirs: object
    manifest: Json


@dataclass(slots=True)
class Comparison:
    """The results."""

    compared: Counter[str] = field(default_factory=Counter)
    """Objects by kind."""
    refused: int = 0
    """Pods that both refuse."""
    invalid: list[str] = field(default_factory=list)
    """Manifests that the API server finds invalid: they say nothing about defaults."""
    differences: list[Unlike] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Around:
    """What admission looks at."""

    classes: Mapping[str, PriorityClass]
    runtimes: Mapping[str, RuntimeClass]
    limits: Mapping[str, Summary]
    """By namespace."""


def compare_stored(client: Client, count: int, seed: int, prefix: str) -> Comparison:
    """Create this number of objects, half of them pods, compare them, and delete them. Names begin with `prefix`."""
    random = Random(seed)  # noqa: S311 - no secret
    made, result = list[Json](), Comparison()
    try:
        around, spaces = _surroundings(client, random, count, prefix, made)
        others = islice(cycle(kind for kind in COMPARED if kind != POD), count // 2)
        kinds = [*others, *[POD] * (count - count // 2)]
        bodies = [
            written(random, kind, f"{prefix}-{number}", _space(kind, spaces, number))
            for number, kind in enumerate(kinds)
        ]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda body: _created(client, body), bodies))
        for body, answer in zip(bodies, answers, strict=True):
            _judge(body, answer, around, result)
            made += [answer] if isinstance(answer, dict) else []
    finally:
        _delete(client, made)
    return result


# ---- the API server


def _surroundings(
    client: Client, random: Random, count: int, prefix: str, made: list[Json]
) -> tuple[_Around, list[str]]:
    """PriorityClasses, RuntimeClasses, and namespaces with LimitRanges. They count as the API server stores them."""
    spaces = [f"{prefix}-ns{number}" for number in range(2 + count // 2 // PODS_OF_EACH)]
    bodies = list[Json]()
    for space in spaces:
        bodies.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        account = {"name": "default", "namespace": space}
        bodies.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        if space != spaces[0] and random.random() < 0.8:
            bodies.append(written(random, ("v1", "LimitRange"), "limits", space))
    for name in CLASSES:
        body = written(random, ("scheduling.k8s.io/v1", "PriorityClass"), name, "")
        bodies.append({**body, **({"preemptionPolicy": "Never"} if name == "never" else {})})
    for name in RUNTIMES[:-1]:
        bodies.append(written(random, ("node.k8s.io/v1", "RuntimeClass"), name, ""))
    stored = [client.create(body) for body in bodies]
    made += stored
    probe = written(random, POD, "probe", spaces[0])
    for name in CLASSES:
        probe["spec"] = {"containers": [{"name": "c", "image": "i"}], "priorityClassName": name}
        _wait_known(client, probe)
    ranges: list[LimitRange] = _of(stored, "LimitRange", LimitRange)
    return _Around(
        {each.metadata.name: each for each in _of(stored, "PriorityClass", PriorityClass)},
        {each.metadata.name: each for each in _of(stored, "RuntimeClass", RuntimeClass)},
        {each.metadata.namespace: summary_of([each]) for each in ranges},
    ), spaces


def _of(stored: Sequence[Json], kind: str, struct: type[Any]) -> list[Any]:
    return [convert(each, struct) for each in stored if each["kind"] == kind]


def _wait_known(client: Client, pod: Json) -> None:
    """Admission learns of a PriorityClass a moment late."""
    end = monotonic() + SECONDS
    while (problem := _refusal(client, pod)) and "no PriorityClass" in problem:
        if monotonic() > end:
            raise TimeoutError(problem)
        sleep(0.05)


def _refusal(client: Client, pod: Json) -> str:
    try:
        client.request("POST", f"{path_of('v1', 'Pod', pod['metadata']['namespace'])}?dryRun=All", pod)
    except ApiError as error:
        return str(error)
    return ""


def _created(client: Client, body: Json) -> Json | ApiError:
    """The object as it is read back, or why it was refused."""
    try:
        client.create(body)
    except ApiError as error:
        return error
    meta = body["metadata"]
    return client.get(body["apiVersion"], body["kind"], meta["name"], meta.get("namespace"))


def _delete(client: Client, made: Sequence[Json]) -> None:
    """Namespaces go last. Nobody empties them where no controller runs."""
    with ThreadPoolExecutor(8) as pool:
        for namespaces in (False, True):
            chosen = [each for each in made if (each["kind"] == "Namespace") is namespaces]
            list(pool.map(lambda each: _delete_one(client, each), chosen))


def _delete_one(client: Client, thing: Json) -> None:
    meta = thing["metadata"]
    if meta.get("finalizers"):
        client.patch(
            thing["apiVersion"],
            thing["kind"],
            meta["name"],
            {"metadata": {"finalizers": None}},
            meta.get("namespace"),
        )
    client.delete(thing["apiVersion"], thing["kind"], meta["name"], meta.get("namespace"), grace_seconds=0)


def _space(kind: Kind, spaces: Sequence[str], number: int) -> str:
    """Other LimitRanges must not come among the pods: everything else is in the first namespace."""
    if not RESOURCES[kind][1]:
        return ""
    return spaces[1 + number % (len(spaces) - 1)] if kind == POD else spaces[0]


# ---- the comparison


def _judge(body: Json, answer: Json | ApiError, around: _Around, result: Comparison) -> None:
    if isinstance(answer, ApiError):
        said = _admitted(body, around)[1] if body["kind"] == "Pod" else ()
        if said:
            result.refused += 1
        elif answer.status == FORBIDDEN:
            result.differences.append(Unlike("refused", "admitted", str(answer), body))
        else:
            result.invalid.append(f"{body['kind']}: {answer}")
        return
    result.compared[body["kind"]] += 1
    for ours, theirs in _pairs(body, answer, around):
        result.differences += [Unlike(*each, body) for each in _unlike(ours, theirs, "")]


def _pairs(body: Json, stored: Json, around: _Around) -> Iterator[tuple[Any, Any]]:
    """What is made of the manifest, and of the stored object: they should be alike. The stored object also as it is."""
    kind = body["apiVersion"], body["kind"]
    for struct in READ[kind]:
        if struct is Pod:
            ours, refusals = _admitted(body, around)
            yield {"refusals": refusals}, {"refusals": ()}
            yield plain(ours), plain(convert(stored, Pod))
            yield plain(filled(convert(stored, Pod))), plain(convert(stored, Pod))
        elif struct is Written and body["kind"] != "Pod":
            yield _made(body), _made(stored)
        elif struct is not Written:
            yield plain(filled(convert(body, struct))), plain(convert(stored, struct))
            yield plain(filled(convert(stored, struct))), plain(convert(stored, struct))


def _admitted(body: Json, around: _Around) -> tuple[Pod, tuple[str, ...]]:
    pod: Pod = filled_for_admission(convert(body, Pod))
    give_priority(pod, around.classes)
    found = admitted(pod, around.limits.get(pod.metadata.namespace, Summary()), around.runtimes)
    return found.pod, found.refusals


def _made(thing: Json) -> Any:
    """The pods that the owner's controller would create."""
    item: Written = convert({**thing, "metadata": {**thing["metadata"], "uid": ""}}, Written)
    kind = kind_of(thing["apiVersion"], thing["kind"])
    if kind is None:
        raise ValueError(f"the pods of {thing['kind']} are not known")
    complete(kind.kind, item)
    sets = made_pods(kind, item)
    return {
        "labels": plain(item.metadata),
        "sets": [{"name": each.name, "count": each.count, "pod": plain(filled(each.pod))} for each in sets],
    }


def _unlike(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            yield from _unlike(ours.get(name), theirs.get(name), f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from _unlike(*pair, f"{path}[{place}]")
    elif ours != theirs:
        yield path.lstrip("."), ours, theirs
