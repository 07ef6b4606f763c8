"""The runner's side of a call: start a keeper, wait for ends, follow output, stop, recover after a crash.

One thread, no asyncio: the runner waits in `poll`. A call lives in a directory of its own (`spec.json`,
`keeper.json`, `out`, `out-tail`, `result.json`); whoever has the directory can tell what became of it.
What the keeper does lives in `keeper`; how argv for a box is made lives in `bubblewrap`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import errno
import fcntl
import json
import os
import select

import msgspec

from ralph.clock import SystemClock
from ralph.errors import Bug, SetupError, machine_error
from ralph.shell.process import cgroup, tree
from ralph.shell.process.call_spec import CallSpec, Ended, Recovered
from ralph.shell.process.fork_client import ForkClient, Streams, start_alone
from ralph.shell.process.output import read_ends

__all__ = ["CallSpec", "Ended", "Recovered"]

MARKER = "INVOCATION_ID"  # a name services have anyway: it must not tell judged code that it is judged

LATE = 2.0  # seconds after which a keeper that somebody has stopped is not waited for any more
LAST_SECONDS = (
    60.0  # after the time by which a keeper must have told of an end: it is given up, whatever it does
)
LOOK_SECONDS = 0.5  # between two looks at a keeper
MAX_AWAKENED = 10  # times that a stopped keeper is told to go on; somebody means it, after that


class Call:
    """A living call: the pipes to its keeper. Not a value: it holds file descriptors."""

    def __init__(
        self,
        folder: str,
        keeper_pid: int,
        pipes: tuple[int, int],
        spec: CallSpec,
        marker: str,
        *,
        forked: bool,
    ) -> None:
        self.folder = folder
        self.keeper_pid = keeper_pid
        self.forked = forked
        self.control, self.report = pipes
        self.spec = spec
        self.marker = marker
        self.adopted = False  # another runner began it: its keeper is told by signals, and its end is seen
        self.offset = 0
        self.line = b""
        self.ended: Ended | None = None
        # A keeper that has not told of an end by then is stopped, if it is not just slow.
        self.due = SystemClock().monotonic() + spec.wall_seconds + spec.grace_seconds + LATE
        self.looked = 0.0
        self.awakened = 0


def start_call(folder: str, spec: CallSpec, fork_client: ForkClient | None = None) -> Call:
    """Spawn the keeper of one call in `folder`, detached from our terminal and streams."""
    if not os.path.isabs(spec.argv[0]):
        raise Bug(f'argv[0] "{spec.argv[0]}" is not an absolute path', at=folder)
    marker = f"{MARKER}={os.urandom(16).hex()}"
    words = msgspec.structs.asdict(spec)
    del words["env"]
    words["marker"] = marker
    opened: list[int] = []
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _write(os.path.join(folder, "spec.json"), json.dumps(words))
        control_read, control = _pipe(opened)
        report, report_write = _pipe(opened)
        null = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        opened.append(null)
        streams = Streams(control_read, report_write, null)
        pid = fork_client.keeper(folder, streams) if fork_client else start_alone(folder, streams)
    except OSError as error:
        for fd in opened:
            os.close(fd)
        raise _cannot_start(error, folder) from error
    for fd in (control_read, report_write, null):
        os.close(fd)
    call = Call(folder, pid, (control, report), spec, marker, forked=fork_client is not None)
    _say(call, (json.dumps(spec.env) + "\n").encode())
    return call


def _pipe(opened: list[int]) -> tuple[int, int]:
    ends = os.pipe()
    opened.extend(ends)
    return ends


def _cannot_start(error: OSError, folder: str) -> SetupError:
    lacks = machine_error(error, folder)
    if lacks is not None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE):
        return lacks
    why, following = (lacks.what, lacks.next) if lacks else (str(error), "ralph doctor")
    return SetupError("cannot start a process", code="E-SPAWN", at=folder, why=why, next=following)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(text)


def _say(call: Call, words: bytes) -> None:
    """To the keeper; one that is gone already will be noticed by `poll`."""
    if call.adopted:
        _tell_keeper(call.folder, _signal.SIGTERM)  # it kills what does not end by that
        return
    try:
        while words:
            words = words[os.write(call.control, words) :]
    except OSError as error:
        if error.errno not in {errno.EPIPE, errno.EBADF}:
            raise


def stop(call: Call) -> None:
    """Ask for TERM, grace, kill. Returns at once; `poll` tells when the tree is empty."""
    _say(call, b"stop\n")
    call.due = min(call.due, SystemClock().monotonic() + call.spec.grace_seconds + LATE)


def kill(call: Call) -> None:
    """Ask for the kill without grace. Returns at once."""
    _say(call, b"kill\n")
    call.due = min(call.due, SystemClock().monotonic() + LATE)


def poll(calls: list[Call], timeout: float | None) -> list[Call]:
    """Wait for an end, at most `timeout` seconds; the calls that ended, `.ended` set, their trees empty."""
    waiting = {call.report: call for call in calls if call.ended is None}
    _look_after(list(waiting.values()))
    done: list[Call] = []
    if not waiting:
        return done
    poller = select.poll()
    for fd in waiting:
        poller.register(fd, select.POLLIN)
    deadline = None if timeout is None else SystemClock().monotonic() + timeout
    while not done:
        left = None if deadline is None else max(0, round((deadline - SystemClock().monotonic()) * 1000))
        ready = poller.poll(left)
        for fd, _ in ready:
            call = waiting[fd]
            data = b"" if call.adopted else os.read(fd, 1 << 16)
            call.line += data
            if not data or data.endswith(b"\n"):
                call.ended = _close(call)
                if call.spec.cgroup:
                    cgroup.remove(call.spec.cgroup)
                done.append(call)
        if not ready:
            break
    return done


def wait(call: Call) -> Ended:
    while call.ended is None:
        poll([call], LATE)
    return call.ended


def _look_after(calls: list[Call]) -> None:
    """The runner's own clock, beside the keeper's: a keeper that was stopped keeps none and hears no word.

    It is told to go on. When it is stopped again and again, or past its time, its call is lost and ends with
    it. So is one that has been past its time for long, whatever it is doing.
    """
    now = SystemClock().monotonic()
    for call in calls:
        if now - call.looked < LOOK_SECONDS:
            continue
        call.looked = now
        keeper = tree.read_process(call.keeper_pid)
        if keeper is None:
            continue
        stopped = keeper.state in "Tt"
        if stopped and now <= call.due and call.awakened < MAX_AWAKENED:
            call.awakened += 1
            tree.send(keeper.pid, keeper.start, _signal.SIGCONT)
        elif stopped or now > call.due + LAST_SECONDS:
            tree.send(keeper.pid, keeper.start, _signal.SIGKILL)


def _close(call: Call) -> Ended:
    """The keeper has spoken or is gone. Reap it, and believe only a whole result."""
    os.close(call.control)
    how = _reap_keeper(call)
    os.close(call.report)
    if call.line.endswith(b"\n"):
        return msgspec.json.decode(call.line, type=Ended)
    if (result := read_result(call.folder)) is not None:
        return result
    survivors = _empty(call.folder, call.marker)
    error = f"the keeper ended {how}"
    return Ended(ended="keeper-lost", error=error, method=call.spec.method, survivors=survivors)


def _reap_keeper(call: Call) -> str:
    """Wait until the keeper is gone; the words for how it went. A forked one is not our child.

    It has nothing left to do: if it does not go by itself, it was stopped, and is ended.
    """
    if call.adopted:
        return "without a word"
    poller = select.poll()
    poller.register(call.report, select.POLLIN)
    keeper = tree.read_process(call.keeper_pid)
    while poller.poll(LATE * 1000):
        if not os.read(call.report, 1 << 16):
            break
    else:
        if keeper is not None:
            tree.send(keeper.pid, keeper.start, _signal.SIGKILL)
    if call.forked:
        return "without a word"
    code = os.waitstatus_to_exitcode(os.waitpid(call.keeper_pid, 0)[1])
    return f"by signal {-code}" if code < 0 else f"with code {code}"


def read_new_output(call: Call, limit: int = 1 << 20) -> bytes:
    """New bytes of the head since the last time, at most `limit`."""
    try:
        fd = os.open(os.path.join(call.folder, "out"), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        data = os.pread(fd, limit, call.offset)
    finally:
        os.close(fd)
    call.offset += len(data)
    return data


def read_output(folder: str, limit: int) -> tuple[bytes, int, bytes]:
    """Head, number of bytes left out between, tail; at most `limit` bytes together, half for each end."""
    result = read_result(folder)
    return read_ends(os.path.join(folder, "out"), limit, (result.dropped_bytes or 0) if result else 0)


def read_result(folder: str) -> Ended | None:
    """The result on disk, or None when there is none that is whole."""
    data = tree.read_bytes(os.path.join(folder, "result.json"))
    try:
        return msgspec.json.decode(data, type=Ended) if data else None
    except msgspec.DecodeError:
        return None


def recover_call(folder: str, *, adopt: bool = False, patience: float = 15.0) -> Recovered:
    """After a crash of the runner: what became of the call in `folder`? Its tree is empty on return.

    With `adopt`, a call that outlives its runner is left alone and reported `alive`.
    """
    deadline = SystemClock().monotonic() + patience
    while True:
        result = read_result(folder)
        if result is not None:
            _drop_group(folder)
            return Recovered(state="finished", ended=result, survivors=result.survivors or 0)
        if not _is_locked(folder):
            break
        if adopt:
            return Recovered(state="alive")
        _tell_keeper(folder, _signal.SIGKILL if SystemClock().monotonic() > deadline else _signal.SIGTERM)
        SystemClock().sleep(0.01)
    if not os.path.exists(os.path.join(folder, "keeper.json")):
        return Recovered(state="never-started")
    survivors = _empty(folder, _spec_word(folder, "marker"))
    _drop_group(folder)
    return Recovered(state="interrupted", survivors=survivors)


def outlives(folder: str) -> bool:
    """Was the call in this folder to go on when its runner dies?"""
    return _spec_word(folder, "outlive") == "True"


def adopt_call(folder: str) -> Call | None:
    """A call that outlives the runner which began it, taken over at work; None when it is at work no more."""
    for pid, start in _known_processes(folder, "keeper"):
        try:
            ends = os.pidfd_open(pid)  # readable when the keeper is gone
        except OSError:
            return None
        seen = tree.read_process(pid)
        if seen is None or seen.start != start or seen.state in tree.DEAD_STATES:
            os.close(ends)
            return None
        words = json.loads(tree.read_bytes(os.path.join(folder, "spec.json")) or b"{}")
        marker = words.pop("marker", "")
        spec = msgspec.convert({**words, "env": {}}, CallSpec)
        null = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        call = Call(folder, pid, (null, ends), spec, marker, forked=True)
        call.adopted = True
        return call
    return None


def _drop_group(folder: str) -> None:
    if path := _spec_word(folder, "cgroup"):
        cgroup.remove(path)


def _is_locked(folder: str) -> bool:
    """True while a keeper holds the call's lock."""
    try:
        fd = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _record(folder: str) -> dict[str, object]:
    data = tree.read_bytes(os.path.join(folder, "keeper.json"))
    try:
        record = json.loads(data) if data else {}
    except ValueError:
        record = {}
    # Pids and start times of another boot name other processes.
    return record if record.get("boot_id") == tree.boot_id() else {}


def _spec_word(folder: str, word: str) -> str:
    data = tree.read_bytes(os.path.join(folder, "spec.json"))
    try:
        return str((json.loads(data) if data else {}).get(word) or "")
    except ValueError:
        return ""


def _known_processes(folder: str, *who: str) -> list[tuple[int, int]]:
    record = _record(folder)
    pairs = ((record.get(f"{name}_pid"), record.get(f"{name}_start")) for name in who)
    return [(pid, start) for pid, start in pairs if isinstance(pid, int) and isinstance(start, int)]


def _tell_keeper(folder: str, number: int) -> None:
    for pid, start in _known_processes(folder, "keeper"):
        tree.send(pid, start, number)


def _empty(folder: str, marker: str) -> int:
    """Kill what a dead keeper left: its box, cgroup, child's tree, and whatever carries the marker."""
    path = _spec_word(folder, "cgroup")
    if path:
        cgroup.kill(path)
    known = _known_processes(folder, "init", "child")

    def find() -> list[tree.Proc]:
        found = {p.pid: p for p in tree.find_marked(marker)} if marker else {}
        for pid, start in known:
            root = tree.read_process(pid)
            if root and root.start == start:
                found.update({p.pid: p for p in (root, *tree.descendants(pid))})
        return [p for p in found.values() if p.state not in tree.DEAD_STATES]

    return tree.sweep(find, 10.0, looks=3)
