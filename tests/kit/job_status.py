"""What an API server checks when somebody writes the status of a Job, rule by rule: pkg/registry/batch/job/strategy.go
and pkg/apis/batch/validation of 1.37, and the one rule that was stricter before 1.36."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

__all__ = ["refusals"]

Json = Mapping[str, Any]
Rule = Callable[[Json, Json, Json], bool]
ENDS: Final = ("Complete", "Failed")


def said(status: Json, kind: str) -> bool:
    return any(each["type"] == kind and each["status"] == "True" for each in status.get("conditions") or ())


def ended(status: Json) -> bool:
    return any(said(status, kind) for kind in ENDS)


def count(status: Json, name: str) -> int:
    return status.get(name) or 0


def indexes(text: str) -> set[int]:
    parts = [each.partition("-") for each in text.split(",") if each]
    return {index for first, _, last in parts for index in range(int(first), int(last or first) + 1)}


def changed(old: Json, new: Json, *names: str) -> bool:
    return any(old.get(name) != new.get(name) for name in names)


def goes(old: Json, new: Json, kind: str) -> bool:
    return said(old, kind) and not said(new, kind)


def end_changed(old: Json, new: Json) -> bool:
    return ended(old) != ended(new)


def turned(old: Json, new: Json, *kinds: str) -> bool:
    return any(said(old, kind) != said(new, kind) for kind in kinds)


RULES: Final[dict[str, Rule]] = {
    "a counter is negative": lambda _, __, new: any(
        count(new, name) < 0 for name in ("active", "succeeded", "failed", "ready", "terminating")
    ),
    "failed decreases": lambda _, old, new: count(new, "failed") < count(old, "failed"),
    "succeeded decreases": lambda spec, old, new: (
        count(new, "succeeded") < count(old, "succeeded")
        and not (
            spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
        )
    ),
    "a terminal condition goes": lambda _, old, new: any(
        goes(old, new, kind) for kind in (*ENDS, "FailureTarget", "SuccessCriteriaMet")
    ),
    "Complete and Failed": lambda _, old, new: (
        turned(old, new, *ENDS) and said(new, "Complete") and said(new, "Failed")
    ),
    "Complete and FailureTarget": lambda _, old, new: (
        turned(old, new, "Complete", "FailureTarget") and said(new, "Complete") and said(new, "FailureTarget")
    ),
    "SuccessCriteriaMet and Failed": lambda _, __, new: (
        said(new, "SuccessCriteriaMet") and said(new, "Failed")
    ),
    "SuccessCriteriaMet and FailureTarget": lambda _, __, new: (
        said(new, "SuccessCriteriaMet") and said(new, "FailureTarget")
    ),
    "Complete without SuccessCriteriaMet": lambda _, old, new: (
        turned(old, new, "Complete", "SuccessCriteriaMet")
        and said(new, "Complete")
        and not said(new, "SuccessCriteriaMet")
    ),
    "Failed without FailureTarget": lambda _, old, new: (
        (turned(old, new, "Failed") or changed(old, new, "failedIndexes"))
        and said(new, "Failed")
        and not said(new, "FailureTarget")
    ),
    "completionTime without Complete": lambda _, old, new: (
        (turned(old, new, "Complete") or changed(old, new, "completionTime"))
        and bool(new.get("completionTime"))
        and not said(new, "Complete")
    ),
    "Complete without completionTime": lambda _, old, new: (
        (turned(old, new, "Complete") or changed(old, new, "completionTime"))
        and said(new, "Complete")
        and not new.get("completionTime")
    ),
    "completionTime before startTime": lambda _, old, new: (
        changed(old, new, "startTime", "completionTime")
        and bool(new.get("startTime") and new.get("completionTime"))
        and new["completionTime"] < new["startTime"]
    ),
    "completionTime changes": lambda _, old, new: (
        bool(old.get("completionTime") and new.get("completionTime"))
        and old["completionTime"] != new["completionTime"]
    ),
    "startTime changes (before 1.36 also of a Job that resumes)": lambda spec, old, new: (
        bool(old.get("startTime")) and changed(old, new, "startTime") and not spec.get("suspend")
    ),
    "ended and active": lambda _, old, new: (
        (end_changed(old, new) or changed(old, new, "active")) and ended(new) and count(new, "active") > 0
    ),
    "ended and terminating": lambda _, old, new: (
        (end_changed(old, new) or changed(old, new, "terminating"))
        and ended(new)
        and count(new, "terminating") > 0
    ),
    "ended without startTime": lambda spec, old, new: (
        (end_changed(old, new) or changed(old, new, "startTime"))
        and ended(new)
        and not new.get("startTime")
        and not (spec.get("suspend") and spec.get("completions") == 0)
    ),
    "ended with uncounted pods": lambda _, old, new: (
        (end_changed(old, new) or changed(old, new, "uncountedTerminatedPods"))
        and ended(new)
        and any((new.get("uncountedTerminatedPods") or {}).values())
    ),
    "more ready than active": lambda _, old, new: (
        changed(old, new, "ready", "active") and count(new, "ready") > count(new, "active")
    ),
    "completedIndexes of a Job without": lambda spec, old, new: (
        changed(old, new, "completedIndexes")
        and bool(new.get("completedIndexes"))
        and spec.get("completionMode") != "Indexed"
    ),
    "failedIndexes of a Job without": lambda spec, old, new: (
        changed(old, new, "failedIndexes")
        and new.get("failedIndexes") is not None
        and spec.get("backoffLimitPerIndex") is None
    ),
    "an index is not below completions": lambda spec, old, new: any(
        changed(old, new, name)
        and any(index >= spec["completions"] for index in indexes(new.get(name) or ""))
        for name in ("completedIndexes", "failedIndexes")
        if spec.get("completions") is not None
    ),
    "an index has completed and failed": lambda _, old, new: (
        changed(old, new, "completedIndexes", "failedIndexes")
        and bool(indexes(new.get("completedIndexes") or "") & indexes(new.get("failedIndexes") or ""))
    ),
}


def refusals(job: Json, status: Json) -> Iterator[str]:
    """The rules by which the API server refuses this status for the Job."""
    for name, breaks in RULES.items():
        if breaks(job["spec"], job.get("status") or {}, status):
            yield name
