"""The reading commands and the error boundary, as a user meets them."""

import errno
import gzip
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys

import click
import making
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Maker, order, record_all

from ralph.app.views import rows
from ralph.app.words.error_pages import error_pages
from ralph.app.words.format import brief_seconds, clock, cost_words, dollars, iso, safe
from ralph.core.model.events import AgentEnded, AgentStarted
from ralph.core.model.spend import Limits, Spend
from ralph.core.text.clean import clean, one_line, redact
from ralph.core.views.summary import GateLine
from ralph.errors import EXIT_CODES
from ralph.shell.state import blobs
from ralph.shell.state.locks import acquire, this_process
from ralph.ui.cli.main import _machine_error
from ralph.ui.cli.tree import cli, command_groups, commands

NAME = "fix-auth-7f3a91c2"


@pytest.fixture
def state(tmp_path):
    """A journal with a verified, an exhausted and a crashed loop."""
    crashed = Maker(order("crash-me-00000001")).begin().failing()
    return record_all(
        tmp_path / "state", making.verified(), making.exhausted(order("slow-one-00000002")), crashed
    )


def test_status_table(ralph, state):
    """The list counts every loop by where it stands and gives each one line; crashed is derived."""
    code, out, err = ralph("status")
    out = re.sub(r"\d+d ago", "9d ago", out)
    assert (code, err) == (0, "")
    assert out == (
        "1 crashed · 1 verified · 1 exhausted\n"
        f"#1 {NAME}  verified   it 2/15  all green               4:44  $0.62         9d ago"
        "  /home/me/app: fix the failing auth tests\n"
        "#2 slow-one-00000002  exhausted  it 2/2   1/2 green, tests 1 red  4:24  cost unknown  9d ago"
        "  /home/me/app: fix the failing auth tests\n"
        "#3 crash-me-00000001  crashed    it 2/15  1/2 green, tests 1 red  2:20  $0.31         9d ago"
        "  /home/me/app: fix the failing auth tests\n"
        "  continue        ralph resume crash-me-00000001\n"
        "  see the change  ralph diff crash-me-00000001\n"
    )


@pytest.mark.parametrize("change", ["UPDATE summary SET outcome = 'satisfied'", "DELETE FROM summary"])
def test_lists_are_made_from_the_records_again(ralph, state, tmp_path, change):
    """Lists call a loop damaged whose line is not its own; `doctor` names it, `--mend` makes it again."""

    def listed():
        return re.sub(r'"as_of":"[^"]*"', "", ralph("status", "--all", "--json")[1])

    before = listed()
    db = sqlite3.connect(tmp_path / "state" / "journal.db")
    with db:
        db.execute(change)
    db.close()
    changed = listed()
    assert '"damaged":3' in changed
    assert '"satisfied"' not in changed
    assert '"verified"' not in changed
    code, out, _ = ralph("doctor")
    assert (code, "lists did not show it as it is recorded" in out, "ralph doctor --mend" in out) == (
        4,
        True,
        True,
    )
    ralph("doctor", "--mend")
    assert listed() == before


@pytest.mark.parametrize("kind", ["file", "link", "below a file", "relative", "settings"])
def test_doctor_starts_where_nothing_else_does(ralph, tmp_path, monkeypatch, kind):
    """A state directory or settings that cannot be used are a finding with a way out, not its end."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("/nowhere/at/all")
    (tmp_path / "config" / "ralph").mkdir(parents=True)
    places = {
        "file": "file",
        "link": "link",
        "below a file": "file/state",
        "relative": "",
        "settings": "state",
    }
    monkeypatch.setenv("RALPH_STATE_DIR", str(tmp_path / places[kind]) if places[kind] else "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    if kind == "settings":
        (tmp_path / "config" / "ralph" / "config.toml").write_text("x = [")
    code, out, err = ralph("doctor")
    what = "settings" if kind == "settings" else "state"
    assert (code, err) == (4, "")
    assert f"✘ {what}" in out
    assert "sandbox  " in out
    assert re.search(rf"^not ready: {what}; next: (?!ralph doctor)\S", out, re.MULTILINE), out


def test_doctor_says_why_a_sandbox_that_is_there_does_not_work(ralph, tmp_path, monkeypatch):
    """Who has bubblewrap is not told to install it: what it said is shown, and where the ways out are."""
    fake = tmp_path / "bin" / "bwrap"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:/usr/bin:/bin")
    _, out, _ = ralph("doctor")
    assert "box does not start: bwrap: setting up uid map: Permission denied" in out
    assert "no sandbox (ralph help sandbox)" in out
    assert "apt install" not in out
    assert "apparmor_restrict_unprivileged_userns" in ralph("help", "sandbox")[1]


def test_status_of_one_loop(ralph, state):
    """One loop shows gates, spend and limits, what is missing, and the commands that take it on."""
    _, out, _ = ralph("status", "slow")
    out = re.sub(r"\d+d ago", "9d ago", out)
    assert out == (
        "#2 slow-one-00000002  exhausted  9d ago\n"
        "  task       fix the failing auth tests\n"
        "  where      /home/me/app  base bbbbbbb\n"
        "  phase      exhausted\n"
        "  why        2 of 2 iterations used\n"
        "  agent      command\n"
        "  sandbox    S2\n"
        "  workspace  /state/workspaces/fix-auth\n"
        "  iteration  2 of 2\n"
        "  time       4:24\n"
        "  cost       unknown\n"
        "  tokens     unknown\n"
        "  tree       2222222\n"
        "  best       the base: nothing better so far\n"
        "  breaker    CLOSED · score -1 · risk MEDIUM\n"
        "  gate       tests  fail  1 failed  proof\n"
        "  gate       lint  pass  clean\n"
        "  not yet    tests: 1 red: test_refresh_rotates\n"
        "  continue         ralph resume slow-one-00000002 --max-iterations +5\n"
        "  see the change   ralph diff slow-one-00000002\n"
        "  the whole story  ralph report slow-one-00000002\n"
        "  throw it away    ralph discard slow-one-00000002\n"
    )


def test_status_json_envelope(ralph, state):
    """The envelope has complete counts, and rows whose ids other commands take; unknown spend is null."""
    code, out, _ = ralph("status", "--json", "--limit", 1)
    told = json.loads(out)
    assert code == 0
    assert list(told) == ["v", "as_of", "counts", "loops", "truncated", "next"]
    assert told["counts"] == {"crashed": 1, "verified": 1, "exhausted": 1}
    assert told["truncated"] is True
    assert len(told["loops"]) == 1
    assert told["loops"][0]["loop"] == NAME
    _, out, _ = ralph("status", "--json", "slow-one")
    row = json.loads(out)["loops"][0]
    assert row["spend"]["cost"] is None
    assert row["limits"]["iterations"] == 2
    assert row["verdicts"][0] == {
        "gate": "tests", "verdict": "fail", "red": 1, "summary": "1 failed", "required": True, "proof": True,
    }  # fmt: skip
    assert row["next"][0] == "ralph resume slow-one-00000002 --max-iterations +5"
    assert (row["state"], row["word"], row["id"]) == ("failed", "exhausted", "ralph-slow-one-00000002")


def test_status_json_fields_are_stable(ralph, state):
    """A field of the public rows may be added, never lost."""
    _, out, _ = ralph("status", "--json")
    row = json.loads(out)["loops"][0]
    assert set(row) >= {
        "loop", "id", "task", "repo", "phase", "outcome", "word", "state", "crashed", "reason", "grade",
        "agent", "iteration", "limits", "spend", "tree", "base", "branch", "result", "landing", "dropped",
        "workspace", "protection", "verdicts", "not_yet", "unproven", "best", "wait_until", "wait_why",
        "started", "updated", "next",
    }  # fmt: skip


def test_a_driven_loop_is_not_crashed(ralph, state):
    """Whoever holds the kernel lock keeps a loop from being called crashed."""
    os.makedirs(f"{state}/loops/crash-me-00000001")
    lock = acquire(f"{state}/loops/crash-me-00000001/lock", this_process(0))
    try:
        _, out, _ = ralph("status", "crash-me", "--json")
    finally:
        lock.release()
    row = json.loads(out)["loops"][0]
    assert (row["phase"], row["crashed"], row["word"]) == ("working", False, "working")
    assert "ralph logs crash-me-00000001 -f" in row["next"]


def test_status_is_of_this_project(ralph, state, tmp_path, monkeypatch):
    """Inside a project only its loops are listed; --all lists those of every project; -q prints names."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "sub").mkdir()
    record_all(state, making.verified(order("own-one-00000003", repo=str(project))))
    monkeypatch.chdir(project / "sub")
    assert ralph("status", "-q")[1] == "own-one-00000003\n"
    assert len(ralph("status", "-q", "--all")[1].splitlines()) == 4
    assert ralph()[1].startswith("1 verified\n#1 own-one-00000003")


def test_no_loops_yet(ralph):
    """Without a journal `ralph` says how to begin and `status` says that there is nothing."""
    code, out, _ = ralph()
    assert (code, "ralph demo" in out, "ralph doctor" in out) == (0, True, True)
    assert ralph("status") == (0, 'no loops\n  start  ralph loop "…" --check "…"\n', "")
    assert json.loads(ralph("status", "--json")[1])["loops"] == []


def test_damaged_loop_is_shown_and_others_work(ralph, state):
    """A loop whose rows were changed is called damaged with exit 4; the others are shown as ever."""
    with sqlite3.connect(f"{state}/journal.db") as db:
        db.execute("UPDATE event SET body = ? WHERE loop = 'crash-me-00000001' AND seq = 3", (b"{}",))
    db.close()
    code, out, _ = ralph("status")
    assert code == 0
    assert out.startswith("1 damaged · 1 verified · 1 exhausted\n")
    code, out, _ = ralph("status", "crash-me")
    assert code == 4
    assert "damaged    the record of loop 'crash-me-00000001' is damaged at row 3" in out
    assert "ralph doctor" in out
    assert ralph("status", NAME)[0] == 0
    assert ralph("report", "crash-me")[0] == 4


def test_garbled_summary_is_damage_of_one_loop(ralph, state):
    """A summary that cannot be read hides nothing but its own loop."""
    with sqlite3.connect(f"{state}/journal.db") as db:
        db.execute("UPDATE summary SET body = ? WHERE loop = 'crash-me-00000001'", (b"\xff",))
    db.close()
    _, out, _ = ralph("status", "--json")
    told = json.loads(out)
    assert told["counts"] == {"damaged": 1, "verified": 1, "exhausted": 1}
    assert [row["next"] for row in told["loops"] if row["loop"] == "crash-me-00000001"] == [["ralph doctor"]]


@pytest.mark.parametrize("change", ["UPDATE summary SET body = x'ff'", "DELETE FROM summary"])
def test_an_export_needs_no_summary(ralph, state, tmp_path, change):
    """All that is exported of a loop is in its record."""
    with sqlite3.connect(f"{state}/journal.db") as db:
        db.execute(change)
    db.close()
    code, out, err = ralph("export", "crash-me-00000001", "--to", tmp_path / "out")
    assert code == 0, (out, err)
    told = json.loads((tmp_path / "out" / "loops" / "ralph-crash-me-00000001" / "state.json").read_text())
    assert told["status"] == "running"


def test_an_export_makes_nothing_up(ralph, tmp_path):
    """A checkpoint that nobody judged is no failure, and a call without a checkpoint names no file."""
    cut = Maker(order("cut-off-00000004")).begin().failing()
    cut.add(AgentStarted(iteration=2, call=2, agent="command", prompt=""))
    record_all(tmp_path / "state", Maker(order("open-one-00000003")).begin().failing().call(), cut)
    for name, failures in (("open-one-00000003", [1, 1]), ("cut-off-00000004", [1])):
        code, out, err = ralph("export", name, "--to", tmp_path / "out")
        assert code == 0, (out, err)
        folder = tmp_path / "out" / "loops" / f"ralph-{name}"
        points = sorted((folder / "checkpoints").iterdir())
        found = [json.loads(gzip.decompress(one.read_bytes()))["state"]["iteration"] for one in points]
        assert [one["failures"] for one in found] == failures
        told = json.loads((folder / "state.json").read_text())["iteration_history"]
        named = [one["output_snapshot_path"] for one in told]
        assert len(named) == 2
        assert [path for path in named if path] == [f"checkpoints/{one.name}" for one in points]


def test_status_in_a_directory_that_cannot_be_written(ralph, state):
    """Reading works where nothing may be written."""
    os.chmod(state, stat.S_IRUSR | stat.S_IXUSR)
    try:
        code, out, _ = ralph("status", "-q")
    finally:
        os.chmod(state, stat.S_IRWXU)
    assert (code, len(out.splitlines())) == (0, 3)


def test_unknown_and_ambiguous_loops(ralph, state):
    """A wrong name is answered with the near one, a short one with the candidates."""
    record_all(state, Maker(order("fix-auth-00000009")))
    code, _, err = ralph("status", "slow-oen-00000002")
    assert code == 2
    assert err == (
        "error: there is no loop 'slow-oen-00000002'  [E-LOOP-UNKNOWN]\n"
        "  why   did you mean 'slow-one-00000002'?\n"
        "  next  ralph status slow-one-00000002\n"
    )
    code, _, err = ralph("logs", "fix")
    assert code == 2
    assert "E-LOOP-AMBIGUOUS" in err
    assert f"fix-auth-00000009, {NAME}" in err


def test_error_envelope(ralph, state):
    """With --json an error is one object on stdout with a kind of a closed list."""
    code, out, err = ralph("status", "nope", "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["error"] == {
        "kind": "not_found",
        "code": "E-LOOP-UNKNOWN",
        "message": "there is no loop 'nope'",
        "why": "no loop has this number or a name that contains it",
        "next": "ralph status --all",
    }


def test_no_difference_is_offered_where_there_is_none(ralph, tmp_path):
    """After a call that changed nothing the list names no `ralph diff`, as the card does not."""
    record_all(tmp_path / "state", Maker(order("idle-00000001")).begin().call(changed=False))
    out = ralph("status")[1]
    assert "ralph resume idle-00000001" in out
    assert "ralph diff" not in out


def test_usage_errors(ralph):
    """Bad flags and commands are errors of the same style with exit 2 and a runnable next."""
    code, out, err = ralph("status", "--nope")
    assert (code, out) == (2, "")
    assert err.startswith("error: no such option '--nope'")
    assert "[E-USAGE]\n" in err
    assert err.endswith("  next  ralph status --help\n")
    code, _, err = ralph("sttaus")
    assert code == 2
    assert "there is no command 'sttaus': did you mean 'status'?" in err
    for typed, meant in {"stat": "status", "list": "status", "stop": "abort", "run": "loop"}.items():
        assert f"there is no command '{typed}': did you mean '{meant}'?" in ralph(typed)[2]
    _, _, err = ralph("loop", "x", "--check")
    assert err.endswith("requires an argument  [E-USAGE]\n  next  ralph loop --help\n")
    _, _, err = ralph("plan", "--check", "x")
    assert err.startswith("error: no such option '--check'  [E-USAGE]\n"), "no flag is like it"
    _, _, err = ralph("state", "read")
    assert "missing argument 'TYPE'  [E-USAGE]\n  why   choose from: loop, orchestrator" in err
    code, out, _ = ralph("logs", "--iteration", "x", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (2, "usage")


def test_errors_are_cleaned_and_redacted(ralph, state):
    """What a user pasted into a command line comes back without sequences and secrets."""
    secret = "ghp_" + "a1" * 18
    _, _, err = ralph("status", f"\x1b[31m{secret}")
    assert "\x1b" not in err
    assert secret not in err
    assert "[redacted]" in err


def test_bug_block(ralph, state, monkeypatch):
    """An unexpected exception prints a block ready to paste, without secrets, and exits 70."""

    def explode(*_):
        raise ZeroDivisionError("token=hunter2hunter2")

    monkeypatch.setattr("ralph.ui.cli.commands.views.status.newest_rows", explode)
    code, out, err = ralph("status")
    assert (code, out) == (70, "")
    assert err.startswith("error: this is a bug in Ralph: ZeroDivisionError: token=[redacted]  [E-BUG]\n")
    assert "command   ralph status" in err
    assert "Traceback" in err
    assert "hunter2" not in err
    code, out, _ = ralph("status", "--json")
    assert (code, json.loads(out)["error"]["kind"]) == (70, "bug")


def test_interrupt(ralph, monkeypatch):
    """Ctrl-C in a reading command ends it with 130 and no trace."""

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ralph.ui.cli.commands.views.status.newest_rows", stop)
    assert ralph("status") == (130, "", "\ninterrupted\n")


def test_logs(ralph, state):
    """Each row is one line with its number, time, kind and words; --kind and --iteration choose."""
    code, out, _ = ralph("logs", NAME)
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == 20
    assert lines[8] == (
        "   9  22:15:38  GateEnded          it 1  tests  fail  1 failed  tree 1111111  12s  evidence 4af1c2d3"
    )
    assert {line.split()[2] for line in ralph("logs", NAME, "--kind", "gate")[1].splitlines()} == {
        "GateEnded",
        "GuardsEnded",
    }
    assert all("it 2" in line for line in ralph("logs", NAME, "--iteration", 2)[1].splitlines())


def test_logs_json_is_the_same_as_the_stream(ralph, state):
    """`logs --json` and `loop --json` print the same public lines."""
    from ralph.app.views.event_json import event_line

    _, out, _ = ralph("logs", NAME, "--json")
    events = making.verified().events
    assert out.splitlines() == [event_line(seq, NAME, event).decode() for seq, event in enumerate(events, 1)]


def test_logs_show_the_agents_output(ralph, tmp_path):
    """--iteration prints what the agent printed, cleaned and redacted; a lost blob is said, not fatal."""
    root = record_all(tmp_path / "state")
    digest = blobs.put(f"{root}/blobs", b"first\n\x1b[2Jsecond password=hunter22\n")
    maker = Maker(order("talk-00000001")).begin().failing()
    last = max(at for at, event in enumerate(maker.events) if isinstance(event, AgentEnded))
    maker.events[last] = msgspec.structs.replace(maker.events[last], output=digest)
    record_all(root, maker)
    _, out, _ = ralph("logs", "talk", "--iteration", 1)
    assert "      | first\n      | second password=[redacted]\n" in out
    os.unlink(blobs.path(f"{root}/blobs", digest))
    code, out, _ = ralph("logs", "talk", "--iteration", 1)
    assert code == 0
    assert "is missing)" in out


def test_logs_follow_ends_with_the_runner(ralph, state):
    """-f stops when nobody drives the loop."""
    assert len(ralph("logs", NAME, "-f")[1].splitlines()) == 20


def test_newer_rows_are_shown_raw(ralph, state):
    """A kind that this Ralph does not know is shown by its name and kept in --json."""
    from ralph.shell.journal.open import open_journal

    with open_journal(state) as journal:
        journal.append("crash-me-00000001", 10, at=1, kind="Teleported", v=1, body=b'{"to":"mars"}')
    assert (
        ralph("logs", "crash-me")[1]
        .splitlines()[-1]
        .endswith("Teleported         v1, written by a newer Ralph")
    )
    last = json.loads(ralph("logs", "crash-me", "--json")[1].splitlines()[-1])
    assert (last["kind"], last["body"]) == ("Teleported", {"to": "mars"})
    assert "written by a newer Ralph" in ralph("report", "crash-me")[1]


def test_report_lists(ralph, state):
    """--list names every loop with its status, --failed only those that ended unverified."""
    assert [line.split()[0] for line in ralph("report", "--list")[1].splitlines()[:-1]] == [
        "COMPLETED",
        "FAILED",
        "IN_PROGRESS",
    ]
    code, out, _ = ralph("report", "--failed")
    assert (code, out.splitlines()[0].split()[:3]) == (0, ["FAILED", "slow-one-00000002", "exhausted"])
    assert json.loads(ralph("report", "--failed", "--json")[1])["reports"] == [
        {"loop": "slow-one-00000002", "status": "FAILED", "word": "exhausted"}
    ]


def test_report_to_a_file(ralph, state, tmp_path):
    """-o writes the file whole and prints nothing; a place that cannot be written is an error with exit 4."""
    target = tmp_path / "out.json"
    assert ralph("report", NAME, "--format", "json", "-o", target) == (0, "", "")
    assert json.loads(target.read_text())["status"] == "COMPLETED"
    code, _, err = ralph("report", NAME, "-o", tmp_path / "none" / "x.md")
    assert (code, "E-REPORT-WRITE" in err) == (4, True)


def test_version_and_completions(ralph):
    """version --json names what a bug report needs; completions print a script for each shell."""
    told = json.loads(ralph("version", "--json")[1])
    assert {"ralph", "python", "platform", "sqlite", "libraries"} <= set(told)
    assert ralph("version")[1] == ralph("--version")[1]
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = ralph("completions", shell)
        assert (code, "_RALPH_COMPLETE" in out) == (0, True)
    assert ralph("completions", "tcsh")[0] == 2


def test_help_explains_every_topic_command_and_code(ralph):
    """`ralph help` knows each command, topic and error code, and names what is near to a wrong word."""
    code, out, _ = ralph("help", "exit-codes")
    assert (code, "**70**: bug in Ralph" in out) == (0, True)
    assert "grade B" in ralph("help", "grades")[1]
    assert ralph("help", "loop")[1] == ralph("loop", "--help")[1]
    assert ralph("help", "agents", "list")[1] == ralph("agents", "list", "--help")[1]
    out = ralph("help", "E-LOOP-UNKNOWN")[1]
    assert "there is no loop '{text}'" in out
    assert "exit code 2" in out
    code, _, err = ralph("help", "grdes")
    assert (code, "ralph help grades" in err) == (2, True)
    assert ralph("help", "E-NO-SUCH-CODE")[0] == 2


def test_each_command_stands_in_one_group(ralph):
    """`ralph --help` names every command once, and none that does not exist."""
    named = [name for names in command_groups().values() for name in names]
    assert sorted(named) == sorted(commands())
    assert ralph("--help")[1].count("\n") <= 24


def test_every_error_code_has_words():
    """No code leads to an empty page, but for those whose words are only known when they are raised."""
    empty = {page.code for page in error_pages() if not page.what and not page.next}
    assert empty <= {"E-BUG", "E-CONFIG", "E-ILLEGAL-EVENT"}


def every_command():
    """(path, click command) of each command and subcommand."""
    context = click.Context(cli, info_name="ralph")
    for name in commands():
        command = cli.get_command(context, name)
        yield (name,), command
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                yield (name, inner), command.get_command(context, inner)


def test_table_of_commands_tells_the_truth():
    """Every command in the help exists, and shows an example."""
    for path, command in every_command():
        if not isinstance(command, click.Group):
            assert "Example" in (command.help or ""), path


def test_help_lists_the_exit_codes(ralph):
    """`ralph --help` leads to the exit codes, which are made from the one table."""
    assert "ralph help exit-codes" in ralph("--help")[1]
    out = ralph("help", "exit-codes")[1]
    for code, words in EXIT_CODES:
        assert f"**{code}**: {words}" in out


def test_only_commands_that_exist_are_offered(ralph, state):
    """Every `ralph …` line on a screen names a command and options that the program has."""
    options = {
        path: {flag for param in command.params for flag in param.opts} for path, command in every_command()
    }
    shown = [
        ralph(*args)[1]
        for args in ((), ("status",), ("status", "slow"), ("status", NAME), ("status", "crash"))
    ]
    shown += [ralph("report", name)[1] for name in (NAME, "slow", "crash")]
    shown += [ralph("status", "--json")[1].replace('"', " ")]
    from ralph.app.words.next_steps import LoopStanding, next_steps

    for word in rows.WORDS:
        for landing in ("", "landing", "landed", "undoing"):
            at = LoopStanding(
                "x", word, changed=True, result="c", landing=landing, best=2, room="--max-time +1h"
            )
            shown += [step.command for step in next_steps(at)]
    for room in ("--max-cost +1", "--max-tokens +1", "--max-iterations +5"):
        shown += [step.command for step in next_steps(LoopStanding("x", "exhausted", room=room, items=3))]
    shown += [step.command for step in next_steps(LoopStanding("x", "blocked", human="sign"))]
    shown += [step.command for step in next_steps(LoopStanding("x", "blocked", accused=("inventory.a:b",)))]
    shown += [step.command for step in next_steps(LoopStanding("x", "verified", planned=True))]
    offered = {line for text in shown for line in re.findall(r"(?m)\bralph [a-z]+(?: [^\n`,\]]*)?", text)}
    assert len(offered) > 15
    for line in offered:
        words = line.split()
        assert words[1] in commands(), line
        flags = [word for word in words[2:] if word.startswith("--") or re.fullmatch(r"-[a-z]", word)]
        for flag in flags:
            assert flag in options[(words[1],)], line


def test_defaults_of_list_rows_are_those_of_the_core():
    """What a list fills in for the journal's omitted fields is what the core means by leaving them out."""
    assert msgspec.structs.asdict(Limits()) == rows.LIMITS
    assert msgspec.structs.asdict(Spend()) == rows.SPEND
    assert msgspec.structs.asdict(GateLine(gate="", verdict="unknown")) == rows.VERDICT


WORD = st.text(alphabet="abcXYZ019_-", max_size=40)
SHAPES = [
    "sk-",
    "ghp_",
    "AKIA",
    "xoxb-",
    "eyJ",
    "token",
    "password",
    "=",
    ": ",
    "bearer ",
    "/",
    "-----",
    "\x1b[31m",
    ".",
]


@given(st.lists(st.one_of(st.sampled_from(SHAPES), st.text(max_size=20), WORD)))
def test_the_short_way_is_as_safe_as_the_long_one(parts):
    """`safe` skips the patterns only where they would change nothing."""
    text = "".join(parts)
    assert safe(text, 200) == one_line(redact(clean(text)), 200)
    spaced = " ".join(parts)
    assert safe(spaced, 200) == one_line(redact(clean(spaced)), 200)


def test_small_words():
    """Times, money and moments as people read them; unknown is never zero."""
    assert [clock(value) for value in (0, 41, 1450, 14400, -5)] == [
        "0:00",
        "0:41",
        "24:10",
        "4:00:00",
        "0:00",
    ]
    assert [brief_seconds(value) for value in (2.14, 41.4, 185)] == ["2.1s", "41s", "3:05"]
    assert [dollars(value) for value in (0, 1.915, 0.004)] == ["$0.00", "$1.92", "$0.0040"]
    assert [cost_words(None, 0, 0), cost_words(None, 1, 1), cost_words(0.0, 0, 1)] == [
        "$0.00",
        "cost unknown",
        "$0.00",
    ]
    assert iso(1700000000.1254) == "2023-11-14T22:13:20.125Z"


def run(*args, state, **env):
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"RALPH_STATE_DIR": str(state), "PYTHONPATH": os.pathsep.join(sys.path), **env}
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, env=environ, check=False)


HEAVY = (
    "rich",
    "jinja2",
    "asyncio",
    "junitparser",
    "psutil",
    "subprocess",
    "ralph.core",
    "hashlib",
    "tempfile",
)


@pytest.mark.parametrize("args", [["--help"], ["status"], ["status", NAME]])
def test_what_help_and_status_import(args, state, tmp_path):
    """Help and status start without anything that draws, spawns or decides."""
    done = run("-X", "importtime", "-m", "ralph.ui.cli.main", *args, state=state)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = {
        line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
    }
    allowed = {"hashlib"} if args[0] == "status" else set()  # an unfinished loop's record is proven
    assert not [name for name in HEAVY if name in loaded and name not in allowed]
    if args == ["--help"]:
        assert "msgspec" not in loaded
        assert not [name for name in loaded if name.startswith("ralph.ui.cli.commands.")]


def test_reader_that_goes_away(state):
    """`ralph logs | head -1` ends quietly."""
    line = f"{sys.executable} -m ralph.ui.cli.main logs {NAME} | head -1"
    environ = {**os.environ, "RALPH_STATE_DIR": state, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, env=environ, check=False)
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_a_terminal_without_these_characters_still_shows_a_screen(tmp_path):
    """Marks, bars and arrows have a stand-in of the same width where the locale has no such character."""
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    code = (
        "from ralph.ui.cli.streams import open_streams; open_streams();"
        "print('\u2714 done 2\u21921 red \u2588\u2591 \u201cword\u201d \u2026 \u00e9')"
    )
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert done.stdout == b'+ done 2>1 red #. "word" ~ ?\n'


def test_want_of_memory_or_processes_is_no_bug_of_ralph():
    """It is the machine's, with its own code and a next step; whatever else is not known stays a bug."""
    named = [_machine_error(MemoryError()), _machine_error(RuntimeError("can't start new thread"))]
    assert [(one.code, one.exit_code) for one in named] == [("E-MEMORY", 4), ("E-PROCESSES", 4)]
    for other in (OSError(errno.ENOTTY, "odd"), RuntimeError("odd")):
        assert _machine_error(other) is None


def test_who_meant_what_a_guard_accused_is_told_how_to_allow_it():
    """After the way to the change, and never before it; a loop that was not accused is offered nothing."""
    from ralph.app.words.next_steps import LoopStanding, next_steps

    shown = [
        one.command for one in next_steps(LoopStanding("x", "blocked", changed=True, accused=("a.b:c",)))
    ]
    assert shown.index("ralph resume x --allow 'a.b:c=…'") > shown.index("ralph diff x")
    assert not any("--allow" in one.command for one in next_steps(LoopStanding("x", "blocked", changed=True)))
