"""Mutation testing of the core: does a test notice each small wrong change?

    tools/mutants.sh [MODULE...]

Each mutant runs in a forked child that has loaded everything but `ralph.core`, so that the tables of
the tests are built anew over the changed code. First come the module's own tests, then the rest of the
machine's; a child that takes too long counts as killed. A survivor whose line is quoted in
design/core.md is explained; any other makes this program end with 1. It works on the tree it stands in;
mutants.sh gives it a copy, so that an edit made meanwhile cannot pass for a killed mutant.
"""

from __future__ import annotations

import ast
import glob
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import itertools
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NamedTuple

from mutate import Site, mutated, sites

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORE = os.path.join(ROOT, "src", "ralph", "core")
TESTS = os.path.join(ROOT, "tests", "core")
CPU_SECONDS = 30  # for one mutant: a busy machine must not kill any
PATIENCE = 600.0  # seconds, for one that waits
# Which tests look at a module first; without a line here it is those of its own name, else the law.
LAW = ("machine_whole", "machine_refused")
PLAN = ("next_item_law", "next_item", "next_item_hostile")
OWN_TESTS = {
    "decide.machine": LAW,
    "decide.on_baseline": ("joined_gates", "no_verdict", *LAW),
    "decide.on_event": (*LAW, "call_facts"),
    "decide.after_fault": (*LAW, "call_facts", "failover"),
    "decide.after_judging": (*LAW, "footprints", "take_back"),
    "decide.stuck.measure": (*LAW, "footprints", "take_back", "signs", "health", "apply"),
    "decide.stuck.take_back": ("take_back", *LAW, "next_item", "next_item_law"),
    "decide.stuck.signs": ("signs", "take_back"),
    "decide.failover": (*LAW, "machine_judge", "failover"),
    "decide.opinion": ("machine_judge",),
    "decide.next_item": PLAN,
    "decide.plan_facts": PLAN,
    "decide.plan_readers": PLAN,
    "model.spend": (*PLAN, "machine_judge", *LAW),
    "model.loop": (*LAW, "events"),
    "model.plan.board": ("board", *PLAN),
    "claim.status_block": ("status_block_law", "status_block"),
    "proof.compare": ("compare_law", "compare"),
}
THEN = (*LAW, "footprints", "exit_gate", "grade", "signs", "summary", "facts", "machine_properties")
# What decides, proves and reads a claim is all of these folders; a new module there is in the list by itself.
ROOMS = ("decide", "proof", "claim")
LEFT_OUT = {  # of these folders, and why: mutants of sentences tell nothing
    "decide.stuck.strategies": "sentences for prompts; who chooses among them is in attempts and apply",
}
# And what every screen and prompt says about a loop.
BESIDES = ("model.loop", "model.spend", "model.plan.board", "views.summary", "prompt.facts")
# The law of the machine says nothing of these: their own tests do.
APART = (
    *("claim.completion_words", "claim.status_block", "proof.causes", "proof.compare", "proof.flaky"),
    *("decide.next_item", "decide.plan_facts", "decide.plan_readers", "model.spend", "decide.opinion"),
)


def all_modules() -> list[str]:
    paths = [
        path for room in ROOMS for path in glob.glob(os.path.join(CORE, room, "**", "*.py"), recursive=True)
    ]
    names = sorted(os.path.relpath(path, CORE)[: -len(".py")].replace(os.sep, ".") for path in paths)
    return [name for name in names if not name.endswith("__init__") and name not in LEFT_OUT] + [*BESIDES]


class Mutant(NamedTuple):
    module: str
    site: Site
    source: str  # the line it stands in

    def __str__(self) -> str:
        return f"{self.module}.py:{self.site.line}: {self.site.label} | {self.source}"

    @property
    def quoted(self) -> str:
        """How design/core.md names it: without the line number, which moves."""
        return f"{self.module.rpartition('.')[2]}.py: {self.site.label} | {self.source}"


class Loader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the core from a changed syntax tree."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        self._name, self._path, self._tree = name, path, tree

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def create_module(self, _spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._tree, self._path, "exec"), module.__dict__)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def source_of(module: str) -> tuple[str, ast.Module]:
    path = os.path.join(CORE, *module.split(".")) + ".py"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return text, ast.parse(text)


def mutants_of(module: str) -> list[Mutant]:
    text, tree = source_of(module)
    lines = text.splitlines()
    return [Mutant(module, site, lines[site.line - 1].strip()) for site in sites(tree)]


def test_files() -> list[tuple[str, str]]:
    """Every test module of the core by its name without "test_"."""
    found = glob.glob(os.path.join(TESTS, "**", "test_*.py"), recursive=True)
    return [(os.path.basename(path)[len("test_") : -len(".py")], path) for path in found]


def is_killed(module: str, mutant: Mutant | None) -> bool:
    """In a child: run the tests over the change. Plain calls first, for speed; pytest has the last word."""
    import pytest

    if mutant is not None:
        _, tree = source_of(module)
        path = os.path.join(CORE, *module.split(".")) + ".py"
        sys.meta_path.insert(0, Loader(f"ralph.core.{module}", path, mutated(tree, mutant.site)))
    paths = dict(test_files())
    alike = module.rpartition(".")[2]
    own = OWN_TESTS.get(module, (alike,) if alike in paths else LAW)
    rest = () if module in APART else tuple(name for name in THEN if name not in own)
    sys.path[:0] = sorted({TESTS, *(os.path.dirname(path) for path in paths.values())})
    for name in (*own, *rest):
        call_all(importlib.import_module(f"test_{name}"))
    plain = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "-m", "not slow", "--rootdir", ROOT]
    return pytest.main([*plain, *(paths[name] for name in own)]) != 0


def call_all(module: ModuleType) -> None:
    """Every test of a module that needs no fixture, once for each of its parameters."""
    for name, test in list(vars(module).items()):
        marks = getattr(test, "pytestmark", [])
        if not name.startswith("test_") or not callable(test) or any(mark.name == "slow" for mark in marks):
            continue
        rows = [_rows(mark.args[0], mark.args[1]) for mark in marks if mark.name == "parametrize"]
        wanted = set() if hasattr(test, "hypothesis") else set(inspect.signature(test).parameters)
        for combination in itertools.product(*rows):
            given = {key: value for row in combination for key, value in row.items()}
            if hasattr(test, "hypothesis") or wanted == set(given):
                test(**given)


def _rows(names: str | Sequence[str], values: Sequence[Any]) -> list[dict[str, Any]]:
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = []
    for value in values:
        row = getattr(value, "values", value) if type(value).__name__ == "ParameterSet" else value
        several = len(keys) > 1 or type(value).__name__ == "ParameterSet"
        rows.append(dict(zip(keys, row if several else (row,), strict=True)))
    return rows


def start(module: str, mutant: Mutant | None) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        code = 0 if is_killed(module, mutant) else 9
    except BaseException:  # noqa: BLE001  # whatever a wrong change raises, somebody noticed
        code = 0
    finally:
        os._exit(code)


def survivors(mutants: list[Mutant], workers: int) -> list[Mutant]:
    alive: list[Mutant] = []
    running: dict[int, tuple[Mutant, float]] = {}
    waiting = list(reversed(mutants))
    while waiting or running:
        while waiting and len(running) < workers:
            mutant = waiting.pop()
            running[start(mutant.module, mutant)] = (mutant, time.monotonic())
        for pid, (mutant, since) in list(running.items()):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                del running[pid]
                if os.waitstatus_to_exitcode(status) == 9:
                    alive.append(mutant)
                    say(f"  survives  {mutant}")
            elif time.monotonic() - since > PATIENCE:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
    return alive


def warm_up() -> None:
    """What every child would have to load again; the core itself must stay out."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in ("hypothesis.stateful", "jinja2.sandbox", "msgspec", "pytest"):
        importlib.import_module(name)
    hypothesis = importlib.import_module("hypothesis")  # no mutant dies by chance or by the clock
    hypothesis.settings.register_profile("mutants", deadline=None, derandomize=True, database=None)
    hypothesis.settings.load_profile("mutants")
    assert "ralph.core" not in sys.modules
    found = importlib.util.find_spec("ralph")
    assert found is not None
    assert str(found.origin).startswith(ROOT), f"{found.origin} would be tested, not {ROOT}"


def main(argv: list[str]) -> int:
    modules = [name for name in argv if not name.startswith("-")] or all_modules()
    with open(os.path.join(ROOT, "design", "core.md"), encoding="utf-8") as file:
        design = file.read()
    os.chdir(ROOT)
    warm_up()
    for module in modules:
        _, status = os.waitpid(start(module, None), 0)
        if os.waitstatus_to_exitcode(status) != 9:
            say(f"the tests of {module} fail without any change: nothing to learn from mutants")
            return 2
    total, unexplained, explained, begun = 0, 0, 0, time.monotonic()
    for module in modules:
        mutants = mutants_of(module)
        alive = survivors(mutants, os.cpu_count() or 1)
        known = [mutant for mutant in alive if mutant.quoted in design]
        total, explained = total + len(mutants), explained + len(known)
        unexplained += len(alive) - len(known)
        killed = len(mutants) - len(alive)
        say(f"{module:10} {len(mutants):4} mutants, {killed:4} killed, {len(known)} explained")
    killed = total - explained - unexplained
    say(
        f"kill rate {killed / total:.1%}: {killed} of {total} mutants killed, {explained} explained, "
        f"{unexplained} unexplained, {time.monotonic() - begun:.0f} s"
    )
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
