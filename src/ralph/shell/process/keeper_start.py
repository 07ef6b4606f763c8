"""The keeper's first half: the call it owns, its files, and the way from fork to exec.

Only the keeper uses this; it is a module of its own to stay readable. `_json` stands in for `json`,
whose import alone would cost as much as the interpreter. What happens after the start is `keeper`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import fcntl
import os
from _json import encode_basestring_ascii, make_scanner

from ralph.clock import SystemClock
from ralph.shell.process import tree
from ralph.shell.process.output import Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATUS_FD, BLOCK_FD, ARGS_FD = 3, 4, 5  # where bwrap finds its three pipes; `bubblewrap` writes these numbers
PR_SET_CHILD_SUBREAPER = 36


class _JsonText:
    """What the C scanner wants to know."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = None


def loads(text: str) -> Any:
    return make_scanner(_JsonText)(text.strip(), 0)[0]  # type: ignore[arg-type]


def dumps(flat: dict[str, Any]) -> str:
    """A flat object of strings, numbers, booleans and nothing."""
    words = {None: "null", True: "true", False: "false"}
    parts = []
    for key, value in flat.items():
        plain = words[value] if value is None or isinstance(value, bool) else repr(value)
        text = encode_basestring_ascii(value) if isinstance(value, str) else plain
        parts.append(f"{encode_basestring_ascii(key)}: {text}")
    return "{" + ", ".join(parts) + "}"


def write_file(path: str, text: str, *, durable: bool) -> None:
    """Whole or not at all: temporary file, fsync when it must survive power loss, rename."""
    fd = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        data = text.encode() + b"\n"
        while data:
            data = data[os.write(fd, data) :]
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)
    os.rename(path + ".tmp", path)
    if durable:
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class KeptCall:
    """The one call this process owns."""

    def __init__(self, folder: str, spec: dict[str, Any], env: dict[str, str]) -> None:
        self.folder = folder
        self.spec = spec
        self.env = env
        self.boxed = spec["method"] == "pidns"
        self.began = SystemClock().monotonic()
        self.stream: Stream
        self.pid = 0
        self.pidfd = -1
        self.init_pidfd = -1  # the box's pid 1, once bwrap has told us
        self.init_pid = 0
        self.status_fd = -1
        self.block_fd = -1
        self.status = b""
        self.ended = ""  # why; the first reason stands
        self.error = ""
        self.kill_at: float | None = None
        self.cpu_mark: tuple[float, int] | None = None
        self.next_memory = 0.0
        self.wait_status = 0
        self.looked = self.began  # when the clocks were last looked at
        self.next_look = 0.0  # when to see whether somebody has stopped it
        self.frozen = 0.0  # seconds in which we, or the box itself, could not go on
        self.dozed = 0.0  # seconds in which the command was stopped, by whomever
        self.next_scan = self.began + spec["wall_seconds"] / 20
        self.outside = False  # ended by somebody outside of the call
        self.oom_kills = 0
        self.past_memory = False  # it was at the memory limit of its own group
        self.peak_rss_kb: int | None = None
        self.survivors = 0
        self.record: dict[str, Any] = {"v": 1, "boot_id": tree.boot_id(), "marker": spec["marker"]}
        self.note_process("keeper", os.getpid())

    def note_process(self, who: str, pid: int) -> None:
        """Put (pid, start time) on disk, so that recovery can tell this process from a later one."""
        found = tree.read_process(pid)
        self.record[f"{who}_pid"] = pid
        self.record[f"{who}_start"] = found.start if found else 0
        write_file(os.path.join(self.folder, "keeper.json"), dumps(self.record), durable=False)


def start(call: KeptCall) -> None:
    """Fork from the main (only) thread; the child waits until its identity is on disk, then executes."""
    become_subreaper()
    call.oom_kills = oom_kills()
    call.stream = Stream(call.folder, "out", call.spec["head_bytes"], call.spec["tail_bytes"])
    go_read, go_write = os.pipe()
    fail_read, fail_write = os.pipe()
    wanted: dict[int, int] = {}
    if call.boxed:
        call.status_fd, wanted[STATUS_FD] = os.pipe()
        wanted[BLOCK_FD], call.block_fd = os.pipe()
        wanted[ARGS_FD] = os.memfd_create("args")
        os.write(wanted[ARGS_FD], "\0".join([*call.spec["box_args"], ""]).encode("utf-8", "surrogateescape"))
        os.lseek(wanted[ARGS_FD], 0, os.SEEK_SET)
    call.pid = os.fork()
    if call.pid == 0:
        os.close(go_write)
        run_child(call, wanted, go_read, fail_write)
    call.pidfd = os.pidfd_open(call.pid)
    for fd in (go_read, fail_write, *wanted.values(), call.stream.write_fd):
        os.close(fd)
    call.note_process("child", call.pid)
    os.write(go_write, b"g")
    os.close(go_write)
    call.error = os.read(fail_read, 4096).decode("utf-8", "replace")
    os.close(fail_read)
    if call.error:
        call.ended = "spawn-error"


def run_child(call: KeptCall, wanted: dict[int, int], go_read: int, fail_write: int) -> None:
    """Between fork and exec: session, streams, limits, cgroup. Never returns."""
    spec = call.spec
    try:
        if os.read(go_read, 1) != b"g":
            os._exit(127)
        os.setsid()
        stdin = _seal_input(os.open(spec["stdin"], os.O_RDONLY))
        sources = {0: stdin, 1: call.stream.write_fd, 2: call.stream.write_fd, **wanted}
        # Lift all sources above the wanted numbers first, or one dup2 could overwrite the next source.
        above = max(sources) + 1  # not far above: the limit of open files may be low
        lifted = {to: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, above) for to, fd in sources.items()}
        fail_write = fcntl.fcntl(fail_write, fcntl.F_DUPFD_CLOEXEC, above)
        for to, fd in lifted.items():
            os.dup2(fd, to, inheritable=True)  # everything else closes itself: Python opens files that way
        if spec["cgroup"]:
            join_cgroup(spec["cgroup"])
        if spec["rlimits"]:
            set_limits(0, spec["rlimits"], late=False)
        for name in ("PIPE", "XFSZ", "INT", "TERM", "HUP", "QUIT"):  # Python ignores the first two
            _signal.signal(getattr(_signal, "SIG" + name), _signal.SIG_DFL)
        if spec["other_user"]:
            from ralph.shell.process.other_user import become_other_user

            become_other_user(spec["other_user"])
        os.chdir(spec["cwd"])
        os.execve(spec["argv"][0], spec["argv"], call.env)  # noqa: S606
    except OSError as error:
        where = error.filename or spec["argv"][0]
        os.write(fail_write, f"{where}: {error.strerror}".encode("utf-8", "replace"))
    except BaseException as error:  # noqa: BLE001 - nothing may fall through into the parent's code
        os.write(fail_write, repr(error).encode("utf-8", "replace"))
    os._exit(127)


def _seal_input(stdin: int) -> int:
    """A file as one in memory that nobody can write: through /proc a call could open the file itself anew."""
    if not (size := os.fstat(stdin).st_size):
        return stdin
    memory = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    while os.sendfile(memory, stdin, None, size):
        pass
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return os.open(f"/proc/self/fd/{memory}", os.O_RDONLY)


def oom_kills() -> int:
    """How often this machine has killed a process for want of memory, since it was started."""
    lines = (tree.read_bytes("/proc/vmstat") or b"").split(b"\n")
    found = [line.split()[1] for line in lines if line.startswith(b"oom_kill ")]
    return int(found[0]) if found else 0


def become_subreaper() -> None:
    """Orphans of the tree become our children, so that "no child left" means "tree empty".

    Of a box, it is its pid 1 that comes to us, if it outlives bwrap: `keeper.box_was_killed` goes by that.
    """
    import _ctypes  # the whole of `ctypes` would cost as much as the rest of the keeper

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    if _ctypes.call_function(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) != 0:
        raise OSError("prctl: PR_SET_CHILD_SUBREAPER")


def join_cgroup(path: str) -> None:
    try:
        fd = os.open(path + "/cgroup.procs", os.O_WRONLY)
        os.write(fd, b"0")
        os.close(fd)
    except OSError:
        return  # the sweep or the PID namespace does the work; the result names only what was used


def set_limits(pid: int, limits: dict[str, int], *, late: bool) -> None:
    """`nproc` counts per user namespace, so a boxed call gets it late, when its own namespace stands."""
    import resource

    for name, value in limits.items():
        if (name == "nproc") == late:
            number = getattr(resource, "RLIMIT_" + name.upper())
            hard = resource.prlimit(pid, number)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)  # noqa: PLW2901
            resource.prlimit(pid, number, (value, value))


def read_environment() -> dict[str, str] | None:
    """The runner's first line on our stdin; None when it died before it sent the whole."""
    parts = b""
    while not parts.endswith(b"\n"):
        part = os.read(0, 1 << 16)
        if not part:
            return None
        parts += part
    return dict(loads(parts.decode()))
