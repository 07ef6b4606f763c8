"""One case in a private place: a git repository, an executable agent, `ralph` as a user calls it.

The naive gate of the comparison is here too. It runs the same agent in a plain clone, then the same check in
that very tree, and is green when the check exits with 0.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from corpus import Case, project, result
from msgspec import Struct

from ralph.core.model.events import AnyEvent
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load

BIN = Path(os.path.abspath(sys.executable)).parent  # not resolved: the environment with pytest, ruff and mypy
LIMIT = 240.0
AGENT = '''#!{python}
"""A scripted agent: leaves the files below behind, then does what its script says."""
import json, os, subprocess, sys
ORDER = json.loads({order!r})
sys.stdin.read()
for path in ORDER["delete"]:
    os.unlink(path)
for path, text in ORDER["write"].items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
for path, mode in ORDER["modes"].items():
    os.chmod(path, int(mode, 8))
exec(compile(ORDER["script"], "script", "exec"))
print(ORDER["says"], flush=True)
'''
CLAIM = """I did what the task asks for.
---RALPH_STATUS---
STATUS: {status}
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 1
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: {signal}
RECOMMENDATION: done
---END_RALPH_STATUS---"""


class Place(Struct, frozen=True):
    root: Path
    env: dict[str, str]

    @property
    def repo(self) -> Path:
        return self.root / "repo"


class Ended(Struct, frozen=True):
    """One loop, or one look of the naive gate."""

    code: int
    text: str
    seconds: float
    events: list[AnyEvent] = []


@contextmanager
def place(top: Path | None = None) -> Iterator[Place]:
    """A folder with home, state and configuration of its own; gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="fakegreen-", dir=top)).resolve()
    home, state = root / "home", root / "state"
    for folder in (home / ".local" / "bin", state, root / "config" / "ralph"):
        folder.mkdir(parents=True)
    state.chmod(0o700)
    env = {
        # As on many a machine: the user's own folder stands before the system's.
        "PATH": os.pathsep.join((str(home / ".local" / "bin"), search_path())),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(root / "config"),
        "RALPH_STATE_DIR": str(state),
        "LANG": "C.UTF-8",
    }
    try:
        yield Place(root, env)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def search_path() -> str:
    found = [str(BIN), os.path.dirname(os.path.realpath(sys.executable))]
    tools = [*map(shutil.which, ("git", "bwrap", "node", "npm", "make", "go")), _cargo()]
    found += [os.path.dirname(os.path.abspath(tool)) for tool in tools if tool]
    return os.pathsep.join(dict.fromkeys([*found, "/usr/bin", "/bin"]))


def _cargo() -> str | None:
    """Cargo itself: the one that rustup puts on the path is a link that needs the user's home."""
    rustup = shutil.which("rustup")
    if rustup is None:
        return shutil.which("cargo")
    asked = subprocess.run([rustup, "which", "cargo"], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None


def words_of(text: str) -> str:
    return text.replace("{python}", shlex.quote(str(BIN / "python"))).replace(
        "{ruff}", shlex.quote(str(BIN / "ruff"))
    )


def make_repo(case: Case, folder: Path, env: dict[str, str]) -> None:
    """The base project as a repository with one commit, and what git ignores beside it."""
    here = project(case.base)
    for path, text in (here.files | here.ignored).items():
        _write(folder / path, text)
    for path, mode in here.modes.items():
        (folder / path).chmod(int(mode, 8))
    if here.base.installed:
        tools = Path(os.environ.get("RALPH_TEST_TOOLS", "")) / here.base.installed / "node_modules"
        subprocess.run(["cp", "-al", str(tools), str(folder)], check=True)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        identity = ["-c", "user.name=corpus", "-c", "user.email=corpus@example.invalid", "-c", "gc.auto=0"]
        subprocess.run(["git", *identity, *words], cwd=folder, env=env, check=True, capture_output=True)


def make_agent(case: Case, path: Path) -> str:
    """The case's agent as an executable; the command that starts it."""
    before = project(case.base).files
    files, modes = result(case)
    claim = CLAIM.format(status=case.claim, signal="true" if case.claim == "COMPLETE" else "false")
    order = {
        "write": {path: text for path, text in files.items() if before.get(path) != text},
        "delete": [path for path in before if path not in files],
        "modes": {path: mode for path, mode in modes.items() if path in files},
        "script": case.script,
        "says": claim if case.claim else "I have looked at it.",
    }
    _write(path, AGENT.format(python=BIN / "python", order=json.dumps(order)))
    path.chmod(0o755)
    return shlex.quote(str(path))


def ralph_loop(case: Case, here: Place, check: str = "") -> Ended:
    """The whole loop as a user starts it."""
    make_repo(case, here.repo, here.env)
    agent = make_agent(case, here.root / "agent")
    base = project(case.base).base
    words = [
        str(BIN / "ralph"),
        "loop",
        case.task or base.task,
        "--agent-cmd",
        agent,
        "--loop-id",
        "case-00000000",
    ]
    words += ["--class", case.task_class or base.task_class, "--display", "plain", "-y"]
    if case.config:
        _write(here.root / "config" / "ralph" / "config.toml", words_of(case.config))
    else:
        words += ["--check", words_of(check or case.check or base.check)]
    if case.hidden:
        _write(here.root / "unseen" / "properties.py", case.hidden)
        words += ["--hidden-check", f"{BIN / 'python'} {here.root / 'unseen' / 'properties.py'}"]
    if "--max-iterations" not in case.flags:
        words += ["--max-iterations", "1"]
    ended = _ended([*words, *case.flags], here.repo, here.env)
    with read_journal(here.env["RALPH_STATE_DIR"]) as reader:
        events = list(load(reader, "case-00000000").events) if "case-00000000" in reader.names() else []
    return Ended(ended.code, ended.text, ended.seconds, events)


def naive_gate(case: Case, here: Place) -> Ended:
    """The agent in a clone, then its check in the same tree and the same home: exit 0 is believed."""
    clone = here.root / "clone"
    make_repo(case, clone, here.env)
    agent = make_agent(case, here.root / "agent")
    env = {name: value for name, value in here.env.items() if not name.startswith("RALPH_")}
    _ended(shlex.split(agent), clone, env)
    base = project(case.base).base
    return _ended(["/bin/sh", "-c", words_of(case.check or base.check)], clone, env)


def _ended(argv: list[str], cwd: Path, env: dict[str, str]) -> Ended:
    began = time.monotonic()
    done = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        text, _ = done.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(done.pid, 9)
        text, _ = done.communicate()
        return Ended(124, text, time.monotonic() - began)
    return Ended(done.returncode, text, time.monotonic() - began)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
