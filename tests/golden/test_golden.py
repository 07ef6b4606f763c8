"""What Ralph says and writes stays what it was while its code moves: help, errors, events, old state.

    RALPH_GOLDEN=write .venv/bin/pytest tests/golden

writes the golden files (`help.txt`, `errors.txt`, `prompts.txt`, `demo.jsonl`, `events.txt`): do
that when behaviour changes on purpose, and look at the difference. `state.tar.gz` is never made anew: it
holds a state directory and a repository as the Ralph of commit db27876 left them (`make_state.sh`), as users
have them. It was made at /tmp/ralph-golden and is unpacked there, because journals hold absolute paths; a
lock keeps two test processes apart. Help and errors are asked of `main` in this process, being many.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path

import click
import pytest
from goldenkit import HERE, User, compare, plain, plain_text
from mistakes import MISTAKES

from ralph.core.prompt.check_template import samples
from ralph.core.prompt.facts import render
from ralph.core.prompt.standing_rules import KINDS
from ralph.shell.prompts.sources import read_template, shipped_template
from ralph.ui.cli.main import main
from ralph.ui.cli.tree import cli

pytestmark = pytest.mark.slow

OLD = Path("/tmp/ralph-golden")


def tree(command: click.Command, words: tuple[str, ...] = ("ralph",)):
    """Every command with the words that call it, as a user finds them."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=words[-1])
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, f"{words} lists {name} and does not have it"
            if not inner.hidden:
                yield from tree(inner, (*words, name))


@pytest.fixture
def typed(tmp_path, monkeypatch, capfd):
    """`ralph …` as this user types it in a folder: exit code, stdout, stderr."""
    user = User(tmp_path)
    for name in list(os.environ):
        monkeypatch.delenv(name)
    for name, value in user.env.items():
        monkeypatch.setenv(name, value)

    def type_(*words: str, cwd: Path = tmp_path) -> tuple[int, str, str]:
        monkeypatch.chdir(cwd)
        code = main(words)
        return code, *capfd.readouterr()

    type_.user = user
    return type_


def test_help(typed):
    """`--help` of every command."""
    parts = []
    for words, _ in tree(cli):
        code, out, err = typed(*words[1:], "--help")
        assert (code, err) == (0, ""), words
        parts.append(f"$ {' '.join(words)} --help\n{out}")
    compare("help.txt", "\n".join(parts))


def test_prompts():
    """What agents are told: each prompt with everything there, and as in a first iteration."""
    roles = ("judge", "planner", "reviewer", "tester")
    parts = [f"=== {role}, as a template\n{read_template(f'{role}.md.j2')}" for role in roles]
    for kind in KINDS:
        for name, facts in zip(("first", "everything"), samples(kind), strict=True):
            parts.append(f"=== {kind}, {name}\n{render(shipped_template(kind), facts)}")
    compare("prompts.txt", "\n".join(parts))


def places(user: User) -> dict[str, Path]:
    """A repository, and what is wrong with the others."""
    made = {}
    for name in ("repo", "empty", "bare", "fresh", "merging", "badtoml", "badvalue", "asks"):
        folder = made[name] = user.top / "places" / name
        folder.mkdir(parents=True)
        if name == "empty":
            continue
        user.git("init", "-q", "-b", "main", *(("--bare",) if name == "bare" else ()), ".", cwd=folder)
        if name in ("bare", "fresh"):
            continue
        for file in ("agent.sh", "check.sh"):
            (folder / file).write_text("#!/bin/sh\nexit 1\n")
            (folder / file).chmod(0o755)
        user.git("add", "-A", cwd=folder)
        user.git("commit", "-q", "-m", "first", cwd=folder)
    (made["merging"] / ".git" / "MERGE_HEAD").write_text("0" * 40 + "\n")
    (made["badtoml"] / "ralph.toml").write_text("max_loops = \n")
    (made["badvalue"] / "ralph.toml").write_text('max_loops = "many"\nno_such_key = 1\n[gates.x]\nrun = ""\n')
    (made["asks"] / "ralph.toml").write_text('[gates.tests]\nrun = "sh check.sh"\n')
    return made


def test_errors(typed, tmp_path):
    """What is said about typical mistakes, and the exit code."""
    where = places(typed.user)
    parts = []
    for place, words in MISTAKES:
        code, out, err = typed(*words, cwd=where[place])
        assert code not in (0, 1, 70), (words, out, err)
        shown = " ".join(word if word.strip() and " " not in word else f'"{word}"' for word in words)
        parts.append(
            f"{place}$ ralph {shown}\n{plain_text(out + err, {str(tmp_path): '<top>'})}exit {code}\n"
        )
    compare("errors.txt", "\n".join(parts))


def test_the_next_line_of_each_mistake_can_be_run(typed):
    """What an error offers as its next step is a command that exists and is accepted, as it stands there."""
    where = places(typed.user)
    offered = []
    for place, words in MISTAKES:
        _, out, err = typed(*words, cwd=where[place])
        if "--json" in words:
            offered.append((place, json.loads(out)["error"]["next"]))
        offered += [(place, line.removeprefix("  next  ")) for line in err.splitlines() if "  next  " in line]
    assert len(offered) >= len(MISTAKES) - 3, "an error without a next step"
    for place, line in dict.fromkeys(offered):
        words = shlex.split(line)
        if words[0] == "ralph" and "&&" not in words:
            code, out, err = typed(*words[1:], cwd=where[place])
        else:
            shell = ["sh", "-c", line]
            env = {**typed.user.env, "EDITOR": "true"}
            done = subprocess.run(
                shell, cwd=where[place], env=env, capture_output=True, text=True, check=False
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        assert code not in (70, 126, 127), (line, err)
        assert "[E-USAGE]" not in err, (line, err)


def test_demo(tmp_path):
    """The public event lines of a whole loop, and the shape of what the journal holds of it."""
    user = User(tmp_path)
    done = user.ralph("demo", "--json", "--pace", "0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    known = {str(tmp_path): "<top>"}
    compare(
        "demo.jsonl", "".join(json.dumps(plain(line, known), ensure_ascii=False) + "\n" for line in lines)
    )
    compare("events.txt", "".join(f"{line['kind']}\n{shape(line['body'], '  ')}" for line in lines))


def shape(value, indent: str) -> str:
    """Names and types of the fields; of a list, its first element."""
    if not isinstance(value, dict):
        return ""
    text = ""
    for name, part in value.items():
        first = part[0] if isinstance(part, list) and part else part
        kind = (
            "number" if isinstance(part, int | float) and not isinstance(part, bool) else type(part).__name__
        )
        text += f"{indent}{name}: {kind}\n" + shape(first, indent + "  ")
    return text


@pytest.fixture
def old():
    """The state of an older Ralph, at the place where that Ralph made it."""
    with open("/tmp/ralph-golden.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(OLD, ignore_errors=True)
        try:
            with tarfile.open(HERE / "state.tar.gz") as archive:
                archive.extractall(OLD.parent, filter="tar")
            yield User(OLD, RALPH_CONFIRM="1")
        finally:
            shutil.rmtree(OLD, ignore_errors=True)


def test_old_state(old):
    """Loops that an older Ralph left are listed, reported and verified, and go on where they stopped."""
    repo = OLD / "repo"

    def ralph(*words: str, code: int = 0) -> str:
        done = old.ralph(*words, cwd=repo)
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    rows = {row["loop"]: row for row in json.loads(ralph("status", "--all", "--json"))["loops"]}
    ended = {name: (row["phase"], row["outcome"]) for name, row in rows.items()}
    assert ended == {
        "verified": ("ended", "verified"),
        "exhausted": ("ended", "exhausted"),
        "paused": ("paused", None),
    }
    for name, headline in (("verified", "VERIFIED_DONE"), ("exhausted", "EXHAUSTED"), ("paused", "PAUSED")):
        assert headline in ralph("report", name)
    assert "GateEnded" in ralph("logs", "paused")
    assert "right" in ralph("diff", "verified")
    ralph("verify", "verified")
    ralph("resume", "verified", code=6)
    assert "VERIFIED_DONE" in ralph("resume", "paused", "--display", "none")
    ralph("verify", "paused")
    ralph("resume", "exhausted", "--max-iterations", "+1", "--display", "none", code=1)
    ralph("merge", "paused")
    assert (repo / "value.txt").read_text() == "right\n"
    ralph("undo", "paused")
    assert (repo / "value.txt").read_text() == "wrong\n"
