"""`ralph route` and bare sentences where nobody can be asked; terminals are in e2e/test_route_cli.py."""

import json
import os
import re
import subprocess

import making
import pytest
from making import Maker, order, record_all

from ralph.core.sentence.intent import PUBLIC, KnownHere, KnownLoop
from ralph.core.sentence.phrases import languages
from ralph.core.sentence.route import route
from ralph.ui.ask import route_screens
from ralph.ui.cli.tree import cli, commands

SURE = "keep fixing until `pytest -q` passes"


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    """No config and no host of whoever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("CLAUDECODE", "CODEX_THREAD_ID", "CODEX_SANDBOX", "QWEN_CODE", "GEMINI_CLI", "OPENCODE"):
        monkeypatch.delenv(name, raising=False)


def started(tmp_path):
    """Whether anything was written."""
    return (tmp_path / "state").exists()


def test_a_clear_sentence(ralph, tmp_path):
    """What is beyond doubt is shown with its command line and exit code 0; nothing is started."""
    code, out, err = ralph("route", f"{SURE}, up to 20 tries, for at most 2 hours")
    assert (code, err) == (0, "")
    assert out == (
        "route       internal: a loop here, in the foreground\n"
        "task        fix the failing tests\n"
        "criterion   `pytest -q` passes\n"
        "check       pytest -q\n"
        "limits      20 iterations, 2:00:00\n"
        "confidence  high\n"
        "as a command\n"
        "  ralph loop 'fix the failing tests' --check 'pytest -q' --max-iterations 20 --max-time 2h\n"
    )
    assert not started(tmp_path)


def test_json_has_the_agreed_keys(ralph):
    """One object with exactly the agreed keys, whatever the route is."""
    for text in (SURE, "ralph it", "abort that", "run this in the background", "what is a loop?"):
        _, out, err = ralph("route", text, "--json")
        assert list(json.loads(out)) == list(PUBLIC), text
        assert err == ""
    told = json.loads(ralph("route", SURE, "--json")[1])
    assert told == {
        "route": "internal",
        "task": "fix the failing tests",
        "criterion": "`pytest -q` passes",
        "verification_command": "pytest -q",
        "max_iterations": None,
        "timeout": None,
        "loop_id": None,
        "host": None,
        "confidence": "high",
        "ask": [],
    }


def test_doubt_is_exit_2_with_the_proposal(ralph):
    """Without a terminal nothing is asked: the proposal is printed with its numbered choices, and exit 2."""
    code, out, err = ralph("route", "ralph this: fix the login")
    assert (code, err) == (2, "")
    assert "confidence  medium\n" in out
    assert "what command proves that it is done?\n" in out
    assert re.findall(r"(?m)^  (\d)  (\S+)", out) == [
        ("1", "test"),
        ("2", "types"),
        ("3", "lint"),
        ("4", "build"),
        ("5", "custom"),
    ]
    code, out, _ = ralph("route", "ralph it", "--json")
    assert code == 2
    assert [one["about"] for one in json.loads(out)["ask"]] == ["task", "check"]


def test_nothing_to_start(ralph):
    """A question is answered with what to use instead, and classifying it is no error."""
    code, out, err = ralph("route", "how do I loop until done?")
    assert (code, err) == (0, "")
    assert "route  none: nothing to start" in out
    assert "ralph loop --help" in out


def test_goal_line_stands_alone(ralph, monkeypatch):
    """With a host the exact line is all of stdout; --host auto finds the host by what it sets."""
    line = '/goal "fix the failing tests; completion: `pytest -q` passes"\n'
    code, out, err = ralph("route", SURE, "--host", "codex")
    assert (code, out) == (0, line)
    assert "goal: the host's own goal command" in err
    assert ralph("route", SURE, "--host", "auto")[1].startswith("route       internal")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert ralph("route", SURE, "--host", "auto")[1] == line
    assert ralph("route", SURE)[1].startswith("route       internal")
    told = json.loads(ralph("route", SURE, "--host", "claude", "--json")[1])
    assert (told["route"], told["host"]) == ("goal", "claude")
    assert told["ask"][0]["choices"][0]["value"] == line.rstrip("\n")
    assert ralph("route", "ralph this: fix the login", "--host", "claude")[0] == 2


def test_ralph_it_means_the_newest_task(ralph, tmp_path):
    """The last task of the project is proposed, and said to be a guess."""
    record_all(tmp_path / "state", making.verified(order("one-00000001", task="port the lexer")))
    code, out, _ = ralph("route", "ralph it")
    assert code == 2
    assert "task        port the lexer (a guess)\n" in out


def test_a_bare_sentence_starts_nothing_by_itself(ralph, tmp_path):
    """Without a yes a matching sentence is shown and nothing else: exit 2, nothing written."""
    code, out, err = ralph(SURE)
    assert code == 2
    assert "fix the failing tests" in out
    assert err == "nothing was started: say yes on a terminal, or with -y\n"
    code, out, _ = ralph(SURE, "--json")
    assert (code, json.loads(out)["route"]) == (2, "internal")
    assert not started(tmp_path)


@pytest.mark.parametrize("text", ["fix the typo", "loop over the files", "sttaus --all", "git status"])
def test_a_sentence_that_matches_nothing_is_a_usage_error(ralph, tmp_path, text):
    """A typing error never spends money: with -y too it is exit 2 and says what could be typed."""
    code, out, err = ralph(text, "-y")
    assert (code, out) == (2, "")
    assert f"error: there is no command '{text}'" in err
    assert "ralph loop " in err
    assert not started(tmp_path)


def test_one_word_is_a_command(ralph):
    """Only text with white space is taken for a sentence."""
    for word in ("ralph:fix", "loop-until-done", "iterate"):
        code, _, err = ralph(word, "-y")
        assert code == 2
        assert f"there is no command '{word}'" in err


def test_a_bare_question_is_nothing_to_do(ralph, tmp_path):
    """Questions start nothing, with -y neither: exit 6 and what to use instead."""
    code, _, err = ralph("what is a ralph loop?", "-y")
    assert code == 6
    assert "[E-ROUTE-NONE]" in err
    assert "next  ralph status" in err
    assert not started(tmp_path)


def test_yes_does_not_answer_open_questions(ralph, tmp_path):
    """-y is a yes to what is shown, not an answer to what is missing."""
    for text in (
        "ralph it",
        "abort that",
        "ralph this: cache it for at most 2 hours",
        "loop until done, 0 tries max",
    ):
        code, _, err = ralph(text, "-y", "--check", "true")
        assert code == 2, text
        assert "nothing was started: " in err, text
    assert not started(tmp_path)


@pytest.mark.parametrize("end", ["`rm -rf build` passes", "`true; id` passes", "the code is perfect"])
def test_what_was_refused_as_a_check_does_not_come_back(ralph, tmp_path, monkeypatch, end):
    """A command or a word that is no check is not handed on to be inferred from: -y starts nothing."""
    monkeypatch.chdir(repository(tmp_path, package__json='{"scripts": {"test": "node --test"}}\n'))
    code, out, err = ralph(f"ralph this: fix it; completion: {end}", "-y", "--agent", "demo")
    assert code == 2
    assert "nothing was started: " in err
    assert "check       rm" not in out
    assert "check       true" not in out
    assert not started(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "ralph this in the background: fix it; completion: `pytest -q` passes",
        "ralph-external: fix it; completion: `pytest -q` passes",
        "ralph this: fix it, unattended; completion: `pytest -q` passes",
        "let the ralph daemon to fix it; completion: `pytest -q` passes",
        "ralph this: fix it, so that it survives the session; completion: `pytest -q` passes",
    ],
)
def test_external_wording_detaches(ralph, text):
    """Words of the background become `--detach`, in the proposal and in the command that is started."""
    code, out, _ = ralph("route", text)
    assert (code, "external: a loop in the background" in out) == (0, True), out
    assert "ralph loop 'fix it' --check 'pytest -q' --detach" in out


def test_controls_do_what_they_say(ralph, tmp_path):
    """A control with a yes is the command itself."""
    record_all(
        tmp_path / "state",
        making.verified(),
        Maker(order("crash-me-00000001")).begin().failing(),
    )
    code, out, err = ralph("status of fix-auth", "-y")
    assert (code, out.splitlines()[0].split()[1:3]) == (0, ["fix-auth-7f3a91c2", "verified"])
    assert "ralph status fix-auth-7f3a91c2" in err
    code, out, _ = ralph("show me the logs of crash-me", "-y")
    assert (code, out) == ralph("logs", "crash-me-00000001")[:2]
    assert ralph("-y", "status of fix-auth")[0] == 0
    code, out, _ = ralph("abort fix", "--json")
    told = json.loads(out)
    assert (code, told["route"], told["loop_id"]) == (2, "control", "fix-auth-7f3a91c2")
    assert told["ask"][-1]["choices"][0]["value"] == "ralph abort fix-auth-7f3a91c2"


def flags_of(name, *more):
    """Every option that a command has, or the command of a group that follows it."""
    import click

    command = cli.get_command(click.Context(cli), name)
    if isinstance(command, click.Group):
        command = command.get_command(click.Context(command), more[0])
    return {flag for param in command.params for flag in param.opts}


def test_only_commands_that_exist_are_offered():
    """Every control of the table leads to a command and options that the program has."""
    loops = KnownHere((KnownLoop("a-00000001", unfinished=True, resumable=True),))
    for verb in {verb for verb, _ in languages()[0].controls}:
        text = {"resume": "resume it with 5 more iterations"}.get(verb, f"{verb} a-00000001")
        text = {"attach": "attach to it", "logs": "logs of it", "report": "report of it"}.get(verb, text)
        text = {"status": "status of it", "diff": "what did it change"}.get(verb, text)
        text = {"retrospective": "/retrospective of it", "parallel": "/parallel 2"}.get(verb, text)
        text = {"item": "do the next backlog item", "backlog": "run the backlog"}.get(verb, text)
        text = {"gates": "/gates", "refine": "refine the specs"}.get(verb, text)
        text = f"/ralph {verb}" if verb in ("plan", "build", "verify") else text
        argv = route_screens.control_argv(route(text, loops))
        assert argv[1] in commands(), verb
        assert {word for word in argv[2:] if word.startswith("-")} <= flags_of(*argv[1:3]), argv
    assert route_screens.control_argv(route("resume it with 5 more iterations", loops)) == [
        "ralph", "resume", "a-00000001", "--max-iterations", "+5",
    ]  # fmt: skip
    said = route("resume it in the background with 5 more iterations and use codex", loops)
    assert route_screens.control_argv(said, ["--steer", "hi", "--yes"])[3:] == [
        "--max-iterations", "+5", "--agent", "codex", "--detach", "--steer", "hi",
    ]  # fmt: skip
    found = route("ralph this: -x, up to 5 tries, for at most 90s, at most $5 --loop-id my-one --until 'y z'")
    argv = route_screens.loop_argv(found)
    assert {word for word in argv[2:-1] if word.startswith("--") and word != "--"} <= flags_of("loop")
    assert argv[-2:] == ["--", "-x"]


def repository(tmp_path, **files):
    """A git repository with one commit; every test that starts for real needs one."""
    top = tmp_path / "repo"
    top.mkdir()
    for name, text in files.items():
        (top / name.replace("__", ".")).write_text(text)
    git = ["git", "-c", "user.name=u", "-c", "user.email=u@example.invalid", "-C", str(top)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    return top


def test_the_projects_gates_are_the_criterion(ralph, tmp_path, monkeypatch):
    """Where ralph.toml has required gates, they are what a loop without a check proves."""
    top = repository(
        tmp_path, ralph__toml='[gates.tests]\nrun = "pytest -q"\n[gates.lint]\nrun = "ruff check ."\n'
    )
    monkeypatch.chdir(top)
    code, out, _ = ralph("route", "ralph this: fix the login", "--json")
    told = json.loads(out)
    assert (code, told["confidence"]) == (0, "high")
    assert told["criterion"] == "the gates of this project pass: tests, lint"
    assert told["verification_command"] == "pytest -q && ruff check ."


def test_a_missing_check_is_inferred(ralph, tmp_path, monkeypatch):
    """The project's own test command is proposed with the script behind it, and is asked about."""
    manifest = '{"name": "x", "scripts": {"test": "node --test"}}\n'
    monkeypatch.chdir(repository(tmp_path, package__json=manifest))
    code, out, _ = ralph("route", "fix until green", "--json")
    told = json.loads(out)
    assert (code, told["criterion"]) == (2, "tests pass")
    assert told["verification_command"] in ("npm test", "node --test")
    choices = {one["label"]: one for one in told["ask"][0]["choices"]}
    assert list(choices) == ["as inferred", "test", "types", "lint", "build", "custom command"]
    assert choices["test"]["value"] == told["verification_command"]
    assert "node --test" in choices["test"]["value"] + choices["test"]["note"]
    code, out, err = ralph("route", "ralph this: fix the tests", "--host", "claude")
    assert out.startswith('/goal "fix the tests; completion: ')
    assert (code, "what command proves" in err) == (0, True)  # the host judges; what is open is named


@pytest.mark.slow
def test_a_yes_starts_what_ralph_loop_starts(ralph, tmp_path, monkeypatch):
    """The order is that of `ralph loop` with the sentence's own task, check and limits; flags beat words."""
    monkeypatch.chdir(repository(tmp_path, a="x"))
    words = ("--agent", "demo", "--dry-run", "--json", "-y")
    text = (
        "ralph this: fix --sandbox none, up to 5 tries, for at most 2 hours; completion: `test -e b` passes"
    )
    code, out, err = ralph(text, *words)
    assert (code, err) == (0, ""), err
    sealed = json.loads(out)["order"]
    assert sealed["task"] == "fix --sandbox none"
    assert [gate["run"] for gate in sealed["criterion"]["gates"]] == ["test -e b"]
    assert (sealed["limits"]["iterations"], sealed["limits"]["time"]) == (5, 7200)
    assert sealed.get("sandbox", "auto") == "auto"
    typed = ralph(text, *words, "--max-iterations", "3", "--check", "test -e c")[1]
    sealed = json.loads(typed)["order"]
    assert sealed["limits"]["iterations"] == 3
    assert [gate["run"] for gate in sealed["criterion"]["gates"]] == ["test -e c"]
    dashed = json.loads(ralph("ralph this: --net on; check with: `test -e b`", *words)[1])["order"]
    assert dashed["task"] == "--net on"
    assert os.listdir(tmp_path / "repo") == [".git", "a"] or set(os.listdir(tmp_path / "repo")) == {
        ".git",
        "a",
    }


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("fix", "until", "green"), "ralph loop 'fix the failing tests' --until 'tests pass' --max-cost 3"),
        (("this:", "fix", "the", "parser"), "ralph loop 'fix the parser' --max-cost 3"),
        (("fix until green, use codex",), "--until 'tests pass' --agent codex --max-cost 3"),
        (
            ("fix until green, at most $9",),
            "ralph loop 'fix the failing tests' --until 'tests pass' --max-cost 3",
        ),
    ],
)
def test_the_proposal_is_the_whole_command(ralph, tmp_path, monkeypatch, words, line):
    """Words without quotes are a sentence; flags of the call are in the proposed command, and beat it."""
    monkeypatch.chdir(repository(tmp_path, a="x"))
    code, out, err = ralph(*words, "--max-cost", "3")
    assert (code, f"{line}\n" in out) == (2, True), out + err


def test_specs_here_are_what_is_built(ralph, tmp_path, monkeypatch):
    """`ralph it` and `/loop` in a repository with specs propose `ralph build`, with the flags of the call."""
    top = repository(tmp_path, a="x")
    (top / "specs").mkdir()
    (top / "specs" / "one.md").write_text("# One\n")
    monkeypatch.chdir(top)
    for words in (("it",), ("/loop",), ("implement the specs autonomously",)):
        code, out, _ = ralph(*words, "--agent", "demo")
        assert (code, "  ralph build --agent demo\n" in out) == (2, True)


def test_a_missing_agent_is_said_before_the_question(ralph, tmp_path, monkeypatch):
    """Whoever says yes is not told afterwards that there is no such agent."""
    monkeypatch.chdir(repository(tmp_path, a="x"))
    code, _, err = ralph("ralph this: fix it, use the agent nobody-has", "--check", "true", "-y")
    assert (code, "[E-AGENT-UNKNOWN]" in err) == (2, True)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/retrospective", "ralph analytics --recommend"),
        ("/adversarial specs/01.md", "ralph specs refine specs/01.md"),
        ("/adversarial docs", "ralph specs refine docs"),
        ("/parallel", "ralph backlog run --parallel 3"),
        ("/parallel 5 items", "ralph backlog run --parallel 5"),
        (
            "/orchestrator add search; completion: `pytest -q` passes",
            "ralph build 'add search' --team --roles planner,reviewer --check 'pytest -q'",
        ),
    ],
)
def test_commands_by_other_names(ralph, tmp_path, text, line):
    """They are shown as the command that they are, to programs too, and no host's goal command takes them."""
    code, out, _ = ralph("route", text)
    assert (code, out.splitlines()[-1]) == (0, f"  {line}")
    assert "the newest" not in out
    told = json.loads(ralph("route", text, "--host", "claude", "--json")[1])
    assert [choice["value"] for one in told["ask"] for choice in one["choices"]] == [line]
    assert not started(tmp_path)


def test_a_limit_typed_beside_parallel_reaches_the_backlog(ralph, tmp_path, monkeypatch):
    """It is in the command that is shown and started; what `backlog run` does not know is refused."""
    monkeypatch.chdir(repository(tmp_path, a="x"))
    code, out, _ = ralph("/parallel 2", "--max-cost", "5")
    assert (code, "  ralph backlog run --parallel 2 --max-cost 5" in out) == (2, True)
    code, _, err = ralph("/parallel 2", "--class", "fix-bug", "-y")
    assert (code, "no such option '--class'" in err) == (2, True)


def test_a_name_with_a_slash_needs_no_white_space(ralph):
    """`ralph /retrospective` is something said; what nobody knows is a command that does not exist."""
    code, out, err = ralph("/retrospective", "-y")
    assert (code, out) == (0, "no loops\n\nno recommendations: nothing in the record calls for a change\n")
    assert "as a command" in err
    code, _, err = ralph("/frobnicate", "-y")
    assert (code, "there is no command '/frobnicate'" in err) == (2, True)
