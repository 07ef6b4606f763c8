"""The rules of the layout, checked: small folders with a purpose, guessable names, short chains of imports.

tools/house.py           prints what breaks a rule and ends with 1
tools/house.py --report  prints the numbers behind the rules

What each rule is for is in design/house.md.
"""

from __future__ import annotations

import ast
import functools
import gc
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SRC = Path("src/ralph")
TESTS = Path("tests")
MAX_MODULES = 12
MAX_PLUGINS = 15
MAX_FAN_OUT = 15
MAX_CHAIN = 15
MAX_FIELDS = 25
# What is known of a tool is its row in core/toolchains; so few modules need to name one.
MAX_NAMING = 15
TOOLS = ("pytest", "jest", "vitest", "cargo")
# Loops with and without a plan differ behind one seam (`mode_of` of core/decide/after_judging).
MAX_ASKING_FOR_PLAN = 16
# One file is one plug-in here.
PLUGINS = ("agents", "gates/readers/tests", "gates/readers/findings")
# Who puts parts together imports many of them: the performer of actions, and tables of plug-ins.
HUBS = (
    "ralph.shell.run.performer",
    "ralph.shell.run.open",
    "ralph.gates.guards",
    "ralph.core.decide.on_event",
)
# Time is read in one module, so that tests and the simulator can write it.
CLOCK = "ralph.clock"
CLOCK_READS: dict[str, tuple[str, ...]] = {
    "time": (
        "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "sleep",
        "clock_gettime", "clock_gettime_ns",
    ),
    "datetime": ("now", "utcnow", "today"),
    "date": ("today",),
}  # fmt: skip
# These tell the time when they are not given one.
CLOCK_DEFAULTS = {"gmtime": 1, "localtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}
# Programs of their own, which import nothing of Ralph.
OTHER_PROGRAMS = ("ralph.agents.acp.bridge", "ralph.agents.demo.agent", "ralph.agents.demo.mend")
# Who may make the real clock: the edges, where a command or a caller of `app` begins, ...
CLOCK_EDGES = ("ralph.ui", "ralph.app")
REAL_TIME = {  # ... and what no script can hurry; everybody else is given a clock, or a moment.
    "ralph.shell.process": "waits for processes of the kernel",
    "ralph.shell.state.locks": "waits for the kernel's lock in another process",
    "ralph.shell.journal.reader": "waits for files that another process is writing",
    "ralph.shell.sandbox.login_back": "waits for the kernel's lock in another process",
    "ralph.shell.git.leftovers": "waits for a git that outlived its Ralph",
    "ralph.shell.git.refs": "compares with the times of files",
    "ralph.shell.git.snapshot": "compares with the times of files",
    "ralph.shell.landing.recover": "waits for a git that outlived its Ralph",
    "ralph.shell.run.open": "an edge: drives a loop when no clock is given",
    "ralph.shell.run.throwaway": "an edge: judges a tree once, outside a loop",
}
IRREGULAR = frozenset(
    """left told heard begun given taken held kept known made said seen sent shown stood torn written built
    bound broken brought chosen drawn driven gone grown hidden laid led lost meant met paid proven spent
    struck""".split()  # noqa: SIM905 (a word list reads best as words)
)


class Module(NamedTuple):
    name: str
    path: Path
    tree: ast.Module

    @property
    def is_folder(self) -> bool:
        return self.path.name == "__init__.py"


def modules() -> dict[str, Module]:
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        parts = path.relative_to(SRC.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found[name] = Module(name, path, tree)
    return found


@functools.cache
def all_nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Walking each tree anew for each rule took most of the time."""
    return tuple(ast.walk(tree))


def imports(module: Module, known: dict[str, Module], *, late: bool = True) -> set[str]:
    """Modules of ours that this one imports; `late` counts those inside functions too."""
    found = set()
    for node in all_nodes(module.tree) if late else _at_import(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in known}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found |= {whole} if whole in known else {node.module} & known.keys()
    return found - {module.name}


def _at_import(tree: ast.Module) -> Iterator[ast.AST]:
    for node in tree.body:
        yield node
        if isinstance(node, ast.Try | ast.With):
            yield from node.body


def crowded_folders() -> Iterator[str]:
    for folder in sorted({path.parent for path in SRC.rglob("*.py")}):
        count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        name = folder.relative_to(SRC).as_posix()
        most = MAX_PLUGINS if name in PLUGINS else MAX_MODULES
        if count > most:
            yield f"{folder}: {count} modules, at most {most}"


def folders_without_question(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        if module.is_folder and not (ast.get_docstring(module.tree) or "").strip():
            yield f"{module.path}: its docstring does not say what the folder is for"


def twin_stems(known: dict[str, Module]) -> Iterator[str]:
    """In one folder, names that differ only by -s or -ing are one name to a reader."""
    by_folder = defaultdict[Path, dict[str, Path]](dict)
    for module in known.values():
        if module.is_folder:
            continue
        stem = module.path.stem
        for end in ("ing", "s"):
            stem = stem.removesuffix(end)
        twin = by_folder[module.path.parent].setdefault(stem, module.path)
        if twin != module.path:
            yield f"{module.path}: nearly the name of {twin.name}"


def twin_classes(known: dict[str, Module]) -> Iterator[str]:
    """Outside one plug-in folder a class name stands for one thing."""
    seen = dict[str, Module]()
    for module in known.values():
        plugin = module.path.parent.relative_to(SRC).as_posix() if module.path.parent != SRC else ""
        for node in module.tree.body:
            if not isinstance(node, ast.ClassDef):
                continue
            other = seen.setdefault(node.name, module)
            same_plugins = plugin in PLUGINS and other.path.parent == module.path.parent
            if other is not module and not same_plugins:
                yield f"{module.path}:{node.lineno}: class {node.name} is also in {other.path}"


def wide_imports(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        # Whoever is given a clock must name its type: that couples no two parts.
        count = len(imports(module, known, late=False) - {CLOCK})
        if count > MAX_FAN_OUT and module.name not in HUBS:
            yield f"{module.path}: imports {count} of our modules, at most {MAX_FAN_OUT}"


def longest_chain(known: dict[str, Module]) -> list[str]:
    """The longest way down from one module to the next at import time."""
    best: dict[str, list[str]] = {}

    def chain(name: str, above: frozenset[str]) -> list[str]:
        if name not in best:
            below = [
                chain(other, above | {name})
                for other in imports(known[name], known, late=False)
                if other not in above and not known[other].is_folder
            ]
            best[name] = [name, *max(below, key=len, default=[])]
        return best[name]

    return max((chain(name, frozenset()) for name in sorted(known)), key=len)


def wide_structs(known: dict[str, Module]) -> Iterator[str]:
    for module in known.values():
        for node in all_nodes(module.tree):
            if isinstance(node, ast.ClassDef):
                count = sum(isinstance(part, ast.AnnAssign) for part in node.body)
                if count > MAX_FIELDS:
                    yield f"{module.path}:{node.lineno}: {node.name} has {count} fields, at most {MAX_FIELDS}"


def is_participle(name: str) -> bool:
    bare = name.strip("_")
    return "_" not in bare and ((bare.endswith("ed") and len(bare) > 4) or bare in IRREGULAR)


def participles(known: dict[str, Module], *, methods: bool = False) -> Iterator[str]:
    """Functions named by what was done to something: only private one-liners may be.

    A property is read as a field, and may be called as one.
    """
    for module in known.values():
        for node in all_nodes(module.tree) if methods else module.tree.body:
            if not isinstance(node, ast.FunctionDef) or not is_participle(node.name):
                continue
            if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
                continue
            statements = len(node.body) - (ast.get_docstring(node) is not None)
            short = statements == 1 and node.name.startswith("_")
            if not short:
                yield f"{module.path}:{node.lineno}: {node.name}: name it by what it does"


def scattered_tools(known: dict[str, Module]) -> Iterator[str]:
    """Tools that many modules know by name: a table that belongs into the toolchains."""
    texts = {name: module.path.read_text(encoding="utf-8") for name, module in known.items()}
    for tool in TOOLS:
        naming = [name for name, text in texts.items() if tool in text]
        if len(naming) > MAX_NAMING:
            yield f"{tool} is named in {len(naming)} modules, at most {MAX_NAMING}: {', '.join(naming)}"


def second_seams(known: dict[str, Module]) -> Iterator[str]:
    """Places outside the seam that ask whether a loop has a plan."""
    asking = [
        f"{module.path}:{node.lineno}"
        for module in known.values()
        for node in all_nodes(module.tree)
        if isinstance(node, ast.Attribute) and node.attr == "has_plan"
    ]
    if len(asking) > MAX_ASKING_FOR_PLAN:
        places = ", ".join(asking)
        yield f"has_plan is asked {len(asking)} times, at most {MAX_ASKING_FOR_PLAN}: {places}"


def direct_clocks(known: dict[str, Module]) -> Iterator[str]:
    """Reads of the time, and waits, that do not go through the one clock."""
    for module in known.values():
        if module.name in (CLOCK, *OTHER_PROGRAMS):
            continue
        names = dict[str, str]()  # what a name in this module stands for
        for node in all_nodes(module.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                origin = node.module if isinstance(node, ast.ImportFrom) else None
                for alias in node.names:
                    if (origin or alias.name) in ("time", "datetime"):
                        names[alias.asname or alias.name] = f"{origin}.{alias.name}" if origin else alias.name
        for node in all_nodes(module.tree) if names else ():
            if read := _clock_read(node, names):
                yield f"{module.path}:{read[0]}: reads {read[1]}: take a Clock ({CLOCK}) or a moment"


def _clock_read(node: ast.AST, names: dict[str, str]) -> tuple[int, str] | None:
    """The line and the name, if this reads a clock of the standard library."""
    if isinstance(node, ast.Call):
        what, most = _origin(node.func, names), len(node.args)
        end = what.rpartition(".")[2]
        default = what.startswith("time.") and most < CLOCK_DEFAULTS.get(end, 0)
        return (node.lineno, f"{what}()") if default else None
    if isinstance(node, ast.Attribute | ast.Name):
        *_, owner, end = ("", *_origin(node, names).rsplit(".", 1))
        if end in CLOCK_READS.get(owner.rpartition(".")[2], ()):
            return node.lineno, f"{owner}.{end}"
    return None


def _origin(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute) and (inner := _origin(node.value, names)):
        return f"{inner}.{node.attr}"
    return ""


def real_clocks(known: dict[str, Module]) -> Iterator[str]:
    """Who makes the real clock although it could be given one; and entries that nobody needs any more."""
    allowed, used = (*CLOCK_EDGES, *REAL_TIME), set[str]()
    for module in known.values():
        for node in all_nodes(module.tree):
            named = (isinstance(node, ast.Name) and node.id == "SystemClock") or (
                isinstance(node, ast.Attribute) and node.attr == "SystemClock"
            )
            if not named:
                continue
            place = next((one for one in allowed if f"{module.name}.".startswith(f"{one}.")), "")
            used.add(place)
            if not place:
                yield f"{module.path}:{node.lineno}: makes the real clock: be given one"
    yield from (
        f"tools/house.py: REAL_TIME names {one}, which makes no clock" for one in set(REAL_TIME) - used
    )


def imported_tests(folder: Path = TESTS) -> Iterator[str]:
    """What tests share is in a module of its own: who changes a test breaks no other."""
    for path in sorted(folder.rglob("*.py")):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := re.match(r"\s*(?:from|import) (test_\w+)", text):
                yield f"{path}:{line}: imports {match[1]}: put what both need into a module without tests"


def twin_tests(folder: Path = TESTS) -> Iterator[str]:
    """pytest imports a module of tests by its name alone: of two it refuses one, as soon as both are read."""
    first: dict[str, Path] = {}
    for path in sorted(folder.rglob("*.py")):
        if path.name != "conftest.py" and first.setdefault(path.name, path) != path:
            yield f"{path}: has the name of {first[path.name]}: pytest cannot read both"


def broken_rules(known: dict[str, Module]) -> list[str]:
    chain = longest_chain(known)
    too_long = [f"imports {len(chain)} deep, at most {MAX_CHAIN}: {' -> '.join(chain)}"]
    return [
        *crowded_folders(),
        *folders_without_question(known),
        *twin_stems(known),
        *twin_classes(known),
        *wide_imports(known),
        *wide_structs(known),
        *participles(known, methods=True),
        *scattered_tools(known),
        *second_seams(known),
        *direct_clocks(known),
        *real_clocks(known),
        *imported_tests(),
        *twin_tests(),
        *(too_long if len(chain) > MAX_CHAIN else []),
    ]


def report(known: dict[str, Module]) -> None:
    folders = {
        folder: sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in {path.parent for path in SRC.rglob("*.py")}
    }
    fan_out = {name: len(imports(module, known, late=False) - {CLOCK}) for name, module in known.items()}
    widest = max(fan_out, key=lambda name: fan_out[name])
    largest = max(folders, key=lambda folder: folders[folder])
    chain = longest_chain(known)
    count = f"{len(known)} in {len(folders)} folders"
    print(f"modules            {count}, at most {folders[largest]} in one ({largest})")
    print(f"longest chain      {len(chain)}: {' -> '.join(name.removeprefix('ralph.') for name in chain)}")
    print(f"largest fan-out    {fan_out[widest]} ({widest})")
    print(f"twin class names   {len(list(twin_classes(known)))}")
    print(f"structs too wide   {len(list(wide_structs(known)))}")
    naming = [sum(tool in one.path.read_text(encoding="utf-8") for one in known.values()) for tool in TOOLS]
    named = ", ".join(f"{tool} {count}" for tool, count in zip(TOOLS, naming, strict=True))
    print(f"modules that name  {named}")
    print(f"direct clock reads {len(list(direct_clocks(known)))}")
    plain, all_of_them = list(participles(known)), list(participles(known, methods=True))
    print(f"participle names   {len(plain)} functions, {len(all_of_them)} with methods")
    lines = sum(module.path.read_text(encoding="utf-8").count("\n") for module in known.values())
    print(f"lines              {lines}")


def main() -> int:
    gc.disable()  # trees of syntax are large, and live to the end
    known = modules()
    if "--report" in sys.argv[1:]:
        report(known)
        return 0
    broken = broken_rules(known)
    print("\n".join(broken), end="\n" if broken else "")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
