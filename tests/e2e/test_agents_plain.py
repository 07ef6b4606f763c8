"""Some of the same whole loops as a plain user: root makes tests of permissions and boxes vacuous."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CHOSEN = (
    "test_agents_boxes.py::test_sandbox_none",
    "test_agents_boxes.py::test_allow_write",
    "test_agents_honest.py::test_forker[none]",
    "test_agents_hostile.py::test_writes_to_the_users_repository",
    "test_agents_hostile.py::test_kills_its_parent[auto]",
    "test_agents_stops.py::test_kill_9",
)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="not root: the other tests are this one")
def test_whole_loops_as_a_plain_user():
    """Loops, boxes and stops keep their promises for a user without any right."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    name = next((name for name in ("plain", "nobody") if name in names), None)
    setpriv = shutil.which("setpriv")
    if not name or not setpriv:
        pytest.skip("no plain user, or no setpriv")
    entry = pwd.getpwnam(name)
    user = [setpriv, f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    python = interpreter(user)
    if python is None:
        pytest.skip("no Python of this version that a plain user may execute")
    home = tempfile.mkdtemp(prefix="plain-")
    os.chown(home, entry.pw_uid, entry.pw_gid)
    env = {
        "PATH": os.defpath,
        "HOME": home,
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(Path(pytest.__file__).parents[1])]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    words = ["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-m", "slow", f"--basetemp={home}/t"]
    try:
        argv = [*user, python, *words, *(str(HERE / test) for test in CHOSEN)]
        done = subprocess.run(
            argv, env=env, cwd=home, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        assert "skipped" not in done.stdout, done.stdout[-2000:]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def interpreter(user):
    """A Python of this version that the plain user may execute, or None."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin")):
        # Through a shell: setpriv itself still holds root's rights when it executes the first program.
        argv = [*user, "/bin/sh", "-c", 'exec "$0" -c ""', candidate or "/nowhere"]
        if subprocess.run(argv, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return candidate
    return None
