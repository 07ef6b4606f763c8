"""The fork client: forked keepers do what keepers do, and nobody outlives a runner because of it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hostile import callkit
from hostile.callkit import LEVELS

from ralph.shell.process import client, tree
from ralph.shell.process.fork_client import ForkClient

levels = pytest.mark.parametrize("level", LEVELS)

RUNNER = """
import sys, time, msgspec
from ralph.shell.process import client as process
from ralph.shell.process.fork_client import ForkClient
spec = msgspec.json.decode(open(sys.argv[2]).read(), type=process.CallSpec)
with ForkClient() as forks:
    process.start_call(sys.argv[1], spec, forks)
    print(forks._pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def forks():
    with ForkClient() as found:
        yield found


def start(tmp_path, spec, forks, name="call"):
    return client.start_call(str(tmp_path / name), spec, forks)


def opened():
    return len(os.listdir("/proc/self/fd"))


@levels
def test_several_calls_at_once_each_end_as_their_own(tmp_path, level, forks):
    """Calls of one fork server do not mix: each has its own output, environment and exit code."""
    calls = []
    for code in (0, 3, 7):
        script = "echo $WHICH; read word; echo $word; exit $WHICH"
        spec, _ = callkit.spec(level, tmp_path, "/bin/sh", "-c", script, env={"WHICH": str(code)})
        calls.append(start(tmp_path, spec, forks, f"call-{code}"))
    for code, call in zip((0, 3, 7), calls, strict=True):
        ended = client.wait(call)
        assert (ended.ended, ended.exit_code, ended.survivors) == ("exited", code, 0)
        assert client.read_output(call.folder, 1000)[0] == b"%d\n\n" % code


@levels
def test_what_a_call_leaves_behind_is_killed(tmp_path, level, forks):
    """Sessions, daemons and respawners of a call end with it, and the keeper itself is gone too."""
    spec, mark = callkit.agent(level, tmp_path, "tree_left")
    call = start(tmp_path, spec, forks)
    ended = client.wait(call)
    assert (ended.ended, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    assert callkit.living(mark) == []
    assert callkit.until(lambda: tree.read_process(call.keeper_pid) is None)


@levels
def test_kill_of_a_forked_keeper_leaves_nothing(tmp_path, level, forks):
    """kill -9 of the keeper is noticed at once, and its call is gone on return."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    call = start(tmp_path, spec, forks)
    assert callkit.ready(call.folder)
    os.kill(call.keeper_pid, signal.SIGKILL)
    ended = client.wait(call)
    assert (ended.ended, ended.survivors) == ("keeper-lost", 0)
    assert callkit.until(lambda: not callkit.living(mark))


def test_calls_outlive_a_fork_server_that_dies_and_the_next_call_has_a_new_one(tmp_path, forks):
    """Killing the fork server loses no call: the one at work ends as usual, the next is kept by a new one."""
    spec, _ = callkit.spec("bare", tmp_path, "/bin/sh", "-c", "echo ready; sleep 0.2; exit 5")
    first = start(tmp_path, spec, forks, "first")
    assert callkit.ready(first.folder)
    old = forks._pid
    os.kill(old, signal.SIGKILL)
    second = start(tmp_path, spec, forks, "second")
    assert forks._pid != old
    assert [client.wait(call).exit_code for call in (first, second)] == [5, 5]


@pytest.mark.slow
def test_a_stopped_fork_server_does_not_hang_the_runner(tmp_path, forks, monkeypatch):
    """A fork server that does not answer is replaced."""
    monkeypatch.setattr("ralph.shell.process.fork_client.TIMEOUT_SECONDS", 3.0)
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true")
    assert client.wait(start(tmp_path, spec, forks, "first")).exit_code == 0
    os.kill(forks._pid, signal.SIGSTOP)
    assert client.wait(start(tmp_path, spec, forks, "second")).exit_code == 0


def test_nothing_is_left_open_and_nobody_is_left(tmp_path):
    """After the client is closed there is no process of it, and no descriptor more than before."""
    before = opened()
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true")
    with ForkClient() as forks:
        for number in range(3):
            client.wait(start(tmp_path, spec, forks, f"call-{number}"))
        fork_server = forks._pid
        assert len(os.listdir(f"/proc/{fork_server}/fd")) <= 4  # three streams and the runner's socket
    assert tree.read_process(fork_server) is None
    assert opened() == before


@pytest.mark.slow
@levels
def test_the_runner_dies_and_so_do_call_keeper_and_fork_server(tmp_path, level):
    """kill -9 of the runner empties the tree and ends the fork server; recovery finds the finished call."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    given = tmp_path / "given.json"
    given.write_bytes(msgspec.json.encode(spec))
    argv = [sys.executable, "-c", RUNNER, str(tmp_path / "call"), str(given)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as running:
        fork_server = int(running.stdout.readline())
        assert callkit.ready(tmp_path / "call")
        running.kill()
    assert callkit.until(lambda: not callkit.living(mark))
    assert callkit.until(lambda: tree.read_process(fork_server) is None)
    recovered = client.recover_call(str(tmp_path / "call"))
    assert (recovered.state, recovered.ended.ended, recovered.survivors) == ("finished", "runner-lost", 0)


def test_a_fork_server_is_a_small_process():
    """What a fork server and its keepers load is counted in a few modules, none of them a heavy one."""
    source = Path(client.__file__).parents[3]
    code = f"import sys; sys.path.append({str(source)!r}); "
    code += "import ralph.shell.process.fork_server; print(*sys.modules)"
    argv = [sys.executable, "-I", "-S", "-c", code]
    loaded = set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split())
    assert not loaded & {
        "json",
        "re",
        "typing",
        "subprocess",
        "socket",
        "msgspec",
        "ctypes",
        "enum",
        "inspect",
    }
    assert len(loaded) < 50, sorted(loaded)
