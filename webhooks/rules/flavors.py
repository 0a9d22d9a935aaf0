"""ResourceFlavor (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator

from api.syntax import label_value_faults
from schema.labels import label_causes, label_key_causes
from schema.verdict import DUPLICATE, INVALID, Cause, Verdict
from webhooks.rules.fields import child, entries, items, text
from webhooks.rules.kueue import kueue_causes
from webhooks.rules.metadata import toleration_causes
from webhooks.rules.request import Object, Request

__all__ = ["validate"]


def validate(request: Request) -> Verdict:
    """The faults of the ResourceFlavor."""
    return Verdict.of(kueue_causes(_causes, request))


def _causes(request: Request) -> Iterator[Cause]:
    spec = child(request.new, "spec")
    yield from label_causes(entries(spec, "nodeLabels"), "spec.nodeLabels")
    yield from _taint_causes(spec)
    yield from toleration_causes(items(spec, "tolerations"), "spec.tolerations")


def _taint_causes(spec: Object) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(items(spec, "nodeTaints")):
        path, key, effect = f"spec.nodeTaints[{index}]", text(taint, "key"), text(taint, "effect")
        yield from label_key_causes(key, f"{path}.key")
        if faults := "; ".join(label_value_faults(text(taint, "value"))):
            yield Cause(f"{path}.value", INVALID, faults)
        if (key, effect) in seen:
            yield Cause(path, DUPLICATE, f"there is a taint {key}:{effect} already")
        seen.add((key, effect))
