"""The keeper: a small process that owns one call of an agent or a gate, from its start to an empty tree.

Forked by the runner's `fork_server`, or started by itself as `python -I -S -c START <path of ralph> <call
directory>/spec.json`. It imports almost nothing, so that it is up quickly and stays small. It reads the
call's environment from its stdin (secrets never reach the disk), then commands: `stop`, `kill`; end of file
there means that the runner died. SIGTERM means `stop` too.
How a box is built lives in `bubblewrap`, the start in `keeper_start`, output in `output`, the runner's side
in `client`.
"""

from __future__ import annotations

# ruff: noqa: SIM105 - contextlib would cost as much as the rest of the keeper
import _signal  # type: ignore[import-not-found]
import fcntl
import os
import select
import sys

from ralph.clock import SystemClock
from ralph.shell.process import tree
from ralph.shell.process.keeper_start import (
    KeptCall,
    dumps,
    loads,
    oom_kills,
    read_environment,
    set_limits,
    start,
    write_file,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EMPTY_SECONDS = 10.0  # how long a killed tree may take to vanish before survivors are reported
IDLE_CPU_SHARE = 0.02  # less of one core than this is no progress: event loops of hung programs tick too
MEMORY_SAMPLE_SECONDS = 0.25
LOOK_SECONDS = 1.0  # between two looks at whether somebody stopped the call or us
FROZEN_SLACK = 1.0  # a look may be this late: the machine was busy
FROZEN_SHARE = 0.05  # of the time that a call has: frozen for less, it had its time


def release_box(call: KeptCall) -> None:
    """Take a handle on the pid that bwrap told us, set what is left, and let the box go on."""
    call.init_pid = int(loads(call.status.split(b"\n")[0].decode())["child-pid"])
    try:
        call.init_pidfd = os.pidfd_open(call.init_pid)
        call.note_process("init", call.init_pid)
        set_limits(call.init_pid, call.spec["rlimits"], late=True)
    except (OSError, ValueError):
        pass  # the box died already, or may not be limited; the wait status tells the rest
    try:
        os.write(call.block_fd, b"g")
    except OSError:
        pass
    os.close(call.block_fd)


def read_status(call: KeptCall) -> bool:
    """Take what bwrap says; False at end of file."""
    data = os.read(call.status_fd, 4096)
    call.status += data
    if call.init_pid == 0 and b"\n" in call.status:
        release_box(call)
    return bool(data)


def main_process(call: KeptCall) -> tree.Proc | None:
    """The command itself: our child, or inside a box the oldest child of its pid 1."""
    if not call.boxed:
        return tree.read_process(call.pid)
    inside = [p for p in tree.list_processes().values() if p.parent == call.init_pid != 0]
    return min(inside, key=lambda p: (p.start, p.pid), default=None)


def wait_readable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(int(seconds * 1000)))


def begin_stop(call: KeptCall, why: str) -> None:
    """First rung of the ladder: TERM to the main process, and awake it if it is stopped."""
    if call.ended or wait_readable(call.pidfd, 0):
        return  # it is over already: its own ending stands
    call.ended = why
    call.kill_at = SystemClock().monotonic() + call.spec["grace_seconds"]
    main = main_process(call)
    if main is None:
        call.kill_at = SystemClock().monotonic()
        return
    tree.send(main.pid, main.start, _signal.SIGTERM)
    tree.send(main.pid, main.start, _signal.SIGCONT)


def obey(call: KeptCall, words: bytes) -> bool:
    """Act on the runner's words; False when it is gone and nothing more will come."""
    if not words:
        if not call.spec["outlive"]:
            call.ended = call.ended or "runner-lost"
            call.kill_at = SystemClock().monotonic()
        return False
    if b"kill" in words:
        call.ended = call.ended or "killed"
        call.kill_at = SystemClock().monotonic()
    elif b"stop" in words:
        begin_stop(call, "stopped")
    return True


def check_clocks(call: KeptCall) -> float:
    """Act on what is due; the time of the next look. Monotonic: clock jumps and suspend do not count."""
    now = SystemClock().monotonic()
    if call.kill_at is not None:
        return call.kill_at
    look = check_frozen(call, now)
    wall: float = call.began + call.spec["wall_seconds"]
    if now >= wall:
        # What is stopped at the very end may be why there was none.
        call.frozen += call.spec["wall_seconds"] if box_stopped(call) else 0
        call.dozed += call.spec["wall_seconds"] if dozes(call) else 0
        begin_stop(call, "timeout")
        return call.kill_at or now
    return min(wall, look, check_idle(call, now), check_memory(call, now))


def check_frozen(call: KeptCall, now: float) -> float:
    """Count the time in which nothing could go on, so that a timeout can be told from a hang.

    Nobody in a box can stop bwrap or us. The command may have stopped itself: that is counted apart.
    """
    step = min(LOOK_SECONDS, call.spec["wall_seconds"] / 10)
    late = now - call.looked - step
    call.looked = now
    if late > FROZEN_SLACK:
        call.frozen += late
    if now < call.next_look:
        return call.next_look
    call.next_look = now + step
    call.frozen += step if box_stopped(call) else 0
    if now >= call.next_scan:  # all of /proc is read for this, so not at every look
        scan = call.spec["wall_seconds"] * FROZEN_SHARE
        call.next_scan = now + scan
        call.dozed += scan if dozes(call) else 0
    return call.next_look


def box_stopped(call: KeptCall) -> bool:
    return call.boxed and any(tree.is_stopped(pid) for pid in (call.pid, call.init_pid) if pid)


def dozes(call: KeptCall) -> bool:
    """Is any process of the command stopped?"""
    box = (call.pid, call.init_pid) if call.boxed else ()
    below = tree.descendants(os.getpid())
    return any(proc.state == "T" and proc.pid not in box for proc in below)


def check_idle(call: KeptCall, now: float) -> float:
    """Idle = no output and no CPU progress of the whole tree; /proc is read only in the second half."""
    idle = call.spec["idle_seconds"]
    if not idle:
        return float("inf")
    quiet_since = call.stream.last
    if now < quiet_since + idle / 2:
        call.cpu_mark = None
        return float(quiet_since + idle / 2)
    if call.cpu_mark is not None and now < call.cpu_mark[0] + idle / 2:
        return float(call.cpu_mark[0] + idle / 2)
    ticks = sum(p.ticks for p in tree.descendants(os.getpid()))
    if call.cpu_mark is not None:
        share = (ticks - call.cpu_mark[1]) / tree.TICKS / (now - call.cpu_mark[0])
        if 0 <= share < IDLE_CPU_SHARE:  # below zero: a process ended, and that is progress
            begin_stop(call, "idle")
            return call.kill_at or now
    call.cpu_mark = (now, ticks)
    return float(now + idle / 2)


def check_memory(call: KeptCall, now: float) -> float:
    """Where no cgroup can hold the limit, the keeper watches the tree's resident memory instead."""
    limit = call.spec["watch_memory_bytes"]
    if not limit:
        return float("inf")
    if not call.next_memory:  # a call that has just begun holds nothing yet, and a look reads all of /proc
        call.next_memory = now + MEMORY_SAMPLE_SECONDS
    elif now >= call.next_memory:
        call.next_memory = now + MEMORY_SAMPLE_SECONDS
        used = sum(p.rss for p in tree.descendants(os.getpid()))
        call.peak_rss_kb = max(call.peak_rss_kb or 0, used // 1024)
        if used > limit:
            call.ended = "memory"
            call.kill_at = now
            return now
    return call.next_memory


def watch(call: KeptCall) -> None:
    """Pump output, obey, keep the clocks, until the main process ended or the kill is due."""
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    _signal.set_wakeup_fd(wake_write)  # else poll would sleep on after a handled signal
    _signal.signal(_signal.SIGTERM, lambda *_: begin_stop(call, "stopped"))
    poll = select.poll()
    output = call.stream.read_fd
    for fd in (0, wake_read, call.pidfd, output, *((call.status_fd,) if call.boxed else ())):
        poll.register(fd, select.POLLIN)
    while True:
        due = check_clocks(call)
        now = SystemClock().monotonic()
        if call.kill_at is not None and now >= call.kill_at:
            return
        wait = None if due == float("inf") else max(0, min(int((due - now) * 1000) + 1, 3_600_000))
        for fd, _ in poll.poll(wait):
            if fd == output:
                if not call.stream.pump():
                    poll.unregister(fd)
            elif fd == 0:
                if not obey(call, os.read(0, 4096)):
                    poll.unregister(0)
            elif fd == wake_read:
                os.read(fd, 64)
            elif fd == call.status_fd:
                if not read_status(call):
                    poll.unregister(fd)
            else:
                call.ended = call.ended or "exited"
                return


def sweep_below(call: KeptCall) -> None:
    keeper = os.getpid()
    call.survivors = tree.sweep(lambda: tree.descendants(keeper), EMPTY_SECONDS)


def empty_box(call: KeptCall) -> None:
    """Kill the box's pid 1. The kernel ends it only after every process in it: its end proves emptiness."""
    clock = SystemClock()
    deadline = clock.monotonic() + EMPTY_SECONDS
    while call.init_pid == 0 and wait_readable(call.status_fd, max(0.0, deadline - clock.monotonic())):
        if not read_status(call):
            return  # bwrap ended before it had a child
    if call.init_pidfd < 0:  # stuck in setting up: no namespace to rely on yet
        sweep_below(call)
        return
    kill_pidfd(call.init_pidfd)
    call.survivors = 0 if wait_readable(call.init_pidfd, EMPTY_SECONDS) else 1


def empty_group(call: KeptCall, path: str) -> None:
    """One write kills all in the group; what may have left it is the sweep's. Its memory peak is kept."""
    try:
        fd = os.open(path + "/cgroup.kill", os.O_WRONLY)
        os.write(fd, b"1")
        os.close(fd)
    except OSError:
        pass
    peak = (tree.read_bytes(path + "/memory.peak") or b"").strip()
    if peak.isdigit():
        call.peak_rss_kb = int(peak) // 1024
    counts = (tree.read_bytes(path + "/memory.events") or b"").split()
    call.past_memory = b"oom" in counts and counts[counts.index(b"oom") + 1] != b"0"


def empty_tree(call: KeptCall) -> None:
    """Last rung: kill everything and wait until the tree is empty, and know it."""
    if call.boxed:
        empty_box(call)
    if call.spec["cgroup"]:
        empty_group(call, call.spec["cgroup"])
    if not call.boxed:
        sweep_below(call)
    kill_pidfd(call.pidfd)
    _, call.wait_status, usage = os.wait4(call.pid, 0)
    call.outside = call.ended == "exited" and box_was_killed(call)
    if not call.boxed:  # bwrap leaves before it has collected what ran in the box
        call.peak_rss_kb = max(call.peak_rss_kb or 0, usage.ru_maxrss)
    if not call.boxed:
        deadline = SystemClock().monotonic() + EMPTY_SECONDS
        while tree.reap() and SystemClock().monotonic() < deadline:
            sweep_below(call)  # orphans come to us: while we have a child, the tree is not empty
        call.survivors += tree.sweep(lambda: tree.find_marked(call.spec["marker"]), EMPTY_SECONDS)


def box_was_killed(call: KeptCall) -> bool:
    """Did somebody outside end the box? Nobody in it can reach bwrap, nor end the box's pid 1.

    A box whose command ended tells bwrap so, bwrap leaves, and its pid 1 comes to us. When pid 1 was killed,
    bwrap has collected it: there is nothing left for us to wait for.
    """
    if not call.boxed:
        return False
    if os.waitstatus_to_exitcode(call.wait_status) < 0:
        return True
    if call.init_pid == 0:
        return False
    try:
        os.waitpid(call.init_pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def kill_pidfd(pidfd: int) -> None:
    try:
        _signal.pidfd_send_signal(pidfd, _signal.SIGKILL)
    except OSError:
        pass


def result(call: KeptCall) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(call.wait_status)
    exit_code: int | None = code if code >= 0 else None
    number: int | None = -code if code < 0 else None
    if call.boxed and call.status_fd >= 0:
        while read_status(call):
            pass
        ran = b"exit-code" in call.status
        if call.ended == "exited" and not ran and number is None:
            # bwrap itself failed, or could not execute the command: its own words are in the output.
            call.ended = "spawn-error"
            call.error = call.stream.last_words() or "the box could not be set up"
        if ran and 128 < code < 193:
            exit_code, number = None, code - 128  # bwrap passes signals on the way a shell does
    if call.ended == "spawn-error":
        exit_code = number = None
    if call.ended == "exited" and number == _signal.SIGKILL:
        if call.past_memory:  # the limit of its own group, which nobody else can pass
            call.ended, call.outside = "memory", False
        elif oom_kills() > call.oom_kills:
            call.outside, call.error = True, "this machine ran out of memory"
    return {
        "v": 1,
        "ended": call.ended,
        "exit_code": exit_code,
        "signal": number,
        "error": call.error,
        "seconds": round(SystemClock().monotonic() - call.began, 4),
        "bytes_out": call.stream.total,
        "dropped_bytes": call.stream.dropped,
        "write_error": call.stream.error,
        "peak_rss_kb": call.peak_rss_kb,
        "method": call.spec["method"],
        "survivors": call.survivors,
        "outside": call.outside,
        "frozen": is_long(call, call.frozen),
        "dozed": is_long(call, call.dozed),
    }


def is_long(call: KeptCall, seconds: float) -> bool:
    wall: float = call.spec["wall_seconds"]
    return seconds >= max(FROZEN_SHARE * wall, min(FROZEN_SLACK, wall / 2))


def keep(folder: str) -> int:
    """Own the call in `folder`: once only, by a kernel lock that dies with us."""
    os.closerange(3, 65536)  # whatever the runner's own parents left open is not for the call
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return 75
    if os.path.exists(os.path.join(folder, "result.json")):
        return 75
    env = read_environment()
    spec = loads((tree.read_bytes(os.path.join(folder, "spec.json")) or b"").decode())
    if env is None:
        return 76
    name, _, value = spec["marker"].partition("=")
    call = KeptCall(folder, spec, {**env, name: value})
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGQUIT, _signal.SIGPIPE):
        _signal.signal(number, _signal.SIG_IGN)
    start(call)
    if not call.ended:
        watch(call)
    empty_tree(call)
    call.stream.finish()
    line = dumps(result(call))
    try:
        write_file(os.path.join(folder, "result.json"), line, durable=True)
    finally:
        try:
            os.write(1, line.encode() + b"\n")
        except OSError:
            pass  # the runner is gone; the file is what counts
    return 0


def main() -> None:
    os._exit(keep(os.path.dirname(os.path.abspath(sys.argv[-1]))))  # nothing to tidy: save the milliseconds
