"""Root's calls as another user: who they are to the kernel, whose their files are, when root stays root."""

import os
import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from hostile.callkit import BWRAP, becomes_other_user, living, ready, spec

from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import BoxTerms, Order
from ralph.core.model.spend import Limits
from ralph.shell.process import client
from ralph.shell.process.other_user import UID
from ralph.shell.sandbox import probe
from ralph.shell.sandbox.bubblewrap import Box, Frame, SharedMount, box_command, call_spec

pytestmark = pytest.mark.skipif(os.getuid() != 0 or BWRAP is None, reason="needs root and bubblewrap")


@pytest.fixture(autouse=True)
def _possible():
    if not becomes_other_user():
        pytest.skip("this kernel or file system has no mapped mounts")


def run(tmp_path, command):
    call, _ = spec("box", tmp_path, "/bin/sh", "-c", command)
    ended = client.wait(client.start_call(str(tmp_path / "call"), call))
    return ended, client.read_output(str(tmp_path / "call"), 1 << 16)[0].decode()


def test_files_stay_the_users_own(tmp_path):
    """What a call makes is root's on disk, in folders that only root may enter; inside it is its own."""
    os.chmod(tmp_path, 0o700)
    ended, said = run(tmp_path, "umask 077; mkdir a && echo x > a/b && stat -c %u . a a/b && id -u")
    assert (ended.exit_code, said.split()) == (0, ["0"] * 4)
    made = (tmp_path / "work" / "a" / "b").stat()
    assert (made.st_uid, made.st_gid, stat.S_IMODE(made.st_mode)) == (0, 0, 0o600)


def test_streams_can_be_opened_by_their_names(tmp_path):
    """`> /dev/stderr` and `cat /dev/stdin` work, as scripts do it."""
    ended, said = run(tmp_path, "echo one > /dev/stdout; echo two > /dev/stderr; cat /dev/stdin; echo three")
    assert (ended.exit_code, said.split()) == (0, ["one", "two", "three"])


def test_the_kernel_knows_somebody_else(tmp_path):
    """Outside, its processes are another user's, without a group or a right of root."""
    call, mark = spec("box", tmp_path, "/bin/sh", "-c", "echo ready; exec sleep 30")
    running = client.start_call(str(tmp_path / "call"), call)
    assert ready(tmp_path / "call")
    found = [words for words in map(status, living(mark)) if "Uid" in words]
    client.stop(running)
    client.wait(running)
    assert found
    for words in found:
        assert (words["Uid"], words["Gid"], words["Groups"]) == ([str(UID)] * 4, [str(UID)] * 4, [])


def status(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return {key: words.split() for key, _, words in (line.partition(":") for line in file)}
    except OSError:
        return {}


def test_what_only_root_may_read_is_closed(tmp_path):
    """A file of the system that others may not read is not opened, though to itself the call is root."""
    found = [entry for entry in os.scandir("/etc") if entry.is_file(follow_symlinks=False)]
    closed = [entry.path for entry in found if entry.stat().st_mode & 0o777 == 0o600]
    if not closed:
        pytest.skip("this machine has no such file")
    ended, said = run(tmp_path, f"for path in {' '.join(closed)}; do cat $path && echo OPEN; done 2>&1")
    assert (ended.ended, said.count("denied"), "OPEN" in said) == ("exited", len(closed), False)


def test_shared_folders_are_overlaid(tmp_path):
    """Also one of a folder that only root may enter: writes work and stay private."""
    for name in ("work", "stage", "shared"):
        (tmp_path / name).mkdir(mode=0o700)
    (tmp_path / "shared" / "old").write_text("old")
    work = str(tmp_path / "work")
    box = Box(
        kind="gate",
        workspace=work,
        mount_at=work,
        home="/root",
        shares=(SharedMount(str(tmp_path / "shared"), work + "/.venv"),),
        stage=str(tmp_path / "stage"),
        other_user=True,
    )
    argv = ("/bin/sh", "-c", "cat .venv/old && echo new > .venv/old && cat .venv/old")
    made = box_command(box, argv, bwrap=BWRAP, unshare=shutil.which("unshare"))
    call = client.CallSpec(
        argv=made.argv,
        env={"PATH": os.defpath},
        cwd=made.cwd,
        method=made.method,
        box_args=made.box_args,
        other_user=made.other_user,
        wall_seconds=30,
    )
    ended = client.wait(client.start_call(str(tmp_path / "call"), call))
    assert (ended.exit_code, client.read_output(str(tmp_path / "call"), 99)[0]) == (0, b"oldnew\n")
    assert (tmp_path / "shared" / "old").read_text() == "old"


WHOSE = ("/bin/sh", "-c", "echo x > made && stat -c %u /etc")  # 0: to the kernel this is root


def call_in(tmp_path, **words):
    """The owner of /etc as a call in this box sees it."""
    (tmp_path / "work").mkdir()
    box = Box(kind="gate", workspace=str(tmp_path / "work"), home="/root", other_user=True, **words)
    made = box_command(box, WHOSE, bwrap=BWRAP)
    frame = Frame(wall_seconds=30)
    ended = client.wait(client.start_call(str(tmp_path / "call"), call_spec(made, "gate", {}, frame)))
    said = client.read_output(str(tmp_path / "call"), 999)[0]
    assert ended.exit_code == 0, (ended, said)
    return said.strip()


@pytest.fixture
def closed():
    """A folder of the system that only root may enter."""
    folder = tempfile.mkdtemp(prefix="closed-", dir="/opt")
    os.chmod(folder, 0o750)
    yield Path(folder)
    shutil.rmtree(folder)


def test_a_repository_behind_a_closed_folder_keeps_working(tmp_path, closed):
    """Another user could make no mount point there: the call stays root's."""
    (closed / "repo").mkdir()
    assert call_in(tmp_path, mount_at=str(closed / "repo")) == b"0"


def test_a_file_system_without_mapped_mounts_keeps_working(tmp_path):
    """One source that cannot be mapped (sysfs; so overlay, FUSE and NFS): the call stays root's."""
    at = str(tmp_path / "repo")
    assert call_in(tmp_path, mount_at=at, object_dirs=(("/sys/kernel", "/run/objects"),)) == b"0"


def order(repo, run="true", agent=(), write=(), origin="flag"):
    gate = Gate(name="check", run=run, argv=("/bin/sh", "-c", run), origin=origin)
    return Order(
        loop="a",
        task="t",
        repo=str(repo),
        criterion=Criterion(task_class="custom", gates=(gate,)),
        limits=Limits(),
        agent=SealedAgent(name="command", argv=tuple(map(str, agent))),
        box=BoxTerms(allow_write=tuple(map(str, write))),
    )


def test_what_a_loop_needs_decides_who_its_calls_are(tmp_path, closed):
    """Repository, home, programs, hidden checks, written folders: one out of reach, and root stays root."""
    program, shown, secret = closed / "tool", tmp_path / "linked", Path(tempfile.mkdtemp(dir="/opt"), "check")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (closed / "repo").mkdir()
    shown.symlink_to(program)
    secret.write_text("exit 0\n")
    secret.parent.chmod(0o755)
    secret.chmod(0o600)
    (script := tmp_path / "script").write_text(f"#!{program}\n")
    script.chmod(0o755)
    seen = probe.probe_levels(str(tmp_path), home="/root", bwrap=BWRAP)
    env = {"PATH": os.defpath, "HOME": str(tmp_path)}

    def stays(one, objects=(), **words):
        found = probe.for_order(seen, one, objects, str(tmp_path), {**env, **words})
        assert any(probe.STAYS_ROOT in word for word in found.words) != found.other_user
        assert (probe.OTHER_USER in found.words) == found.other_user
        return not found.other_user

    try:
        assert not stays(order(tmp_path, "true && cat /etc/passwd", agent=["/bin/sh", "-c", "true"]))
        assert stays(order(closed / "repo"))
        assert stays(order(tmp_path), HOME=str(closed / "repo"))
        assert stays(order(tmp_path), PATH=f"{closed}:{os.defpath}")
        assert stays(order(tmp_path), PATH=f"{closed}/repo:{os.defpath}")
        assert stays(order(tmp_path, f"true && {program} x"))
        assert stays(order(tmp_path, str(shown)))
        assert stays(order(tmp_path, str(script)))
        assert stays(order(tmp_path, "linked"), PATH=f"{tmp_path}:{os.defpath}")
        assert stays(order(tmp_path, agent=[shown]))
        assert stays(order(tmp_path, f"sh {secret}", origin="hidden"))
        assert stays(order(tmp_path, write=[closed / "repo"]))
        assert stays(order(tmp_path, write=["/sys/kernel"]))
        assert stays(order(tmp_path), objects=["/sys/kernel"])
    finally:
        shutil.rmtree(secret.parent)


def test_where_tools_do_not_work_root_stays_root_and_it_is_said(tmp_path):
    """A bubblewrap that only root may execute: the boxes hold as before, and the words say who is in them."""
    (tmp_path / "closed").mkdir(mode=0o700)
    bwrap = shutil.copy(BWRAP, tmp_path / "closed" / "bwrap")
    os.chmod(tmp_path, 0o755)
    found = probe.probe_levels(str(tmp_path), home=str(tmp_path), bwrap=str(bwrap), network=False)
    assert found.boxed
    assert not found.other_user
    assert found.agent_open == found.gate_open == ("root",)
    assert any("is root to the kernel" in words for words in found.words)
