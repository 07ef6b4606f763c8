"""Additions to files that judge, which judge nothing of the base otherwise: fixtures, helpers, targets.

Everything the base had stands there unchanged and in order, and what is new waits to be asked for by a new
test or a new command: no hook, no autouse, no name that the base uses already, nothing done at import.
"""

from __future__ import annotations

import ast
import re

from ralph.gates.command import word_set
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._tests.py_syntax import TROUBLE, dotted_name

_FIXTURES = ("pytest.fixture", "fixture", "pytest_asyncio.fixture")
_BUILT_IN = word_set(
    "request tmp_path tmp_path_factory tmpdir tmpdir_factory monkeypatch capsys capfd capsysbinary "
    "capfdbinary caplog cache pytestconfig recwarn record_property record_xml_attribute "
    "record_testsuite_property doctest_namespace testdir pytester subtests event_loop mocker "
    "benchmark freezer httpserver"
)
_STEERS = frozenset(("collect_ignore", "collect_ignore_glob", "pytestmark", "__test__", "__all__"))
_TARGET = re.compile(r"^([A-Za-z][\w-]*(?: [A-Za-z][\w-]*)*)\s*:(?![:=])([^=\n]*)\Z")
_PHONY = re.compile(r"^\.PHONY\s*:")
_NOT_TARGETS = frozenset(("makefile", "gnumakefile", "all", "default"))


def adds_fixtures(facts: GuardFacts, path: str, old: str, new: str) -> bool:
    """Does this conftest.py only gain fixtures, helpers, constants and imports?"""
    try:
        before, after = ast.parse(old), ast.parse(new)
        kept = [ast.dump(node) for node in before.body]
        added = []
        for node in after.body:
            if kept and ast.dump(node) == kept[0]:
                kept.pop(0)
            else:
                added.append(node)
        taken = {name for node in before.body for name in _names(node)}
        taken |= {name for node in before.body for name in _fixture_names(node)} | _elsewhere(facts, path)
        fresh = [name for node in added for name in (*_names(node), *_fixture_names(node))]
        free = not any(name in taken or name in _BUILT_IN or _steers(name) for name in fresh)
        return not kept and free and all(_waits(node, facts) for node in added)
    except TROUBLE:
        return False


def _steers(name: str) -> bool:
    return name in _STEERS or name.startswith(("pytest_", "__"))


def _names(node: ast.stmt) -> list[str]:
    """What this statement calls something at the top of the module."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(item.asname or item.name).split(".")[0] for item in node.names]
    return [
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]


def _fixture_names(node: ast.stmt) -> list[str]:
    """Names that fixtures get by `name=`."""
    return [
        str(word.value.value)
        for decorator in getattr(node, "decorator_list", ())
        if isinstance(decorator, ast.Call)
        for word in decorator.keywords
        if word.arg == "name" and isinstance(word.value, ast.Constant)
    ]


def _elsewhere(facts: GuardFacts, path: str) -> set[str]:
    """Fixtures and helpers of the base's other conftest files, which a nearer one would hide."""
    found: set[str] = set()
    for other in facts.base_paths:
        if other.rsplit("/", 1)[-1] == "conftest.py" and other != path:
            tree = ast.parse((facts.read_base(other) or b"").decode("utf-8", "replace"))
            found |= {name for node in tree.body for name in (*_names(node), *_fixture_names(node))}
    return found


def _waits(node: ast.stmt, facts: GuardFacts) -> bool:
    """Does nothing happen until somebody asks for it by name?"""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each)]
        return all(map(_is_fixture, node.decorator_list)) and all(map(_plain, defaults))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return _imports_known(node, facts)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and _plain(node.value)
    if isinstance(node, ast.AnnAssign):
        return isinstance(node.target, ast.Name) and (node.value is None or _plain(node.value))
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_fixture(decorator: ast.expr) -> bool:
    call = decorator if isinstance(decorator, ast.Call) else None
    if dotted_name(call.func if call else decorator) not in _FIXTURES:
        return False
    given = call.keywords if call else []
    if any(word.arg in (None, "autouse") for word in given) or (call and call.args):
        return False
    literal = all(isinstance(word.value, ast.Constant) for word in given if word.arg == "name")
    return literal and all(_plain(word.value) for word in given)


def _plain(value: ast.expr) -> bool:
    """Nothing is called, but for the cases of a fixture."""
    calls = (node for node in ast.walk(value) if isinstance(node, (ast.Call, ast.Await, ast.NamedExpr)))
    return all(
        isinstance(node, ast.Call) and dotted_name(node.func) in ("pytest.param", "range") for node in calls
    )


def _imports_known(node: ast.Import | ast.ImportFrom, facts: GuardFacts) -> bool:
    """Imported names become part of conftest.py: none that could be a fixture this very change brought."""
    if any(item.name == "*" for item in node.names) or (isinstance(node, ast.ImportFrom) and node.level):
        return False
    if isinstance(node, ast.Import):
        modules = [item.name for item in node.names]
    else:
        modules = [node.module or "", *(f"{node.module}.{item.name}" for item in node.names)]
    ends = [f"/{module.replace('.', '/')}{end}" for module in modules for end in (".py", "/__init__.py")]
    brought = (change.path for change in facts.changes if f"/{change.path}".endswith(tuple(ends)))
    return not any(b"pytest" in (facts.read_result(path) or b"") for path in brought)


def adds_targets(old: str, new: str, base_paths: frozenset[str]) -> bool:
    """Does this Makefile only gain targets at its end, which nothing of the base calls?"""
    if not old.endswith("\n") or not new.startswith(old):
        return False
    used = set(re.findall(r"[\w./-]+", old))
    seen = False  # has a target of its own begun? a recipe before that would belong to the base's last one
    for line in new[len(old) :].split("\n"):
        if not line.strip() or line.startswith("#") or (line.startswith("\t") and seen):
            continue
        match = _TARGET.match(line.rstrip())
        if match and not _PHONY.match(line):
            targets = match.group(1).split()
            seen = not any(n in used or n in base_paths or n.lower() in _NOT_TARGETS for n in targets)
            if not seen:
                return False
        elif not _PHONY.match(line):
            return False
    return True
