"""The status of a Job that runs in another cluster. Pure functions over JSON.

API servers check it (pkg/registry/batch/job/strategy.go, since 1.32). What they would refuse is shown as near to the
truth as they take it (docs/kueue-differences.md). A cluster may have been taken over: whatever it says, nothing here
raises, and nothing grows without bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from api.times import instant
from controllers.multikueue.kinds.kind import Json

__all__ = ["mirrored_status", "status_patch"]

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
TARGETS: Final = {COMPLETE: "SuccessCriteriaMet", FAILED: "FailureTarget"}
"""By condition of a finished Job: the one that must come with it. A Job can never have both of these."""
MOST_CONDITIONS: Final = 32
LONGEST: Final = {"type": 316, "reason": 1024, "message": 32768}
"""As for conditions of other kinds (meta/v1), in characters. Those of Jobs have no limit."""
TIMES: Final = ("lastProbeTime", "lastTransitionTime")
TRUTHS: Final = ("True", "False", "Unknown")
MOST: Final = 2**31 - 1
TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
INTERVAL: Final = re.compile(r"([0-9]{1,10})(?:-([0-9]{1,10}))?")


def mirrored_status(job: Json, remote: Json | None) -> dict[str, Any] | None:
    """The status that the Job here gets. Returns None if it has it already, or has ended.

    `remote`: the status of the Job there; None: it does not exist, and no pod of it runs. The counters of an earlier
    attempt may be higher. Then they stay.
    """
    local: Json = job.get("status") or {}
    said = _by_type(local)
    if _ended(said):
        return None
    there = _rested(local) if remote is None else remote
    conditions = _conditions(said, _by_type(there))
    end = _ended(conditions)
    status = {
        **_counters(local, there, ended=bool(end)),
        **_indexes(job["spec"], there),
        **_times(job, there, conditions, end),
        "conditions": list(conditions.values()),
    }
    status = _tidy(status)
    return None if status == _tidy(local) else status


def status_patch(job: Json, status: Json) -> dict[str, Any]:
    """A merge patch that gives the Job exactly this status."""
    return {**{key: None for key in job.get("status") or {} if key not in status}, **status}


# ---- conditions


def _conditions(here: Mapping[str, Json], there: Mapping[str, Json]) -> dict[str, Json]:
    """Those there, with what they need, and with what must stay.

    What announces an end waits for it: the announcement could not be taken back, and another attempt may end in
    another way.
    """
    end = _ended(there)
    kept = {kind: here[kind] for kind in TARGETS.values() if _is_true(here.get(kind))}
    if end and any(kind != TARGETS[end] for kind in kept):
        end = ""  # the other end was announced here, which no API server lets us take back
    hidden = {*TARGETS, *TARGETS.values()} - ({end, TARGETS[end]} if end else set())
    result = {kind: said for kind, said in there.items() if kind not in hidden or not _is_true(said)}
    if end and not _is_true(result.get(TARGETS[end])):
        result[TARGETS[end]] = {**result[end], "type": TARGETS[end]}
    return {**result, **kept}


def _by_type(status: Json) -> dict[str, Json]:
    listed = status.get("conditions")
    said = [clean for each in listed or () if (clean := _condition(each))] if isinstance(listed, list) else []
    return {each["type"]: each for each in said[:MOST_CONDITIONS]}


def _condition(said: object) -> Json:
    """The condition with the fields of a JobCondition only. Empty if it is not a condition."""
    if not isinstance(said, Mapping) or not _text(said.get("type")) or said.get("status") not in TRUTHS:
        return {}
    texts = {name: _text(said.get(name))[:most] for name, most in LONGEST.items()}
    times = {name: time for name in TIMES if (time := _time(said.get(name)))}
    return {**texts, "status": said["status"], **times}


def _ended(conditions: Mapping[str, Json]) -> str:
    """Complete or Failed, if that is True."""
    return next((kind for kind in TARGETS if _is_true(conditions.get(kind))), "")


def _is_true(condition: Json | None) -> bool:
    return condition is not None and condition.get("status") == "True"


# ---- numbers


def _rested(local: Json) -> dict[str, Any]:
    """The status here, if nothing runs any longer."""
    return {key: value for key, value in local.items() if key not in ("active", "ready", "terminating")}


def _counters(local: Json, there: Json, *, ended: bool) -> dict[str, Any]:
    active = 0 if ended else _number(there.get("active"))
    counters: dict[str, Any] = {"active": active}
    for name in ("succeeded", "failed"):
        counters[name] = max(_number(local.get(name)), _number(there.get(name)))
    for name, most in (("ready", active), ("terminating", 0 if ended else MOST)):
        if there.get(name) is not None:
            counters[name] = min(_number(there[name]), most)
    return counters


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return min(max(0, value), MOST) if isinstance(value, int) and not isinstance(value, bool) else 0


def _indexes(spec: Json, there: Json) -> dict[str, Any]:
    """Only an Indexed Job has them, and only those below its completions. It may have been scaled down here."""
    completions = spec.get("completions")
    if spec.get("completionMode") != "Indexed" or completions is None:
        return {}
    indexes = {"completedIndexes": _below(_text(there.get("completedIndexes")), completions)}
    failed = there.get("failedIndexes")
    if spec.get("backoffLimitPerIndex") is not None and failed is not None:
        indexes["failedIndexes"] = _below(_text(failed), completions)
    return indexes


def _below(indexes: str, completions: int) -> str:
    """The part of a text such as 1,3-5 that is below this number."""
    kept, last = [], -1
    for low, high in INTERVAL.findall(indexes):
        first, last = max(int(low), last + 1), max(last, min(int(high or low), completions - 1))
        if first <= last:
            kept.append(f"{first}-{last}" if first < last else f"{first}")
    return ",".join(kept)


# ---- times


def _times(job: Json, there: Json, conditions: Mapping[str, Json], end: str) -> dict[str, Any]:
    """A Job that is suspended here has no start time, until it ends: then its template may still change. One that is
    not keeps the first one that it gets."""
    here, is_suspended = job.get("status") or {}, job["spec"].get("suspend") is True
    began, completed = (_time(there.get(name)) for name in ("startTime", "completionTime"))
    start = began if is_suspended else here.get("startTime") or began
    if not end:
        return {"startTime": None if is_suspended else start}
    since = _time(conditions[end].get("lastTransitionTime"))
    first = (start, here.get("startTime"), completed, since)
    start = next(filter(None, first), None) or job["metadata"].get("creationTimestamp")
    if end != COMPLETE:
        return {"startTime": start}
    # A clock there may be behind the one of an earlier cluster.
    completed = max(filter(None, (completed or since, start)), key=_moment, default=None)
    return {"startTime": start, "completionTime": completed}


def _time(value: object) -> str | None:
    """A time as Kubernetes writes it, if it is one. Go takes more. Some of that no Kubernetes can read again, such as
    the last hour of the year 9999 in another time zone; and the year 1 is no time to it."""
    is_one = isinstance(value, str) and TIME.fullmatch(value) is not None and instant(value) is not None
    return str(value) if is_one and str(value) >= "0002" else None


def _moment(time: str) -> int:
    return instant(time) or 0


# ---- JSON


def _tidy(status: Json) -> dict[str, Any]:
    """Without what says nothing: null, an empty text or list, and a count of zero that API servers leave out."""
    tidy = {key: value for key, value in status.items() if not _says_nothing(key, value)}
    if "conditions" in tidy:
        tidy["conditions"] = _plain(tidy["conditions"])
    return tidy


def _says_nothing(key: str, value: Any) -> bool:
    if key == "failedIndexes":  # the empty text says that none has failed
        return value is None
    return value in (None, "", [], {}) or (value == 0 and key in ("active", "succeeded", "failed"))


def _plain(conditions: Iterable[Json]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if value not in (None, "")} for each in conditions]
