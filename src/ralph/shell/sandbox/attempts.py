"""The attempts of `ralph doctor --attack`: what somebody in a box would try, as a table.

Each row is a name, what it would mean if it worked, and Python that must fail inside. The Python runs with
the names that `attack` gives it (`home`, `outside`, `secret` …) and the helpers at the top of its script. A
row in NETWORK is expected to work in an agent's box that has the network of the machine. Files that were
changed outside are looked for afterwards, whatever the box itself said.
"""

from __future__ import annotations

from typing import NamedTuple


class BoxAttempt(NamedTuple):
    name: str
    group: str
    words: str
    code: str


def _rows(group: str, *rows: tuple[str, str, str]) -> tuple[BoxAttempt, ...]:
    return tuple(BoxAttempt(name, group, words, code) for name, words, code in rows)


_FILES = _rows(
    "files",
    ("write-outside", "write beside the workspace", "write(outside + '/new')"),
    ("write-etc", "write system configuration", "unnamed('/etc')"),
    ("write-usr", "replace programs", "unnamed('/usr/bin')"),
    ("write-tmp", "write the machine's own /tmp", "write(tmp + '/new')"),
    ("read-tmp", "read other programs' files in /tmp", "read(tmp + '/file')"),
    ("read-secret", "read a file beside the workspace", "read(secret)"),
    ("symlink-out", "write through a link out of the workspace", "through_link(outside)"),
    ("hardlink-out", "link a file of yours into the workspace", "os.link(secret, work + '/linked')"),
    ("dot-dot", "climb out by ..", "read(work + '/' + '../' * 30 + secret.lstrip('/'))"),
    ("proc-root", "climb out by /proc/1/root", "read('/proc/1/root' + secret)"),
    ("proc-cwd", "climb out by the folders of other processes", "read('/proc/%s/cwd/' % pid + secret)"),
    ("chroot", "leave by a second chroot", "second_root(); read(secret)"),
    ("make-device", "make a device", "os.mknod(work + '/disk', 0o60600, os.makedev(8, 0))"),
    ("open-disk", "read a disk itself", "open_device(stat.S_ISBLK)"),
    ("root-files", "read what only root may read", "root_only('/etc', '/opt')"),
    ("open-memory", "read the machine's memory", "read('/dev/mem')"),
)
_OWN = _rows(
    "your data",
    ("read-ssh", "read your SSH keys", "read(home + '/.ssh/id_ed25519')"),
    ("read-cloud", "read your cloud credentials", "read(home + '/.aws/credentials')"),
    ("read-netrc", "read your passwords for servers", "read(home + '/.netrc')"),
    ("read-history", "read your shell's history", "read(home + '/.bash_history')"),
    ("read-gnupg", "read your GnuPG keys", "read(home + '/.gnupg/secret')"),
    ("change-profile", "change your shell's profile", "write(home + '/.bashrc'); kept(home)"),
    ("read-shadow", "read password hashes", "read('/etc/shadow')"),
    ("read-host-keys", "read the machine's SSH keys", "read(first('/etc/ssh/*_key'))"),
    ("read-homes", "see other users' homes", "see_other(['/home', '/root', '/Users'])"),
    ("read-mail", "see other users' mail and jobs", "see_other(['/var/mail', '/var/spool'])"),
    ("read-mounts", "see other disks", "see_other(['/mnt', '/media', '/srv'])"),
)
_CLIS = _rows(
    "CLI folders",
    ("read-other-cli", "read another CLI's login", "read(home + '/.codex/auth.json')"),
    ("change-cli", "change a CLI's settings", "write(home + '/.claude/settings.json'); kept(home)"),
    ("read-gh", "read your token for a code host", "read(home + '/.config/gh/hosts.yml')"),
)
_RALPH = _rows(
    "Ralph",
    ("read-state", "read Ralph's journal and evidence", "read(state + '/journal.db')"),
    ("write-state", "change Ralph's journal", "write(state + '/journal.db'); kept(state)"),
    ("read-config", "read Ralph's configuration", "read(config + '/config.toml')"),
    ("write-config", "change Ralph's configuration", "write(config + '/config.toml'); kept(config)"),
    ("read-hidden", "read a hidden check", "read(hidden)"),
    ("write-hidden", "change a hidden check", "write(hidden); kept(hidden)"),
    ("read-real-repo", "read files of yours that are in no commit", "read(work + '/.env')"),
)
_SOCKETS = _rows(
    "sockets",
    ("unix-socket", "talk to a local service", "talk(socket.AF_UNIX, path)"),
    ("docker", "command Docker", "talk_any('/run/docker.sock', '/run/podman/podman.sock')"),
    ("ssh-agent", "use your SSH agent", "talk(socket.AF_UNIX, agent)"),
    (
        "dbus",
        "talk to the system's bus",
        "talk_any('/run/dbus/system_bus_socket', *found('/run/user/*/bus'))",
    ),
    ("display", "read your screen", "talk_any(*found('/tmp/.X11-unix/*'), *found('/run/user/*/wayland-*'))"),
    ("terminal", "type into your terminal", "os.close(os.open('/dev/tty', os.O_RDWR))"),
)
_KERNEL = _rows(
    "kernel",
    ("kernel-files", "change settings of the kernel", "kernel()"),
    ("kernel-again", "the same in namespaces of its own", "again(kernel)"),
    ("sysrq", "reboot by a file", "open_write('/proc/sysrq-trigger')"),
    ("core-pattern", "have the kernel start a program", "open_write('/proc/sys/kernel/core_pattern')"),
    ("mount", "mount a file system", "call('mount', b'none', work.encode(), b'tmpfs', 0, None)"),
    ("remount", "make the system writable", "call('mount', None, b'/usr', None, 0x20 | 0x1000, None)"),
    ("unmount", "uncover what is hidden", "call('umount2', b'/proc/sys', 2)"),
    ("join-namespace", "join the machine's own namespaces", "join('/proc/%s/ns/mnt' % pid)"),
    ("load-module", "load code into the kernel", "permitted('init_module', 0, 0, 0)"),
    ("reboot", "reboot", "permitted('reboot', 0)"),
    ("set-clock", "set the clock", "permitted('adjtimex', (ctypes.c_int * 52)(0x4000))"),
    ("swap", "turn swapping off", "permitted('swapoff', b'/nowhere')"),
    ("be-root", "be root to the kernel", "assert os.stat('/etc').st_uid == os.getuid() == 0"),
    ("capabilities", "use rights of root", "assert int(status('CapEff'), 16)"),
    ("gain-rights", "gain rights by a set-user-id program", "assert status('NoNewPrivs') == '0'"),
    ("become-other", "become another user", "os.setuid(os.getuid() + 4321)"),
)
_PROCESSES = _rows(
    "processes",
    ("signal", "signal your other processes", "os.kill(int(pid), 0)"),
    ("see-processes", "see your other processes", "assert any(mark in seen for seen in commands())"),
    ("environ", "read the environment of your other processes", "read('/proc/%s/environ' % pid)"),
    ("trace", "trace your other processes", "trace(int(pid))"),
    ("memory", "read the memory of your other processes", "read('/proc/%s/mem' % pid)"),
    ("priority", "slow your other processes down", "os.setpriority(os.PRIO_PROCESS, int(pid), 19)"),
    ("stay", "go on after the call has ended", "stay()"),
)
_NETWORK = _rows(
    "network",
    ("tcp", "reach services on this machine", "talk(socket.AF_INET, ('127.0.0.1', int(port)))"),
    ("abstract-socket", "talk to abstract sockets", "talk(socket.AF_UNIX, chr(0) + abstract)"),
    ("interfaces", "use a network interface", "assert [n for _, n in socket.if_nameindex() if n != 'lo']"),
    ("route", "reach the internet", "assert len(open('/proc/net/route').readlines()) > 1"),
    ("raw-socket", "read the network's traffic", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"),
)
ROOT = frozenset({"be-root", "root-files"})  # known to be open where root cannot become another user
NETWORK = frozenset({"tcp", "abstract-socket", "interfaces", "route"})
# Without a box these would succeed and change the machine: they are made inside one only.
DANGEROUS = frozenset(
    {"mount", "remount", "unmount", "chroot", "make-device", "join-namespace", "become-other", "trace"}
)
ATTEMPTS = (*_FILES, *_OWN, *_CLIS, *_RALPH, *_SOCKETS, *_KERNEL, *_PROCESSES, *_NETWORK)

# For this and for `probe`: which files of the kernel can be opened, and whether a new namespace helps.
KERNEL_HELPERS = """
import os, stat
KERNEL = "sysfs cgroup cgroup2 debugfs tracefs securityfs configfs efivarfs binfmt_misc bpf pstore".split()
def kernel():
    # Opened and never written: what opens could be written. Processes below /proc are this box's own.
    with open("/proc/self/mounts") as f: mounts = [line.split() for line in f]
    tops = [row[1] for row in mounts if row[2] in KERNEL and "rw" in row[3].split(",")]
    for folder, folders, files in (found for top in ["/proc", *tops] for found in os.walk(top)):
        if folder == "/proc":
            folders[:] = [name for name in folders if not name.isdigit() and "self" not in name]
        for target in (folder + "/" + name for name in files):
            try:
                if stat.S_ISREG(os.lstat(target).st_mode):  # a mask is a device that keeps nothing
                    os.close(os.open(target, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW)); return
            except OSError: pass
    raise OSError
def again(act):
    # In a new user namespace, with a new /proc where that can be had: masks must hold there too.
    import ctypes
    libc, child = ctypes.CDLL(None), os.fork()
    if not child:
        try:
            assert libc.unshare(0x32020000) == 0  # user, pid, cgroup, mount
            if os.fork(): os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
            libc.umount2(b"/proc/sys", 2)
            libc.mount(b"proc", b"/proc", b"proc", 0, None)
            act()
            os._exit(0)
        except BaseException: os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
HELPERS = (
    KERNEL_HELPERS
    + """
import ctypes, glob, json, os, socket, stat, sys, time
libc = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {"init_module": 175, "reboot": 169, "adjtimex": 159, "swapoff": 168}
def write(target):
    with open(target, "a") as f: f.write("x")
def read(target):
    with open(target, "rb") as f: assert f.read(1)
def unnamed(folder): os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
def open_write(target): os.close(os.open(target, os.O_WRONLY))
def found(pattern): return glob.glob(pattern)
def first(pattern): return glob.glob(pattern)[0]
def kept(where): raise OSError  # whether it was changed is looked at outside
def talk(family, address):
    s = socket.socket(family, socket.SOCK_STREAM); s.settimeout(2); s.connect(address); s.close()
def talk_any(*paths):
    for at in paths:
        try: return talk(socket.AF_UNIX, at)
        except OSError: pass
    raise OSError
def through_link(there):
    os.symlink(there, work + "/way"); write(work + "/way/new")
def see_other(tops):
    own = {home, work, *shown}
    for top in tops:
        for name in os.listdir(top) if os.path.isdir(top) else []:
            at = top + "/" + name
            if not any(one == at or one.startswith(at + "/") for one in own) and os.listdir(at): return
    raise OSError
def root_only(*tops):
    for folder, _, files in (found for top in tops for found in os.walk(top)):
        for at in (folder + "/" + name for name in files):
            seen = os.lstat(at)
            closed = stat.S_ISREG(seen.st_mode) and seen.st_size and not seen.st_mode & 0o044
            if closed and os.access(at, os.R_OK): return
    raise OSError
def open_device(kind):
    for name in os.listdir("/dev"):
        if kind(os.lstat("/dev/" + name).st_mode): os.close(os.open("/dev/" + name, os.O_RDONLY)); return
    raise OSError
def second_root():
    os.mkdir(work + "/jail"); back = os.open("/", os.O_RDONLY); os.chroot(work + "/jail")
    os.fchdir(back)
    for _ in range(30): os.chdir("..")
    os.chroot(".")
def call(name, *words):
    if getattr(libc, name)(*words) != 0: raise OSError
def permitted(name, *words):
    libc.syscall(SYSCALLS[name], *words)
    if os.uname().machine != "x86_64" or ctypes.get_errno() in (1, 38): raise OSError  # not permitted
def join(target):
    fd = os.open(target, os.O_RDONLY)
    if libc.setns(fd, 0) != 0: raise OSError
def status(key):
    with open("/proc/self/status") as f: return next(l.split()[1] for l in f if l.startswith(key + ":"))
def commands():
    for name in filter(str.isdigit, os.listdir("/proc")):
        if int(name) != os.getpid():
            try:
                with open("/proc/%s/cmdline" % name, "rb") as f: yield f.read().decode("utf-8", "replace")
            except OSError: pass
def trace(other):
    if libc.ptrace(16, other, 0, 0) != 0: raise OSError
    os.waitpid(other, 0); libc.ptrace(17, other, 0, 0)
def stay():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2): os.dup2(null, fd)
            words = ["-I", "-S", "-c", "import time; time.sleep(60)", stayer]
            os.execve(sys.executable, [sys.executable, *words], {})
        os._exit(0)
    raise OSError  # whether it stays is looked at outside
given = json.load(sys.stdin)
rows = given.pop("rows")
globals().update(given)
print("begun", flush=True)
for name, code in rows:
    try: exec(code); print(name, "open", flush=True)
    except BaseException: print(name, "blocked", flush=True)
"""
)
