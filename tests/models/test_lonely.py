"""The place without a network that real agents are tested in."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LONELY = Path(__file__).with_name("lonely.py")

PROBE = """
import os, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
try:
    socket.create_connection(("192.0.2.1", 80), timeout=5)
    print("reached")
except OSError as error:
    print(type(error).__name__, error.errno, os.geteuid())
print(sorted(line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]))
"""


def seen(python=sys.executable, prefix=()):
    # By its text, not its path: another user may not be able to read this folder.
    argv = [*prefix, python, "-S", "-c", LONELY.read_text(), python, "-S", "-c", PROBE]
    made = subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/")
    if made.returncode == 77:
        pytest.skip("this machine allows no network namespaces")
    return made.stdout.splitlines()


def test_only_loopback_is_there():
    """A connection outside fails at once, one on loopback works, and the user stays the same."""
    first, second = seen()
    assert first == f"OSError 101 {os.geteuid()}"
    assert second == "['lo']"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="another user needs a Python it can read")
def test_a_plain_user_can_do_the_same():
    """No right is needed that a plain user has not got."""
    first, _ = seen("/usr/bin/python3", ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    assert first == "OSError 101 65534"
