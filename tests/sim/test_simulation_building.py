"""Plan and build mode in a simulated world: killed at any instant, the same commits, board and end."""

import random

import pytest
from buildworld import HUMAN, A, B, Builder, build
from simworld import Ended, on_disk

from ralph.core.model import events as e
from ralph.core.model.plan.board import state_of
from ralph.core.model.plan.items import Plan

TWO = Plan(items=(A, B))
SCRIPTS = {
    "plans, builds, closes": Builder(),
    "codes while planning": Builder(scribbles="z"),
    "has readers": Builder(brief={"readers": 2}, draft=(A,), work={"a": ("ab",)}),
    "fails twice": Builder({"a": ("R", "u", "a"), "b": ("ab",)}, TWO),
    "breaks an item": Builder({"a": ("a",), "b": ("b", "+b")}, TWO),
    "gives an item up": Builder({"a": ("u", "v"), "b": ("+b",)}, TWO, brief={"attempts": 2}),
    "finds work while closing": Builder(plan=TWO, finds=True),
    "plans again": Builder(plan=TWO, brief={"replan_every": 1}),
    "leaves a box for a human": Builder(plan=Plan(items=(A, B, HUMAN))),
    "never plans": Builder(draft=()),
    "crashes twice": Builder(plan=TWO, faults=("crash", "timeout")),
}
QUICK = ("plans, builds, closes", "has readers", "gives an item up")


def standing(seen: Ended) -> dict[str, tuple]:
    """Board and ticks, item by item."""
    found = seen.loop.build
    assert found is not None
    if found.board is None:
        return {}
    names = [item.id for item in found.plan.items]
    return {name: (state_of(found.board, name), found.done_items.get(name)) for name in names}


def once(seen: Ended) -> None:
    """Nothing was done twice, every call is in the record, and the branch is what the record says."""
    assert {key: count for key, count in seen.disk.done.items() if count != 1} == {}
    build = seen.loop.build
    told = [one.commit for one in build.done_items.values() if one.commit]
    assert set(told) <= set(seen.disk.commits)
    assert len(seen.disk.commits) - seen.kinds.count("ItemPublished") in (0, seen.loop.outcome == "aborted")
    assert seen.loop.landing.result == (
        seen.disk.commits[seen.kinds.count("ItemPublished") - 1] if seen.kinds.count("ItemPublished") else ""
    )
    assert len(seen.disk.calls) <= seen.loop.spend.calls


def same(plain: Ended, seen: Ended) -> None:
    once(seen)
    ends = [
        (loop.outcome, loop.reason, loop.grade, loop.iteration, loop.work.tree, loop.proof.not_yet)
        for loop in (plain.loop, seen.loop)
    ]
    assert ends[0] == ends[1]
    assert seen.disk.commits == plain.disk.commits
    assert standing(seen) == standing(plain)
    assert seen.disk.workspace == plain.disk.workspace
    assert seen.loop.spend.calls == plain.loop.spend.calls + seen.disk.interrupted
    told = [one for one in seen.disk.calls.values() if one is not None and one.usage.tokens]
    assert (seen.loop.spend.tokens or 0) == 10 * len(told)
    assert seen.kinds.count("LoopEnded") == 1


@pytest.mark.parametrize(
    ("name", "outcome", "calls", "commits"),
    [
        ("plans, builds, closes", "verified", 5, 2),
        ("codes while planning", "verified", 5, 2),
        ("has readers", "verified", 6, 1),
        ("fails twice", "verified", 6, 2),
        ("breaks an item", "verified", 6, 2),
        ("gives an item up", "blocked", 3, 1),
        ("finds work while closing", "verified", 5, 3),
        ("plans again", "verified", 5, 2),
        ("leaves a box for a human", "blocked", 2, 2),
        ("never plans", "blocked", 3, 0),
        ("crashes twice", "verified", 6, 2),
    ],
)
def test_where_a_builder_leads(name, outcome, calls, commits):
    """Undisturbed, each comes to its end in as few calls as it can, with one commit a verified item."""
    seen = build(SCRIPTS[name], set())
    once(seen)
    assert (seen.loop.outcome, seen.loop.spend.calls) == (outcome, calls), seen.loop.reason
    assert len(seen.disk.commits) == commits


def every_kill(script: Builder, pace: int) -> None:
    plain = build(script, set())
    for instant in range(1, plain.ticks + 1, pace):
        seen = build(script, {instant}, seed=instant)
        assert seen.crashes == 1
        same(plain, seen)


@pytest.mark.parametrize("name", QUICK)
def test_one_kill_while_building(name):
    """One kill, at every fifth instant, changes nothing but the number of stints."""
    every_kill(SCRIPTS[name], 5)


@pytest.mark.sample(test=2)
@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_one_kill_at_every_instant_of_building(name):
    """Whatever the builder does, one kill at any instant changes nothing but the number of stints."""
    every_kill(SCRIPTS[name], 1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_many_kills_while_building(seed):
    """Many kills, also of runners that were just recovering, change nothing either."""
    chance = random.Random(seed)
    for name, script in SCRIPTS.items():
        plain = build(script, set())
        crashes = {at for at in range(1, 3 * plain.ticks) if chance.random() < 0.1}
        crashes |= {at + 1 for at in crashes if chance.random() < 0.5} | {chance.randint(1, plain.ticks)}
        seen = build(script, crashes, seed=seed)
        assert seen.crashes, name
        same(plain, seen)


def paused(name: str, command: e.AnyEvent, pace: int) -> None:
    script = SCRIPTS[name]
    plain = build(script, set())
    for at in range(1, plain.ticks, pace):
        seen = build(script, {at + at % 5}, {at: command}, seed=at)
        once(seen)
        assert (seen.loop.outcome, seen.loop.work.tree) == (plain.loop.outcome, plain.loop.work.tree), at
        assert (seen.disk.commits, standing(seen)) == (plain.disk.commits, standing(plain)), at


@pytest.mark.parametrize("now", [False, True])
def test_a_pause_and_a_kill_while_building(now):
    """A pause at any point, and a kill soon after it, changes neither what is built nor what is given up."""
    paused("gives an item up", e.PauseAsked(now=now), 4)


@pytest.mark.slow
@pytest.mark.parametrize("now", [False, True])
@pytest.mark.parametrize("name", ["has readers", "breaks an item", "finds work while closing", "plans again"])
def test_pauses_and_kills_while_building(name, now):
    """The same for every builder that readers, lost items, found work or a new plan make a difference to."""
    paused(name, e.PauseAsked(now=now), 5)


def aborted(name: str, pace: int) -> None:
    script = SCRIPTS[name]
    plain = build(script, set())
    for at in range(1, plain.ticks, pace):
        seen = build(script, {at + at % 7}, {at: e.AbortAsked(reason="enough")}, seed=at)
        once(seen)
        assert seen.disk.commits == plain.disk.commits[: len(seen.disk.commits)]
        if "AbortAsked" in seen.kinds:
            assert seen.loop.outcome in ("aborted", plain.loop.outcome)


def test_an_abort_and_a_kill_while_building():
    """An abort keeps what was published, and nothing comes after it."""
    aborted("plans, builds, closes", 6)


@pytest.mark.slow
def test_aborts_and_kills_while_building():
    """The same with readers, with items that are lost and with such that are given up."""
    for name in ("has readers", "breaks an item", "gives an item up"):
        aborted(name, 4)


@pytest.mark.slow
def test_kills_while_building_over_the_real_journal(tmp_path):
    """The same over SQLite, its connection lost with each kill."""
    script, opened = SCRIPTS["breaks an item"], []
    plain = build(script, set())

    def journal(tick):
        opened.append(on_disk(str(tmp_path), tick))
        return opened[-1]

    try:
        seen = build(script, set(range(3, 3 * plain.ticks, 11)), journal=journal)
    finally:
        opened[0].close()
    assert seen.crashes > 5
    same(plain, seen)
