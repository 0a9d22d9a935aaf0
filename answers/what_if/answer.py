"""What would happen, one submitted object after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from answers.names import ALL, Names
from answers.picture import Picture
from answers.submission import Submission
from answers.what_if.pod_groups import with_pod_groups
from answers.what_if.step import RUNS, Step
from answers.what_if.trying import Trying
from answers.what_if.units import units_of
from answers.withholding import Reader
from api.progress import Progress, going_through, silent

__all__ = ["WhatIfAnswer", "what_if"]


@dataclass(frozen=True, slots=True)
class WhatIfAnswer:
    """What becomes of the objects, in the order in which they were looked at."""

    steps: tuple[Step, ...]
    missing: tuple[str, ...] = ()
    """The rights that would show more."""

    @property
    def all_run(self) -> bool:
        """Whether all pods get nodes."""
        return all(each.outcome in RUNS for each in self.steps)

    def plain(self) -> dict[str, Any]:
        """For programs."""
        missing = {"missing": list(self.missing)} if self.missing else {}
        return {"steps": [each.plain() for each in self.steps], **missing}


def what_if(
    picture: Picture, submission: Submission, progress: Progress = silent, names: Names = ALL
) -> WhatIfAnswer:
    """What becomes of the objects in the order in which they are submitted. Each one sees what came before. `names`:
    what the reader may list; pods of the namespaces of all objects are among it.

    Raises InputError if nothing can be said of nodes and pods.
    """
    reader = Reader(names)
    picture = reader.picture(picture)
    nodes = picture.nodes.with_groups(submission.groups).with_claims(submission.claims)
    # What owners say decides which submitted pods belong together. Pods that run stay in their groups.
    owners = [each.owner for each in submission.objects if each.owner is not None]
    trying = Trying(picture, nodes, reader, progress)
    units = with_pod_groups(units_of(nodes.with_owners(owners), submission))
    steps = tuple(map(trying.step, going_through(units, "trying objects", progress)))
    return WhatIfAnswer(steps, tuple(reader.missing))
