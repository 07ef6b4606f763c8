"""The nursery's promises: forked keepers do what keepers do, and nobody outlives a runner because of her."""

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
with ForkClient() as nursery:
    process.start_call(sys.argv[1], spec, nursery)
    print(nursery._pid, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def nursery():
    with ForkClient() as found:
        yield found


def start(tmp_path, spec, nursery, name="call"):
    return client.start_call(str(tmp_path / name), spec, nursery)


def opened():
    return len(os.listdir("/proc/self/fd"))


@levels
def test_several_calls_at_once_each_end_as_their_own(tmp_path, level, nursery):
    """Calls of one nurse do not mix: each has its own output, environment and exit code."""
    calls = []
    for code in (0, 3, 7):
        script = "echo $WHICH; read word; echo $word; exit $WHICH"
        spec, _ = callkit.spec(level, tmp_path, "/bin/sh", "-c", script, env={"WHICH": str(code)})
        calls.append(start(tmp_path, spec, nursery, f"call-{code}"))
    for code, call in zip((0, 3, 7), calls, strict=True):
        ended = client.wait(call)
        assert (ended.ended, ended.exit_code, ended.survivors) == ("exited", code, 0)
        assert client.read_output(call.folder, 1000)[0] == b"%d\n\n" % code


@levels
def test_what_a_call_leaves_behind_is_killed(tmp_path, level, nursery):
    """Sessions, daemons and respawners of a call end with it, and the keeper itself is gone too."""
    spec, mark = callkit.agent(level, tmp_path, "tree_left")
    call = start(tmp_path, spec, nursery)
    ended = client.wait(call)
    assert (ended.ended, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    assert callkit.living(mark) == []
    assert callkit.until(lambda: tree.read_process(call.keeper_pid) is None, 10)


@levels
def test_kill_of_a_forked_keeper_leaves_nothing(tmp_path, level, nursery):
    """kill -9 of the keeper is noticed at once, and its call is gone on return."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    call = start(tmp_path, spec, nursery)
    assert callkit.ready(call.folder)
    os.kill(call.keeper_pid, signal.SIGKILL)
    ended = client.wait(call)
    assert (ended.ended, ended.survivors) == ("keeper-lost", 0)
    assert callkit.until(lambda: not callkit.living(mark), 10)


def test_calls_outlive_a_nurse_who_dies_and_the_next_call_has_a_new_one(tmp_path, nursery):
    """Killing the nurse loses no call: the one at work ends as usual, the next is kept by a new one."""
    spec, _ = callkit.spec("bare", tmp_path, "/bin/sh", "-c", "echo ready; sleep 0.2; exit 5")
    first = start(tmp_path, spec, nursery, "first")
    assert callkit.ready(first.folder)
    old = nursery._pid
    os.kill(old, signal.SIGKILL)
    second = start(tmp_path, spec, nursery, "second")
    assert nursery._pid != old
    assert [client.wait(call).exit_code for call in (first, second)] == [5, 5]


def test_a_stopped_nurse_does_not_hang_the_runner(tmp_path, nursery, monkeypatch):
    """A nurse that does not answer is replaced."""
    monkeypatch.setattr("ralph.shell.process.fork_client.TIMEOUT_SECONDS", 0.2)
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true")
    assert client.wait(start(tmp_path, spec, nursery, "first")).exit_code == 0
    os.kill(nursery._pid, signal.SIGSTOP)
    assert client.wait(start(tmp_path, spec, nursery, "second")).exit_code == 0


def test_nothing_is_left_open_and_nobody_is_left(tmp_path):
    """After the nursery is closed there is no process of hers, and no descriptor more than before."""
    before = opened()
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true")
    with ForkClient() as nursery:
        for number in range(3):
            client.wait(start(tmp_path, spec, nursery, f"call-{number}"))
        nurse = nursery._pid
        assert len(os.listdir(f"/proc/{nurse}/fd")) <= 4  # three streams and the runner's socket
    assert tree.read_process(nurse) is None
    assert opened() == before


@pytest.mark.slow
@levels
def test_the_runner_dies_and_so_do_call_keeper_and_nurse(tmp_path, level):
    """kill -9 of the runner empties the tree and ends the nurse; recovery finds the finished call."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    given = tmp_path / "given.json"
    given.write_bytes(msgspec.json.encode(spec))
    argv = [sys.executable, "-c", RUNNER, str(tmp_path / "call"), str(given)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as running:
        nurse = int(running.stdout.readline())
        assert callkit.ready(tmp_path / "call")
        running.kill()
    assert callkit.until(lambda: not callkit.living(mark), 10)
    assert callkit.until(lambda: tree.read_process(nurse) is None, 10)
    recovered = client.recover_call(str(tmp_path / "call"))
    assert (recovered.state, recovered.ended.ended, recovered.survivors) == ("finished", "runner-lost", 0)


def test_a_nurse_is_a_small_process():
    """What a nurse and her keepers load is counted in a few modules, none of them a heavy one."""
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
