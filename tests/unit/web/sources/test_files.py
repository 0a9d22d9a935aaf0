"""Files stand still, and what the page answers about them is what the command prints."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from answers.doctor.kinds import SeenPod
from answers.doctor.seen import Seen
from answers.errors import InputError
from answers.names import ALL
from answers.reading.page_objects import PageObjects
from answers.reading.quota_objects import read_time
from answers.stored.gone import who_evicted
from answers.waiting import waiting
from answers.why import why
from cli.main import reprieve
from tests.kit.answers.questions import ask
from web.sources.files import Files

ROOT: Final = Path(__file__).parents[4]
NOW: Final = "2026-03-01T12:00:00Z"
EXAMPLES: Final = sorted((ROOT / "examples").rglob("*.yaml"))
CASES: Final = ROOT / "tests" / "conformance" / "answers"
WHY: Final[list[dict[str, Any]]] = [
    case
    for case in (
        *map(json.loads, gzip.decompress((CASES / "cases.jsonl.gz").read_bytes()).splitlines()),
        *(
            each
            for path in sorted((CASES / "own").glob("*.yaml"))
            for each in yaml.load(path.read_text(), yaml.CSafeLoader)
        ),
    )
    if case["command"][0] == "why" and not case.get("stdin") and not case.get("bytes")
]
WRONG: Final = 2
KINDS: Final = {"Pod": "pod", "PodGroup": "podgroup", "Job": "job", "Workload": "workload"}


async def nobody(path: str, query: Mapping[str, str]) -> bytes:
    """Files have everything."""
    raise AssertionError(path, query)


def files_of(*documents: tuple[str, bytes]) -> Files:
    objects = PageObjects(read_time(NOW, "now"))
    for name, data in documents:
        objects.add_file(data, name)
    return Files(objects)


def things(data: bytes) -> list[Any]:
    """The objects of a file, those of lists too."""
    found = [each for each in yaml.load_all(data, yaml.CSafeLoader) if isinstance(each, dict)]
    lists = [item for each in found for item in each.get("items") or ()]
    return [*found, *lists]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_the_page_answers_about_an_example_as_the_command(path: Path) -> None:
    data = path.read_bytes()
    try:
        source = files_of((str(path), data))
    except ValueError:
        pytest.skip("no cluster")
    seen = source.picture()
    if seen.picture.looked is not None:
        waiting(seen.picture, seen.details, ALL)
    for each in things(data):
        kind, meta = KINDS.get(each.get("kind", "")), each.get("metadata") or {}
        if kind is None or not meta.get("name"):
            continue
        namespace = meta.get("namespace") or "default"
        name = f"{namespace}/{meta['name']}"
        printed = CliRunner().invoke(
            reprieve, ["why", kind, name, "-f", str(path), "--now", NOW, "-o", "json"], env={"HOME": "/none"}
        )
        picture, details = asyncio.run(source.about(namespace, nobody))
        if printed.exit_code == WRONG:
            with pytest.raises(InputError) as error:
                why(picture, details, kind, meta["name"])  # type: ignore[arg-type]
            assert str(error.value) in printed.stderr
        else:
            answer = why(picture, details, kind, meta["name"])  # type: ignore[arg-type]
            assert answer.plain() == json.loads(printed.stdout)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_the_page_says_who_evicted_as_the_command(path: Path) -> None:
    data = path.read_bytes()
    found = things(data)
    kinds = {each.get("kind", "") for each in found}
    if "PreemptionPlan" not in kinds:
        pytest.skip("no plans")
    source = files_of((str(path), data))
    seen = source.picture()
    victims = [
        (each["namespace"], each["name"])
        for plan in found
        if plan.get("kind") == "PreemptionPlan"
        for victim in plan["spec"].get("victims", ())
        for each in (victim, *victim["pods"], plan["spec"]["preemptor"])
    ]
    assert victims
    for namespace, name in victims:
        printed = CliRunner().invoke(
            reprieve,
            ["who-evicted", f"{namespace}/{name}", "-f", str(path), "-o", "json"],
            env={"HOME": "/none"},
        )
        marks = asyncio.run(source.marks(namespace, name, ALL, nobody))
        answer = who_evicted(seen.plans, namespace, name, marks, ALL)
        assert answer.plain() == json.loads(printed.stdout)


@pytest.mark.parametrize("case", WHY, ids=lambda case: case["id"])
def test_the_page_answers_the_cases_of_the_command(case: dict[str, Any]) -> None:
    """What is asked about is in a file without a pattern, and the time is given or does not matter."""
    command = case["command"]
    kind, name = command[1], command[2]
    given = {command[at]: command[at + 1] for at in range(3, len(command) - 1) if command[at].startswith("-")}
    if set(given) - {"-f", "-n", "-o", "--now"} or given.get("-f") not in case["files"]:
        pytest.skip("with other options")
    text = case["files"][given["-f"]]
    objects = PageObjects(read_time(given.get("--now", NOW), "now"))
    printed = ask({**case, "command": [*command[:3], *(_options(given))]})
    if printed.status not in (0, 3):
        pytest.skip("no answer")
    objects.add_file((text if isinstance(text, str) else json.dumps(text)).encode(), given["-f"])
    namespace, _, rest = name.rpartition("/")
    details = cache(objects.details)
    picture = objects.picture()
    answer = why(picture, details(namespace or given.get("-n", "default")), kind, rest)
    assert answer.plain() == json.loads(printed.stdout)


def _options(given: Mapping[str, str]) -> list[str]:
    options = {**given, "-o": "json", "--now": given.get("--now", NOW)}
    return [part for pair in options.items() for part in pair]


async def test_files_stand_still() -> None:
    source = files_of(("file", b""))
    assert source.picture() is source.picture()
    assert source.now() == read_time(NOW, "now") == source.picture().picture.moment
    assert not source.is_live
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await source.changed()


def test_what_the_lease_in_a_file_says_is_known() -> None:
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "reprieve",
            "namespace": "reprieve-system",
            "annotations": {"reprieve.dev/planning-mode": "Observe"},
        },
    }
    source = files_of(("file", json.dumps(lease).encode()))
    assert source.lease == {"reprieve.dev/planning-mode": "Observe"}
    assert source.picture().picture.native.planning == "Observe"


async def test_what_the_doctor_looks_at_is_put_together_when_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All pods are in it, once each."""
    made, seen = list[PageObjects](), PageObjects.seen

    def noted(objects: PageObjects) -> Seen:
        made.append(objects)
        return seen(objects)

    monkeypatch.setattr(PageObjects, "seen", noted)
    data = (ROOT / "examples" / "training-cluster.yaml").read_bytes()
    files = files_of(("cluster", data))
    assert not made
    looked = await files.looked(nobody)
    assert await files.looked(nobody) is looked
    assert len(made) == 1
    names = [(pod.metadata.namespace, pod.metadata.name) for pod in looked.all(SeenPod)]
    assert names == sorted(
        (each["metadata"].get("namespace", "default"), each["metadata"]["name"])
        for each in things(data)
        if each["kind"] == "Pod"
    )
    assert names
