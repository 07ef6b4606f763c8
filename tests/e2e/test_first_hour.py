"""What a first hour meets besides a proof: own edits, early refusals, and an end that stays."""

import subprocess

import pytest
from kit import agent

pytestmark = pytest.mark.slow


def test_own_edits_are_named_and_an_exhausted_loop_stays_as_it_is(place):
    """The dry run and the start name edited files; a resume without more room records nothing."""
    words = place.loop_words(agent("staller"), "--max-iterations", "1", "--confirm", "1")
    note = "uncommitted changes; the loop starts from HEAD without them: --with-changes"
    dry = place.ralph(*words, "--dry-run")
    assert (dry.code, note in " ".join(dry.text.split())) == (0, True), dry.report()
    assert place.newest() is None
    done = place.ralph(*words)
    place.expect(done, "exhausted", 1, 1)
    assert note in " ".join(done.text.split()), done.report()
    before = [entry.row.hash for entry in place.newest().entries]
    again = place.ralph("resume", place.newest().loop.sealed.loop)
    assert (again.code, "[E-RESUME-LIMIT]" in again.err) == (6, True), again.report()
    assert [entry.row.hash for entry in place.newest().entries] == before


@pytest.mark.parametrize(
    ("flags", "code", "error"),
    [
        (("--check", "no-such-tool"), 4, "E-GATE-MISSING"),
        (("--check", "false", "--hidden-check", "/nowhere/x.sh"), 4, "E-GATE-MISSING"),
        (("--check", "true", "--allow-write", "/proc/x"), 2, "E-BOX-PATH"),
        (("--check", "true", "--allow-write", "//etc"), 2, "E-BOX-PATH"),
        (("--check", "true", "--steer", "x" * 70_000), 2, "E-STEER"),
        (("--check", "true", "--agent", "nobody"), 2, "E-AGENT-UNKNOWN"),
        (("--check", "true", "--agent-cmd", "./nobody.sh"), 4, "E-AGENT-MISSING"),
    ],
)
def test_a_dry_run_refuses_what_a_start_would(place, flags, code, error):
    """A missing command or agent is found before anything is spent; a taken id is a row of next_lines.txt."""
    own = () if any("agent" in flag for flag in flags) else ("--agent-cmd", agent("staller"))
    done = place.ralph("loop", "make the tests pass", *flags, *own, "--dry-run")
    assert (done.code, f"[{error}]" in done.err) == (code, True), done.report()
    assert place.newest() is None


@pytest.mark.parametrize(("kind", "error"), [("submodule", "E-GIT-SUBMODULE"), ("lfs", "E-GIT-LFS")])
def test_a_dry_run_refuses_a_base_that_no_workspace_can_be_made_of(place, kind, error):
    """A missing submodule and files of git-lfs stop the start and the dry run with the same code."""
    if kind == "submodule":
        link = f"160000,{'a' * 40},lib"
        subprocess.run(["git", "update-index", "--add", "--cacheinfo", link], cwd=place.repo, check=True)
    else:
        (place.repo / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
        (place.repo / "a.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
        subprocess.run(["git", "add", "-A"], cwd=place.repo, check=True)
    commit = ["git", "-c", "user.name=me", "-c", "user.email=me@x", "commit", "-qm", kind]
    subprocess.run(commit, cwd=place.repo, check=True)
    words = ("loop", "make it pass", "--check", "false", "--agent-cmd", agent("staller"))
    dry = place.ralph(*words, "--dry-run")
    assert (dry.code, f"[{error}]" in dry.err) == (4, True), dry.report()
    assert place.newest() is None
    real = place.ralph(*words)
    assert (real.code, f"[{error}]" in real.err) == (4, True), real.report()
