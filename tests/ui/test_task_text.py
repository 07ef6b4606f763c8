"""How a task gets onto a command line: quoted, in words, from a file, from stdin."""

import io
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ralph.ui.cli.option_groups import COMMON, GROUPS
from ralph.ui.cli.task_text import TaskCommand, task_argument
from ralph.ui.cli.tree import load_command

TEXT = "make the tests pass\n\nand keep the public names"


@pytest.fixture
def told(ralph):
    """What `ralph loop` understands as its task: (exit code, task, stderr)."""
    seen = []

    @click.command(cls=TaskCommand)
    @task_argument
    @click.option("--check", "checks", multiple=True)
    @click.option("--json", "as_json", is_flag=True)
    def probe(**given):
        seen.append(given)

    def run(*args):
        seen.clear()
        probe.main(args=list(args), standalone_mode=False)
        return seen[0]["task"]

    return run


@pytest.mark.parametrize(
    ("args", "task"),
    [
        (("make the tests pass",), "make the tests pass"),
        (("make", "the", "tests", "pass"), "make the tests pass"),
        (("make", "the", "tests", "pass", "--check", "npm test"), "make the tests pass"),
        (("--check", "npm test", "make the tests pass"), "make the tests pass"),
        (("--json", "--", "make", "-it", "pass"), "make -it pass"),
        ((), ""),
        (("mail @bob",), "mail @bob"),
        (("@", "bob"), "@ bob"),
    ],
)
def test_words_are_one_task(told, args, task):
    """Several words are a task where none of them can be meant for an option."""
    assert told(*args) == task


@pytest.mark.parametrize(
    "args",
    [
        ("--check", "npm", "test", "make", "it", "pass"),
        ("make", "it", "pass", "--check", "npm", "test"),
        ("make", "--json", "it", "pass"),
    ],
)
def test_words_that_may_belong_to_an_option_are_not_taken(told, args):
    """An option's value that was not quoted never becomes part of the task in silence."""
    with pytest.raises(click.UsageError, match="quote the task"):
        told(*args)


def test_a_file_is_the_task(told, tmp_path):
    """`@FILE` and `--task-file` read the whole text, `~` included."""
    (tmp_path / "task.md").write_text(TEXT + "\n")
    assert told("@task.md") == TEXT
    assert told("--task-file", str(tmp_path / "task.md")) == TEXT


def test_stdin_is_the_task(told, monkeypatch):
    """`-` reads the task from a pipe, as an argument and as a file."""
    for args in (("-",), ("--task-file", "-")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        assert told(*args) == TEXT


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("loop", "@no-such-file"), "no such file"),
        (("loop", "--task-file", "."), "is a directory"),
        (("loop", "--task-file", "bytes"), "not UTF-8"),
        (("loop", "--task-file", "empty"), "is empty"),
        (("loop", "x", "--task-file", "empty"), "given twice"),
    ],
)
def test_what_cannot_be_a_task_is_said(ralph, tmp_path, args, said):
    """A file that is missing, empty, no text, or one too many is a usage error with a next step."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "empty").write_text(" \n")
    subprocess.run(
        ["git", "init", "-q", str(tmp_path)], check=True, env={**os.environ, "HOME": str(tmp_path)}
    )
    code, _, err = ralph(*args)
    assert code == 2
    assert said in err
    assert "next" in err


@pytest.mark.parametrize("name", ["loop", "build", "plan"])
def test_every_option_stands_in_a_group(name):
    """`--help` shows ten options that most need, `--help-all` every one, each in the group that names it."""
    command = load_command(name)
    named = {flag for flags in GROUPS.values() for flag in flags}
    options = [one for one in command.params if isinstance(one, click.Option) and one.name != "help_all"]
    assert [one.opts for one in options if named.isdisjoint(one.opts)] == []
    context = click.Context(command, info_name=f"ralph {name}")
    short = command.get_help(context)
    assert "--help-all" in short
    context.meta["ralph.help_all"] = True
    whole = command.get_help(context)
    assert [one.opts[0] for one in options if one.opts[0] not in whole] == []
    assert short.count("\n  -") <= len(COMMON) < whole.count("\n  -")


def test_settings_are_changed_by_command(ralph, tmp_path, monkeypatch):
    """`config set` and `preset` change single lines of your own file and nothing that Ralph would refuse."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = ralph("config", "path")[1].strip()
    assert path == str(tmp_path / "config" / "ralph" / "config.toml")
    assert ralph("config", "set", "limits.cost", "5")[0] == 0
    with open(path, "a", encoding="utf-8") as file:
        file.write("# mine\n")
    assert ralph("config", "set", "agent", "codex")[0] == 0
    assert ralph("config", "get", "agent")[1] == "codex\n"
    assert ralph("config", "preset", "quick")[0] == 0
    assert ralph("config", "get", "limits.iterations")[1] == "3\n"
    shown = ralph("config", "show")[1]
    assert {line.split()[0] for line in shown.splitlines()} == {
        "agent",
        "limits.cost",
        "limits.iterations",
        "limits.time",
    }
    assert ralph("config", "set", "limits.iterations", "many")[0] == 2
    assert ralph("config", "set", "limits.itertions", "3")[0] == 2
    assert ralph("config", "reset", "limits.cost")[0] == 0
    text = Path(path).read_text(encoding="utf-8")
    assert "# mine" in text
    assert "cost" not in text
    assert ralph("config", "reset")[0] == 3  # nobody to ask
    assert ralph("config", "reset", "--yes")[0] == 0
    assert ralph("config", "show")[1] == ""
