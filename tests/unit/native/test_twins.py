"""The twin stands alone: it must not be able to share a fault with what it checks."""

from __future__ import annotations

import subprocess
import sys


def test_it_imports_nothing_compiled() -> None:
    script = (
        "import tests.twins.quota.quota, tests.twins.nodes.victims, sys\n"
        "print(sorted(name for name in sys.modules if name.startswith(('native.', 'numpy'))))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
