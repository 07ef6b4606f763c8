"""The first hour of somebody who has nothing but a clone: no rights, an empty home."""

import os
import pwd
import shutil
import subprocess
from pathlib import Path

import pytest
from tlsproxy import TlsProxy

TOP = Path(__file__).parents[2]
KEPT = ("PIP_", "UV_INDEX", "UV_DEFAULT", "UV_FIND", "HTTP", "http", "SSL_", "no_proxy", "NO_PROXY")


@pytest.fixture
def newcomer():
    """A folder of a plain user with a clone, an empty home and a place to work; how to become that user."""
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
        yield place, user
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run(argv, place, **env):
    known = {"HOME": str(place / "home"), "LANG": "C.UTF-8"}
    return subprocess.run(
        argv,
        cwd=place / "ralph",
        env={**known, **env},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )


@pytest.mark.slow
def test_a_newcomer_gets_from_a_clone_to_a_merged_result(newcomer):
    """One line installs it; demo, init (Python, Node), a loop and its merge need no other help."""
    place, user = newcomer
    env = {name: value for name, value in os.environ.items() if name.startswith(KEPT)}
    script = str(place / "ralph" / "tests" / "e2e" / "newcomer.sh")
    argv = [*user, "sh", script, str(place / "ralph"), str(place / "work")]
    done = run(argv, place, **env, PATH="/usr/local/bin:/usr/bin:/bin")
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "6 commands" in done.stdout
    assert "install: " in done.stderr  # no silent seconds
    assert "VERIFIED" in done.stdout


@pytest.mark.soak
def test_make_demo_behind_a_proxy_that_signs_anew(newcomer):
    """With nothing set but the proxy, and what the system trusts, a plain user gets to a proof."""
    place, user = newcomer
    (place / "proxy").mkdir()
    with TlsProxy(place / "proxy") as proxy:
        away = {"HTTPS_PROXY": proxy.url, "https_proxy": proxy.url, "PATH": "/usr/bin:/bin"}
        argv = [*user, "make", "demo"]
        if user:  # root can have system certificates of its own for a while
            certs = "mount -t tmpfs none /etc/ssl/certs && "
            certs += f"cp {proxy.authority} /etc/ssl/certs/ca-certificates.crt"
            argv = ["unshare", "-m", "sh", "-c", f'{certs} && exec "$@"', "sh", *argv]
        else:
            away["SSL_CERT_FILE"] = str(proxy.authority)
        done = run(argv, place, **away)
        proxy.shutdown()
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert proxy.hosts, "nothing went through the proxy"
    assert "setup 3/4: " in done.stderr  # no silent seconds
    assert "VERIFIED_DONE (A)" in done.stdout
    assert "use it in your own projects: make install" in done.stdout
