"""Plan and build mode as a user meets them: specs in, verified items out, and agents that do it wrong."""

from __future__ import annotations

import json

import buildkit
import pytest
from buildkit import FEW, QUICK, build, make, plan
from kit import LIMIT

from ralph.core.model import events as e

pytestmark = pytest.mark.slow
PLAN = "IMPLEMENTATION_PLAN.md"


@pytest.fixture
def shop(place):
    place.once = True
    make(place)
    return place


def quickly(place, *faults, flags=()):
    """With a check that says nothing of tests: what is shown is the way, not the proof."""
    return build(place, *faults, check=QUICK, flags=("--min-grade", "D", *flags))


def purposes(done):
    return [(event.purpose, event.item) for event in done.all(e.AgentStarted)]


def subjects(place, loop):
    return place.git("log", "--format=%s", f"{loop.sealed.base.commit}..{loop.landing.branch}").splitlines()


def test_six_criteria_to_a_verified_result(place):
    """Specs with six criteria are planned, built item by item, proven, and landed with their ticks."""
    place.once = True
    make(place, tuple(buildkit.CRITERIA))
    done = build(place)
    loop = place.expect(done, "verified", 0, 8, grade="B", says=("6 of 6 items verified", "\nplanning"))
    assert loop.sealed.protect == ("specs/*.md",)
    assert purposes(done) == [
        ("plan", ""),
        *(("item", name) for name in loop.build.done_items),
        ("close", ""),
    ]
    assert subjects(place, loop) == [
        f"feat({name}): Add {name}()" for name in reversed(loop.build.done_items)
    ]
    body = place.git("log", "-1", "--format=%B", loop.landing.branch)
    assert "Serves COUNT-3." in body
    assert "Verification:\n- check: pass, 7 passed; $ python3 -m unittest; evidence " in body
    assert "- COUNT-3: test_words.WordsTest.test_count_3_first" in body
    assert place.result(PLAN).count("- [x]") == 6
    report = json.loads(place.ralph("report", "--json").out)
    assert [(tie["criterion"], tie["status"]) for tie in report["ties"]] == [
        (n, "pass") for n in buildkit.CRITERIA
    ]
    told = place.ralph("report").out
    assert "| Spec | Criterion | Test | Status |" in told
    assert "| `upper` | Add upper() | done | 2 |" in told
    status = json.loads(place.ralph("status", "--json").out)["loops"][0]["plan"]
    assert (status["done"], status["total"], status["signal"], status["words"]) == (6, 6, True, 2)
    for name in ("staged.txt", "untracked.txt"):
        (place.repo / name).unlink()
    place.git("-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard")
    merged = place.ralph("merge", loop.sealed.loop)
    assert merged.code == 0, merged.report()
    assert (place.repo / PLAN).read_text().count("- [x]") == 6
    again = build(place)  # nothing is left, and nobody is called
    assert (again.code, again.loop.outcome, again.loop.spend.calls) == (6, "satisfied", 0), again.report()
    assert "nothing to do" in again.out


@pytest.mark.soak
def test_planning_that_codes(shop):
    """Whatever a planning call changes besides the plan is thrown away, counted and kept aside by a ref."""
    done = plan(shop, "codes", flags=("--readers", "2"))
    loop = done.loop
    assert (done.code, loop.outcome, loop.spend.calls) == (0, "verified", 3), done.report()
    assert "PLANNED" in done.out
    assert "3 other files thrown away" in done.err
    assert loop.build.planning.discarded_files == 3
    assert shop.git("rev-parse", "--verify", f"refs/ralph/{loop.sealed.loop}/rejected/1")
    assert not (shop.repo / "extra.txt").exists()
    readers = done.all(e.ReadersEnded)[0]
    assert [bool(note.text) for note in readers.notes] == [True, True]
    assert readers.notes[0].text in shop.prompt(done.all(e.AgentStarted)[0].prompt)
    text = (shop.repo / PLAN).read_text()
    assert (text.count("- [ ]"), text.count("- [x]")) == (2, 0)

    refused = plan(shop)
    assert (refused.code, "E-PLAN-EDITED" in refused.err) == (2, True), refused.report()
    bare = ("-c", "core.hooksPath=/dev/null")
    shop.git(*bare, "add", PLAN)
    shop.git(*bare, "commit", "--quiet", "-m", "plan", "--", PLAN)
    current = plan(shop)
    assert "E-PLAN-CURRENT" in current.err, current.report()
    fresh = plan(shop, "human", flags=("--refresh",))
    assert (fresh.code, "+ sign: Sign the release (P1, human, chore)" in fresh.out) == (0, True), (
        fresh.report()
    )


@pytest.mark.soak
def test_an_emptied_test_of_an_earlier_item(shop):
    """A later item that takes an earlier one's work away and empties its test is not verified."""
    loop = shop.expect(build(shop, "guts", flags=("--max-iterations", "3")), "exhausted", 1, 3)
    assert set(loop.build.done_items) == {"upper"}
    emptied = "test_words.WordsTest.test_case_1_upper passes without the work too, which it once did not"
    (sentence,) = loop.proof.not_yet
    assert sentence.startswith(f"criteria: criterion CASE-1: {emptied}")


@pytest.mark.soak
def test_found_work_and_a_box_for_a_human(shop):
    """Found work is built like the rest; a box for a human blocks the loop until a resume says it is done."""
    done = quickly(shop, "human", "found")
    loop = shop.expect(done, "blocked", 3, 4, says="only a human can tick what is left: sign")
    assert list(loop.build.done_items) == ["upper", "lower", "notes"]
    assert shop.result("NOTES.md").startswith("# Notes")
    assert "ralph resume 1 --done sign" in done.out
    assert "ralph merge 1 --checkpoint 4" in done.out
    wrong = shop.ralph("resume", loop.sealed.loop, "--done", "upper")
    assert "E-RESUME-ITEM" in wrong.err
    assert "[E-RESUME-CHECK]" in shop.ralph("resume", loop.sealed.loop, "--check", "true").err
    again = shop.ralph("resume", loop.sealed.loop, "--done", "sign", "--display", "plain")
    assert (again.code, again.loop.outcome) == (0, "verified"), again.report()


@pytest.mark.soak
def test_what_is_verified_can_be_taken(shop):
    """A loop that ended before all was done still has a commit for each verified item, and they land."""
    loop = shop.expect(quickly(shop, flags=("--max-iterations", "2")), "exhausted", 1, 2)
    name = loop.sealed.loop
    refused = shop.ralph("merge", name)
    assert (refused.code, f"next  ralph merge {name} --checkpoint 2" in refused.err) == (2, True)
    landed = shop.ralph("merge", name, "--checkpoint", "2")
    assert (landed.code, "NOT verified" in landed.out) == (0, True), landed.report()
    assert shop.git("log", "-1", "--format=%s") == "feat(upper): Add upper()"
    assert "ralph undo" in shop.ralph("status", name).out


@pytest.mark.soak
def test_a_plan_that_git_ignores_and_a_call_from_a_folder(shop):
    """The plan is read where no snapshot has it; agents begin at the top, where plan and specs are."""
    (shop.repo / ".git/info/exclude").write_text(f"{PLAN}\n")
    (shop.repo / "deep").mkdir()
    words = ("plan", "--agent-cmd", buildkit.agent("builder"), "--display", "plain")
    done = shop.ralph(*words, cwd=shop.repo / "deep")
    assert (done.code, "2 items, 2 open" in done.out) == (0, True), done.report()
    assert "ignored by git" in done.err
    assert f"git add ../{PLAN}" in done.out
    assert (shop.repo / PLAN).read_text().count("- [ ]") == 2


@pytest.mark.soak
def test_import_and_specs_that_are_not_committed(shop):
    """A PRD becomes a plan without an agent; specs that the agent could not see are refused first."""
    (shop.repo / "prd.json").write_text(
        json.dumps({"userStories": [{"id": "US-1", "title": "Add upper", "passes": True, "priority": 1}]})
    )
    done = shop.ralph("plan", "--import", "prd.json")
    assert (done.code, "1 items, 1 open" in done.out) == (0, True), done.report()
    assert "- [ ] `US-1`: Add upper" in (shop.repo / PLAN).read_text()
    dry = build(shop, flags=("--dry-run",))
    assert (dry.code, "mode     planning: no item serves criterion" in dry.out) == (0, True), dry.report()
    (shop.repo / "specs/01-case.md").write_text("# changed\n")
    refused = build(shop)
    assert (refused.code, "E-SPECS-UNCOMMITTED" in refused.err) == (2, True), refused.report()


@pytest.mark.soak
def test_a_kill_in_the_middle_loses_nothing(shop):
    """Killed after a call that failed and one that did not, a loop goes on with board, branch and commits."""
    running = shop.start(*buildkit.build_words("stumbles", check=QUICK), "--min-grade", "D")
    running.until(lambda loop: len(loop.build.done_items) == 1 and loop.call.running, 120)
    running.process.kill()
    running.process.wait(LIMIT)
    shop.kill_all()
    done = shop.ralph("resume", "--last", "--display", "plain")
    loop = done.loop
    assert (done.code, loop.outcome, set(loop.build.done_items)) == (0, "verified", {"upper", "lower"}), (
        done.report()
    )
    assert subjects(shop, loop) == ["feat(lower): Add lower()", "feat(upper): Add upper()"]
    assert tuple(tie.criterion for tie in loop.build.links.tests) == FEW


DECLARED = """# Implementation plan

## High

- [ ] `upper`: Add upper() (P0, S, serves CASE-1)
- [ ] `lower`: Add lower() (P0, S, serves CASE-2)
- [ ] `notes`: Write NOTES.md (P2)
  - Proof: none{reason}

## Missing specs

- none
"""


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("who", ["user", "agent"])
def test_an_item_that_nothing_can_prove(shop, who):
    """It passes by what it declares; why, and by whose word, is on the card, in report and commit."""
    if who == "user":
        (shop.repo / PLAN).write_text(DECLARED.format(reason=" because only people read them"))
    done = build(shop, *(("declares",) if who == "agent" else ()))
    loop = shop.expect(done, "verified", 0, done.loop.spend.calls, untouched=who == "agent")
    assert set(loop.build.done_items) == {"upper", "lower", "notes"}
    words = "declared in your plan" if who == "user" else "declared by the agent in its own plan"
    told = f"item notes: proof none because only people read them ({words})"
    assert told in done.text
    name = loop.sealed.loop
    assert told in shop.ralph("report", name).text
    rows = json.loads(shop.ralph("report", name, "--json").out)
    assert [item["no_proof"] for item in rows["items"] if item["item"] == "notes"] == [
        "only people read them"
    ]
    message = shop.git("log", "--format=%B", "-1", loop.build.done_items["notes"].commit)
    assert "Proof: none because only people read them" in message
    assert "nothing can prove it" in "".join(shop.prompt(one.prompt) for one in done.all(e.AgentStarted))
