"""Generate and test: the demo agent's way with any small project that is not its sample project.

The checks are those that the prompt names. Their output says where to look first; every small edit of the
source (`edits`) is tried there, one at a time, until the checks are green, and taken back when it does
not help. Tests and configuration are never touched. This is no model and understands nothing: it finds a
slip of one token, or gives up. Bounded in time and in tries; only the standard library.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import IO, Any, Literal, NamedTuple

TIMEOUT_SECONDS = 240.0
MAX_TRIES = 500
_MAX_FILES, _MAX_BYTES, _MAX_OUTPUT_BYTES = 80, 200_000, 200_000
_WILD = 4  # edits of this kind and above fit any test by chance: they come after all others
_NEAR = 3  # lines above a failing assertion that are read with it
_CHECK = re.compile(
    r"(?m)^- [^:\n]+: `(?P<run>.+)`(?: in (?P<cwd>\S.*?))? "
    r"\((?:(?P<proof>must pass when)|what passed before must)[^\n]*?\) — (?P<state>\w+)"
)
_SKIPPED = frozenset({"node_modules", "target", "build", "dist", "vendor", "venv", "__pycache__", "testdata"})
_LOCKS = (".lock", "-lock.json", "go.sum")
_TESTS = re.compile(
    r"(?:^|/)(?:tests?|__tests__|specs?|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py|setup\.py|[^/]*\.config\.\w+)$"
    r"|(?:_test|\.test|\.spec|Tests?|IT)\.\w+$"
)
_RED = re.compile(
    r"(?m)^(?:FAILED (?P<failed>.+?)(?= - |$)|ERROR (?P<load>\S+)|(?:FAIL|ERROR): (?P<unittest>.+)"
    r"|\s*not ok \d+ - (?P<tap>.+)|\s*[✖✕\u00d7●] (?P<js>.+?)(?= \([\d.]+ ?m?s\)|$)"
    r"|\s*--- FAIL: (?P<go>\S+)|test (?P<cargo>\S+) \.\.\. FAILED|\[ERROR\] +(?P<maven>\w+\.\w+):\d"
    r"|(?P<broken>panic:|.*\[build failed\]|error: could not compile|.*COMPILATION ERROR|.*SyntaxError))"
)
_PLACE = re.compile(r"(?P<path>[\w./@-]+\.[a-z]{2,4})(?:\", line |:|\()(?P<line>\d{1,6})")
_WORD = re.compile(r"[A-Za-z_]\w*")
_CONSTANT = re.compile(r"(?<![\w.])\d{1,9}(?![\w.])|\"[^\"\\\n]{0,60}\"|'[^'\\\n]{0,60}'")


class ShownCheck(NamedTuple):
    run: str
    cwd: str
    proof: bool


class Seen(NamedTuple):
    """What one execution of a check said; code None = it did not end in time."""

    code: int | None
    output: str

    @property
    def red(self) -> frozenset[str]:
        """Names of what failed, as far as the output tells."""
        found = (next(filter(None, hit.groups()), "") for hit in _RED.finditer(self.output))
        return frozenset(name.strip() for name in found)


class MendReport(NamedTuple):
    """green: the checks pass. closer: fewer tests fail. nothing: no edit helped. unable: nothing to go by."""

    how: Literal["green", "closer", "nothing", "unable"]
    changes: tuple[str, ...] = ()  # "path:line: old -> new"
    tried: int = 0
    why: str = ""


class SourceText(NamedTuple):
    path: str
    text: str


def checks_of(prompt: str) -> list[ShownCheck]:
    """The checks that a prompt names and that must become, or being green must stay, green."""
    wanted = [hit for hit in _CHECK.finditer(prompt) if hit["proof"] or hit["state"] == "green"]
    return [ShownCheck(hit["run"], hit["cwd"] or ".", bool(hit["proof"])) for hit in wanted]


def mend(
    prompt: str, known: ModuleType, say: Callable[[str], None], *, seconds: float = TIMEOUT_SECONDS
) -> MendReport:
    """Try small edits in the current folder; what stays is told. `known` is the module `edits`."""
    checks = checks_of(prompt)
    if not any(check.proof for check in checks):
        return MendReport("unable", why="the prompt names no check that would show that the task is done")
    before = _listing()
    caches = tempfile.mkdtemp(prefix="demo-")
    try:
        return _mend(_Bench(checks, caches, time.monotonic() + seconds), known, say)
    finally:
        shutil.rmtree(caches, ignore_errors=True)
        _clean(before)


class _Bench:
    """The checks and the clock. After `look`, `red` and `output` are what the newest kept text gives."""

    def __init__(self, checks: list[ShownCheck], caches: str, end: float) -> None:
        self._proofs = [check for check in checks if check.proof]
        self._others = [check for check in checks if not check.proof]
        self._env = _environ(caches)
        self._end, self._longest = end, end - time.monotonic()
        self.red: frozenset[str] = frozenset()
        self.output, self.tried = "", 0

    def look(self) -> list[Seen]:
        """Execute the proofs as the project stands; how long that takes is the measure for all others."""
        began = time.monotonic()
        seen = [self._execute(check) for check in self._proofs]
        self._longest = 30 + 5 * (time.monotonic() - began)
        self.learn(seen)
        return seen

    def learn(self, seen: list[Seen]) -> None:
        self.red = frozenset[str]().union(*(one.red for one in seen))
        self.output = "\n".join(one.output for one in seen if one.code != 0)

    def judge(self) -> list[Seen]:
        """Proofs first; the other checks only when those are green."""
        self.tried += 1
        seen = [self._execute(check) for check in self._proofs]
        if all(one.code == 0 for one in seen):
            seen += [self._execute(check) for check in self._others]
        return seen

    @property
    def late(self) -> bool:
        return time.monotonic() > self._end or self.tried >= MAX_TRIES

    def _execute(self, check: ShownCheck) -> Seen:
        left = max(1.0, min(self._longest, self._end + 5 - time.monotonic()))
        run = check.run.replace("{report}", os.path.join(self._env["DEMO_CACHE"], "report"))
        with tempfile.TemporaryFile() as out:
            code = _wait(["/bin/sh", "-c", run], check.cwd, self._env, out, left)
            out.seek(0)
            return Seen(code, out.read(_MAX_OUTPUT_BYTES).decode("utf-8", "replace"))


def _wait(argv: list[str], cwd: str, env: dict[str, str], out: IO[bytes], limit: float) -> int | None:
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):  # what it left in the background
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _environ(caches: str) -> dict[str, str]:
    """What keeps the tools' own files out of the project."""
    env = dict(os.environ)
    env |= {"DEMO_CACHE": caches, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    env["PYTEST_ADDOPTS"] = f"{env.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider".strip()
    env |= {"GOCACHE": os.path.join(caches, "go"), "CARGO_TARGET_DIR": os.path.join(caches, "cargo")}
    return env


def _mend(bench: _Bench, known: ModuleType, say: Callable[[str], None]) -> MendReport:
    first = bench.look()
    stuck = next((one for one in first if one.code is None or one.code in (126, 127)), None)
    if stuck is not None:
        return MendReport("unable", why=f"a check cannot be executed here: {_last(stuck.output)}")
    if all(one.code == 0 for one in first):
        return MendReport("green")
    changes: list[str] = []
    while True:
        found = _helpful(bench, known, say)
        if found is None:
            break
        change, seen = found
        changes.append(change)
        if all(one.code == 0 for one in seen):
            return MendReport("green", tuple(changes), bench.tried)
        say(f"{change}: fewer tests fail; going on from there.")
        bench.learn(seen)
    why = "the time for it is over" if bench.late else "no small edit of the source is left"
    return MendReport("closer" if changes else "nothing", tuple(changes), bench.tried, why)


def _helpful(bench: _Bench, known: ModuleType, say: Callable[[str], None]) -> tuple[str, list[Seen]] | None:
    """The first edit after which the checks are green or fewer tests fail; all others are taken back."""
    for source, edit in candidates(list(_sources(known)), list(_tests()), bench.output, known):
        if bench.late:
            return None
        if bench.tried % 25 == 24:
            say(f"{bench.tried + 1} small edits tried so far.")
        kept = False
        try:
            _write(source.path, known.apply_edit(source.text, edit))
            seen = bench.judge()
            red = frozenset[str]().union(*(one.red for one in seen))
            kept = all(one.code == 0 for one in seen) or bool(red and red < bench.red)
        finally:
            if not kept:
                _write(source.path, source.text)
        if kept:
            return _change(source, edit), seen
    return None


def candidates(
    sources: list[SourceText], tests: list[SourceText], output: str, known: ModuleType
) -> list[tuple[SourceText, Any]]:
    """Every edit of every source, the likeliest first: near what the failing tests call, then the rest."""
    lines = list(_mentioned_lines(tests, output))
    constants = [found for line in lines for found in _CONSTANT.findall(line)]
    hints = known.Hints(
        tuple(dict.fromkeys(one for one in constants if one.isdigit()))[:6],
        tuple(dict.fromkeys(one[1:-1] for one in constants if not one.isdigit()))[:6],
    )
    called = {word for line in lines for word in _WORD.findall(line)} or set(_WORD.findall(output))
    distance = _distances(sources, called, known)
    ranked = []
    for number, source in enumerate(sources):
        starts = known.definitions(known.mask_text(source.text, source.path), source.path)
        places = {int(hit["line"]) for hit in _PLACE.finditer(output) if _same(source.path, hit["path"])}
        for edit in known.edits(source.text, source.path, hints):
            inside = [one.name for one in starts if one.start <= edit.start]
            far = distance.get(inside[-1], 9) if inside else 9
            hit = source.text.count("\n", 0, edit.start) + 1 in places
            ranked.append(
                ((edit.kind >= _WILD, 0 if hit else 1 + far, edit.kind, number, edit.start), source, edit)
            )
    ranked.sort(key=lambda row: row[0])
    return [(source, edit) for _, source, edit in ranked]


def _distances(sources: list[SourceText], called: set[str], known: ModuleType) -> dict[str, int]:
    """How many calls away from the failing tests each function is."""
    bodies: dict[str, set[str]] = {}
    for source in sources:
        mask = known.mask_text(source.text, source.path)
        for one in known.definitions(mask, source.path):
            bodies.setdefault(one.name, set()).update(_WORD.findall(mask[one.start : one.end]))
    found: dict[str, int] = {}
    words, far = called, 0
    while words:
        fresh = [name for name in bodies if name in words and name not in found]
        found.update(dict.fromkeys(fresh, far))
        words, far = set().union(*(bodies[name] for name in fresh)), far + 1
    return found


def _mentioned_lines(tests: list[SourceText], output: str) -> Iterator[str]:
    """The lines of tests that a check's output points at, with the few above them."""
    seen = set()
    for hit in _PLACE.finditer(output):
        line = int(hit["line"])
        for test in tests:
            if _same(test.path, hit["path"]) and (test.path, line) not in seen:
                seen.add((test.path, line))
                yield from test.text.split("\n")[max(0, line - 1 - _NEAR) : line]


def _same(path: str, said: str) -> bool:
    said = said.removeprefix("./")
    return path == said or path.endswith("/" + said) or said.endswith("/" + path)


def _walk() -> Iterator[str]:
    for folder, inside, names in os.walk("."):
        inside[:] = sorted(name for name in inside if not name.startswith(".") and name not in _SKIPPED)
        yield from (os.path.normpath(os.path.join(folder, name)) for name in sorted(names))


def _sources(known: ModuleType) -> Iterator[SourceText]:
    paths = (path for path in _walk() if path.endswith(known.ENDINGS) and not _TESTS.search(path))
    return _read(paths)


def _tests() -> Iterator[SourceText]:
    """Test files; Rust's may stand beside the code, so its sources are looked at too."""
    return _read(path for path in _walk() if _TESTS.search(path) or path.endswith(".rs"))


def _read(paths: Iterable[str]) -> Iterator[SourceText]:
    for path in list(paths)[:_MAX_FILES]:
        try:
            if not os.path.islink(path) and os.path.getsize(path) <= _MAX_BYTES:
                with open(path, encoding="utf-8", newline="") as file:
                    yield SourceText(path, file.read())
        except (OSError, UnicodeDecodeError):
            continue


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def _change(source: SourceText, edit: Any) -> str:
    line = source.text.count("\n", 0, edit.start) + 1
    begin = source.text.rfind("\n", 0, edit.start) + 1
    end = source.text.find("\n", edit.end)
    old = source.text[begin : end if end >= 0 else None]
    new = old[: edit.start - begin] + edit.new + old[edit.end - begin :]
    return f"{source.path}:{line}: `{old.strip()}` -> `{new.strip()}`"


def _listing() -> dict[str, bytes | None]:
    """Every path of the project, with the content of lockfiles: tools like to rewrite those."""
    found: dict[str, bytes | None] = {}
    for folder, inside, names in os.walk("."):
        inside[:] = [name for name in inside if name not in (".git", "node_modules", ".venv")]
        for path in (os.path.join(folder, name) for name in (*names, *inside)):
            found[path] = None
            if path.endswith(_LOCKS) and os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def _clean(before: dict[str, bytes | None]) -> None:
    """Take away what the checks left behind."""
    after = _listing()
    for path, content in before.items():
        if content is not None and after.get(path) != content:
            with open(path, "wb") as file:
                file.write(content)
    for path in sorted(after.keys() - before.keys(), reverse=True):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=True)
        elif os.path.lexists(path):
            os.remove(path)


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it printed nothing and did not end"
