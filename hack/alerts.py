"""Asks Prometheus' own promtool what the alerts of manifests/components/monitoring do.

`python -m hack.alerts` builds promtool if it is not there (about seven minutes on two cores).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from hack.controlplane.binaries import BinariesError, binaries

TESTS: Final = (
    Path(__file__).resolve().parents[1] / "manifests" / "components" / "monitoring" / "rules_test.yaml"
)


def main() -> int:
    """Run promtool's tests. Returns its exit status, or 1 if it can be neither found nor built."""
    try:
        promtool = binaries(["promtool"])["promtool"]
    except BinariesError as error:
        print(error, file=sys.stderr)
        return 1
    return subprocess.run([promtool, "test", "rules", TESTS], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
