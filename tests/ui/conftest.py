import os
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(autouse=True)
def _utc(monkeypatch):
    """Stamps in tests are in UTC, and no colour or state of the caller leaks in."""
    monkeypatch.setenv("TZ", "UTC")
    for name in ("NO_COLOR", "FORCE_COLOR", "RALPH_STATE_DIR"):
        monkeypatch.delenv(name, raising=False)
    time.tzset()
    yield
    time.tzset()


@pytest.fixture
def ralph(tmp_path, monkeypatch, capsys):
    """Run a command line in this process: (exit code, stdout, stderr)."""
    from ralph.ui.cli.main import main

    monkeypatch.setenv("RALPH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)

    def run(*args):
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return run
