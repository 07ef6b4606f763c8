"""The first hour of somebody who has nothing but a clone: no rights, an empty home."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
KEPT = ("PIP_", "UV_INDEX", "UV_DEFAULT", "UV_FIND", "HTTP", "http", "SSL_", "no_proxy", "NO_PROXY")


@pytest.mark.slow
def test_a_newcomer_gets_from_a_clone_to_a_merged_result():
    """One line installs it; demo, init (Python, Node), a loop and its merge need no other help."""
    place = Path("/tmp") / f"ralph-newcomer-{os.getpid()}"  # folders of pytest are closed to other users
    user = []
    try:
        (place / "home").mkdir(parents=True)
        (place / "work").mkdir()
        subprocess.run(["git", "clone", "-q", str(TOP), str(place / "ralph")], check=True)
        if os.getuid() == 0:
            entry = pwd.getpwnam("nobody")
            user = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
            subprocess.run(["chown", "-R", f"{entry.pw_uid}:{entry.pw_gid}", str(place)], check=True)
        env = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
        env |= {"HOME": str(place / "home"), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
        script = str(place / "ralph" / "tests" / "e2e" / "newcomer.sh")
        done = subprocess.run(
            [*user, "sh", script, str(place / "ralph"), str(place / "work")],
            env=env,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    finally:
        shutil.rmtree(place, ignore_errors=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "6 commands" in done.stdout
    assert "setup 3/4: " in done.stderr  # no silent seconds
    assert "use it in your own projects: make install" in done.stdout
    assert "VERIFIED" in done.stdout
