"""Answers in place of the server's, for what files that stand still do not show: changes, many rows, lost streams."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

__all__ = ["MOMENT", "Faked", "row"]

MOMENT: Final = "2026-03-01T12:00:00Z"
MODE: Final = {"mode": "Observe", "sentence": "It writes down what it would do.", "pauses": [], "limits": []}


def row(name: str, **others: Any) -> dict[str, Any]:
    """A gang that waits."""
    return {
        "kind": "podgroup",
        "namespace": "research",
        "name": name,
        "place": None,
        "state": "Gathering",
        "sentence": f"{name} waits for members.",
        "since": "2026-03-01T10:00:00Z",
        "priority": 1,
        "minCount": 4,
        "members": 2,
        "bound": 0,
        "plan": "",
        "queue": "",
        **others,
    }


@dataclass(slots=True)
class Faked:
    """A server of a live cluster, which says what a test writes into it."""

    groups: list[dict[str, Any]] = field(default_factory=list)
    trouble: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    """What differs in the answer of `GET session`."""
    refusals: dict[str, tuple[int, dict[str, str]]] = field(default_factory=dict)
    """By the first part of a path: the status, and what is said."""
    answers: dict[str, Any] = field(default_factory=dict)
    """By the first part of a path: what is answered."""
    version: int = 1
    asked: list[str] = field(default_factory=list)
    """The paths of all requests."""
    authorizations: set[str] = field(default_factory=set)

    async def serve(self, page: Page) -> None:
        """Answer the requests of this page for data."""
        await page.route("**/api/v1/**", lambda route: self._answer(route))

    async def _answer(self, route: Route) -> None:
        request = route.request
        path = request.url.partition("/api/v1/")[2]
        name = path.partition("?")[0].partition("/")[0]
        self.asked.append(path)
        self.authorizations.add(request.headers.get("authorization", ""))
        if name in self.refusals:
            status, said = self.refusals[name]
            await route.fulfill(status=status, json={"right": "", **said})
        elif name in self.answers:
            await route.fulfill(status=200, json=self.answers[name])
        elif name == "events":
            # One event, and then the stream ends: it is asked for again a second later.
            event = f"event: waiting\nid: {self.version}\ndata: {{}}\n\n"
            if "topics=waiting,map" in path and request.headers.get("last-event-id") != str(self.version):
                event = f"event: reset\ndata: {{}}\n\n{event}"
            await route.fulfill(status=200, content_type="text/event-stream", body=event)
        elif name == "session":
            status = 201 if request.method == "POST" else 200
            await route.fulfill(status=status, json={"session": "s3ss10n", **self._about()})
        elif name == "waiting":
            await route.fulfill(status=200, body=json.dumps(self._waiting()), content_type="application/json")
        else:
            await route.fulfill(status=404, json={"reason": "NotFound", "message": "nothing", "right": ""})

    def _about(self) -> dict[str, Any]:
        namespaces = {"all": True, "named": [], "asked": []}
        return {
            "user": "ann",
            "groups": [],
            "expires": "",
            "cluster": "staging",
            "live": True,
            "trouble": self.trouble,
            "mode": MODE,
            "namespaces": namespaces,
            "missing": [],
            "command": "--context staging",
            "reads": "--context staging",
            **self.about,
        }

    def _waiting(self) -> dict[str, Any]:
        return {
            "version": str(self.version),
            "moment": MOMENT,
            "trouble": self.trouble,
            "groups": self.groups,
            "pods": [],
            "workloads": [],
            "missing": [],
        }
