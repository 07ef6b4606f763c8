"""The keeper's promises: clocks, an empty tree after every call, and what happens when someone dies."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effort import examples
from hostile import callkit
from hostile.callkit import LEVELS

from ralph.shell.process import cgroup, client, keeper_start, tree

pytestmark = pytest.mark.slow

levels = pytest.mark.parametrize("level", LEVELS)

RUNNER = """
import sys, time, msgspec
from ralph.shell.process import client as process
spec = msgspec.json.decode(open(sys.argv[2]).read(), type=process.CallSpec)
process.start_call(sys.argv[1], spec)
time.sleep(60)
"""


def start(tmp_path, spec):
    return client.start_call(str(tmp_path / "call"), spec)


def runner(tmp_path, spec):
    """A runner of its own process, so that it can be killed; returns when the call says ready."""
    import msgspec

    given = tmp_path / "given.json"
    given.write_bytes(msgspec.json.encode(spec))
    argv = [sys.executable, "-c", RUNNER, str(tmp_path / "call"), str(given)]
    running = subprocess.Popen(argv)
    assert callkit.ready(tmp_path / "call")
    return running


def kill_runner(running):
    running.kill()
    running.wait()


@levels
@pytest.mark.parametrize("way", ["tree_left", "hold_stdout"])
def test_what_the_main_process_leaves_behind_is_killed(tmp_path, level, way):
    """When the main process ends, its sessions, daemons and respawners end too, and nobody waits for them."""
    spec, mark = callkit.agent(level, tmp_path, way)
    began = time.monotonic()
    ended = client.wait(start(tmp_path, spec))
    assert (ended.ended, ended.exit_code, ended.survivors) == ("exited", 0, 0)
    assert callkit.living(mark) == []
    assert time.monotonic() - began < 20


@levels
def test_stop_of_a_deaf_tree_leaves_nothing(tmp_path, level):
    """A tree that ignores TERM is dead after the grace, before the end is told."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf", grace_seconds=0.1)
    call = start(tmp_path, spec)
    assert callkit.ready(call.folder)
    assert len(callkit.living(mark)) > 5
    client.stop(call)
    ended = client.wait(call)
    assert (ended.ended, ended.signal, ended.survivors) == ("stopped", 9, 0)
    assert callkit.living(mark) == []


@levels
def test_wall_clock_ends_a_hanging_call(tmp_path, level):
    """The deadline does not depend on any output."""
    spec, mark = callkit.agent(level, tmp_path, "tree_hang", wall_seconds=0.4, grace_seconds=0.1)
    ended = client.wait(start(tmp_path, spec))
    assert ended.ended == "timeout"
    assert 0.4 <= ended.seconds < 20
    assert callkit.living(mark) == []


@levels
@pytest.mark.parametrize("way", ["hang", "stop_self"])
def test_silent_or_stopped_call_is_idle(tmp_path, level, way):
    """Neither output nor CPU time for the idle time ends the call; a stopped process counts as idle."""
    spec, mark = callkit.agent(level, tmp_path, way, idle_seconds=0.4, grace_seconds=0.1)
    ended = client.wait(start(tmp_path, spec))
    assert ended.ended == "idle"
    assert ended.seconds < 20
    assert callkit.living(mark) == []


@levels
@pytest.mark.slow
def test_working_silently_is_not_idle(tmp_path, level):
    """A compiler that says nothing but computes is left alone."""
    spec, _ = callkit.agent(level, tmp_path, "spin", 1.5, idle_seconds=0.4)
    ended = client.wait(start(tmp_path, spec))
    assert (ended.ended, ended.exit_code) == ("exited", 0)


@levels
def test_memory_is_watched_where_no_cgroup_holds_it(tmp_path, level):
    """A tree that outgrows the limit is killed under its own name."""
    spec, mark = callkit.agent(level, tmp_path, "eat", 300, watch_memory_bytes=100 << 20)
    ended = client.wait(start(tmp_path, spec))
    assert ended.ended == "memory"
    assert ended.peak_rss_kb > 100 << 10
    assert callkit.living(mark) == []


@levels
def test_group_is_used_and_taken_away(tmp_path, level):
    """Where a control group can be made, the call runs in it, dies by it, and it is removed."""
    group = cgroup.make(f"keeper-test-{os.getpid()}-{level}")
    if group is None:
        pytest.skip("no control group can be made here")
    spec, mark = callkit.agent(level, tmp_path, "tree_hang", cgroup=group)
    call = start(tmp_path, spec)
    assert callkit.ready(call.folder)
    members = {int(pid) for pid in (Path(group) / "cgroup.procs").read_text().split()}
    assert set(callkit.living(mark)) & members
    client.kill(call)
    assert client.wait(call).survivors == 0
    assert callkit.living(mark) == []
    assert not Path(group).exists()


def test_limits_on_files_hold(tmp_path):
    """A file-size limit stops a runaway file."""
    words = ("/bin/sh", "-c", "head -c 1000000 /dev/zero > big; wc -c < big")
    spec, _ = callkit.spec("bare", tmp_path, *words, rlimits={"fsize": 4096, "core": 0})
    client.wait(start(tmp_path, spec))
    assert b"1000000" not in client.read_output(str(tmp_path / "call"), 999)[0]


@levels
@pytest.mark.slow
def test_kill_of_the_runner_takes_the_tree_along(tmp_path, level):
    """In the foreground nothing outlives Ralph: kill -9 of the runner empties the tree by itself."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    running = runner(tmp_path, spec)
    kill_runner(running)
    assert callkit.until(lambda: not callkit.living(mark))
    recovered = client.recover_call(str(tmp_path / "call"))
    assert (recovered.state, recovered.ended.ended, recovered.survivors) == ("finished", "runner-lost", 0)


@levels
def test_kill_of_the_keeper_leaves_nothing(tmp_path, level):
    """kill -9 of the keeper: the box dies by itself, at the lower level the runner sweeps."""
    spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
    call = start(tmp_path, spec)
    assert callkit.ready(call.folder)
    os.kill(call.keeper_pid, signal.SIGKILL)
    ended = client.wait(call)
    assert (ended.ended, ended.survivors) == ("keeper-lost", 0)
    assert callkit.until(lambda: not callkit.living(mark))


@levels
def test_agent_that_kills_its_parent(tmp_path, level):
    """In a box it cannot reach the keeper; outside the loss is noticed and nothing is left."""
    spec, mark = callkit.agent(level, tmp_path, "kill_parent")
    ended = client.wait(start(tmp_path, spec))
    assert ended.ended == ("exited" if level == "box" else "keeper-lost")
    assert callkit.until(lambda: not callkit.living(mark))


@pytest.mark.slow
def test_runner_and_keeper_both_killed_without_a_box(tmp_path):
    """Recovery finds what two deaths left by its mark and reports the call as interrupted."""
    spec, mark = callkit.agent("bare", tmp_path, "tree_deaf")
    running = runner(tmp_path, spec)
    keeper = keeper_start.loads((tmp_path / "call" / "keeper.json").read_text())["keeper_pid"]
    os.kill(running.pid, signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    kill_runner(running)
    assert callkit.living(mark)
    recovered = client.recover_call(str(tmp_path / "call"))
    assert (recovered.state, recovered.survivors) == ("interrupted", 0)
    assert callkit.living(mark) == []
    assert client.recover_call(str(tmp_path / "call")).state == "interrupted"


@levels
@pytest.mark.slow
def test_call_that_may_outlive_its_runner(tmp_path, level):
    """With `outlive` the death of the runner is harmless, the next one sees it alive, and can end it."""
    spec, mark = callkit.agent(level, tmp_path, "hang", outlive=True)
    running = runner(tmp_path, spec)
    kill_runner(running)
    time.sleep(0.2)
    assert callkit.living(mark)
    assert client.recover_call(str(tmp_path / "call"), adopt=True).state == "alive"
    recovered = client.recover_call(str(tmp_path / "call"))
    assert (recovered.state, recovered.ended.ended) == ("finished", "stopped")
    assert callkit.living(mark) == []


@levels
@pytest.mark.slow
def test_call_that_another_runner_takes_over(tmp_path, level):
    """The next runner sees its output and its end, and can stop it; it never begins a second one."""
    spec, mark = callkit.agent(level, tmp_path, "hang", outlive=True)
    folder = str(tmp_path / "call")
    kill_runner(runner(tmp_path, spec))
    call = client.adopt_call(folder)
    assert call is not None
    assert (call.adopted, client.poll([call], 0.1)) == (True, [])
    assert callkit.living(mark)
    client.stop(call)
    ended = client.wait(call)
    assert (ended.ended, ended.survivors) == ("stopped", 0)
    assert client.read_new_output(call) == client.read_output(folder, 1 << 20)[0]
    assert callkit.living(mark) == []
    assert client.adopt_call(folder) is None


@levels
@pytest.mark.slow
def test_keeper_killed_under_the_runner_that_took_over(tmp_path, level):
    """Then nothing of the call is left, and it is known to be lost."""
    spec, mark = callkit.agent(level, tmp_path, "hang", outlive=True)
    kill_runner(runner(tmp_path, spec))
    call = client.adopt_call(str(tmp_path / "call"))
    assert call is not None
    os.kill(call.keeper_pid, signal.SIGKILL)
    assert client.wait(call).ended == "keeper-lost"
    assert callkit.living(mark) == []


def test_call_that_never_started(tmp_path):
    """A directory without a keeper's record means that no agent was started."""
    assert client.recover_call(str(tmp_path / "nothing")).state == "never-started"


def test_pids_of_another_boot_are_not_touched(tmp_path):
    """After a reboot the recorded pids belong to strangers: they live on."""
    stranger = subprocess.Popen(["/bin/sleep", "30"])
    try:
        found = tree.read_process(stranger.pid)
        record = {"boot_id": "another", "child_pid": stranger.pid, "child_start": found.start}
        (tmp_path / "keeper.json").write_text(keeper_start.dumps(record))
        (tmp_path / "spec.json").write_text('{"marker": "INVOCATION_ID=none-such"}')
        assert client.recover_call(str(tmp_path)).state == "interrupted"
        assert stranger.poll() is None
        record = {"boot_id": tree.boot_id(), "child_pid": stranger.pid, "child_start": found.start + 1}
        (tmp_path / "keeper.json").write_text(keeper_start.dumps(record))
        assert client.recover_call(str(tmp_path)).state == "interrupted"
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_second_keeper_of_a_call_is_refused(tmp_path):
    """One call has one keeper: a second one exits and the first goes on."""
    spec, mark = callkit.agent("bare", tmp_path, "hang")
    first = start(tmp_path, spec)
    assert callkit.ready(first.folder)
    second = client.start_call(str(tmp_path / "call"), spec)
    assert client.poll([second], 5) == [second]
    assert second.ended.ended == "keeper-lost"
    assert "75" in second.ended.error
    client.kill(first)
    client.wait(first)
    assert callkit.living(mark) == []


def test_zombie_counts_as_dead():
    """A process that ended but was not collected is not alive."""
    child = subprocess.Popen(["/bin/true"])
    found = callkit.until(lambda: (p := tree.read_process(child.pid)) and p.state == "Z" and p)
    assert not tree.alive(child.pid, found.start)
    child.wait()


def test_signal_needs_the_right_start_time():
    """A pid that was given to another process is not signalled."""
    child = subprocess.Popen(["/bin/sleep", "30"])
    start_time = tree.read_process(child.pid).start
    assert not tree.send(child.pid, start_time + 1, signal.SIGKILL)
    assert child.poll() is None
    assert tree.send(child.pid, start_time, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL


def test_json_of_the_keeper_is_json():
    """The keeper's own small writer and the C scanner agree with the standard library."""
    import json

    flat = {"a": 'x"\n\udc80ä😀', "b": 1, "c": 1.5, "d": None, "e": True, "f": False}
    assert json.loads(keeper_start.dumps(flat)) == flat
    assert keeper_start.loads(json.dumps({"n": [1, {"m": flat}]})) == {"n": [1, {"m": flat}]}


@levels
@pytest.mark.slow
@pytest.mark.parametrize("way", ["flood", "one_line"])
def test_flood_is_bounded_in_memory(tmp_path, level, way):
    """200 MB, or one line of 100 MB, costs the keeper 30 MB of memory, and 20 MB are kept of it."""
    size = 200 if way == "flood" else 100
    spec, _ = callkit.agent(level, tmp_path, way, size)
    call = start(tmp_path, spec)
    peak = watch_keeper(call)
    assert call.ended.exit_code == 0
    assert call.ended.bytes_out >= size << 20
    assert call.ended.dropped_bytes == call.ended.bytes_out - (20 << 20)
    assert 0 < peak < 30 << 10


def watch_keeper(call):
    """The keeper's peak memory in kB."""
    peak = 0
    while not client.poll([call], 0.01):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{call.keeper_pid}/status").read_text()
            peak = max([peak, *(int(word.split()[1]) for word in status.splitlines() if "VmHWM" in word)])
    return peak


@pytest.mark.sample(test=2)
@levels
@pytest.mark.slow
@pytest.mark.parametrize("way", ["tree_left", "storm"])
def test_no_survivor_in_many_hostile_trees(tmp_path, level, way):
    """Many hostile trees a way, not one process left."""
    for n in range(examples(5)):
        spec, mark = callkit.agent(level, tmp_path, way, 40)
        ended = client.wait(client.start_call(str(tmp_path / f"call{n}"), spec))
        assert (ended.exit_code, ended.survivors) == (0, 0)
        assert callkit.living(mark) == []


@pytest.mark.sample(test=1)
@levels
@pytest.mark.slow
def test_no_orphan_in_many_deaths_of_the_keeper(tmp_path, level):
    """The keeper killed at many different instants: nothing is left soon after."""
    for n in range(examples(10)):
        spec, mark = callkit.agent(level, tmp_path, "tree_deaf")
        call = client.start_call(str(tmp_path / f"call{n}"), spec)
        time.sleep(0.01 * (n % 10) + 0.001 * (n // 10))
        with contextlib.suppress(ProcessLookupError):
            os.kill(call.keeper_pid, signal.SIGKILL)
        client.wait(call)
        assert callkit.until(lambda mark=mark: not callkit.living(mark))
