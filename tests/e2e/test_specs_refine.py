"""`ralph specs refine`: another agent attacks each spec, and nothing applies without a yes."""

import json
import os
import pty
import signal
import subprocess
from contextlib import suppress

import pytest
from kit import HERE, path_without_bubblewrap, ralph_argv, userstate

pytestmark = pytest.mark.slow

FIRST, SECOND = "# Open\n\nIt opens fast.\n", "# Close\n\nIt closes.\n"


def refine(mode, *flags):
    return ["specs", "refine", "--agent-cmd", f"{HERE / 'judges' / 'attacks_spec.py'} {mode}", *flags]


@pytest.fixture
def specs(place):
    """Two specs; the second is not committed, as when somebody is writing it."""
    folder = place.repo / "specs"
    folder.mkdir()
    (folder / "01-open.md").write_text(FIRST)
    (folder / "02-close.md").write_text(SECOND)
    place.git("-c", "core.hooksPath=/dev/null", "add", "specs/01-open.md")
    place.git("-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "spec", "--", "specs/01-open.md")
    place.forget()
    return folder


def nothing_left(place):
    place.no_process_left()
    assert os.listdir(place.state / "loops") == []


def test_without_a_terminal_the_proposal_is_kept_and_git_applies_it(place, specs):
    """Edits and questions of all specs are one patch; the specs are untouched until it is applied, and one
    with a byte order mark keeps it."""
    (specs / "01-open.md").write_text("\ufeff" + FIRST)
    place.forget()
    done = place.ralph(*refine("proposes", "--json"))
    assert done.code == 0, done.report()
    said = json.loads(done.out)
    assert said["spend"] == {"calls": 2, "tokens": 200, "cost": 0.8, "blind": 0}
    assert [(one["path"], len(one["edits"]), len(one["questions"])) for one in said["specs"]] == [
        ("specs/01-open.md", 1, 1),
        ("specs/02-close.md", 0, 1),
    ]
    nothing_left(place)
    now = userstate.user_state(place.repo)
    assert {name for name in now if now[name] != place.before.get(name)} == {
        ".ralph",
        ".ralph/refine",
        said["file"],
    }
    assert place.before.keys() <= now.keys()
    patch = place.repo / said["file"]
    assert "# question: For how long does it stay open?\n" in patch.read_text()
    assert place.ralph("status", "--all", "--json").out.count('"name"') == 0, "no loop is recorded"
    subprocess.run(["sh", "-c", said["apply"]], check=True, env=place.env())
    assert (specs / "01-open.md").read_text() == "\ufeff# Open\n\nIt opens within 200 ms.\n"


def test_on_a_terminal_each_spec_needs_a_yes(place, specs):
    """What is proposed is shown as a difference, then asked for; the default is no."""
    for answer, written in (("", "fast"), ("n", "fast"), ("y", "within 200 ms")):
        seen = answered(place, answer, *refine("proposes", "specs/01-open.md"))
        assert "+It opens within 200 ms." in seen
        assert "apply 1 edit to specs/01-open.md?" in seen
        assert (specs / "01-open.md").read_text() == f"# Open\n\nIt opens {written}.\n"


def answered(place, answer, *words):
    """What `ralph …` says on a terminal to somebody who has typed this answer."""
    ours, theirs = pty.openpty()
    given = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    child = subprocess.Popen([*ralph_argv(), *words], cwd=place.repo, env=place.env(), **given)
    os.close(theirs)
    os.write(ours, f"{answer}\n".encode())
    seen = b""
    with suppress(OSError):  # the other side is gone
        while chunk := os.read(ours, 65536):
            seen += chunk
    os.close(ours)
    assert child.wait() == 0, seen.decode()
    return seen.decode()


@pytest.mark.soak
def test_answers_that_cannot_be_used_write_nothing(place, specs):
    """No JSON, a flood, an edit with a path of its own: said so, asked once more, nothing written."""
    for mode, says in (("talks", "no complete JSON object"), ("floods", "specs/01-open.md: 1 edit")):
        done = place.ralph(*refine(mode, "specs/01-open.md", *(["--yes"] if mode == "talks" else [])))
        assert says in done.out, done.report()
        assert done.code == (1 if mode == "talks" else 0)
    assert (specs / "01-open.md").read_text() == FIRST
    done = place.ralph(*refine("learns", "specs/01-open.md", "--yes"))
    assert (done.code, "in 2 calls" in done.out) == (0, True), done.report()
    assert (specs / "01-open.md").read_text() == "# Open\n\nIt opens within 200 ms.\n"
    nothing_left(place)


@pytest.mark.soak
def test_limits_hold_between_calls(place, specs):
    """A cost limit ends the attack after the call that passed it; what was paid for is kept."""
    done = place.ralph(*refine("proposes", "--max-cost", "0.3", "--max-time", "1h"))
    assert done.code == 1, done.report()
    assert "specs/01-open.md: 1 edit, 1 question" in done.out
    assert "specs/02-close.md: not attacked: cost limit of 0.3 USD reached (0.40)" in done.out
    assert list((place.repo / ".ralph" / "refine").iterdir())


@pytest.mark.soak
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_attack_leaves_nothing(place, specs, sign, code):
    """Ctrl-C ends the call with its whole tree; no file, no folder, no process stays."""
    running = place.start(*refine("hangs"))
    running.until_call("hanging")
    os.killpg(running.process.pid, sign)
    done = running.wait()
    assert done.code == code, done.report()
    nothing_left(place)
    place.same_user()


def test_what_was_paid_for_before_a_stop_is_kept(place, specs):
    """A signal in the second call leaves the proposal of the first in its file, and says where."""
    running = place.start(*refine("hangs-later"))
    running.until_call("hanging")
    os.killpg(running.process.pid, signal.SIGTERM)
    done = running.wait()
    (kept,) = (place.repo / ".ralph" / "refine").iterdir()
    assert (done.code, f"kept in .ralph/refine/{kept.name}" in done.err) == (143, True), done.report()
    assert "+It opens within 200 ms." in kept.read_text()
    nothing_left(place)


@pytest.mark.soak
def test_without_a_sandbox_nobody_is_asked_unless_the_user_says_so(place, specs):
    """Nothing else keeps the agent from writing: refused without bubblewrap, told where it is not wanted."""
    few = {"PATH": path_without_bubblewrap(place)}
    done = place.ralph(*refine("proposes"), env=few)
    assert (done.code, "E-SANDBOX" in done.err) == (4, True), done.report()
    place.same_user()
    done = place.ralph(*refine("proposes", "--dry-run", "--sandbox", "none"), env=few)
    assert (done.code, "no sandbox: agents and gates have your own rights" in done.out) == (0, True)
    assert "read-only" not in done.out


@pytest.mark.soak
def test_a_spec_that_cannot_be_read_or_written_stops_no_other(place, specs):
    """Each has its reason and counts in the exit code; the rest is attacked and applied."""
    for name in ("00-a.md", "01-open.md"):
        (specs / name).write_bytes(b"\xff")
    done = place.ralph(*refine("proposes", "--json", "specs/00-a.md", "specs/01-open.md"))
    said = json.loads(done.out)
    assert (done.code, said["spend"]["calls"]) == (1, 0), done.report()
    assert ["UTF-8" in one["trouble"] for one in said["specs"]] == [True, True]
    for name in ("02-" + "x" * 244 + ".md", "03-open.md"):  # no room in its name for the file beside it
        (specs / name).write_text(FIRST)
    done = place.ralph(*refine("proposes", "--yes"))
    assert (done.code, "wrote specs/03-open.md" in done.out) == (1, True), done.report()
    assert "xxx.md' cannot be used: file name too long" in done.err
    assert "3 of 5 specs attacked" in done.out
    assert "within 200 ms" in (specs / "03-open.md").read_text()


@pytest.mark.soak
def test_a_secret_in_other_letters_is_one(place, specs):
    """What JSON escapes is read as it will be shown: the answer is left out."""
    done = place.ralph(*refine("leaks", "specs/01-open.md"), env={"SOME_TOKEN": "token-of-the-user"})
    assert (done.code, "it repeats a secret" in done.out) == (1, True), done.report()
    assert "token-of-the-user" not in done.text


@pytest.mark.soak
def test_dry_run_calls_nobody_and_no_specs_is_said(place, specs):
    """What would be asked is shown; a project without specs has nothing to refine."""
    done = place.ralph(*refine("hangs", "--dry-run"))
    assert (done.code, "specs/02-close.md" in done.out) == (0, True), done.report()
    own = f'agent = "critic"\n[agents.critic]\ncommand = "{HERE / "judges" / "attacks_spec.py"} hangs"\n'
    own += '[team.reviewer]\neffort = "high"\n'
    (place.config / "ralph" / "config.toml").write_text(own)
    assert "E-AGENT-EFFORT" in place.ralph("specs", "refine", "--dry-run").err, "the reviewer's, not dropped"
    for file in specs.iterdir():
        file.unlink()
    assert place.ralph(*refine("proposes")).code == 6
