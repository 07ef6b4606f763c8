"""What the machine lacks is said as that, whoever met it: not as damage, nor as a bad state directory."""

import errno
import resource
from contextlib import contextmanager

import pytest
from gitkit import begin, make_repo

from ralph.errors import RalphError, machine_error
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import git_error, identity_env
from ralph.shell.git.store import private_call
from ralph.shell.journal.writer import open_sqlite
from ralph.shell.state import blobs, locks
from ralph.shell.state.directory import open_state, unusable_error


@contextmanager
def no_more_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_too_many_open_files(tmp_path):
    """A blob is not damaged, a lock not unusable and a journal not read-only when no file can be opened."""
    state = open_state(str(tmp_path), create=True)
    digest = blobs.put(state.blobs, b"x" * 1000)
    open_sqlite(str(tmp_path)).close()
    for act in (
        lambda: blobs.get(state.blobs, digest),
        lambda: blobs.put(state.blobs, b"y" * 1000),
        lambda: blobs.put_file(state.blobs, blobs.path(state.blobs, digest)),
        lambda: locks.acquire(str(tmp_path / "lock"), locks.Holder()),
        lambda: open_sqlite(str(tmp_path)),
    ):
        with no_more_files(), pytest.raises(RalphError) as told:
            act()
        assert (told.value.code, told.value.next) == ("E-FILES", "ulimit -n 4096")
    assert blobs.get(state.blobs, digest) == b"x" * 1000


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (b"error: unable to write file: No space left on device", "E-DISK-FULL"),
        (b"fatal: Disk quota exceeded", "E-DISK-FULL"),
        (b"fatal: unable to open .git/HEAD: Too many open files", "E-FILES"),
        (b"error: objects/pack: Transport endpoint is not connected", "E-DISK-IO"),
        (b"fatal: objects/pack: Stale file handle", "E-DISK-IO"),
        (b"fatal: something else", "E-GIT"),
    ],
)
def test_what_git_met_is_what_the_machine_lacks(words, code):
    """Git says it in words; they come to the same error as a call of our own."""
    assert git_error(GitResult(128, b"", words), ["add"], "/x").code == code


def test_a_read_only_home_is_not_offered_again():
    """The home may be what is read-only."""
    assert "HOME" not in unusable_error(OSError(errno.EROFS, "x"), "/home/a/.local/state/ralph").next


def test_a_repository_that_is_gone_is_named(tmp_path):
    """Git would name the private directory that borrows its objects."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    (tmp_path / "repo").rename(tmp_path / "elsewhere")
    with pytest.raises(RalphError) as told:
        private_call(loop.store, ["cat-file", "-p", loop.start.base_tree])
    assert (told.value.code, told.value.at) == ("E-FOLDER-GONE", loop.project.top)


def test_a_clock_before_1970(tmp_path):
    """Git knows no such time: commits then are of its beginning."""
    loop = begin(make_repo(tmp_path / "repo"), tmp_path / "state")
    args = ["commit-tree", loop.start.base_tree, "-m", "x"]
    made = [private_call(loop.store, args, extra=identity_env(date)).out for date in (-86_400, 0)]
    assert made[0] == made[1]


def test_a_dead_mount_has_a_way_out():
    """`ralph doctor` could not look at it either."""
    found = machine_error(OSError(errno.ENOTCONN, "x"), "/mnt/x")
    assert (found.code, found.at, found.next) == ("E-DISK-IO", "/mnt/x", "findmnt")
