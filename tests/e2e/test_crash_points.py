"""kill -9 of Ralph at every append of its journal, around every effect, and at any moment; then resume."""

import random
import subprocess
import time

import pytest
from crashkit import KILLED, World
from effort import part_of

pytestmark = pytest.mark.slow

JOURNAL = "ralph.shell.journal.writer.SqliteJournal"
RESUME = ("resume", "l1-00000001", "--display", "plain")
# What a loop of two iterations writes; every one of these appends is killed before, inside and after.
ROWS = [
    *("LoopStarted", "WorkspaceMade", "GateEnded"),
    *("AgentStarted", "AgentEnded", "CheckpointMade", "GateEnded"),
    *("AgentStarted", "AgentEnded", "CheckpointMade", "GateEnded"),
    *("GateEnded", "GuardsEnded", "ResultPublished", "LoopEnded"),
]


@pytest.fixture
def world(tmp_path, home):
    made = World(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


def rows(world):
    return [kind for kind in world.kinds() if kind != "StintStarted"]


def finished(world):
    """A resume that nobody kills brings the loop to its end."""
    done = world.ralph(*RESUME)
    assert done.code == 0, done.report()
    assert "VERIFIED_DONE (B)" in done.out


@pytest.mark.soak
@pytest.mark.parametrize("where", ["call", "insert", "return"])
def test_killed_at_every_append_of_one_loop(world, where):
    """A loop that is killed at each of its appends in turn comes to the same end as one left alone.

    Before the append (the effect is done and not recorded), inside its transaction, and right after it
    (recorded, and what it asks for has not begun).
    """
    if where == "return":
        world.dying(f"{JOURNAL}.create:return:1", *world.words())
        killed, dies = ["LoopStarted"], f"{JOURNAL}.append:return:2"
    else:
        dies = f"{JOURNAL}.append:call:%d" if where == "call" else f"{JOURNAL}._insert:return:%d"
        world.dying(dies % (2 if where == "call" else 3), *world.words())
        killed, dies = ["WorkspaceMade"], dies % 3
    while len(rows(world)) < len(ROWS):
        done = world.maybe_dying(dies, *RESUME)
        if done.code == 0:
            break
        assert done.code == KILLED, done.report()
        there = rows(world)
        killed.append(there[-1] if where == "return" else ROWS[len(there)])
        assert there == ROWS[: len(there)]
    assert killed == (ROWS if where == "return" else ROWS[1:])
    world.whole(calls=2)
    assert rows(world) == ROWS


@pytest.mark.soak
def test_killed_before_the_first_append(world):
    """A loop that was never recorded leaves nothing behind that would keep it from starting again."""
    for place in (f"{JOURNAL}.create:call:1", f"{JOURNAL}._insert:return:1"):
        world.dying(place, *world.words())
        world.no_process_left(5)
        world.same_user()
    done = world.ralph(*world.words())
    assert done.code == 0, done.report()
    world.whole(calls=2)


BEGINNING = (
    "git.checkout.update_checkout:return:1",  # files there, no .git yet
    "git.workspace.write_workspace_git:return:1",
    "git.workspace.make_workspace:return:1",
    "process.client.start_call:call:1",  # the baseline's gate
    "process.client.start_call:return:1",
    "gate_run.gate_call.GateCaller._read:return:1",  # evidence there, no verdict
    "run.performer.RealPerformer.open_call:return:1",
    "agent_call.launch.launch_call:call:1",
    "process.fork_client.ForkClient.keeper:call:1",
    "process.fork_client.ForkClient.keeper:return:1",
    "agent_call.call.Caller._account:call:1",
    "agent_call.call.Caller._account:return:1",
    "git.snapshot.take_snapshot:call:1",
    "git.snapshot.take_snapshot:return:1",
    "git.refs.commit_tree:return:1",
    "git.refs.move_refs:return:1",
    "run.performer.RealPerformer.take_snapshot:return:1",
    "gate_run.gate_call.GateCaller._checkout:return:1",
    "gate_run.gate_call.GateCaller._read:call:1",
)
ENDING = (
    "gate_run.gate_call.GateCaller._start:return:1",  # final, in a fresh checkout
    "gate_run.verdicts.Judge._verdict:return:1",
    "git.trees.overlay_tree:return:1",
    "gate_run.gate_call.GateCaller._start:return:1",  # the base's tests over the new source
    "gate_run.run_guards.run_guards:return:1",
    "git.refs.commit_tree:return:1",
    "git.refs.publish_result:call:1",
    "git.refs.publish_result:return:1",
    "run.performer.RealPerformer.publish:return:1",
    "run.performer.RealPerformer.finish:call:1",
    "run.performer.RealPerformer.finish:return:1",
)
COMMITTED = ("git.refs.move_refs:return:1", "git.refs.publish_result:return:1")


@pytest.mark.parametrize("part", ["beginning", "ending"])
def test_killed_around_every_effect(world, part):
    """An effect that was begun, done, or done and not recorded is found by the next runner."""
    if part == "beginning":
        world.dying("ralph.shell.run.performer.RealPerformer.make_workspace:call:1", *world.words())
        places = BEGINNING
    else:
        # A test that the agent touched makes the guards judge a further tree.
        agent = world.counting(more="open('test_calc.py', 'a').write('# looked at\\n')")
        world.dying("ralph.shell.gate_run.gate_call.GateCaller._start:call:4", *world.words(agent))
        places = ENDING
    for place in part_of(places, 4):
        world.dying(f"ralph.shell.{place}", *RESUME)
        if place in COMMITTED:
            time.sleep(1.0)  # commits are dated in whole seconds: one made anew must not need to be quick
    finished(world)
    calls = world.record().loop.spend.calls
    assert calls <= 3  # a keeper that was killed before its first breath may have been a call
    world.whole(calls=calls)


@pytest.mark.soak
def test_aborted_after_a_kill_that_had_published(world):
    """A result branch that was made and never recorded goes when the loop is aborted instead of resumed."""
    world.dying("ralph.shell.git.refs.publish_result:return:1", *world.words())
    assert world.git("for-each-ref", "refs/heads/ralph") != ""
    assert world.ralph("abort", "l1-00000001").code == 0
    loop = world.record().loop
    assert (loop.outcome, loop.landing.result) == ("aborted", "")
    assert world.git("for-each-ref", "refs/heads/ralph") == ""
    assert "checkpoint/2" in world.refs()
    world.same_user()


@pytest.mark.soak
@pytest.mark.parametrize("edited", [False, True])
def test_killed_while_the_agent_is_at_work(world, edited):
    """The agent is gone before another is called; what it left is judged, what it did not do is refunded."""
    agent = world.counting(before=0.1, after=30) if edited else world.counting(before=30)
    running = world.start(*world.words(agent))
    mark = "usage" if edited else ""
    running.until(lambda loop: loop.call.running)
    deadline = time.monotonic() + 20
    while not (("start", 1, 1) in world.calls() and (not mark or said(world, mark))):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    running.process.kill()
    running.wait()
    world.counting()
    finished(world)
    world.whole(calls=2 if edited else 3)
    assert [line for line in world.calls() if line[0] == "start"] == (
        [("start", 1, 1), ("start", 2, 2)] if edited else [("start", 1, 1), ("start", 2, 1), ("start", 3, 2)]
    )


def said(world, words):
    return any(words.encode() in out for out in world.said())


@pytest.mark.soak
def test_recovery_is_killed_again_and_again(world):
    """A recovery that is itself killed, several deep, is recovered from."""
    world.dying("ralph.shell.agent_call.call.Caller._account:call:1", *world.words())
    places = (
        "ralph.shell.journal.record.load:return:1",
        f"{JOURNAL}.append:call:1",
        f"{JOURNAL}._insert:return:1",
        f"{JOURNAL}.append:return:1",
        "ralph.shell.process.client.recover_call:call:1",
        "ralph.shell.process.client.recover_call:return:1",
        "ralph.shell.state.blobs.put_file:return:1",
    )
    for place in part_of(places, 4):
        world.dying(place, *RESUME)
    finished(world)
    world.whole(calls=2)


@pytest.mark.soak
def test_killed_at_any_moment(world):
    """Killed from outside at moments that nobody chose, the loop still comes whole to its end."""
    chance = random.Random(1)
    words = world.words(world.counting(before=0.2, after=0.2))
    for _ in range(10):
        running = world.start(*words)
        stints = stints_of(world)
        while running.process.poll() is None and stints_of(world) == stints:
            time.sleep(0.01)
        try:
            running.process.wait(chance.uniform(0, 0.5))
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()
        words = list(RESUME)
    if world.record().loop.outcome is None:
        finished(world)
    world.whole()
    assert stints_of(world) >= 4


def stints_of(world):
    return 0 if world.newest() is None else world.kinds().count("StintStarted")
