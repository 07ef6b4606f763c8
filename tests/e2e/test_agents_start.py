"""What may start and what is refused: before any agent is called and any file is written."""

import pytest
from kit import CHECK, TASK, agent, json_lines, ralph_argv, userstate

pytestmark = pytest.mark.slow

PART = """import os
import unittest


class PartTest(unittest.TestCase):
    def test_made(self):
        self.assertTrue(os.path.exists("made.txt"))
"""


def test_what_a_dry_run_shows_and_refuses(place):
    """It shows the order, names edited files, and writes no loop, no ref and no object. What a start would
    refuse it refuses, before anything is spent; how to be refused otherwise is in next_lines.txt.
    """

    def dry(*flags, **env):
        own = () if any("agent" in flag for flag in flags) else ("--agent-cmd", agent("staller"))
        return place.ralph("loop", TASK, *flags, *own, "--dry-run", env=env)

    objects = sorted(str(path) for path in (place.repo / ".git").rglob("*"))
    shown = dry("--check", CHECK)
    assert shown.code == 0, shown.report()
    note = "uncommitted changes; the loop starts from HEAD without them: --with-changes"
    for word in ("would start", "test-pass", CHECK, "15 iterations", "sandbox", note):
        assert word in " ".join(shown.out.split()), shown.report()
    for flags, code, error in (
        (("--check", "no-such-tool"), 4, "E-GATE-MISSING"),
        (("--check", "false", "--hidden-check", "/nowhere/x.sh"), 4, "E-GATE-MISSING"),
        (("--check", "true", "--hidden-check", "./test_calc.py"), 2, "E-HIDDEN-INSIDE"),
        (("--check", "true", "--allow-write", "//etc"), 2, "E-BOX-PATH"),
        (("--check", "true", "--max-cost", "1"), 2, "E-LIMITS"),
        (("--check", "true", "--allow", "stubs"), 2, "E-CONFIG"),
        (("--check", "true", "--allow-asked", "protected.path"), 2, "E-CONFIG"),
        (("--check", "true", "--steer", "x" * 70_000), 2, "E-STEER"),
        (("--check", "true", "--branch", "other"), 2, "E-BRANCH-TAKEN"),
        (("--check", "true", "--agent", "nobody"), 2, "E-AGENT-UNKNOWN"),
        (("--check", "true", "--agent-cmd", "./nobody.sh"), 4, "E-AGENT-MISSING"),
    ):
        done = dry(*flags)
        assert (done.code, f"[{error}]" in done.err) == (code, True), done.report()
    nested = dry("--check", "true", RALPH_LOOP_ID="ralph-outer-1")
    assert (nested.code, "[E-LOOP-NESTED]" in nested.err) == (2, True), nested.report()
    slip = place.ralph("loop", TASK, "--agent-cmd", agent("staller"), "--no-infer", "--json")
    assert (slip.code, [line["error"]["code"] for line in json_lines(slip.out)]) == (2, ["E-CHECK-NONE"])
    assert sorted(str(path) for path in (place.repo / ".git").rglob("*")) == objects
    assert not list(place.state.glob("loops/*"))
    assert not list(place.state.glob("workspaces/*"))
    assert not (place.state / "journal.db").exists()
    place.same_user()


@pytest.mark.soak
@pytest.mark.parametrize(("kind", "error"), [("submodule", "E-GIT-SUBMODULE"), ("lfs", "E-GIT-LFS")])
def test_a_dry_run_refuses_a_base_that_no_workspace_can_be_made_of(place, kind, error):
    """A missing submodule and files of git-lfs stop the start and the dry run with the same code."""
    bare = ("-c", "core.hooksPath=/dev/null")
    if kind == "submodule":
        place.git("update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},lib")
    else:
        (place.repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
        (place.repo / "a.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
        place.git(*bare, "add", "-A")
    place.git(*bare, "commit", "-qm", kind)
    words = ("loop", TASK, "--check", "false", "--agent-cmd", agent("staller"))
    dry = place.ralph(*words, "--dry-run")
    assert (dry.code, f"[{error}]" in dry.err, dry.record) == (4, True, None), dry.report()
    real = place.ralph(*words)
    assert (real.code, f"[{error}]" in real.err) == (4, True), real.report()


def test_a_loop_from_a_sub_folder_told_as_json_in_a_branch_of_its_name(place):
    """Check and agent run where ralph was called; --branch names the result; --json prints one event a line
    on stdout, in the order of the journal, and nothing else.
    """
    folder = place.repo / "part"
    folder.mkdir()
    place.commit("part", **{"part/test_part__py": PART})
    before = {**place.before}
    words = place.loop_words("touch made.txt", "--json", "--branch", "results/one")
    done = place.ralph(*words, cwd=folder)
    loop = done.loop
    assert (done.code, loop.outcome, loop.grade) == (0, "verified", "B"), done.report()
    assert place.git("rev-parse", "results/one") == loop.landing.result
    assert "part/made.txt" in place.git("ls-tree", "-r", "--name-only", "results/one")
    added = userstate.user_state(place.repo).keys() - before.keys()
    assert {key.rpartition(":")[2] for key in added} <= {"refs/heads/results", "refs/heads/results/one"}
    lines = json_lines(done.out)
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    assert {line["v"] for line in lines} == {1}
    assert [line["kind"] for line in lines] == done.kinds()
    assert (lines[-1]["kind"], lines[-1]["body"]["outcome"]) == ("LoopEnded", "verified")
    place.no_process_left()


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


@pytest.mark.soak
def test_base(place):
    """--base starts from another commit."""
    place.commit("a file more", later__txt="later\n")
    done = place.loop(f"ls > listed.txt; {agent('honest_steps', 1)}", "--base", "HEAD~1")
    loop = place.expect(done, "verified", 0, 1)
    assert loop.sealed.base.commit == place.git("rev-parse", "HEAD~1")
    assert "later.txt" not in place.result("listed.txt")


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
