"""Loops in the background: the same end as in the foreground, whatever dies on the way."""

import json
import os
import signal
import time

import pytest
from backkit import FAULTS, Back
from hookkit import Receiver
from kit import search_path

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path, home):
    made = Back(tmp_path / "w", home, seen=home.parent / "protection.json")
    yield made
    made.kill_all()
    made.unmount()


def at_work(loop):
    return loop.call.running


def ended(loop):
    return loop.phase == "ended"


def given_up(loop):
    """By the rule for faults: what a signal stopped goes on by itself."""
    return loop.phase == "paused" and loop.control.stopped_by == "limit"


@pytest.fixture
def receiver():
    made = Receiver("s3cret")
    yield made
    made.close()


def tell_people(world, receiver):
    """A user who wants to hear of everything: by webhook, activity log, and a `gh` of their own."""
    gh = world.top / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f'#!/bin/sh\n{{ echo "$@"; cat; }} >> {world.outside}/comments\n')
    gh.chmod(0o755)
    env = {"HOOK_SECRET": "s3cret", "PATH": search_path(str(gh.parent))}
    world.more_env |= env
    config = world.config / "ralph" / "config.toml"
    config.write_text(
        config.read_text() + f'activity.log = "{world.outside}/activity"\n[notify]\n'
        f'webhook = "{receiver.address}"\nsecret_from = "HOOK_SECRET"\n'
    )


def told_people(world, receiver):
    """What they heard, without times and places."""
    assert not receiver.forged
    hooks = [{key: one[key] for key in STEADY} for one in receiver.got]
    receiver.got.clear()
    lines = (world.outside / "activity").read_text().splitlines()
    return hooks, [line.split("\t")[1:3] for line in lines], (world.outside / "comments").read_text()


STEADY = ("v", "event", "loop", "task", "phase", "outcome", "grade", "text", "iteration", "cost", "next")


def test_it_ends_as_in_the_foreground(world, receiver):
    """`-d` returns at once and says how to go on; facts, report, proof, result, and what people hear of it by
    webhook, activity log and comment, are those of any loop.
    """
    name = "l1-00000001"
    tell_people(world, receiver)
    began = time.monotonic()
    told = world.begin(name, "--issue", "7")
    assert time.monotonic() - began < 30
    assert told.startswith(f"#1 {name}  in the background, pid ")
    for line in ("status l1-00000001", "logs l1-00000001 -f", "attach l1-00000001", "abort l1-00000001"):
        assert f"ralph {line}" in told
    loop = world.until(name, ended)
    while world.runner_of(name):  # it writes report and proof, and tells people, once the loop has ended
        time.sleep(0.1)
    world.whole(name)
    assert (loop.iteration, loop.spend.calls, loop.host.background) == (2, 2, True)
    kinds = [kind for kind in world.kinds(name) if kind not in ("LoopQueued", "StintStarted")]
    report = world.ralph("report", name, "--json")
    assert json.loads(report.out)["outcome"] == "verified"
    assert world.ralph("verify", name, "--quick").code in (0, 2)
    assert list((world.state / "attestations").iterdir())
    world.over()
    heard = told_people(world, receiver)
    assert [one["event"] for one in heard[0]] == ["end"]
    assert heard[0][0]["next"] == [f"ralph {verb} {name}" for verb in ("diff", "merge", "discard", "report")]
    assert heard[1] == [["start", f"ralph-{name}"], ["end", f"ralph-{name}"]]
    assert heard[2].startswith("issue comment 7 --body-file -\n**verified** (grade ")
    other = Back(world.top.parent / "other", world.home, seen=world._seen)
    tell_people(other, receiver)
    done = other.ralph(*other.words("", "--issue", "7"))
    assert done.code == 0, done.report()
    assert [kind for kind in other.kinds(name) if kind != "StintStarted"] == kinds
    assert told_people(other, receiver) == heard
    assert list((other.state / "attestations").iterdir())
    other.unmount()


@pytest.mark.soak
def test_people_who_cannot_be_told_delay_nothing(world, receiver):
    """A receiver that is gone, a log that cannot be written, a `gh` that fails: the loop is verified all the
    same, at its pace, and its log says what was not sent.
    """
    tell_people(world, receiver)
    receiver.close()
    (world.top / "bin" / "gh").write_text("#!/bin/sh\nexit 4\n")
    (world.outside / "activity").mkdir()
    done = world.ralph(*world.words("", "--issue", "7", "--max-iterations", "2"))
    assert done.code == 0, done.report()
    for words in (
        "notification by webhook not sent: ",
        "no comment on issue 7: gh ended with 4",
        "cannot be written: Is a directory",
    ):
        assert words in done.err, done.report()


@pytest.mark.soak
@pytest.mark.parametrize("what", ["runner", "all", "terminate"])
def test_in_the_middle_of_a_call(world, what):
    """With its runner dead the paid call goes on, and the next runner takes it over: no call is made twice.

    With the keeper dead too the call is lost, once; nothing of it is left, and the loop goes on.
    """
    world.begin("l1-00000001", nap=6.0)
    world.until("l1-00000001", at_work)
    time.sleep(0.5)
    world.fault(what, "l1-00000001")
    (world.outside / "go-l1-00000001").touch()
    world.until("l1-00000001", ended)
    loop = world.whole("l1-00000001")
    assert loop.spend.calls == {"runner": 2, "all": 3}.get(what, loop.spend.calls)
    assert world.kinds("l1-00000001").count("StintStarted") == 2
    world.over()


@pytest.mark.soak
def test_what_a_person_stopped_stays_stopped(world):
    """Paused by hand, it is woken by no worker, no death and no reboot; `resume -d` takes it up again."""
    world.begin("l1-00000001", nap=30.0)
    world.until("l1-00000001", at_work)
    done = world.ralph("pause", "l1-00000001", "--now")
    assert done.code == 0, done.report()
    loop = world.until("l1-00000001", lambda loop: loop.phase == "paused")
    assert loop.control.stopped_by == "person"
    before = world.kinds("l1-00000001")
    for what in ("worker", "reboot"):
        world.fault(what, "l1-00000001")
        time.sleep(5.0)
    assert world.kinds("l1-00000001") == before
    (world.outside / "go-l1-00000001").touch()
    assert world.ralph("resume", "l1-00000001", "-d").code == 0
    world.until("l1-00000001", ended)
    world.over()


def test_the_fifth_waits_or_is_told_who_is_at_work(world):
    """At the limit a loop is refused with the list, or queued; the queue goes by priority, then by age."""
    config = world.config / "ralph" / "config.toml"
    config.write_text(config.read_text() + "max_loops = 1\n")
    world.begin("first-00000000", nap=60.0)
    world.until("first-00000000", at_work)
    told = world.begin("second-00000000", code=5)
    assert "1 loop is at work in this repository" in told
    assert "#1  it 1  make the tests pass  ralph abort first-00000000" in told
    assert "queued" in world.begin("low-00000000", "--queue", "--priority", "low", nap=0.1)
    assert "queued" in world.begin("high-00000000", "--queue", "--priority", "high", nap=0.1)
    assert [world.loop(name).phase for name in ("low-00000000", "high-00000000")] == ["queued", "queued"]
    status = json.loads(world.ralph("status", "--json").out)
    assert status["counts"] == {"working": 1, "queued": 2}
    assert world.ralph("resume", "low-00000000").code == 5  # admission is at the start of every stint
    (world.outside / "go-first-00000000").touch()
    for name in ("first-00000000", "high-00000000", "low-00000000"):
        world.until(name, ended)
        world.whole(name)
    ends = [
        world.record(name).entries[-1].row.at for name in ("first-00000000", "high-00000000", "low-00000000")
    ]
    assert ends == sorted(ends)
    world.over()


def test_watched_and_stopped_from_elsewhere(world):
    """Several look on at once; notes and more room reach it; `abort --all` returns when it has ended."""
    world.begin("l1-00000001", nap=40.0)
    world.until("l1-00000001", at_work)
    ways = (("attach", "l1-00000001", "--display", "plain"), ("attach", "1"), ("logs", "-f"))
    views = [world.start(*words) for words in ways]
    assert world.ralph("resume", "l1-00000001", "--max-iterations", "+3").code == 0
    assert world.ralph("answer", "l1-00000001", "the clock is in UTC").code == 0
    world.until("l1-00000001", lambda loop: loop.limits.iterations == 18 and loop.control.steers)
    done = world.ralph("abort", "--all")
    assert (done.code, "l1-00000001 aborted at " in done.out) == (0, True), done.report()
    assert world.loop("l1-00000001").outcome == "aborted"
    ends = [view.wait(30) for view in views]
    assert [end.code for end in ends] == [0, 0, 0], [end.report() for end in ends]
    assert "ABORTED" in ends[0].out
    assert all("AbortAsked" in end.text or "abort" in end.text for end in ends)
    world.over()


@pytest.mark.soak
def test_a_missing_key_is_named(world, receiver, monkeypatch):
    """A worker without the variable that holds the agent's key leaves the loop paused and says which, also to
    people who look elsewhere.
    """
    tell_people(world, receiver)
    world.ralph("worker", "start")
    monkeypatch.setattr(
        world, "env", lambda env=world.env, **more: env(ANTHROPIC_API_KEY="sk-not-real", **more)
    )
    world.begin("l1-00000001", nap=30.0)
    world.until("l1-00000001", at_work)
    world.kill([*world.runner_of("l1-00000001"), *world.keepers("l1-00000001")])
    loop = world.until("l1-00000001", lambda loop: loop.phase == "paused")
    assert "ANTHROPIC_API_KEY" in loop.reason
    assert loop.control.stopped_by == "limit"
    while not receiver.got:
        time.sleep(0.1)
    assert [(one["event"], one["text"]) for one in receiver.got] == [("blocked", f"paused: {loop.reason}")]
    stored = b"".join(path.read_bytes() for path in world.state.glob("journal.db*"))
    assert b"sk-not-real" not in stored
    world.over()


@pytest.mark.parametrize(
    "how", ["closed", *(pytest.param(one, marks=pytest.mark.soak) for one in ("SIGHUP", "SIGTERM"))]
)
def test_the_terminal_that_it_was_started_from_may_die(world, how):
    """The terminal is closed, or its session gets SIGHUP or SIGTERM: the loop's runner never notices."""
    name = "l1-00000001"
    with world.terminal(name, nap=2.0) as terminal:
        world.until(name, at_work)
        members = world.session_of(terminal)
        assert members
        if how == "closed":
            terminal.kill()
        world.kill(members, getattr(signal, how, signal.SIGHUP))  # as a terminal does that is closed
        terminal.wait(30)
        world.until(name, ended)
    world.whole(name)
    assert world.kinds(name).count("StintStarted") == 1
    world.over()


@pytest.mark.soak
def test_twenty_wait_and_four_are_at_work(world):
    """Of 20 queued loops never more than 4 are at work, whoever looks, and each ends as it should."""
    names = [f"l-{number:08x}" for number in range(20)]
    for name in names:
        world.begin(name, "--queue", nap=0.5)
    most, left = 0, set(names)
    until = time.monotonic() + 500
    while left:
        assert time.monotonic() < until, left
        counts = json.loads(world.ralph("status", "--json", "--limit", "0").out)["counts"]
        most = max(most, sum(counts.get(word, 0) for word in ("working", "judging", "baseline", "new")))
        left = {name for name in left if not ended(world.loop(name))}
    assert 2 <= most <= 4
    for name in names:
        world.whole(name)
    world.over()


PHASES = {
    "queued": lambda loop: loop.phase == "queued",
    "baseline": lambda loop: loop.phase == "baseline",
    "call": lambda loop: loop.call.running,
    "judging": lambda loop: loop.phase == "judging" and loop.proof.stage == "fast",
    "final": lambda loop: loop.phase == "judging" and loop.proof.stage == "final",
    "published": lambda loop: bool(loop.landing.result),
}


@pytest.mark.soak
@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("phase", PHASES)
def test_one_fault_in_each_phase(world, phase, what):
    """Whatever dies, wherever the loop is: it ends verified, with nothing lost, doubled or left behind."""
    name = "l1-00000001"
    if what == "disk" and not world.small:
        pytest.skip("needs a disk of its own, which only root can mount")
    world.begin(name, "--queue", nap=1.0)
    world.until(name, lambda loop: PHASES[phase](loop) or ended(loop))
    world.fault(what, name)
    world.until(name, lambda loop: ended(loop) or given_up(loop), 150)
    world.whole(name)
    world.over()


@pytest.mark.soak
def test_after_a_reboot_what_ran_yesterday_goes_on(world):
    """Everything is gone and the boot id is another one: what ran less than 24 hours ago goes on by itself;
    what is older waits for a person, who can resume it.
    """
    for name, hours, woken in (("new-00000000", 23, True), ("old-00000000", 25, False)):
        world.begin(name, nap=60.0)
        world.until(name, at_work)
        (world.outside / f"go-{name}").touch()
        world.kill_all()
        (world.top / "moved").write_text(str(hours * 3600))
        before = world.kinds(name)
        world.reboot()
        if woken:
            world.until(name, ended)
        else:
            time.sleep(12.0)
            assert world.kinds(name) == before
            assert json.loads(world.ralph("status", name, "--json").out)["loops"][0]["word"] == "crashed"
            assert world.ralph("resume", name, "-d").code == 0
            world.until(name, ended)
        world.whole(name)
        (world.top / "moved").write_text("0")
    world.over()


@pytest.mark.soak
def test_a_loop_whose_sandbox_is_lost_waits_for_a_person(world):
    """Begun in a box, it does not go on with the user's own rights while nobody looks; a resume is a yes."""
    name = "l1-00000001"
    world.begin(name, nap=60.0)
    world.until(name, at_work)
    (world.outside / f"go-{name}").touch()
    world.reboot(box=False)
    loop = world.until(name, lambda loop: loop.phase == "paused")
    assert "its sandbox (S" in loop.reason
    kinds = world.kinds(name)  # whoever dies between both facts leaves it paused
    assert kinds[kinds.index("PauseAsked") + 1] == "StintStarted"
    assert (loop.control.stopped_by, loop.work.protection) == ("limit", "S0")
    world.reboot()
    assert world.ralph("resume", name, "-d").code == 0
    world.until(name, ended)
    world.whole(name)
    world.over()


# Other storms than the usual ones: STORMS=101,112 for all seeds between them.
FIRST, LAST = map(int, os.environ.get("STORMS", "1,11").split(","))
STORMS = [pytest.param(seed, 30, marks=pytest.mark.soak) for seed in range(FIRST, LAST + 1)]


@pytest.mark.parametrize(("seed", "faults"), [(0, 8), *STORMS])
def test_a_storm_of_faults(world, seed, faults):
    """Kills of runner, worker and keeper, alone and together, hangups, terminations, two workers at once, a
    moved clock, a full disk and reboots, at random moments: no iteration is lost, no commit made twice, no
    agent left or beside another, and what a person stopped is not woken.
    """
    names = [f"l-{number:08x}" for number in range(faults // 2)]
    began = time.monotonic()
    world.begin("stays-00000000", "--queue", nap=60.0)
    world.ralph("pause", "stays-00000000", "--now")
    # Long enough that they are at work when the storm comes, on a busy machine too.
    nap = min(12.0, max(2.0 if faults < 30 else 5.0, 3 * (time.monotonic() - began)))
    for name in names:
        world.begin(name, "--queue", nap=nap)
    before = world.kinds("stays-00000000")
    met = world.storm(names, faults, seed)
    assert met >= 1
    world.worker()
    for name in names:
        world.until(name, lambda loop: ended(loop) or given_up(loop), 180)
        if given_up(world.loop(name)):
            assert world.ralph("resume", name, "-d", "--queue").code == 0
            world.until(name, ended, 180)
        world.whole(name)
    assert world.kinds("stays-00000000") == before
    print(f"seed {seed}: {met} faults")
    world.over()
