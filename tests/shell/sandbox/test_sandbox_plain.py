"""The same tests as a plain user: root makes tests of permissions vacuous."""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

HERE = Path(__file__).parents[1]
TESTS = Path(__file__).parents[2]
FILES = ("test_bubblewrap.py", "test_client.py", "test_keeper.py", "test_probe.py", "test_tools.py")

MARKED = re.compile(r"^@pytest\.mark\.plain\n(?:@.*\n)*def (test_\w+)", re.MULTILINE)


def chosen():
    """Modules as a whole, and what is marked in the others."""
    files = [next(HERE.rglob(file)) for file in FILES]
    others = {path: path.read_text() for path in TESTS.rglob("test_*.py") if path not in files}
    marked = [f"{path}::{name}" for path, text in others.items() for name in MARKED.findall(text)]
    assert len(marked) >= 2
    return [*map(str, files), *marked]


def interpreter(user):
    """A Python of this version that the plain user may execute, or None."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin")):
        # Through a shell: setpriv itself still holds root's rights when it executes the first program.
        argv = [*user, "/bin/sh", "-c", 'exec "$0" -c ""', candidate or "/nowhere"]
        if subprocess.run(argv, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            return candidate
    return None


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="not root: the other tests are this one")
def test_all_of_this_as_a_plain_user():
    """Boxes, calls and probes keep their promises for a user without any right."""
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
    paths = os.pathsep.join([str(HERE.parents[1] / "src"), str(Path(pytest.__file__).parents[1])])
    env = {
        "PATH": os.defpath,
        "HOME": home,
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--basetemp={home}/t"]
    try:
        argv = [*user, python, *words, *chosen()]
        done = subprocess.run(
            argv, env=env, cwd=home, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    finally:
        shutil.rmtree(home, ignore_errors=True)
