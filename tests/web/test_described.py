"""Whatever somebody who has logged in asks the page for: an answer as the description says it, and no fault of ours.

`REPRIEVE_FUZZ_EXAMPLES=200` takes about five minutes: the page takes 20 requests a second from a user.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from tests.kit.often import SELDOM
from tests.web.serving import examples_file, serving
from web.openapi import document
from web.routes import described

pytestmark = SELDOM

CHECKS: Final = [not_a_server_error, status_code_conformance, response_schema_conformance]
HANGS_SECONDS: Final = 30.0
PAUSE_SECONDS: Final = 0.055
"""Between two requests: more than 20 a second are refused."""
EXAMPLES: Final = settings(
    max_examples=int(os.environ.get("REPRIEVE_FUZZ_EXAMPLES", "20")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
DESCRIBED: Final[dict[str, Any]] = json.loads(document(described()))
LEFT_OUT: Final = {("GET", "/api/v1/events"), ("DELETE", "/api/v1/session")}
"""A stream that never ends, and the end of the session that asks."""
OPERATIONS: Final = [
    (method.upper(), path)
    for path, methods in DESCRIBED["paths"].items()
    for method in methods
    if (method.upper(), path) not in LEFT_OUT
]


@dataclass(frozen=True)
class Asked:
    """A page, and a session of it."""

    origin: str
    session: str


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    with serving(examples_file(tmp_path_factory.mktemp("examples"))) as served:
        code = served.address.partition("#code=")[2]
        answer = requests.post(f"{served.origin}api/v1/session", json={"code": code}, timeout=HANGS_SECONDS)
        yield Asked(served.origin.rstrip("/"), answer.json()["session"])
        assert served.process.poll() is None, "it runs still"


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_what_is_made_from_the_description_is_answered_as_it_says(
    page: Asked, method: str, path: str, mode: GenerationMode
) -> None:
    operation = schemathesis.openapi.from_dict(DESCRIBED)[path][method]

    @EXAMPLES
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        time.sleep(PAUSE_SECONDS)
        case.call_and_validate(
            base_url=page.origin,
            headers={"Authorization": f"Bearer {page.session}"},
            checks=CHECKS,
            timeout=HANGS_SECONDS,
        )

    answered()
