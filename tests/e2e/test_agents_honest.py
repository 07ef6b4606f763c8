"""Agents that do the work, however strangely: the loop ends verified, and the result is what they made."""

import re

import pytest
from kit import SCRIPTED, agent, fixed_calc

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("steps", [1, 3])
def test_honest_in_n_steps(place, steps):
    """Work that needs N calls is verified after exactly N, as a branch whose files are the agent's."""
    place.once = False
    done = place.loop(agent("honest_steps", steps))
    loop = place.expect(done, "verified", 0, steps, grade="A", says="VERIFIED_DONE (A)")
    assert loop.iteration == steps
    assert "return a + b" in place.result("calc.py")
    assert "return a - b" in (place.repo / "calc.py").read_text()
    assert len(done.all(e.CheckpointMade)) == steps


@pytest.mark.soak
def test_half_done_with_a_broken_build_recovers(place):
    """A tree that does not even import is refused with the error, and the next call can repair it."""
    done = place.loop(agent("half_done_broken_build", "recover"), "--on-fail", "keep")
    place.expect(done, "verified", 0, 2, grade="B", says="said done: refused")
    assert "unfinished" not in place.result("calc.py")


@pytest.mark.soak
def test_half_done_with_a_broken_build_stays_unverified(place):
    """A broken build never passes, however often the agent claims to be done."""
    done = place.loop(agent("half_done_broken_build"), "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2, says="2 of 2 iterations used")
    assert not loop.landing.result
    assert any("check: " in sentence for sentence in loop.proof.not_yet)


@pytest.mark.soak
def test_moves_the_failing_tests_honestly(place):
    """Base tests that were moved unchanged count as present."""
    done = place.loop(agent("moves_test", "honest"))
    place.expect(done, "verified", 0, 1)
    assert "test_add" in place.result("test_moved.py")
    assert "test_add" not in place.result("test_calc.py")


@pytest.mark.soak
def test_commits_itself(place):
    """Commits, branches, tags, a stash and a moved HEAD of the agent's change nothing: the tree counts."""
    done = place.loop(agent("commits_itself"))
    loop = place.expect(done, "verified", 0, 1)
    assert "return a + b" in place.result("calc.py")
    assert place.git("rev-list", "--count", f"main..{loop.landing.branch}") == "1"
    assert "own-" not in place.git("for-each-ref")


@pytest.mark.soak
def test_git_init_in_a_sub_folder(place):
    """Files inside a repository that the agent made are in the result as files."""
    place.expect(place.loop(agent("git_init_sub")), "verified", 0, 1)
    assert place.result("sub/inner.py") == "INNER = 1"


@pytest.mark.soak
def test_deletes_its_git(place):
    """The workspace's own .git is not needed for anything."""
    place.expect(place.loop(agent("deletes_git")), "verified", 0, 1)
    assert "return a + b" in place.result("calc.py")


@pytest.mark.soak
def test_edits_its_git(place):
    """Filters, hooks and excludes planted in the workspace never run on the host and hide nothing."""
    mark = place.top / "planted"
    own = f"{agent('edits_git', mark)}; rm .gitattributes"
    done = place.loop(own, "--allow-write", str(place.top))
    place.expect(done, "verified", 0, 1)
    assert not mark.exists()
    assert "return a + b" in place.result("calc.py")


@pytest.mark.soak
def test_edits_its_git_and_the_attributes(place):
    """The same with attributes in the tree itself, which is a finding: files must be what they look like."""
    mark = place.top / "planted"
    done = place.loop(agent("edits_git", mark), "--allow-write", str(place.top), "--max-iterations", "1")
    loop = place.expect(done, "exhausted", 1, 1, says=".gitattributes")
    assert not mark.exists()
    assert "return a + b" in place.result("calc.py", loop.work.commit)
    assert "filter=evil" in place.result(".gitattributes", loop.work.commit)


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_forker(place, sandbox):
    """A child in its own session, a daemon and a respawner are all gone when the call is over, box or not."""
    done = place.loop(agent("forker", "all", place.top / "mark"), "--sandbox", sandbox)
    place.expect(done, "verified", 0, 1)


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_child_holds_stdout(place, sandbox):
    """A child that keeps stdout open does not hang the loop, and does not live on."""
    done = place.loop(agent("holds_stdout", place.top / "mark"), "--sandbox", sandbox)
    place.expect(done, "verified", 0, 1)
    assert done.seconds < 60  # the child itself would hold it for ten minutes


@pytest.mark.soak
def test_bad_json_and_utf8(place):
    """Torn, deep and wrongly typed JSON and broken UTF-8 are text; the claim after them is heard."""
    done = place.loop(agent("bad_json_utf8"))
    loop = place.expect(done, "verified", 0, 1)
    assert loop.call.claim is not None
    assert loop.call.claim.status == "COMPLETE"
    assert loop.spend.tokens is None


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("name", ["flood_200mb", "long_line_100mb"])
def test_flood(place, name):
    """Output without end is read to its end, kept in bounded size, and what was left out is counted."""
    done = place.loop(agent(name))
    loop = place.expect(done, "verified", 0, 1)
    [ended] = done.all(e.AgentEnded)
    assert ended.dropped > 50_000_000
    assert loop.call.claim is not None
    held = sum(path.stat().st_size for path in place.state.rglob("*") if path.is_file())
    assert held < 60_000_000, held


def test_what_an_agent_is_told(place):
    """The prompt comes on stdin with task and check; the environment says where it is: at the user's path."""
    done = place.loop(
        agent("tells_what_it_sees"), env={"SECRET_TOKEN": "tok-123456789", "GIT_DIR": "/nowhere"}
    )
    loop = place.expect(done, "verified", 0, 1)
    seen = place.result("seen.json")
    assert f'"RALPH_LOOP_ID": "ralph-{loop.sealed.loop}"' in seen
    assert '"RALPH_ITERATION": "1"' in seen
    assert f'"cwd": "{place.repo}"' in seen
    assert "make the tests pass" in seen
    assert "python3 -m unittest" in seen
    assert "tok-123456789" not in seen
    assert "GIT_DIR" not in seen


@pytest.mark.soak
def test_feature_with_a_claim(place):
    """Green before and no test of its own that notices (test_agents_proof has one): C by its claim."""
    place.commit("no bugs", calc__py=fixed_calc())
    done = place.loop(
        agent("claims_done_feature", "untested"), "--min-grade", "C", task="add a power function"
    )
    loop = place.expect(done, "verified", 0, 1, grade="C")
    assert loop.proof.unproven
    assert "def power" in place.result("calc.py")


@pytest.mark.soak
def test_feature_without_a_claim_is_not_done(place):
    """All green and nobody claims done: nothing was red before, so there is nothing to verify by."""
    place.commit("no bugs", calc__py=fixed_calc())
    done = place.loop(agent("same_error"), "--max-iterations", "1", task="add a power function")
    place.expect(done, "exhausted", 1, 1, says="none of them failed before")


def test_every_scripted_agent_is_driven():
    """No scripted agent is left out of the whole-loop tests."""
    names = {path.stem for path in SCRIPTED.glob("[a-z]*.py")}
    places = (*SCRIPTED.parent.glob("test_*.py"), *SCRIPTED.parent.glob("*kit.py"))
    text = "".join(path.read_text() for path in places)
    assert names - set(re.findall(r"[\"'](\w+)(?:\.py)?[\"']", text)) == set()
