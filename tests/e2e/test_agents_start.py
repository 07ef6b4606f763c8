"""What may start and what is refused: before any agent is called and any file is written."""

import pytest
from kit import CHECK, TASK, agent, json_lines, lib, ralph_argv, userstate

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


def refused(place, done, code, *words):
    """Nothing was recorded, spent or touched; the error has its code and a next step."""
    assert done.code == code, done.report()
    assert done.record is None
    for word in words:
        assert word in done.err, done.report()
    assert "next" in done.err
    assert "Traceback" not in done.err
    place.same_user()
    place.no_process_left()


def test_missing_tool(place):
    """A check whose tool is missing can never be green: broken at the baseline, no agent call."""
    done = place.loop(agent("honest_steps"), check="no-such-tool --all")
    place.expect(done, "broken", 4, 0, says='command not found: "no-such-tool"')


def test_no_check(place):
    """Without a check, and without looking for one, nothing could be verified."""
    done = place.ralph("loop", TASK, "--agent-cmd", agent("honest_steps"), "--no-infer")
    refused(place, done, 2, "E-CHECK-NONE", "--check")


def test_missing_agent(place):
    """An agent that is not there is a matter of set-up."""
    refused(place, place.loop("./no-such-agent.sh"), 4, "E-AGENT-MISSING")


def test_nested_by_the_marker(place):
    """A loop started inside a loop is refused."""
    done = place.loop(agent("honest_steps"), env={"RALPH_LOOP_ID": "ralph-outer-1"})
    refused(place, done, 2, "loops do not nest")


@pytest.mark.soak
def test_nested_for_real(place):
    """An agent that starts Ralph is told no, and its own work still counts."""
    inner = " ".join([*ralph_argv(), "loop", "x", "--check", "true", "--agent-cmd", "true"])
    done = place.loop(f"{inner} > nested.txt 2>&1; {agent('honest_steps', 1)}", "--sandbox", "none")
    place.expect(done, "verified", 0, 1)
    assert "E-LOOP-NESTED" in place.result("nested.txt")


@pytest.mark.soak
def test_five_loops_and_two_runners(place):
    """Four loops at once, no fifth; a second runner on one is refused; abort ends each with nothing left."""
    words = place.loop_words(agent("hang"))
    running = [place.start(*words, "--loop-id", f"loop-0000000{number}") for number in range(4)]
    for number, one in enumerate(running, 1):
        one.until_call("waiting", calls=number)
    fifth = place.loop(agent("hang"), "--loop-id", "loop-00000005")
    assert fifth.code == 5, fifth.report()
    assert "4 loops are at work in this repository, at most 4 are allowed" in fifth.err
    second = place.ralph("resume", "loop-00000002", "--display", "plain")
    assert second.code == 5, second.report()
    assert str(running[2].process.pid) in second.err
    aborted = place.ralph("abort", *(f"loop-0000000{number}" for number in range(4)))
    assert aborted.code == 0, aborted.report()
    for one in running:
        assert one.wait().code == 1
    place.no_process_left()
    place.same_user()
    assert not list(place.state.glob("loops/loop-00000005"))
    assert "loop-00000005" not in place.git("for-each-ref")


def test_dry_run(place):
    """--dry-run shows the order and writes no loop, no ref and no object."""
    objects = sorted(str(path) for path in (place.repo / ".git").rglob("*"))
    done = place.loop(agent("honest_steps"), "--dry-run")
    assert done.code == 0, done.report()
    assert done.record is None
    for word in ("would start", "test-pass", CHECK, "15 iterations", "sandbox"):
        assert word in done.out
    assert sorted(str(path) for path in (place.repo / ".git").rglob("*")) == objects
    assert not list(place.state.glob("loops/*"))
    assert not list(place.state.glob("workspaces/*"))
    assert not (place.state / "journal.db").exists()
    place.same_user()


@pytest.mark.soak
def test_dry_run_shows_the_grade_of_the_class(place):
    """Grades by class: the order holds the one grade of its own class; a slip ends before anything starts."""
    grades = "A, regression=C, docs=D"
    for task, words in (("refactor calc.py", "grade C"), ("fix the tests", "grade A")):
        done = place.loop(agent("honest_steps"), "--dry-run", "--min-grade", grades, task=task)
        assert done.code == 0, done.report()
        assert f"{words} or better" in done.out
    slip = place.loop(agent("honest_steps"), "--dry-run", "--min-grade", "B, chores=C")
    assert slip.code == 2, slip.report()
    assert "expected classes among" in slip.err


def test_without_changes(place):
    """By default a loop sees the commit and none of the user's unfinished work."""
    done = place.loop(f"ls > listed.txt; cat README.md >> listed.txt; {agent('honest_steps', 1)}")
    loop = place.expect(done, "verified", 0, 1)
    listed = place.result("listed.txt")
    assert "untracked.txt" not in listed
    assert "not committed yet" not in listed
    kept = place.git("show", f"refs/ralph/{loop.sealed.loop}/user-start:README.md")
    assert "not committed yet" in kept, "the start of the user's work is pinned all the same"


def test_with_changes(place):
    """--with-changes starts from the dirty, staged and untracked files as they are on disk."""
    done = place.loop(
        f"cat README.md staged.txt untracked.txt > listed.txt; {agent('honest_steps', 1)}", "--with-changes"
    )
    place.expect(done, "verified", 0, 1)
    listed = place.result("listed.txt")
    for text in ("not committed yet", "and changed again", "untracked"):
        assert text in listed


@pytest.mark.soak
def test_base(place):
    """--base starts from another commit."""
    place.commit("a file more", later__txt="later\n")
    done = place.loop(f"ls > listed.txt; {agent('honest_steps', 1)}", "--base", "HEAD~1")
    loop = place.expect(done, "verified", 0, 1)
    assert loop.sealed.base.commit == place.git("rev-parse", "HEAD~1")
    assert "later.txt" not in place.result("listed.txt")


def test_branch(place):
    """--branch names the result; a branch that is there already is refused before anything is spent."""
    taken = place.loop(agent("honest_steps"), "--branch", "other")
    refused(place, taken, 2, "E-BRANCH-TAKEN")
    done = place.loop(agent("honest_steps", 1), "--branch", "results/one")
    assert (done.code, done.loop.landing.branch) == (0, "results/one")
    assert place.git("rev-parse", "results/one") == done.loop.landing.result
    before = {**place.before}
    after = userstate.user_state(place.repo)
    added = {key for key in after if key not in before}
    assert {key.rpartition(":")[2] for key in added} <= {"refs/heads/results", "refs/heads/results/one"}


@pytest.mark.sample(test=1)
@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("merge", "E-GIT-MERGING"),
        ("rebase", "E-GIT-REBASING"),
        ("bare", "E-GIT-BARE"),
        ("empty", "E-GIT-EMPTY"),
    ],
)
def test_repositories_that_are_refused(place, tmp_path, state, code):
    """In the middle of a merge or rebase, bare or without a commit: refused, and left as it was."""
    folder = tmp_path / state
    git = place.git
    if state == "bare":
        git("clone", "--quiet", "--bare", str(place.repo), str(folder))
    elif state == "empty":
        git("init", "--quiet", str(folder))
    else:
        lib.make_calc(str(folder))
        git("checkout", "--quiet", "-b", "side", folder=folder)
        (folder / "calc.py").write_text("side = 1\n")
        git("commit", "--quiet", "-am", "side", folder=folder)
        git("checkout", "--quiet", "main", folder=folder)
        (folder / "calc.py").write_text("main = 1\n")
        git("commit", "--quiet", "-am", "main", folder=folder)
        userstate.git(str(folder), state, "side", check=False)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = place.ralph(*place.loop_words(agent("honest_steps")), cwd=folder)
    refused(place, done, 2, code)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_json_stream(place):
    """--json prints one event a line on stdout, in the order of the journal, and nothing else."""
    done = place.loop(agent("honest_steps", 1), "--json")
    place.expect(done, "verified", 0, 1)
    lines = json_lines(done.out)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["v"] for line in lines} == {1}
    assert [line["kind"] for line in lines][-1] == "LoopEnded"
    assert lines[-1]["body"]["outcome"] == "verified"
    assert [line["kind"] for line in lines] == done.kinds()


def test_json_error(place):
    """An error under --json is one JSON object on stdout, with a stable code."""
    done = place.ralph("loop", TASK, "--agent-cmd", agent("honest_steps"), "--no-infer", "--json")
    assert done.code == 2
    [line] = json_lines(done.out)
    assert line["error"]["code"] == "E-CHECK-NONE"


@pytest.mark.soak
def test_check_with_its_tool_elsewhere(place):
    """A check that names its tool by a path outside PATH finds it inside the box, with all it needs."""
    tool = place.top / "elsewhere" / "bin" / "checker"
    tool.parent.mkdir(parents=True)
    (tool.parent.parent / "helper.sh").write_text("python3 -m unittest\n")
    tool.write_text(f"#!/bin/sh\nexec sh '{tool.parent.parent}/helper.sh'\n")
    tool.chmod(0o755)
    done = place.loop(agent("honest_steps", 1), check=str(tool))
    place.expect(done, "verified", 0, 1, grade="B")
    shell = place.loop(agent("honest_steps", 1), check=f"cd . && {tool}")
    assert (shell.code, shell.loop.grade) == (0, "B"), shell.report()


@pytest.mark.soak
def test_demo(place):
    """The demo shows a false done refused, then a verified one."""
    done = place.ralph("demo", "--display", "plain", "--pace", "0.05", env={"TMPDIR": str(place.top)})
    assert done.code == 0, done.report()
    assert "said done: refused" in done.err
    assert "VERIFIED_DONE" in done.out
    assert len(done.all(e.AgentStarted)) >= 2
    place.no_process_left()


def test_from_a_sub_folder(place):
    """A check runs where ralph was called, and so does the agent."""
    folder = place.repo / "part"
    folder.mkdir()
    (folder / "test_part.py").write_text(
        "import os\nimport unittest\n\n\nclass PartTest(unittest.TestCase):\n"
        "    def test_made(self):\n        self.assertTrue(os.path.exists('made.txt'))\n"
    )
    place.git("-c", "core.hooksPath=/dev/null", "add", "part")
    place.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "part", "--", "part")
    place.forget()
    done = place.ralph(*place.loop_words("touch made.txt"), cwd=folder)
    place.expect(done, "verified", 0, 1, grade="B")
    assert "part/made.txt" in place.git("ls-tree", "-r", "--name-only", done.loop.landing.branch)


@pytest.mark.soak
def test_two_loops_side_by_side(place):
    """Two loops in one repository at once end with a branch each and do not disturb each other."""
    both = [
        place.start(*place.loop_words(agent("honest_steps", 1), "--loop-id", name))
        for name in ("a-00000000", "b-00000000")
    ]
    for running in both:
        done = running.wait()
        assert done.code == 0, done.report()
    place.no_process_left()
    place.same_user()
    assert place.git("for-each-ref", "--format=%(refname:short)", "refs/heads/ralph").split() == [
        "ralph/a-00000000",
        "ralph/b-00000000",
    ]
