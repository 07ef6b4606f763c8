"""Root's calls as another user: who they are to the kernel, whose their files are, when root stays root."""

import os
import shutil
import stat

import pytest
from hostile.callkit import BWRAP, becomes_other_user, living, ready, spec

from ralph.shell.process import client
from ralph.shell.process.other_user import UID
from ralph.shell.sandbox import probe
from ralph.shell.sandbox.bubblewrap import Box, SharedMount, box_command

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
