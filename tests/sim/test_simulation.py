"""The runner's law in a simulated world: killed at any instant, it comes to the end it would have come to."""

import random

import pytest
from simworld import Disk, Ended, Script, live, on_disk

from ralph.core.model import events as e

SCRIPTS = {
    "honest": Script("honest", 3),
    "honest at once": Script("honest", 1),
    "claims done": Script("claims"),
    "asks": Script("asks"),
    "stalls": Script("stalls"),
    "turns": Script("turns"),
    "gets worse, is taken back": Script("worse"),
    "cheats": Script("cheats"),
    "brings its own test": Script("shows"),
    "claims without a new tree": Script("says so later"),
    "crashes twice": Script("honest", 2, ("crash", "timeout")),
    "is limited": Script("honest", 2, ("limit", "limit")),
    "is broken": Script("honest", 2, ("crash", "crash", "crash")),
    "login expired": Script("honest", 2, ("auth",)),
    "is sent back by a judge": Script("honest", 1, judged=True),
    "is a team": Script("team", team=True),
    "is a team, judged at the same time": Script("team", team=True, judged=True),
}


def same(plain: Ended, seen: Ended) -> None:
    """The same end, and nothing lost or done twice on the way."""
    loop, undisturbed = seen.loop, plain.loop
    ends = [(one.outcome, one.reason, one.grade, one.iteration, one.work.tree) for one in (undisturbed, loop)]
    assert ends[0] == ends[1]
    assert loop.proof.not_yet == undisturbed.proof.not_yet
    assert {key: count for key, count in seen.disk.done.items() if count != 1} == {}
    assert seen.disk.refs.keys() == plain.disk.refs.keys()
    # Each call that was spent is in the record, and only those that a kill interrupted were made again.
    begun, ended = (
        sum(seen.kinds.count(who + what) for who in ("Agent", "Judge", "Role"))
        for what in ("Started", "Ended")
    )
    assert begun == ended
    assert loop.spend.calls == begun + seen.beside
    again = loop.spend.calls - undisturbed.spend.calls
    # A judge beside a reviewer that objects is not needed any more when its call was lost.
    assert 0 <= again <= seen.disk.interrupted if plain.beside else again == seen.disk.interrupted
    assert sum(key.startswith("call ") for key in seen.disk.done) <= loop.spend.calls
    told = [one for one in seen.disk.calls.values() if one is not None and one.usage.tokens]
    assert (loop.spend.tokens or 0) == 10 * len(told)
    assert seen.kinds.count("LoopEnded") == 1


@pytest.mark.parametrize(
    ("name", "outcome", "grade", "calls"),
    [
        ("honest", "verified", "A", 3),
        ("asks", "blocked", None, 1),
        ("stalls", "stalled", None, 3),
        ("turns", "stalled", None, 5),
        ("gets worse, is taken back", "verified", "A", 3),
        ("crashes twice", "verified", "A", 4),
        ("is limited", "verified", "A", 4),
        ("is broken", "broken", None, 3),
        ("login expired", "blocked", None, 1),
        ("claims done", "verified", "A", 1),
        ("brings its own test", "verified", "B", 1),
        ("claims without a new tree", "verified", "C", 2),
        ("cheats", "blocked", None, 2),
        ("is sent back by a judge", "verified", "A", 4),
        ("is a team", "verified", "A", 6),
        ("is a team, judged at the same time", "verified", "A", 8),
    ],
)
def test_where_a_script_leads(name, outcome, grade, calls):
    """Undisturbed, each comes to its own end and grade, in as few calls as it can."""
    loop = live(SCRIPTS[name], set()).loop
    assert (loop.outcome, loop.grade, loop.spend.calls) == (outcome, grade, calls)


@pytest.mark.sample(check=3, test=7)
@pytest.mark.parametrize("name", SCRIPTS)
def test_one_kill_at_every_instant(name):
    """Whatever the agent does, one kill at any instant changes nothing but the number of stints."""
    script = SCRIPTS[name]
    plain = live(script, set())
    for instant in range(1, plain.ticks + 1):
        seen = live(script, {instant}, seed=instant)
        assert seen.crashes == 1
        same(plain, seen)


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.slow) for n in range(2, 12))]
)
def test_many_kills(seed):
    """Many kills, also of runners that were just recovering, change nothing either."""
    chance = random.Random(seed)
    for name, script in SCRIPTS.items():
        plain = live(script, set())
        crashes = {at for at in range(1, 3 * plain.ticks) if chance.random() < 0.1}
        crashes |= {at + 1 for at in crashes if chance.random() < 0.5} | {chance.randint(1, plain.ticks)}
        seen = live(script, crashes, seed=seed)
        assert seen.crashes, name
        same(plain, seen)


@pytest.mark.sample(check=1)
@pytest.mark.parametrize(
    "command",
    [e.Steered(text="look here"), e.PauseAsked(reason="lunch"), e.PauseAsked(reason="now", now=True)],
)
def test_a_command_and_a_kill_at_every_instant(command):
    """A command is heard once, before or after any kill, and the loop still comes to its end."""
    script = SCRIPTS["honest at once"]
    plain = live(script, set())
    for at in range(1, plain.ticks, 3):
        undisturbed = live(script, set(), {at: command})
        for instant in range(at, undisturbed.ticks + 1, 2):
            seen = live(script, {instant}, {at: command}, seed=at)
            assert (seen.loop.outcome, seen.loop.work.tree) == ("verified", "h1.0")
            assert seen.kinds.count(e.kind_of(command)) <= 1
            assert {key: count for key, count in seen.disk.done.items() if count != 1} == {}


def test_a_pause_and_a_kill_around_the_judge():
    """A judge that was stopped in the middle is accounted for, asked again, and comes to the same opinion."""
    script = SCRIPTS["is sent back by a judge"]
    plain = live(script, set())
    for at in range(1, plain.ticks, 2):
        seen = live(script, {at + at % 5}, {at: e.PauseAsked(now=True)}, seed=at)
        assert (seen.loop.outcome, seen.loop.work.tree) == ("verified", "h2.0")
        assert seen.loop.spend.calls == seen.kinds.count("AgentStarted") + seen.kinds.count("JudgeStarted")
        assert {key: count for key, count in seen.disk.done.items() if count != 1} == {}


def test_an_abort_and_a_kill_at_every_instant():
    """An abort that was heard ends the loop as aborted, unless the result was already there."""
    script = SCRIPTS["honest"]
    plain = live(script, set())
    for at in range(1, plain.ticks, 4):
        for instant in range(at, at + 12):
            seen = live(script, {instant}, {at: e.AbortAsked(reason="enough")}, seed=at)
            heard = "AbortAsked" in seen.kinds
            assert seen.loop.outcome == ("verified" if "result" in seen.disk.refs else "aborted") or not heard
            assert seen.kinds.count("AbortAsked") <= 1
            assert {key: count for key, count in seen.disk.done.items() if count != 1} == {}


@pytest.mark.sample(check=3, test=7)
@pytest.mark.parametrize("name", SCRIPTS)
def test_gates_that_the_machine_ends(name):
    """Whichever calls of gates give no answer, and however often in a row, the end is the same."""
    script = SCRIPTS[name]
    plain = live(script, set())
    for first in range(1, plain.disk.gate_calls + 1):
        for often in (1, 2, 3, 7):
            struck = range(first, first + often)
            seen = live(script, set(), disk=Disk(struck))
            same(plain, seen)
            assert seen.kinds.count("NoVerdict") == often
            assert ("ResumeAsked" in seen.kinds) >= (often == 7)
        same(plain, live(script, {plain.ticks // 2}, seed=first, disk=Disk({first})))


@pytest.mark.slow
def test_kills_over_the_real_journal(tmp_path):
    """The same over SQLite, its connection lost with each kill."""
    script = SCRIPTS["honest"]
    plain = live(script, set())
    opened = []

    def journal(tick):
        opened.append(on_disk(str(tmp_path), tick))
        return opened[-1]

    try:
        seen = live(script, set(range(3, 3 * plain.ticks, 7)), journal=journal)
    finally:
        opened[0].close()
    assert seen.crashes > 10
    same(plain, seen)
