"""The state directory: where it is, and when it is refused."""

import os
import stat
import subprocess

import pytest
from journal_kit import child, finish

from ralph.errors import SetupError, UserError
from ralph.shell.state.directory import (
    config_dir,
    free_bytes,
    make_reserve,
    mount_type,
    open_state,
    release_reserve,
    safe_name,
    state_dir,
)


def refusal(path, *, create=True) -> str:
    with pytest.raises(SetupError) as caught:
        open_state(str(path), create=create)
    assert caught.value.next
    return caught.value.code


def test_places():
    """The variables are looked at in the documented order; relative XDG ones are ignored."""
    home = {"HOME": "/home/me"}
    assert state_dir(home) == "/home/me/.local/state/ralph"
    assert state_dir(home | {"XDG_STATE_HOME": "/x"}) == "/x/ralph"
    assert state_dir(home | {"XDG_STATE_HOME": "x"}) == "/home/me/.local/state/ralph"
    assert state_dir(home | {"XDG_STATE_HOME": "/x", "RALPH_STATE_DIR": "/r/"}) == "/r"
    assert config_dir(home) == "/home/me/.config/ralph"
    assert config_dir(home | {"XDG_CONFIG_HOME": "/c"}) == "/c/ralph"
    assert os.path.isabs(state_dir({}))
    with pytest.raises(UserError, match="absolute"):
        state_dir({"RALPH_STATE_DIR": "here"})


def test_made_private(tmp_path):
    """A new state directory has all its parts, a README, and is closed to others."""
    state = open_state(str(tmp_path / "a" / "b"), create=True)
    for path in (state.root, state.loops, state.blobs, state.workspaces, state.logs, state.reports):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert "ralph discard" in (tmp_path / "a" / "b" / "README").read_text()
    assert open_state(state.root, create=True) == state


def test_reading_makes_nothing(tmp_path):
    """Looking at a state directory, existing or not, writes nothing."""
    state = open_state(str(tmp_path / "none"), create=False)
    assert state.blobs == str(tmp_path / "none" / "blobs")
    assert os.listdir(tmp_path) == []


def test_writable_by_others_is_refused(tmp_path):
    """A directory that others may change is refused, with the command that mends it."""
    for mode in (0o770, 0o707, 0o777):
        os.chmod(tmp_path, mode)
        assert refusal(tmp_path) == "E-STATE-MODE"
    os.chmod(tmp_path, 0o755)
    open_state(str(tmp_path), create=True)
    os.chmod(tmp_path / "blobs", 0o777)
    assert refusal(tmp_path) == "E-STATE-MODE"


def test_file_in_place(tmp_path):
    """A file where a directory is expected is refused."""
    (tmp_path / "state").touch()
    assert refusal(tmp_path / "state").startswith("E-")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "blobs").touch()
    assert refusal(tmp_path / "other") == "E-STATE-NOT-A-DIRECTORY"


def test_links(tmp_path):
    """The user's own link to a directory is fine; a link inside the state directory is not."""
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    open_state(str(tmp_path / "link"), create=True)
    (tmp_path / "real" / "logs").rmdir()
    (tmp_path / "real" / "logs").symlink_to(tmp_path)
    assert refusal(tmp_path / "link") == "E-STATE-LINK"


@pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT PROVEN HERE: only root can make what belongs to another user"
)
def test_foreign_owner(tmp_path):
    """What belongs to another user is not written to, but may be read."""
    (tmp_path / "theirs").mkdir(mode=0o700)
    os.chown(tmp_path / "theirs", 12345, 12345)
    assert refusal(tmp_path / "theirs") == "E-STATE-OWNER"
    open_state(str(tmp_path / "theirs"), create=False)
    (tmp_path / "mine").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.chown(tmp_path / "link", 12345, 12345, follow_symlinks=False)
    assert refusal(tmp_path / "link") == "E-STATE-LINK"


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT PROVEN HERE: only root can become another user")
def test_directory_without_write_permission():
    """A plain user whose directory cannot be written hears that, and can still look."""
    code = """
become_plain()
os.mkdir(directory + "/state"); os.chmod(directory + "/state", 0o500)
statedir.open_state(directory + "/state", create=False)
try:
    statedir.open_state(directory + "/state", create=True)
except RalphError as exc:
    print(exc.code)
"""
    from journal_kit import open_to_all

    with open_to_all(0o777) as directory:
        assert finish(child(code, directory)) == "E-STATE-READONLY"


def test_read_only_and_full_file_system(tmp_path):
    """A read-only or full file system is named as such."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("NOT PROVEN HERE: only root with mount permission can make such a disk")
    try:
        with pytest.raises(OSError, match="No space"):
            (place / "ballast").write_bytes(b"x" * 100_000)
        assert refusal(place) == "E-DISK-FULL"
        (place / "ballast").unlink()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        assert refusal(place) == "E-STATE-READONLY"
        open_state(str(place), create=False)
    finally:
        subprocess.run(["umount", str(place)], check=True)


MOUNTS = r"""
21 1 254:0 / / rw - ext4 /dev/vda rw
30 21 0:40 / /home rw - nfs4 server:/home rw
31 30 0:41 / /home/me/local rw shared:1 - ext4 /dev/vdb rw
32 21 0:42 / /mnt/with\040space rw - cifs //s/share rw
33 21 0:43 / /over rw - ext4 /dev/vdc rw
34 21 0:44 / /over rw - fuse.sshfs me@host:/ rw
garbage line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/tmp/x", "ext4"),
        ("/home/me/.local/state/ralph", "nfs4"),
        ("/home", "nfs4"),
        ("/homes/me", "ext4"),
        ("/home/me/local/ralph", "ext4"),
        ("/mnt/with space/ralph", "cifs"),
        ("/over/there", "fuse.sshfs"),
    ],
)
def test_mount_type(path, kind):
    """The mount with the longest matching path counts, and of two on one point the later."""
    assert mount_type(path, MOUNTS) == kind


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "lustre", "glusterfs", "afs"]
)
def test_network_file_systems_are_refused(tmp_path, monkeypatch, kind):
    """State on any of the known network file systems is refused, for writing and for reading."""
    import builtins
    import io

    real = builtins.open

    def fake(path, *args, **kwargs):
        if path == "/proc/self/mountinfo":
            return io.StringIO(
                f"1 0 0:1 / / rw - ext4 /dev/x rw\n2 1 0:2 / {tmp_path} rw - {kind} server rw\n"
            )
        return real(path, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", fake)
    assert refusal(tmp_path) == refusal(tmp_path / "below", create=False) == "E-STATE-NETWORK"
    assert os.listdir(tmp_path) == []


def test_reserve(tmp_path):
    """The reserve really takes its space, can be given back, and can be made again."""
    for _ in range(2):
        assert make_reserve(str(tmp_path), 1_000_000)
        assert make_reserve(str(tmp_path), 1_000_000)
        assert os.stat(tmp_path / "reserve").st_blocks * 512 >= 1_000_000
        assert release_reserve(str(tmp_path))
        assert not release_reserve(str(tmp_path))


def test_free_bytes(tmp_path):
    """Free space can be asked for a place that is still to be made."""
    assert free_bytes(str(tmp_path / "not" / "yet")) > 0


def test_names():
    """Names of loops are short, plain and safe in paths and refs."""
    for good in ("a", "0", "fix-tests-1a2b3c4d", "a" * 61, "a--b-"):
        assert safe_name(good) == good
    for bad in (
        "",
        "-a",
        "A",
        "a_b",
        "a.b",
        "a/b",
        "..",
        "a b",
        "a\n",
        "a" * 62,
        "f\u0456x",
        "a\u200b",
        "\u0661",
    ):
        with pytest.raises(UserError) as caught:
            safe_name(bad)
        assert caught.value.code == "E-LOOP-NAME"
    with pytest.raises(UserError) as caught:
        safe_name("f\u0456x")
    assert "U+0456" in caught.value.why
