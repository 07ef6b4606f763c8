"""Agents that do the work, however strangely: the loop ends verified, and the result is what they made."""

import pytest
from kit import agent

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


def test_what_an_agent_is_told_and_what_is_told_of_it(place):
    """The prompt comes on stdin with task and check; the environment says where it is: at the user's path,
    which holds the commit and none of the user's unfinished work. What an agent prints is shown, logged and
    reported without terminal sequences and secrets."""
    keys = {"OPENAI_API_KEY": "sk-verysecret-0123456789", "SECRET_TOKEN": "tok-123456789"}
    shown = "printf 'key %s \\033]0;title\\007\\033[31mred' $OPENAI_API_KEY"
    looks = f"ls > listed.txt; cat README.md >> listed.txt; {shown}; {agent('tells_what_it_sees')}"
    done = place.loop(looks, env={**keys, "GIT_DIR": "/nowhere"})
    loop = place.expect(done, "verified", 0, 1)
    seen, listed = place.result("seen.json"), place.result("listed.txt")
    assert f'"RALPH_LOOP_ID": "ralph-{loop.sealed.loop}"' in seen
    assert '"RALPH_ITERATION": "1"' in seen
    assert f'"cwd": "{place.repo}"' in seen
    assert "make the tests pass" in seen
    assert "python3 -m unittest" in seen
    assert keys["SECRET_TOKEN"] not in seen
    assert "GIT_DIR" not in seen
    assert "untracked.txt" not in listed
    assert "not committed yet" not in listed
    kept = place.git("show", f"refs/ralph/{loop.sealed.loop}/user-start:README.md")
    assert "not committed yet" in kept, "the start of the user's work is pinned all the same"
    logs = "".join(path.read_text(errors="replace") for path in place.state.glob("*/*.log"))
    for text in (done.text, logs, place.ralph("report", env=keys).out):
        assert text
        assert keys["OPENAI_API_KEY"] not in text
        assert "\x1b" not in text
