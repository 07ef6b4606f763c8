"""Landing by command: merge, refused merges, undo, drop, clean; killed in the middle and taken up again."""

import os
import random
import signal
import time
from itertools import zip_longest

import pytest
from crashkit import World, userstate
from effort import part_of

pytestmark = pytest.mark.slow

NOTES = "open('NOTES.md', 'w').write('what was done\\n')"


@pytest.fixture
def world(tmp_path, home):
    made = World(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


def verified(world, *flags, name="l1-00000001", more=NOTES):
    """A loop that is verified after one call, which also left a new file."""
    agent = world.counting(more=f"left = fix()\n{more}")
    words = ("--loop-id", name, "--allow-write", str(world.outside), *flags)
    done = world.loop(agent, *words)
    assert done.code == 0, done.report()
    world.no_process_left(5)
    return world.record(name).loop


def refused(world, code, *words, exit_code=3):
    """Nothing of the user is touched by a command that says no; the text it says."""
    before = userstate.user_state(world.repo)
    done = world.ralph(*words)
    assert (done.code, f"[{code}]" in done.err) == (exit_code, True), done.report()
    userstate.same_user(before, userstate.user_state(world.repo))
    return done.err


def head(world):
    return world.git("rev-parse", "HEAD")


def status(world):
    return sorted(world.git("status", "--porcelain").splitlines())


def test_merge_undo_and_drop(world):
    """A landing is refused where it would touch the user's edits, lands, is taken back, and lands again."""
    loop = verified(world)
    world.same_user()
    base, dirt, calc = head(world), status(world), world.repo / "calc.py"
    original = calc.read_text()

    calc.write_text(original + "# mine\n")
    assert "'calc.py'" in refused(world, "E-LAND-DIRTY", "merge", "l1-00000001")
    world.git("add", "calc.py")
    calc.write_text(original)
    refused(world, "E-LAND-STAGED", "merge", "l1-00000001")
    world.git("reset", "--quiet", "--", "calc.py")
    (world.repo / "NOTES.md").write_text("my own notes\n")
    assert "'NOTES.md'" in refused(world, "E-LAND-UNTRACKED", "merge", "l1-00000001")
    (world.repo / "NOTES.md").unlink()
    assert (head(world), status(world)) == (base, dirt)

    done = world.ralph("merge", "l1-00000001")
    assert done.code == 0, done.report()
    assert "(verified)" in done.out
    assert (head(world), status(world)) == (loop.landing.result, dirt)
    assert calc.read_text() == world.git("show", f"{loop.landing.branch}:calc.py") + "\n" != original
    refused(world, "E-LAND-DONE", "merge", "l1-00000001", exit_code=6)

    assert world.ralph("undo", "l1-00000001").code == 0
    assert (head(world), status(world), calc.read_text()) == (base, dirt, original)
    refused(world, "E-UNDO-NONE", "undo", "l1-00000001", exit_code=6)
    assert world.ralph("merge", "l1-00000001").code == 0
    world.commit("built on it", more__txt="more\n")
    refused(world, "E-LAND-MOVED", "undo", "l1-00000001")

    shown = world.ralph("drop", "l1-00000001")
    assert shown.code == 3
    for part in (
        "refs/ralph/l1-00000001/base",
        "refs/ralph/l1-00000001/checkpoint/1",
        "branch ralph/l1-00000001",
        "workspaces/l1-00000001",
    ):
        assert part in shown.out, shown.report()
    assert world.refs()
    assert world.ralph("drop", "l1-00000001", "--yes").code == 0
    assert world.refs() == {}
    assert world.git("for-each-ref", "refs/heads/ralph") == ""
    assert not (world.state / "workspaces" / "l1-00000001").exists()
    assert sorted(path.name for path in (world.state / "loops" / "l1-00000001").iterdir()) == ["lock"]
    assert loop.landing.result in world.git("rev-list", "HEAD")  # what landed stays landed
    assert "LoopDropped" in world.ralph("logs", "l1-00000001").out
    refused(world, "E-LOOP-DROPPED", "drop", "l1-00000001", "--yes", exit_code=6)


def test_a_branch_that_moved(world):
    """A merge that is no fast-forward lands only when asked for, and only when its tree is judged green."""
    verified(world)
    verified(world, name="l2-00000002")
    world.dying("ralph.shell.journal.writer.SqliteJournal.append:return:1", "merge", "l2-00000002")
    world.commit("meanwhile", other__txt="meanwhile\n")
    refused(world, "E-LAND-NOT", "merge", "l2-00000002", exit_code=6)  # begun in words only: no dead end
    moved = head(world)
    assert "ralph merge l1-00000001 --rejudge" in refused(world, "E-LAND-MOVED", "merge", "l1-00000001")
    done = world.ralph("merge", "l1-00000001", "--rejudge")
    assert done.code == 0, done.report()
    assert "(verified)" in done.out
    assert world.git("rev-parse", "HEAD^1") == moved
    assert (world.repo / "other.txt").exists()
    assert "a * b" in (world.repo / "calc.py").read_text()
    assert world.ralph("undo", "l1-00000001").code == 0
    assert head(world) == moved

    tests = (world.repo / "test_calc.py").read_text()
    red = tests.replace(
        "    def test_add", "    def test_red(self):\n        self.fail()\n\n    def test_add"
    )
    world.commit("a test of mine that is red", test_calc__py=red)
    assert "test_red" in refused(world, "E-LAND-RED", "merge", "l2-00000002", "--rejudge")
    calc = (world.repo / "calc.py").read_text()
    world.commit("my own repair", calc__py=calc.replace("return a + b", "return b * a"))
    assert "calc.py" in refused(world, "E-LAND-CONFLICT", "merge", "l2-00000002", "--rejudge")
    world.no_process_left(5)


MERGING = (
    "journal.writer.SqliteJournal.append:return:1",  # the intent is recorded, nothing done
    "landing.land.pin_user_files:return:1",
    "landing.recover.write_note:return:1",
    "landing.recover.note_child:call:1",  # git is at work and goes on alone
    "landing.recover.run_user_git:return:1",
    "landing.recover.remove_note:return:1",
    "journal.writer.SqliteJournal.append:call:2",
    "journal.writer.SqliteJournal.append:return:2",
)
UNDOING = (
    "journal.writer.SqliteJournal.append:return:1",
    "landing.recover.write_note:return:1",
    "landing.recover.note_child:call:1",
    "landing.recover.set_index_entries:return:1",
    "landing.recover.recover:return:1",
    "landing.recover.remove_note:return:1",
    "journal.writer.SqliteJournal.append:call:2",
)


def landed_whole(world, loop, dirt):
    """The same command finishes what was begun, whatever stage it was in."""
    for _ in range(2):
        done = world.ralph("merge", "l1-00000001")
        if done.code == 0 or "[E-LAND-DONE]" in done.err:
            break
        assert "[E-LAND-NOT]" in done.err, done.report()
    assert (head(world), status(world)) == (loop.landing.result, dirt)
    assert world.record().loop.landing.state == "landed"
    assert not (world.repo / ".git" / "index.lock").exists()
    changed = world.git("diff", "--stat", loop.landing.result, "--", "calc.py", "NOTES.md")
    assert changed == ""


@pytest.mark.soak
def test_merge_and_undo_killed_everywhere(world):
    """kill -9 at every stage of a landing and of its undo: the same command again makes it whole."""
    loop = verified(world)
    base, dirt = head(world), status(world)
    for place, undoing in part_of(list(zip_longest(MERGING, UNDOING)), 2):
        world.dying(f"ralph.shell.{place}", "merge", "l1-00000001")
        landed_whole(world, loop, dirt)
        if undoing:
            world.dying(f"ralph.shell.{undoing}", "undo", "l1-00000001")
        done = world.ralph("undo", "l1-00000001")
        assert done.code == 0 or "[E-UNDO-NONE]" in done.err, done.report()
        assert (head(world), status(world)) == (base, dirt)
        assert world.record().loop.landing.state == ""


@pytest.mark.soak
def test_merge_killed_at_any_moment(world):
    """Ralph and the user's git killed together while hundreds of files are written: whole afterwards."""
    many = "[open(f'f{n}.txt', 'w').write(str(n) * 20000) for n in range(200)]"
    loop = verified(world, more=f"{NOTES}; {many}")
    base, dirt = head(world), status(world)
    chance = random.Random(7)
    for _ in range(3):
        running = world.start("merge", "l1-00000001")
        lock = world.repo / ".git" / "index.lock"
        deadline = time.monotonic() + 20
        while running.process.poll() is None and not lock.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, 0.03))
        os.killpg(running.process.pid, signal.SIGKILL)
        running.process.wait()
        landed_whole(world, loop, dirt)
        assert len(list(world.repo.glob("f*.txt"))) == 200
        assert world.ralph("undo", "l1-00000001").code == 0
        assert (head(world), status(world)) == (base, dirt)


def test_landing_with_changes(world):
    """A loop that began with the user's changes lands them too; undo gives them back as they were."""
    (world.repo / "untracked.txt").write_text("seen by the loop\n")
    world.git("-c", "core.hooksPath=/dev/null", "add", "staged.txt")
    base, dirt = head(world), status(world)
    loop = verified(world, "--with-changes")
    assert (head(world), status(world)) == (base, dirt)
    assert world.git("show", f"{loop.landing.branch}:untracked.txt") == "seen by the loop"
    done = world.ralph("merge", "l1-00000001")
    assert done.code == 0, done.report()
    assert (head(world), status(world)) == (loop.landing.result, [])
    assert world.git("rev-list", "--count", f"{base}..HEAD") == "2"
    assert "not committed yet" in world.git("show", "HEAD:README.md")
    assert world.ralph("undo", "l1-00000001").code == 0
    assert head(world) == base
    assert sorted(line[3:] for line in status(world)) == sorted(line[3:] for line in dirt)
    assert "not committed yet" in (world.repo / "README.md").read_text()


@pytest.mark.soak
def test_checkpoint_and_clean(world):
    """An unverified checkpoint lands only by its number; clean keeps results, checkpoints and records."""
    done = world.ralph(*world.words("", "--max-iterations", "1"))
    assert done.code == 1, done.report()
    assert "ralph merge l1-00000001 --checkpoint 1" in refused(
        world, "E-LAND-UNVERIFIED", "merge", "l1-00000001", exit_code=2
    )
    refused(world, "E-CHECKPOINT", "merge", "l1-00000001", "--checkpoint", "7", exit_code=2)
    verified(world, name="l2-00000002", more=NOTES)
    world.same_user()

    shown = world.ralph("clean", "--older-than", "0d", "--dry-run")
    assert "workspaces/l1-00000001" in shown.out, shown.report()
    assert (world.state / "workspaces" / "l1-00000001").is_dir()
    asked = world.ralph("clean", "--older-than", "0d")
    assert asked.code == 3
    assert world.ralph("clean", "--older-than", "0d", "-y").code == 0
    assert not (world.state / "workspaces" / "l1-00000001").exists()
    world.same_user()
    assert {"base", "checkpoint/1"} <= world.refs().keys()
    assert world.git("rev-parse", "ralph/l2-00000002") == world.record("l2-00000002").loop.landing.result
    assert "VERIFIED" in world.ralph("report", "l2-00000002").out.upper()
    assert "nothing to remove" in world.ralph("clean", "--older-than", "0d", "--dry-run").out
    assert "+    return a * b" in world.ralph("diff", "l2-00000002").out

    done = world.ralph("merge", "l1-00000001", "--checkpoint", "1")
    assert done.code == 0, done.report()
    assert "NOT verified" in done.out
    assert head(world) == world.refs()["checkpoint/1"]
    done = world.ralph("resume", "l1-00000001", "--max-iterations", "+2")
    assert done.code != 0  # it has landed
