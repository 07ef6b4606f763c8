"""The limit on loops at work holds however they are started: by `loop`, or by `resume` of what stopped."""

import signal
import time
from contextlib import contextmanager

import pytest
from crashkit import KILLED, World

pytestmark = pytest.mark.soak

FULL = "at work in this repository, at most 1 "


@pytest.fixture
def world(tmp_path, home):
    made = World(tmp_path / "w", home, seen=home.parent / "protection.json")
    (made.config / "ralph" / "config.toml").write_text("max_loops = 1\n")
    yield made
    made.kill_all()


def words(world, name):
    """A loop whose agent waits for the file `go`, then repairs everything."""
    agent = world.counting(before=60, more="left = fix(9)")
    return world.loop_words(agent, "--loop-id", name, "--allow-write", str(world.outside))


@contextmanager
def at_work(world, name):
    """A loop in the middle of its first call; at the end its runner is killed."""
    running = world.start(*words(world, name))
    running.until(lambda loop: loop.sealed.loop == name and loop.call.running)
    yield running
    running.process.send_signal(signal.SIGKILL)
    assert running.wait().code == KILLED
    world.no_process_left(5)


def refused(world, *given):
    done = world.ralph(*given)
    assert done.code == 5, done.report()
    assert FULL in done.err, done.report()
    return done.err


def test_a_resume_takes_a_place_like_a_start(world):
    """With the one place taken neither `loop` nor `resume` gets in: exit 5, the next step, no trace. A killed
    loop's place is free at once, and of two resumes in the same moment exactly one gets it.
    """
    with at_work(world, "l1-00000001"):
        refused(world, *words(world, "l2-00000002"))
    with at_work(world, "l2-00000002"):
        before = world.kinds("l1-00000001")
        assert "next  ralph pause l2-00000002" in refused(
            world, "resume", "l1-00000001", "--display", "plain"
        )
        assert world.kinds("l1-00000001") == before
    both = [world.start("resume", name, "--display", "plain") for name in ("l1-00000001", "l2-00000002")]
    until = time.monotonic() + 30
    while all(one.process.poll() is None for one in both):
        assert time.monotonic() < until, "both got in"
        time.sleep(0.05)
    (world.outside / "go").touch()
    done = [one.wait() for one in both]
    assert sorted(one.code for one in done) == [0, 5], "\n".join(one.report() for one in done)
    assert [FULL in one.err for one in done].count(True) == 1
    world.no_process_left(5)
    world.same_user()
