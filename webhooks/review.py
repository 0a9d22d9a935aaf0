"""Reads AdmissionReviews and answers them.

An answer depends on the request and on the mirror. A dry run gets the same answer, because nothing is written.
"""

from __future__ import annotations

import base64
from typing import Any, Final, Literal

import msgspec

from api.clock import SYSTEM_CLOCK, Clock
from api.times import rfc3339
from schema._shape import nested_deeper
from schema.verdict import Cause, Verdict
from webhooks import rules
from webhooks.facts import Facts, NotSynced
from webhooks.metrics import REVIEWS
from webhooks.patch import json_patch
from webhooks.registrations import Registration
from webhooks.rules import Object, Request
from webhooks.settings import Settings

__all__ = ["MUTATE", "VALIDATE", "BadReviewError", "Purpose", "Reviewer"]

Purpose = Literal["validate", "mutate"]
VALIDATE: Final[Purpose] = "validate"
MUTATE: Final[Purpose] = "mutate"

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
CAUSES: Final = 100
WARNINGS: Final = 20
"""The most warnings in an answer. Clients show at most 4 KiB of them."""
RETRY_SECONDS: Final = 1


class BadReviewError(ValueError):
    """The body is not a review that can be answered."""


class GroupVersionKind(msgspec.Struct):
    """meta/v1 GroupVersionKind."""

    version: str
    kind: str
    group: str = ""


class UserInfo(msgspec.Struct):
    """authentication/v1 UserInfo: the fields that are used here."""

    username: str = ""


class AdmissionRequest(msgspec.Struct, rename="camel", kw_only=True):
    """admission/v1 AdmissionRequest: the fields that are used here."""

    uid: str
    kind: GroupVersionKind
    operation: str
    sub_resource: str = ""
    name: str = ""
    user_info: UserInfo = msgspec.field(default_factory=UserInfo)
    object: dict[str, Any] | None = None
    old_object: dict[str, Any] | None = None


class AdmissionReview(msgspec.Struct, rename="camel"):
    """admission/v1 AdmissionReview, as API servers send it."""

    api_version: Literal["admission.k8s.io/v1"]
    kind: Literal["AdmissionReview"]
    request: AdmissionRequest


_decoder: Final = msgspec.json.Decoder(AdmissionReview)


class Reviewer:
    """Answers reviews."""

    def __init__(
        self,
        facts: Facts,
        settings: Settings,
        *,
        max_depth: int,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`max_depth`: the deepest nesting that the JSON of a review may have."""
        self._facts, self._settings, self._max_depth, self._clock = facts, settings, max_depth, clock

    def answer(self, purpose: Purpose, registration: Registration, body: bytes) -> bytes:
        """The review with its response, as JSON. Raises BadReviewError."""
        try:
            request = self._decode(body)
            response = self._response(purpose, registration, request)
            return msgspec.json.encode({"apiVersion": API_VERSION, "kind": KIND, "response": response})
        except RecursionError:
            raise BadReviewError("the JSON is nested too deeply") from None

    def _decode(self, body: bytes) -> AdmissionRequest:
        try:
            request = _decoder.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BadReviewError(f"not an {KIND} of {API_VERSION}: {error}") from None
        for each in (request.request.object, request.request.old_object):
            if nested_deeper(each, self._max_depth):
                raise BadReviewError(f"the JSON is nested more than {self._max_depth} deep")
        return request.request

    def _response(
        self, purpose: Purpose, registration: Registration, request: AdmissionRequest
    ) -> dict[str, Any]:
        asked = (request.kind.group, request.kind.version, request.kind.kind)
        if asked != (registration.group, registration.version, registration.kind):
            raise BadReviewError(f"{'/'.join(asked)} is not answered at this path")
        answered = REVIEWS.labels
        if request.operation not in ("CREATE", "UPDATE") or request.object is None:
            answered(purpose, registration.kind, "allowed").inc()
            return {"uid": request.uid, "allowed": True}
        try:
            response = (
                self._validated(request, request.object)
                if purpose == VALIDATE
                else self._defaulted(request, request.object)
            )
        except NotSynced as error:
            answered(purpose, registration.kind, "unavailable").inc()
            return {"uid": request.uid, "allowed": False, "status": _unavailable(str(error))}
        answered(purpose, registration.kind, "allowed" if response["allowed"] else "denied").inc()
        return {"uid": request.uid, **response}

    def _validated(self, request: AdmissionRequest, new: Object) -> dict[str, Any]:
        verdict = rules.validate(self._request(request, new))
        response: dict[str, Any] = {"allowed": verdict.allowed}
        if not verdict.allowed:
            response["status"] = _invalid(verdict, request)
        if verdict.warnings:
            response["warnings"] = _first(list(verdict.warnings), WARNINGS)
        return response

    def _defaulted(self, request: AdmissionRequest, new: Object) -> dict[str, Any]:
        operations = list(json_patch(new, rules.default(self._request(request, new))))
        if not operations:
            return {"allowed": True}
        patch = base64.b64encode(msgspec.json.encode(operations)).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    def _request(self, request: AdmissionRequest, new: Object) -> Request:
        return Request(
            kind=request.kind.kind,
            operation="CREATE" if request.operation == "CREATE" else "UPDATE",
            new=new,
            old=request.old_object,
            subresource=request.sub_resource,
            user=request.user_info.username,
            facts=self._facts,
            settings=self._settings,
            now=rfc3339(self._clock.wall()),
        )


def _invalid(verdict: Verdict, request: AdmissionRequest) -> dict[str, Any]:
    """The Status that an API server gives for an invalid object. kubectl prints a line for each cause."""
    causes = [_cause(each) for each in verdict.causes[:CAUSES]]
    texts = _first([str(each) for each in verdict.causes], CAUSES)
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]",
        "details": {
            "name": request.name,
            "group": request.kind.group,
            "kind": request.kind.kind,
            "causes": causes,
        },
    }


def _first(texts: list[str], most: int) -> list[str]:
    return [*texts[:most], f"and {len(texts) - most} more"] if len(texts) > most else texts


def _cause(cause: Cause) -> dict[str, str]:
    return {"reason": cause.type, "message": cause.message, "field": cause.field}


def _unavailable(message: str) -> dict[str, Any]:
    """The Status for a request that may succeed later."""
    return {
        "status": "Failure",
        "code": 503,
        "reason": "ServiceUnavailable",
        "message": message,
        "details": {"retryAfterSeconds": RETRY_SECONDS},
    }
