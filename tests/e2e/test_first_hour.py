"""What a first hour meets besides a proof: own edits, early refusals, and an end that stays."""

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
