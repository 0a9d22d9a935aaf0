"""What the objects of owners say of the groups that their pods are: how many pods belong together, and what is asked.

The number is that of the pods which the owner's controller creates without waiting for one of them to run. A gang never
waits for a pod that nobody creates before the gang runs, nor for one whose template puts it into another group. A group
of kube-scheduler's own kind that a template names takes the pods only if it is not basic. Its object says that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod, PodSpec
from api.foreign_owners import OwnerObject, OwningJob, Template, TemplateSpec
from api.meta import ObjectMeta, OwnerReference
from api.owner_annotations import BY_OWNER_ANNOTATION, GANG_ANNOTATION, ByOwner, parse_by_owner, parse_gang
from nodes.groups.kinds.kind import Kind, Part
from nodes.groups.kinds.table import OWNERS
from nodes.groups.registry import first_said, second_said

__all__ = ["OwnerFacts", "by_owner_of", "facts_of"]

OURS: Final = "reprieve.dev/"
"""What annotations of ours begin with."""


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """What an owner says."""

    reference: OwnerReference
    metadata: ObjectMeta
    """Its names, its creation and annotations of ours."""
    least: int | None
    """How many pods are enough; None if it does not say that."""
    joining: int
    """How many pods that start together are of its group, whatever other objects say."""
    beside: tuple[tuple[str, int], ...]
    """The same, of pods that name a group of kube-scheduler's own kind as well: its name, and how many they are."""
    said: bool | None
    """Its annotation reprieve.dev/gang; None if it does not say it in a way that can be read."""
    by_owner: ByOwner | None
    """Its annotation reprieve.dev/groups-by-owner; None likewise."""

    def minimum(self, is_basic: Callable[[str], bool]) -> int:
        """How many of its pods start together. `is_basic`: whether a group of kube-scheduler's own kind is."""
        pods = self.joining + sum(count for name, count in self.beside if is_basic(name))
        return pods if self.least is None else min(self.least, pods)


def facts_of(item: OwnerObject) -> OwnerFacts | None:
    """The facts of an object; None for a Job that says nothing: there are many of them."""
    meta, kind = item.metadata, OWNERS[type(item)]
    if isinstance(item, OwningJob) and not _is_annotated(item):
        return None
    ours = {name: said for name, said in (meta.annotations or {}).items() if name.startswith(OURS)}
    kept = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        creation_timestamp=meta.creation_timestamp,
        annotations=ours or None,
    )
    reference = OwnerReference(kind.api_version, kind.kind, meta.name, meta.uid)
    joining, beside = _together(kind, item)
    return OwnerFacts(reference, kept, kind.least(item), joining, beside, gang_said(ours), by_owner_of(ours))


def gang_said(annotations: Mapping[str, str]) -> bool | None:
    """What these annotations say of the pods; None if they do not say it, or not in a way that can be read."""
    try:
        return parse_gang(annotations[GANG_ANNOTATION])
    except (KeyError, ValueError):
        return None


def by_owner_of(annotations: Mapping[str, str] | None) -> ByOwner | None:
    """The setting in these annotations; None if they have none, or none that can be read."""
    if not annotations or BY_OWNER_ANNOTATION not in annotations:
        return None
    try:
        return parse_by_owner(annotations[BY_OWNER_ANNOTATION])
    except ValueError:
        return None


# ---- pods that start together


def _together(kind: Kind, item: Any) -> tuple[int, tuple[tuple[str, int], ...]]:
    """See `OwnerFacts.joining` and `beside`. A suspended owner says it, too: it may be resumed at any time."""
    joining, beside = 0, Counter[str]()
    for part in kind.parts(item, 0):
        if part.after is not None or part.apart:
            continue
        named = _named(part.template)
        if named == "":
            joining += _of_part(part)
        elif named is not None:
            beside[named] += _of_part(part)
    return joining, tuple(sorted(beside.items()))


def _of_part(part: Part) -> int:
    return part.count if part.together is None else part.together


def _named(template: Template | None) -> str | None:
    """The group of kube-scheduler's own kind that pods made so name; "" if they name none. None: they never belong to
    their owner's group, because they name another one, or stay alone.
    """
    if template is None:
        return ""
    meta, spec = template.metadata or ObjectMeta(), template.spec or TemplateSpec()
    if (meta.annotations or {}).get(GANG_ANNOTATION) == "false":
        return None
    its = ObjectMeta(labels=meta.labels, annotations=meta.annotations)
    pod = Pod(metadata=its, spec=PodSpec(scheduling_group=spec.scheduling_group))
    if second_said(pod) is not None:
        return None
    return first_said(pod) or ""


def _is_annotated(job: OwningJob) -> bool:
    template = job.spec.template.metadata if job.spec.template is not None else None
    said = (job.metadata.annotations, template.annotations if template is not None else None)
    return any(each is not None and GANG_ANNOTATION in each for each in said)
