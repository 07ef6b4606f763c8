"""Loops in the background: the same end as in the foreground, whatever dies on the way."""

import json
import time

import pytest
from backkit import Back

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path, home):
    made = Back(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


def at_work(loop):
    return loop.call.running


def ended(loop):
    return loop.phase == "ended"


def given_up(loop):
    """By the rule for faults: what a signal stopped goes on by itself."""
    return loop.phase == "paused" and loop.control.stopped_by == "limit"


def test_it_ends_as_in_the_foreground(world):
    """`-d` returns at once and says how to go on; facts, report, proof and result are those of any loop."""
    began = time.monotonic()
    told = world.begin("l1")
    assert time.monotonic() - began < 15
    assert told.startswith("#1 l1  in the background, pid ")
    for line in ("ralph status l1", "ralph logs l1 -f", "ralph attach l1", "ralph abort l1"):
        assert line in told
    loop = world.until("l1", ended)
    world.whole("l1")
    assert (loop.iteration, loop.spend.calls, loop.host.background) == (2, 2, True)
    kinds = [kind for kind in world.kinds("l1") if kind not in ("LoopQueued", "StintStarted")]
    report = world.ralph("report", "l1", "--json")
    assert json.loads(report.out)["outcome"] == "verified"
    assert world.ralph("verify", "l1", "--quick").code in (0, 2)
    assert list((world.state / "attestations").iterdir())
    world.over()
    other = Back(world.top.parent / "other", world.home, seen=world._seen)
    done = other.ralph(*other.words())
    assert done.code == 0, done.report()
    assert [kind for kind in other.kinds("l1") if kind != "StintStarted"] == kinds


@pytest.mark.parametrize(
    "what", ["runner", *(pytest.param(one, marks=pytest.mark.soak) for one in ("all", "terminate"))]
)
def test_in_the_middle_of_a_call(world, what):
    """With its runner dead the paid call goes on, and the next runner takes it over: no call is made twice.

    With the keeper dead too the call is lost, once; nothing of it is left, and the loop goes on.
    """
    world.begin("l1", nap=6.0)
    world.until("l1", at_work)
    time.sleep(0.5)
    world.fault(what, "l1")
    (world.outside / "go-l1").touch()
    world.until("l1", ended)
    loop = world.whole("l1")
    assert loop.spend.calls == {"runner": 2, "all": 3}.get(what, loop.spend.calls)
    assert world.kinds("l1").count("StintStarted") == 2
    world.over()


def test_what_a_person_stopped_stays_stopped(world):
    """Paused by hand, it is woken by no worker, no death and no reboot; `resume -d` takes it up again."""
    world.begin("l1", nap=30.0)
    world.until("l1", at_work)
    done = world.ralph("pause", "l1", "--now")
    assert done.code == 0, done.report()
    loop = world.until("l1", lambda loop: loop.phase == "paused")
    assert loop.control.stopped_by == "person"
    before = world.kinds("l1")
    for what in ("worker", "reboot"):
        world.fault(what, "l1")
        time.sleep(5.0)
    assert world.kinds("l1") == before
    (world.outside / "go-l1").touch()
    assert world.ralph("resume", "l1", "-d").code == 0
    world.until("l1", ended)
    world.over()


def test_the_fifth_waits_or_is_told_who_is_at_work(world):
    """At the limit a loop is refused with the list, or queued; the queue goes by priority, then by age."""
    (world.config / "ralph" / "config.toml").write_text("max_loops = 1\n")
    world.begin("first", nap=60.0)
    world.until("first", at_work)
    told = world.begin("second", code=5)
    assert "1 loop is at work in this repository" in told
    assert "#1  it 1  make the tests pass  ralph abort first" in told
    assert "queued" in world.begin("low", "--queue", "--priority", "low", nap=0.1)
    assert "queued" in world.begin("high", "--queue", "--priority", "high", nap=0.1)
    assert [world.loop(name).phase for name in ("low", "high")] == ["queued", "queued"]
    status = json.loads(world.ralph("status", "--json").out)
    assert status["counts"] == {"working": 1, "queued": 2}
    assert world.ralph("resume", "low").code == 5  # admission is at the start of every stint
    (world.outside / "go-first").touch()
    for name in ("first", "high", "low"):
        world.until(name, ended)
        world.whole(name)
    ends = [world.record(name).entries[-1].row.at for name in ("first", "high", "low")]
    assert ends == sorted(ends)
    world.over()


def test_watched_and_stopped_from_elsewhere(world):
    """Several look on at once; notes and more room reach it; `abort --all` returns when it has ended."""
    world.begin("l1", nap=40.0)
    world.until("l1", at_work)
    ways = (("attach", "l1", "--display", "plain"), ("attach", "1"), ("logs", "-f"))
    views = [world.start(*words) for words in ways]
    assert world.ralph("resume", "l1", "--max-iterations", "+3").code == 0
    assert world.ralph("answer", "l1", "the clock is in UTC").code == 0
    world.until("l1", lambda loop: loop.limits.iterations == 18 and loop.control.steers)
    done = world.ralph("abort", "--all")
    assert (done.code, "l1 aborted at " in done.out) == (0, True), done.report()
    assert world.loop("l1").outcome == "aborted"
    ends = [view.wait(30) for view in views]
    assert [end.code for end in ends] == [0, 0, 0], [end.report() for end in ends]
    assert "ABORTED" in ends[0].out
    assert all("AbortAsked" in end.text or "abort" in end.text for end in ends)
    world.over()


@pytest.mark.soak
def test_a_missing_key_is_named(world, monkeypatch):
    """A worker without the variable that holds the agent's key leaves the loop paused and says which."""
    world.ralph("worker", "start")
    monkeypatch.setattr(
        world, "env", lambda env=world.env, **more: env(ANTHROPIC_API_KEY="sk-not-real", **more)
    )
    world.begin("l1", nap=30.0)
    world.until("l1", at_work)
    world.kill([*world.runner_of("l1"), *world.keepers("l1")])
    loop = world.until("l1", lambda loop: loop.phase == "paused")
    assert "ANTHROPIC_API_KEY" in loop.reason
    assert loop.control.stopped_by == "limit"
    stored = b"".join(path.read_bytes() for path in world.state.glob("journal.db*"))
    assert b"sk-not-real" not in stored
    world.over()


@pytest.mark.sample(check=0, test=1)
@pytest.mark.parametrize("seed", range(25))
def test_a_storm_of_faults(world, seed):
    """Kills of runner, worker and keeper, alone and together, hangups, terminations, two workers at once and
    reboots, at random moments: no iteration is lost, no commit made twice, no agent left or beside another.
    """
    names = [f"l{number}" for number in range(1, 5)]
    for name in names:
        world.begin(name, "--queue", nap=2.0)
    world.begin("stays", "--queue", nap=60.0)
    world.ralph("pause", "stays", "--now")
    before = world.kinds("stays")
    met = world.storm(names, 12, seed)
    assert met >= 2
    world.worker()
    for name in names:
        world.until(name, lambda loop: ended(loop) or given_up(loop), 180)
        if given_up(world.loop(name)):
            assert world.ralph("resume", name, "-d", "--queue").code == 0
            world.until(name, ended, 180)
        world.whole(name)
    assert world.kinds("stays") == before
    print(f"seed {seed}: {met} faults")
    world.over()
