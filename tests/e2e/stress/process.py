"""The command `reprieve`, whose mirror a test can look at.

On SIGUSR1 `serve` writes what its views hold to a file beside its configuration. Run it as
python -P -m tests.e2e.stress.process, with the tree whose code is to run as PYTHONPATH.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any, Final

import runtime.mirror.views
from cli.main import main

_views: Final[list[runtime.mirror.views.View[Any]]] = []


class _NotedView(runtime.mirror.views.View[Any]):
    """A view that can be found."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _views.append(self)

    def told(self) -> dict[str, object]:
        """Where its objects are listed, and [namespace, name, UID, resourceVersion] of each one that it holds."""
        held = [[*key, version.uid, str(version.number)] for key, version in self._held.items()]
        return {"kind": self.kind, "path": self.path, "query": self.resource.query(), "held": held}


def _write_mirror(*_: object) -> None:
    """The file appears when it is complete."""
    path = Path(sys.argv[sys.argv.index("--config") + 1]).with_suffix(".mirror.json")
    part = path.with_suffix(".part")
    part.write_text(json.dumps([view.told() for view in _views if isinstance(view, _NotedView)]))
    part.replace(path)


if __name__ == "__main__":
    vars(runtime.mirror.views)["View"] = _NotedView
    signal.signal(signal.SIGUSR1, _write_mirror)
    main()
