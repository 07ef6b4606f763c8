"""Calls from the runner's side: ends, output, environment, control, errors."""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hostile import callkit
from hostile.callkit import LEVELS, PYTHON

from ralph.errors import Bug, SetupError
from ralph.shell.process import client

levels = pytest.mark.parametrize("level", LEVELS)


def run(folder, spec):
    return client.wait(client.start_call(str(folder), spec))


@levels
@pytest.mark.parametrize(
    ("script", "code", "number"), [("exit 0", 0, None), ("exit 3", 3, None), ("kill -SEGV $$", None, 11)]
)
def test_exit_codes_and_signals_are_kept(tmp_path, level, script, code, number):
    """Whatever ended the main process is reported as it was, boxed or not."""
    spec, _ = callkit.spec(level, tmp_path, "/bin/sh", "-c", script)
    ended = run(tmp_path / "call", spec)
    assert (ended.ended, ended.exit_code, ended.signal, ended.survivors) == ("exited", code, number, 0)
    assert client.read_result(str(tmp_path / "call")) == ended


@levels
def test_a_call_cannot_write_what_it_is_given_to_read(tmp_path, level):
    """Standard input can be read twice, also by its name; the file in the state directory stays as it was."""
    (prompt := tmp_path / "prompt").write_text("the task\n")
    script = "cat; cat /dev/stdin; chmod 666 /proc/self/fd/0; echo hacked > /proc/self/fd/0; echo end"
    spec, _ = callkit.spec(level, tmp_path, "/bin/sh", "-c", script, stdin=str(prompt))
    before = prompt.stat()
    assert run(tmp_path / "call", spec).exit_code == 0
    said = client.read_output(str(tmp_path / "call"), 999)[0].decode()
    assert (said.count("the task"), said.count("ermitted") >= 1, said[-4:]) == (2, True, "end\n")
    after = prompt.stat()
    assert (prompt.read_text(), after.st_uid, after.st_mode) == ("the task\n", before.st_uid, before.st_mode)


@levels
def test_missing_executable_is_a_spawn_error(tmp_path, level):
    """A command that does not exist is told apart from a command that failed."""
    ended = run(tmp_path / "call", callkit.spec(level, tmp_path, "/nowhere/tool")[0])
    assert ended.ended == "spawn-error"
    assert "No such file" in ended.error
    assert ended.exit_code is None


@levels
def test_file_without_execute_bit_is_a_spawn_error(tmp_path, level):
    """A file that may not be executed gives the kernel's own reason."""
    (tmp_path / "work").mkdir()
    plain = tmp_path / "work" / "plain.sh"
    plain.write_text("echo hi\n")
    ended = run(tmp_path / "call", callkit.spec(level, tmp_path, str(plain))[0])
    assert ended.ended == "spawn-error"
    assert "Permission denied" in ended.error


@levels
def test_prompt_of_a_megabyte_comes_through_stdin(tmp_path, level):
    """The prompt is a file opened as stdin, so its size has no limit."""
    prompt = tmp_path / "prompt"
    prompt.write_bytes(b"p" * (1 << 20))
    spec, _ = callkit.agent(level, tmp_path, "read_stdin", stdin=str(prompt))
    run(tmp_path / "call", spec)
    assert client.read_output(str(tmp_path / "call"), 100)[0] == b"1048576\n"


@levels
def test_environment_is_complete_and_nothing_is_inherited(tmp_path, level, monkeypatch):
    """The child sees the given variables and a neutral mark, nothing of Ralph's own environment."""
    monkeypatch.setenv("LEAK_CANARY", "leaked")
    spec, _ = callkit.agent(level, tmp_path, "env", env={"GIVEN": "ä b"})
    run(tmp_path / "call", spec)
    names = {line.split(b"=")[0] for line in client.read_output(str(tmp_path / "call"), 9999)[0].splitlines()}
    assert names - {b"PWD", b"LC_CTYPE"} == {b"GIVEN", b"INVOCATION_ID", b"PATH", b"TRIAL"}
    assert b"GIVEN=\xc3\xa4 b" in client.read_output(str(tmp_path / "call"), 9999)[0]


def test_environment_never_reaches_the_disk(tmp_path):
    """A key in the environment is in no file of the call's directory."""
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true", env={"API_KEY": "sk-canary-1"})
    run(tmp_path / "call", spec)
    for path in (tmp_path / "call").iterdir():
        assert b"sk-canary-1" not in path.read_bytes()


@levels
def test_garbage_bytes_are_kept_as_they_are(tmp_path, level):
    """Output is bytes: nothing is decoded, cut at lines or lost."""
    run(tmp_path / "call", callkit.agent(level, tmp_path, "garbage")[0])
    expected = bytes(range(256)) * 10 + b"\xff\xfe\x00\x1b[31m"
    assert client.read_output(str(tmp_path / "call"), 1 << 20) == (expected, 0, b"")


def test_head_and_ring_tail_are_kept_and_the_gap_is_counted(tmp_path):
    """Of a long output the beginning and the very end stay, and the number of bytes between is exact."""
    spec, _ = callkit.agent("bare", tmp_path, "flood", 3, head_bytes=1000, tail_bytes=5000)
    ended = run(tmp_path / "call", spec)
    total = 3 * (1 << 20) + 7
    assert (ended.bytes_out, ended.dropped_bytes) == (total, total - 6000)
    head, gap, tail = client.read_output(str(tmp_path / "call"), 400)
    assert (len(head), len(tail), gap) == (200, 200, total - 400)
    assert tail.endswith(b"x\nTHE END")
    head, gap, tail = client.read_output(str(tmp_path / "call"), 1 << 20)
    assert (len(head), len(tail), gap) == (1000, 5000, total - 6000)


def test_short_output_is_split_without_loss(tmp_path):
    """An output that fits the limit comes whole; a longer one that is all on disk loses only its middle."""
    run(tmp_path / "call", callkit.spec("bare", tmp_path, "/bin/sh", "-c", "printf 0123456789")[0])
    assert client.read_output(str(tmp_path / "call"), 10) == (b"0123456789", 0, b"")
    assert client.read_output(str(tmp_path / "call"), 4) == (b"01", 6, b"89")


def test_full_disk_does_not_stop_the_call(tmp_path):
    """When the head cannot be written the call goes on, and the loss is named and counted."""
    (tmp_path / "call").mkdir()
    (tmp_path / "call" / "out").symlink_to("/dev/full")
    ended = run(tmp_path / "call", callkit.agent("bare", tmp_path, "flood", 1, tail_bytes=100)[0])
    assert ended.exit_code == 0
    assert "No space left" in ended.write_error
    kept = (tmp_path / "call" / "out-tail").stat().st_size
    assert ended.dropped_bytes == ended.bytes_out - kept == (1 << 20) + 7 - kept


@levels
def test_follow_shows_output_while_the_call_lives(tmp_path, level):
    """New bytes can be read before the end, each once."""
    call = client.start_call(str(tmp_path / "call"), callkit.agent(level, tmp_path, "hang")[0])
    assert callkit.ready(call.folder)
    assert client.read_new_output(call) == b"ready\n"
    assert client.read_new_output(call) == b""
    client.kill(call)
    assert client.wait(call).ended == "killed"


@levels
def test_stop_gives_the_main_process_its_grace(tmp_path, level):
    """Stop sends TERM to the main process, in the box too, and its own ending is kept."""
    call = client.start_call(
        str(tmp_path / "call"), callkit.agent(level, tmp_path, "polite", grace_seconds=30)[0]
    )
    assert callkit.ready(call.folder)
    began = time.monotonic()
    client.stop(call)
    ended = client.wait(call)
    assert (ended.ended, ended.exit_code) == ("stopped", 5)
    assert client.read_output(call.folder, 99)[0] == b"ready\nbye\n"
    assert time.monotonic() - began < 20


def test_poll_returns_only_those_that_ended(tmp_path):
    """Several calls are waited for at once, and a timeout returns nothing."""
    slow = client.start_call(str(tmp_path / "slow"), callkit.agent("bare", tmp_path, "hang")[0])
    quick = client.start_call(str(tmp_path / "quick"), callkit.spec("bare", tmp_path, "/bin/true")[0])
    assert client.poll([slow, quick], 10) == [quick]
    assert client.poll([slow, quick], 0.01) == []
    client.kill(slow)
    assert client.poll([slow, quick], 10) == [slow]


@levels
def test_call_outlives_the_thread_that_started_it(tmp_path, level):
    """A call belongs to its keeper, so the end of a starting thread does not kill it."""
    box = []
    spec, _ = callkit.agent(level, tmp_path, "polite")
    thread = threading.Thread(target=lambda: box.append(client.start_call(str(tmp_path / "call"), spec)))
    thread.start()
    thread.join()
    assert callkit.ready(box[0].folder)
    assert client.poll(box, 0.15) == []
    client.kill(box[0])
    client.wait(box[0])


def test_out_of_file_descriptors_is_a_setup_error(tmp_path):
    """No free descriptor gives a clear error with a next step, and leaks none."""
    spec, _ = callkit.spec("bare", tmp_path, "/bin/true")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    gc.collect()  # what earlier tests left would free numbers below the limit
    before = len(os.listdir("/proc/self/fd"))
    lowest_free = os.open("/dev/null", os.O_RDONLY)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        with pytest.raises(SetupError) as caught:
            client.start_call(str(tmp_path / "call"), spec)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert caught.value.code == "E-FILES"
    assert "open files" in str(caught.value)
    assert len(os.listdir("/proc/self/fd")) == before


def test_relative_command_is_our_bug(tmp_path):
    """Commands are resolved before they get here."""
    with pytest.raises(Bug):
        client.start_call(str(tmp_path), callkit.spec("bare", tmp_path, "true")[0])


def test_no_descriptor_is_left_after_a_call(tmp_path):
    """A runner that makes hundreds of calls does not run out of descriptors."""
    before = len(os.listdir("/proc/self/fd"))
    run(tmp_path / "call", callkit.spec("bare", tmp_path, "/bin/true")[0])
    assert len(os.listdir("/proc/self/fd")) == before


def test_child_gets_only_the_three_streams(tmp_path):
    """No descriptor of runner or keeper leaks into the call."""
    leak = os.dup2(0, 200, inheritable=True)
    try:
        run(tmp_path / "call", callkit.spec("bare", tmp_path, "/bin/sh", "-c", "echo /proc/$$/fd/*")[0])
    finally:
        os.close(leak)
    names = {Path(word).name for word in client.read_output(str(tmp_path / "call"), 999)[0].decode().split()}
    assert names == {"0", "1", "2", "3"}  # 3 is the shell's own look at the folder


def test_child_signals_are_at_their_defaults(tmp_path):
    """A runner that ignores SIGINT or SIGPIPE does not hand that down."""
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        run(tmp_path / "call", callkit.spec("bare", tmp_path, "/bin/grep", "SigIgn", "/proc/self/status")[0])
    finally:
        signal.signal(signal.SIGINT, old)
    ignored = int(client.read_output(str(tmp_path / "call"), 99)[0].split()[1], 16)
    assert ignored & 0x7FFFFFFF == 0  # 32 and 33 belong to the C library


def test_keeper_imports_almost_nothing():
    """The keeper starts once per call, so it must not pull in json, re, enum, subprocess or msgspec."""
    code = "import sys; sys.path.append(sys.argv[1]); import ralph.shell.process.keeper; print(*sys.modules)"
    src = str(Path(client.__file__).parents[3])
    done = subprocess.run([PYTHON, "-I", "-S", "-c", code, src], capture_output=True, text=True, check=True)
    heavy = {
        "json",
        "re",
        "enum",
        "subprocess",
        "signal",
        "msgspec",
        "ctypes",
        "threading",
        "contextlib",
        "typing",
    }
    assert not heavy & set(done.stdout.split())
    assert sys.version_info >= (3, 11)


@levels
def test_a_stopped_keeper_is_told_to_go_on(tmp_path, level):
    """An agent that stops its keeper gains nothing: the runner has a clock of its own, and awakes it."""
    spec, _ = callkit.spec(level, tmp_path, "/bin/sh", "-c", "sleep 1; echo done")
    call = client.start_call(str(tmp_path / "call"), spec)
    time.sleep(0.3)
    os.kill(call.keeper_pid, signal.SIGSTOP)
    began = time.monotonic()
    while call.ended is None:
        client.poll([call], 0.1)
    assert time.monotonic() - began < 20
    assert (call.ended.ended, call.ended.exit_code, call.ended.survivors) == ("exited", 0, 0)


def test_a_keeper_that_is_stopped_again_and_again_is_given_up(tmp_path):
    """Then its call is lost, and its whole tree with it."""
    spec, _ = callkit.spec("bare", tmp_path, "/bin/sh", "-c", "sleep 60")
    call = client.start_call(str(tmp_path / "call"), spec)
    time.sleep(0.2)
    call.awakened = client.MAX_AWAKENED
    os.kill(call.keeper_pid, signal.SIGSTOP)
    client.wait(call)
    assert call.ended is not None
    assert (call.ended.ended, call.ended.survivors) == ("keeper-lost", 0)


def test_a_keeper_far_past_its_time_is_given_up(tmp_path, monkeypatch):
    """Whatever it is doing: a deadline that only the keeper held would be none."""
    monkeypatch.setattr(client, "LAST_SECONDS", 0.5)
    spec, _ = callkit.spec("bare", tmp_path, "/bin/sh", "-c", "sleep 60", wall_seconds=600)
    call = client.start_call(str(tmp_path / "call"), spec)
    call.due = time.monotonic()
    client.wait(call)
    assert call.ended is not None
    assert (call.ended.ended, call.ended.survivors) == ("keeper-lost", 0)


def test_few_open_files_are_enough(tmp_path):
    """A limit of 64 open files, which some systems have by default for services, does not break a call."""
    script = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from pathlib import Path\nfrom hostile import callkit\nfrom ralph.shell.process import client\n"
        f"spec, _ = callkit.spec('bare', Path({str(tmp_path)!r}), '/bin/sh', '-c', 'exit 3')\n"
        f"print(client.wait(client.start_call({str(tmp_path / 'call')!r}, spec)).exit_code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")
