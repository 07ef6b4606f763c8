"""git killed in the middle of what Ralph asked of it, at each of those places; then `ralph resume`."""

import os
import shutil

import pytest
from crashkit import KILLED, NAME, World

pytestmark = pytest.mark.soak

RESUME = ("resume", NAME, "--display", "plain")
# A git on PATH that misbehaves the first time it is asked for a thing, and else is the real one.
GIT = """#!/bin/bash
git={git} log={log} index="${{GIT_INDEX_FILE##*/}}"
[[ "$GIT_INDEX_FILE" == */tmp*/index ]] && index=scratch
place="$1 $index"
{{ {when}; }} && ! grep -qxF "$place" $log 2>/dev/null || exec $git "$@"
echo "$place" >> $log
{then}
"""
# The real one is killed by a signal that it cannot clean up after, at its first byte into a file: what it
# leaves behind is what it leaves behind.
DIE = """(ulimit -c 0; ulimit -f 0; exec $git "$@") 2>/dev/null
find {loops} {repo}/.git -name '*.lock' >> $log.left
{also}
kill -9 $$
"""
WRITES = '[[ "$1" =~ ^(add|read-tree|write-tree|update-index|commit-tree|update-ref)$ ]]'


class Deadly(World):
    """A world whose git dies."""

    def git_that(self, when: str, then: str) -> dict[str, str]:
        """The environment in which git does `then`, once for each thing it is asked `when` this holds."""
        script = self.top / "bin" / "git"
        script.parent.mkdir()
        real = shutil.which("git")
        script.write_text(GIT.format(git=real, log=self.top / "killed", when=when, then=then))
        script.chmod(0o755)
        return {"PATH": f"{script.parent}{os.pathsep}{self.env()['PATH']}"}

    def die(self, also: str = ":") -> str:
        return DIE.format(loops=self.state / "loops", repo=self.repo, also=also)

    def killed(self) -> list[str]:
        path = self.top / "killed"
        return path.read_text().splitlines() if path.exists() else []

    def locks(self) -> list[str]:
        """What git's own locks are in the state directory now."""
        return [str(path) for path in (self.state / "loops").rglob("*.lock")]


@pytest.fixture
def world(tmp_path, home):
    made = Deadly(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


@pytest.mark.parametrize("also", [":", "kill -9 $PPID"], ids=["git", "git and ralph"])
def test_git_is_killed_at_each_of_its_writes_and_a_resume_goes_on(world, also):
    """Each git that writes, for a snapshot, a checkout, a commit or a ref, is killed once: none keeps a
    resume from going on, nothing is lost, and no lock is left in the state directory.
    """
    env = world.git_that(WRITES, world.die(also))
    done = world.ralph(*world.words(), env=env)
    while not world.newest():  # killed before the loop was recorded
        assert done.code in (4, KILLED), done.report()
        assert len(world.killed()) < 10, done.report()
        done = world.ralph(*world.words(), env=env)
    world.git("prune", "--expire=now")  # commits of beginnings that came to nothing
    seen = 0
    while done.code != 0:
        assert done.code in (4, KILLED), done.report()
        assert len(world.killed()) > seen, f"no kill, and yet it did not end\n{done.report()}"
        seen = len(world.killed())
        done = world.ralph(*RESUME, env=env)
    places = set(world.killed())
    assert {"read-tree user.index", "add user.index", "write-tree user.index"} <= places, places
    assert {"read-tree workspace.index", "read-tree kept-0.index", "add scratch"} <= places, places
    assert {"add workspace.index.new", "write-tree workspace.index.new"} <= places, places
    assert {"commit-tree no-index", "update-ref "} <= places, places
    left = (world.top / "killed.left").read_text()
    assert "workspace.index.new.lock" in left, "git left no lock: this test shows nothing"
    assert "/refs/ralph/l1-00000001/base.lock" in left
    assert not world.locks()
    world.whole(calls=2)


def test_a_lock_is_known_by_its_maker(world):
    """git killed while it made the result branch leaves an empty lock there. It was noted before who would
    make one, so a resume takes it away; where nobody noted it, it could be anybody's, and is named and left.
    """
    at_the_end = '[ "$1" = update-ref ] && [ -e .git/refs/ralph/l1-00000001/checkpoint/2 ]'
    env = world.git_that(at_the_end, world.die())
    done = world.ralph(*world.words(), env=env)
    lock = world.repo / ".git" / "refs" / "heads" / "ralph" / "l1-00000001.lock"
    assert (done.code, lock.exists()) == (4, True), done.report()
    assert "git update-ref was killed by SIGKILL" in done.err
    note = world.state / "loops" / "l1-00000001" / "store" / "moving"
    kept = note.read_bytes()
    note.unlink()
    again = world.ralph(*RESUME, env=env)
    assert (again.code, lock.exists()) == (4, True), again.report()
    assert "error: git cannot lock" in again.err
    assert f"rm '{lock}'" in again.err, again.report()
    note.write_bytes(kept)
    os.utime(note, (lock.stat().st_mtime, lock.stat().st_mtime))
    last = world.ralph(*RESUME, env=env)
    assert (last.code, lock.exists()) == (0, False), last.report()
    world.whole(calls=2)


def test_a_git_that_outlives_ralph_is_waited_for(world):
    """Ralph is killed and the git of its snapshot is not: a resume neither takes the index away from under
    it nor fails; it waits until that git has ended.
    """
    live_on = 'kill -9 $PPID; sleep 3; $git "$@"; echo ended >> $log'
    env = world.git_that('[ "$place" = "add workspace.index.new" ]', live_on)
    done = world.ralph(*world.words(), env=env)
    assert done.code == KILLED, done.report()
    assert world.killed() == ["add workspace.index.new"]
    again = world.ralph(*RESUME, env=env)
    assert again.code == 0, again.report()
    assert world.killed() == ["add workspace.index.new", "ended"]
    world.whole(calls=2)
