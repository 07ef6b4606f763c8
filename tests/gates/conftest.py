"""Real runners in real folders: `observe` executes a sealed gate and hands its leavings to the readers."""

import os
import subprocess
from pathlib import Path

import pytest

from ralph.gates.readers import Observation
from ralph.gates.seal import exec_argv


@pytest.fixture
def observe(tmp_path):
    """Execute a gate in a folder as the shell would, and keep what it left behind."""

    def call(gate, root: Path) -> Observation:
        report = tmp_path / "reports" / gate.name
        report.parent.mkdir(exist_ok=True)
        report.unlink(missing_ok=True)  # a report of an earlier call is no evidence
        keep = {"PATH", "HOME", "LANG", "TMPDIR"}
        env = {name: value for name, value in os.environ.items() if name in keep}
        done = subprocess.run(
            exec_argv(gate, str(report)),
            cwd=root / gate.cwd,
            env=env | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=60,
        )
        content = report.read_bytes() if report.exists() else None
        return Observation(exit_code=done.returncode, output=done.stdout, report=content, root=str(root))

    return call


@pytest.fixture
def project(tmp_path):
    """Write files by relative path, and get their folder."""

    def files(content: dict[str, str], name: str = "proj") -> Path:
        root = tmp_path / name
        for path, text in content.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return root

    return files
