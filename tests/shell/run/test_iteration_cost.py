"""What an iteration costs, counted and never timed: processes, compiled templates, looks at tools."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from ralph.shell.sandbox import tools

# Python tells of every process that the runner starts; what the loop itself prints goes elsewhere.
COUNTING = """
import collections, json, os, sys
started, compiled = collections.Counter(), []
def hook(event, args):
    if event == "subprocess.Popen":
        started[os.path.basename(os.fsdecode(args[0] or args[1][0]))] += 1
    elif event in ("os.posix_spawn", "os.fork", "os.forkpty", "os.exec"):
        started[event] += 1
    elif event == "compile" and args[1] == "<template>":
        compiled.append(1)
sys.addaudithook(hook)
from ralph.ui.cli.main import main
code = main(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "started": started, "compiled": len(compiled)}, file)
"""
# Every call changes the tree, and every judgement says something else: no rule about stalling speaks up.
AGENT = "cat > /dev/null; echo more >> work.txt"
CHECK = "tr -c a-z a < work.txt; exit 1"


def loop(tmp_path, name, iterations):
    """A whole loop in a process of its own; what was counted in it."""
    dropped = ("GIT_", "RALPH_", "XDG_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
    env |= {"HOME": str(tmp_path / "home"), "RALPH_STATE_DIR": str(tmp_path / "state")}
    words = ["loop", "write more", "--loop-id", name, "--check", CHECK, "--agent-cmd", AGENT, "-y"]
    words += ["--max-iterations", str(iterations), "--display", "none"]
    argv = [sys.executable, "-c", COUNTING, str(tmp_path / "counted.json"), *words]
    place = tmp_path / "project"
    done = subprocess.run(argv, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counted = json.loads((tmp_path / "counted.json").read_text())
    assert counted["code"] == 1, done.stdout + done.stderr
    assert f"{iterations} of {iterations} iterations used" in done.stdout, done.stdout + done.stderr
    return counted


@pytest.fixture
def project(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "work.txt").write_text("begun\n")
    git = "git -c user.name=t -c user.email=t@localhost"
    for words in ("init -q", "add -A", "commit -qm start"):
        subprocess.run(shlex.split(f"{git} {words}"), cwd=tmp_path / "project", check=True)
    return tmp_path


@pytest.mark.slow
def test_processes_and_templates_of_an_iteration(project):
    """An iteration starts at most nine git processes and nothing else of its own; templates compile once."""
    loop(project, "first", 1)  # probes the sandbox, which later loops remember
    few, many = loop(project, "few", 1), loop(project, "many", 4)
    grown = {what: count - few["started"].get(what, 0) for what, count in many["started"].items()}
    assert grown.pop("git") <= 3 * 9
    assert set(grown.values()) <= {0}, grown
    assert (few["compiled"], many["compiled"]) == (2, 2)  # of the prompt and of the report


def test_tools_are_looked_up_once_until_something_changes(tmp_path):
    """A stint asks the disk again only when the tool or a folder of PATH is another than before."""
    folder, other = tmp_path / "tools" / "bin", tmp_path / "other" / "bin"
    for place in (folder, other):
        place.mkdir(parents=True)
    tool = folder / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    words = {"path": str(folder), "home": "/nowhere", "repo": "/nowhere/repo", "known": tools.ToolMemory()}

    def ask():
        found = tools.resolve("tool", cwd="/", **words)
        return found.sha256, found.prefixes, tools.path_prefixes(words["path"], **_without(words, "path"))

    first, again = ask(), ask()
    assert again == first
    assert again[1] is first[1]  # the very same answer, not an equal one found anew
    assert again[2] is first[2]
    tool.write_text("#!/bin/sh\nexit 1\n")
    (other / "linked").write_text("")
    (folder / "linked").symlink_to(other / "linked")
    second = ask()
    assert second[0] != first[0]
    assert str(tmp_path / "other") in second[2]
    assert second == tuple(_fresh(words))


def _fresh(words):
    """The same questions without any memory."""
    plain = _without(words, "known")
    found = tools.resolve("tool", cwd="/", **plain)
    return found.sha256, found.prefixes, tools.path_prefixes(plain["path"], **_without(plain, "path"))


def _without(words, name):
    return {key: value for key, value in words.items() if key != name}
