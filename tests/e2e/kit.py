"""A user's world for one test: a repository with unfinished work in it, and `ralph` as that user runs it.

`Place.ralph` starts the installed command as a child process; `Place.expect` checks what every test of a
whole loop must check: outcome, exit code, calls spent, the user's repository bit-identical, no process left.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import msgspec

from ralph.core.model.loop import Loop
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import Record, load
from ralph.shell.state import blobs

HERE = Path(__file__).parent
SCRIPTED = HERE / "scripted"
TASK = "make the tests pass"
CHECK = "python3 -m unittest"
LIMIT = 180.0  # seconds: a bound for what hangs; however busy a machine is, nothing else comes near it
TRIPWIRES = ("pre-commit", "post-commit", "post-checkout", "post-index-change", "reference-transaction")


def _load(path: Path) -> ModuleType:
    """A helper of another folder of tests: those are folders, not packages."""
    spec = importlib.util.spec_from_file_location(path.stem.strip("_") + "_of_kit", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lib = _load(SCRIPTED / "_lib.py")
userstate = _load(HERE.parent / "shell" / "userstate.py")


def fixed_calc() -> str:
    """The project's module without its bugs."""
    source = lib.calc_source()
    for name in lib.RIGHT:
        source = lib.set_body(source, name, lib.right(name))
    return str(source)


def agent(name: str, *words: object) -> str:
    """The command of a scripted agent."""
    return " ".join([str(SCRIPTED / f"{name}.py"), *(f"'{word}'" for word in words)])


def search_path(*first: str) -> str:
    """PATH of the user: the real interpreter rather than a version manager's script, git, bubblewrap."""
    found = [os.path.dirname(os.path.realpath(sys.executable))]
    found += [os.path.dirname(os.path.abspath(tool)) for tool in map(shutil.which, ("git", "bwrap")) if tool]
    return os.pathsep.join(dict.fromkeys([*first, *found, "/usr/bin", "/bin"]))


def path_without_bubblewrap(place: Place) -> str:
    """A PATH on which everything is but bubblewrap."""
    folder = place.top / "bin"
    folder.mkdir()
    for part in search_path().split(os.pathsep):
        for name in os.listdir(part):
            target = folder / name
            if name != "bwrap" and not target.is_symlink():
                target.symlink_to(os.path.join(part, name))
    assert shutil.which("git", path=str(folder))
    return str(folder)


def shims(top: Path, *names: str) -> str:
    """A folder of the user's own with these tools in it: Ralph's own environment is not the project's."""
    folder = top / "tools-on-path"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        real = os.path.join(os.path.dirname(sys.executable), name)
        if os.path.exists(real) and not (folder / name).exists():
            (folder / name).symlink_to(real)
    return str(folder)


def ralph_argv() -> list[str]:
    """The installed command; as a module where only this interpreter can be executed."""
    script = os.path.join(os.path.dirname(sys.executable), "ralph")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "ralph"]


class Done(msgspec.Struct, frozen=True):
    """One `ralph` that has ended."""

    code: int
    out: str
    err: str
    seconds: float
    record: Record | None = None

    @property
    def loop(self) -> Loop:
        assert self.record is not None, f"no loop was recorded; code {self.code}\n{self.out}\n{self.err}"
        return self.record.loop

    @property
    def text(self) -> str:
        return self.out + self.err

    def kinds(self) -> list[str]:
        assert self.record is not None
        return [entry.row.kind for entry in self.record.entries]

    def all(self, kind: type) -> list:
        """Every event of one kind, oldest first."""
        assert self.record is not None
        return [event for event in self.record.events if isinstance(event, kind)]

    def report(self) -> str:
        """What to look at when a test fails."""
        ended = f"exit {self.code} after {self.seconds:.1f} s"
        return f"{ended}\n--- out\n{self.out[-3000:]}\n--- err\n{self.err[-5000:]}"


class Running:
    """One `ralph` at work, in a process group of its own like one started from a terminal."""

    def __init__(self, place: Place, argv: list[str], cwd: Path, env: dict[str, str]) -> None:
        self._place, self._began = place, time.monotonic()
        place.started.append(self)
        folder = place.top / "io"
        folder.mkdir(exist_ok=True)
        number = len(list(folder.iterdir())) // 2
        self.out, self.err = folder / f"{number}.out", folder / f"{number}.err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def until(self, seen: Callable[[Loop], object], limit: float = LIMIT) -> Loop:
        """Wait until the record shows it."""

        def recorded() -> bool:
            nonlocal found
            found = self._place.newest()
            return found is not None and bool(seen(found.loop))

        found: Record | None = None
        self._await(recorded, "a record", limit)
        assert found is not None
        return found.loop

    def until_call(self, words: str, calls: int = 1, limit: float = LIMIT) -> None:
        """Wait until the agents of so many calls have said this."""
        text = words.encode()
        self._await(lambda: sum(text in said for said in self._place.said()) >= calls, words, limit)

    def until_told(self, words: str, limit: float = LIMIT) -> None:
        """Wait until Ralph itself has told its user this."""
        self._await(lambda: words in self.err.read_text(errors="replace"), words, limit)

    def _await(self, seen: Callable[[], object], what: str, limit: float) -> None:
        end = time.monotonic() + limit
        while not seen():
            assert self.process.poll() is None, f"ended too early\n{self.wait().report()}"
            told = self.err.read_text(errors="replace")
            assert time.monotonic() < end, f"not seen within {limit} s: {what}\n{told[-3000:]}"
            time.sleep(0.03)

    def interrupt(self) -> None:
        """Ctrl-C as a terminal sends it: to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def wait(self, limit: float = LIMIT) -> Done:
        try:
            code = self.process.wait(limit)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(LIMIT)
            self._place.kill_all()
            err = self.err.read_text(errors="replace")[-3000:]
            raise AssertionError(f"ralph had not ended after {limit} s\n{err}") from None
        return Done(
            code=code if code >= 0 else 128 - code,  # as a shell says it
            out=self.out.read_text(errors="replace"),
            err=self.err.read_text(errors="replace"),
            seconds=time.monotonic() - self._began,
            record=self._place.newest(),
        )


class Place:
    """Repository, state, configuration and home of one test's user."""

    once = False  # judge once: for tests that are about something else than what a green is worth

    def __init__(self, top: Path, home: Path, seen: Path | None = None, extra: int = 0) -> None:
        self.top, self.home, self.repo = top, home, top / "repo"
        self.state, self.config, self.tripped = top / "state", top / "config", top / "tripped"
        self.started: list[Running] = []
        for folder in (top, home, self.state, self.config / "ralph"):
            folder.mkdir(parents=True, exist_ok=True)
        self.state.chmod(0o700)
        self._seen = seen  # what the sandbox was found to block, so that not every test looks again
        if seen is not None and seen.exists():
            shutil.copy(seen, self.state / "protection.json")
        self._make_repo(extra)
        self.forget()
        self.home_before = self._home()

    def _make_repo(self, extra: int) -> None:
        """The user's repository; made by git once a worker, then copied."""
        kept = self._seen.with_name("repo") if self._seen is not None and not extra else None
        if kept is not None and kept.exists():
            shutil.copytree(kept, self.repo, symlinks=True)
            self.git("update-index", "-q", "--refresh")
        else:
            lib.make_calc(str(self.repo), extra=extra, README__md="# calc\n", kept__txt="one\n")
            self._add_dirt()
            if kept is not None:
                shutil.copytree(self.repo, kept, symlinks=True)
        for hook in TRIPWIRES:
            path = self.repo / ".git" / "hooks" / hook
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\ntouch '{self.tripped}'\n")
            path.chmod(0o755)

    def _add_dirt(self) -> None:
        """What a user has lying about: all of it must be there afterwards, to the byte."""
        repo, git = self.repo, self.git
        git("config", "user.name", "somebody")
        git("config", "user.email", "somebody@example.invalid")
        git("config", "alias.lg", "log --oneline")
        git("branch", "other")
        (repo / "kept.txt").write_text("one\nstashed\n")
        git("stash", "push", "--quiet", "-m", "for later")
        (repo / "README.md").write_text("# calc\n\nnot committed yet\n")
        (repo / "staged.txt").write_text("staged\n")
        git("add", "staged.txt")
        (repo / "staged.txt").write_text("staged\nand changed again\n")
        (repo / "untracked.txt").write_text("untracked\n")

    def git(self, *words: str, folder: Path | None = None) -> str:
        return userstate.git(str(folder or self.repo), *words)

    def commit(self, message: str, **files: str) -> None:
        """A commit of the user's; the rest of the work tree stays as dirty as it is."""
        for name, text in files.items():
            (self.repo / name.replace("__", ".")).write_text(text)
        names = [name.replace("__", ".") for name in files]
        self.git("-c", "core.hooksPath=/dev/null", "add", *names)
        self.git("-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", message, "--", *names)
        self.forget()

    def forget(self) -> None:
        """From here on this is what the user's repository must stay."""
        self.before = userstate.user_state(self.repo)

    def env(self, **more: str | None) -> dict[str, str]:
        base = {
            "PATH": search_path(),
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.config),
            "RALPH_STATE_DIR": str(self.state),
            "LANG": "C.UTF-8",
        }
        if self.once:
            base["RALPH_CONFIRM"] = "1"
        if "PYTHONPATH" in os.environ:  # a plain user's interpreter finds Ralph this way
            base["PYTHONPATH"] = os.environ["PYTHONPATH"]
        return {name: value for name, value in {**base, **more}.items() if value is not None}

    def start(
        self, *words: str, cwd: Path | None = None, env: dict[str, str | None] | None = None
    ) -> Running:
        return Running(self, [*ralph_argv(), *words], cwd or self.repo, self.env(**(env or {})))

    def ralph(
        self,
        *words: str,
        cwd: Path | None = None,
        env: dict[str, str | None] | None = None,
        limit: float = LIMIT,
    ) -> Done:
        """`ralph …` to its end."""
        done = self.start(*words, cwd=cwd, env=env).wait(limit)
        seen = self.state / "protection.json"
        if self._seen is not None and not self._seen.exists() and seen.exists():
            shutil.copy(seen, self._seen)
        return done

    def loop_words(self, command: str, *flags: str, check: str = CHECK, task: str = TASK) -> list[str]:
        return ["loop", task, "--check", check, "--agent-cmd", command, "--display", "plain", *flags]

    def loop(
        self,
        command: str,
        *flags: str,
        check: str = CHECK,
        task: str = TASK,
        env: dict[str, str | None] | None = None,
        limit: float = LIMIT,
    ) -> Done:
        """A whole loop with this agent."""
        return self.ralph(*self.loop_words(command, *flags, check=check, task=task), env=env, limit=limit)

    def newest(self) -> Record | None:
        """The record of the newest loop, read as any reader does."""
        with read_journal(str(self.state)) as reader:
            rows = [(next(iter(reader.rows(name))).at, name) for name in reader.names()]
            return load(reader, max(rows)[1]) if rows else None

    def expect(
        self,
        done: Done,
        outcome: str | None,
        code: int,
        calls: int,
        *,
        says: str | tuple[str, ...] = (),
        grade: str | None = None,
        untouched: bool = True,
    ) -> Loop:
        """What must hold at the end of every loop."""
        loop = done.loop
        seen = (loop.outcome, done.code, loop.spend.calls)
        assert seen == (outcome, code, calls), f"{seen}, expected {(outcome, code, calls)}\n{done.report()}"
        for sentence in (says,) if isinstance(says, str) else says:
            assert sentence in done.text, f"missing: {sentence}\n{done.report()}"
        if grade is not None:
            assert loop.grade == grade, done.report()
        assert not re.search("^Traceback|E-BUG", done.text, re.MULTILINE), done.report()
        self.no_process_left()
        if untouched:
            self.same_user()
        branches = self.git("for-each-ref", "--format=%(refname)", "refs/heads/ralph").split()
        assert branches == ([f"refs/heads/{loop.landing.branch}"] if loop.landing.result else []), branches
        return loop

    def same_user(self) -> None:
        """Promise 4: nothing of the user's was touched, no hook of theirs ran, their home is as it was."""
        assert not self.tripped.exists(), "a hook of the user's repository was run"
        userstate.same_user(self.before, userstate.user_state(self.repo))
        assert self._home() == self.home_before, "the user's home was touched"

    def _home(self) -> list[tuple[str, list[str], list[str]]]:
        return sorted((root, sorted(dirs), sorted(files)) for root, dirs, files in os.walk(self.home))

    def result(self, path: str, rev: str = "") -> str:
        """A file of the result branch."""
        found = self.newest()
        assert found is not None
        return self.git("show", f"{rev or found.loop.landing.branch}:{path}")

    def said(self) -> list[bytes]:
        """What the calls of all loops have said so far; a call's folder may go while we look."""
        loops = self.state / "loops"
        calls = [loops / loop / "calls" for loop in _names(loops)]
        outs = [folder / call / "out" for folder in calls for call in _names(folder)]
        found = []
        for out in outs:
            with suppress(FileNotFoundError):
                found.append(out.read_bytes())
        return found

    def prompt(self, blob: str) -> str:
        """What an agent was asked, by the blob that its event names."""
        return blobs.get(str(self.state / "blobs"), blob).decode()

    def output_of(self, evidence: str) -> str:
        """What a gate printed, by the evidence that its verdict or a guard names."""
        found = json.loads(blobs.get(str(self.state / "blobs"), evidence))
        return blobs.get(str(self.state / "blobs"), found["output"]).decode()

    def no_process_left(self, grace: float = 0.0) -> None:
        """Promise 6: whoever has this test's folders in folder, command line or environment is gone."""
        end = time.monotonic() + grace
        while (left := processes_of(str(self.top))) and time.monotonic() < end:
            time.sleep(0.05)
        if left:
            self.kill_all()
        assert not left, f"still alive: {left}"

    def kill_all(self) -> None:
        """After a failed test nothing of it may disturb the others; what was started is waited for."""
        for _ in range(20):
            left = processes_of(str(self.top))
            if not left:
                break
            for pid, _words in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
        for running in self.started:
            running.process.wait(LIMIT)


def processes_of(marker: str) -> list[tuple[int, str]]:
    """Living processes, but for this one and those above it, that have to do with a folder."""
    found = []
    own = _ancestors()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) in own:
            continue
        words = _proc(name, "cmdline").replace("\0", " ")
        ours = marker in words or marker in _proc(name, "environ") or marker in _folder(name)
        if ours and _proc(name, "stat").rpartition(")")[2].split()[:1] not in (["Z"], ["X"], []):
            found.append((int(name), words[:200]))
    return found


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _ancestors() -> set[int]:
    above, pid = set(), os.getpid()
    while pid > 0:
        above.add(pid)
        fields = _proc(str(pid), "stat").rpartition(")")[2].split()
        pid = int(fields[1]) if len(fields) > 1 else 0
    return above


def _proc(pid: str, name: str) -> str:
    try:
        return Path("/proc", pid, name).read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def _folder(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def json_lines(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]
