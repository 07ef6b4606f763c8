"""A gate's command made to look at other tests than it says: some files only, or canaries as well.

Options stay as they are; only words that choose tests are added to or replaced. Where the command cannot
be narrowed it is used whole, which costs time and changes nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.toolchains.load import toolchains
from ralph.gates.canary_text import owner
from ralph.gates.command import word_set
from ralph.gates.runners import KnownRunner, recognise
from ralph.gates.scripts import COMMAND

JS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts")


def _relative(path: str, cwd: str) -> str:
    return path if cwd in (".", "") else posixpath.relpath(path, cwd)


# Options by which runners of JavaScript end with the first failure.
_BAIL = word_set("--bail -b --bail=1 --fail-fast -b1")


def select_tests_too(gate: Gate, path: str, names: tuple[str, ...]) -> Gate:
    """The gate with these further tests of a file chosen too, also where it stops at the first failure."""
    runner = recognise(gate.argv)
    if runner is not None and runner.name == "go":
        return _go_names_too(gate, runner, names)
    if runner is None or not toolchains().runners[runner.name].row.valued:
        on = [tuple(word for word in words if word not in _BAIL) for words in (gate.argv, gate.reporter)]
        return replace(gate, argv=on[0], reporter=on[1])
    before, rest = gate.argv[: runner.at], list(gate.argv[runner.at :])
    here = _relative(path, gate.cwd)
    chosen = [rest[at] for at in positional_indexes(runner.name, rest)]
    chooses = toolchains().runners[runner.name].row.chooses
    if chooses == "ids":
        added = [f"{here}::{name}" for name in names] if any("::" in word for word in chosen) else []
        end = rest.index("--") if "--" in rest else len(rest)
        rest = [*_or_names(runner.name, rest[:end], names), *added, "--maxfail=0", *rest[end:]]
    elif chooses == "classes":
        rest = [word for word in rest if word not in ("-f", "--failfast")]
        module = here.removesuffix(".py").replace("/", ".")
        owned = [word for word in chosen if word.startswith(f"{module}.")]
        mark = names[0].rsplit("_", 2)[1]
        rest += [f"{module}.{owner(mark)}"] if owned else []
        if "-k" in rest[:-1]:
            rest += ["-k", mark]
    elif any(word.split("=", 1)[0] == "--test-name-pattern" for word in (*before, *rest)):
        mark = names[0].rsplit(" ", 1)[-1].rsplit("_", 1)[0]
        rest.insert(0, f"--test-name-pattern={mark}")
    return replace(gate, argv=(*before, *rest))


def _go_names_too(gate: Gate, runner: KnownRunner, names: tuple[str, ...]) -> Gate:
    """Every `-run` lets these names through as well; a pattern with parts of a path is left alone."""
    rest = [word for word in gate.argv[runner.at :] if word.lstrip("-") not in ("failfast", "failfast=true")]
    common = names[0].rpartition("_")[0]
    for at, word in enumerate(rest):
        name, equals, value = word.lstrip("-").partition("=")
        where = at if equals else at + 1
        if name == "run" and where < len(rest) and "/" not in (value := value or rest[where]):
            rest[where] = f"-run={value}|{common}" if equals else f"{value}|{common}"
    return replace(gate, argv=(*gate.argv[: runner.at], *rest))


def narrow_to_files(gate: Gate, files: Collection[str], exists: Callable[[str], bool]) -> Gate:
    """The gate looking at these test files only, where its runner can be told so; else the gate itself."""
    if gate.reporter[:1] == (COMMAND,):
        return _behind_script(gate, files)
    runner = recognise(gate.argv) if gate.reporter or gate.read == "unittest" else None
    if runner is not None and runner.name == "unittest":
        return _patterns(gate, runner, files)
    endings = toolchains().runners[runner.name].row.narrow if runner else ()
    if runner is None or not files or not endings:
        return gate
    before, rest = gate.argv[: runner.at], list(gate.argv[runner.at :])
    cwd = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
    inside = [path for path in sorted(files) if path.startswith(cwd) and path.endswith(endings)]
    if not inside:
        return gate  # data beside the tests, or tests of another runner: which of its own read them?
    chosen = positional_indexes(runner.name, rest)
    known = [at for at in chosen if exists(posixpath.normpath(cwd + rest[at].split("::", 1)[0]))]
    by_path = toolchains().runners[runner.name].row.by_path
    if len(known) < len(chosen) and (runner.name == "node" or by_path):
        return gate  # a pattern that the runner itself resolves: which files it means is not known here
    kept = [word for at, word in enumerate(rest) if at not in known]
    at = kept.index("--") if "--" in kept else len(kept)
    places = [*by_path, *(_relative(path, gate.cwd) for path in inside)]
    return replace(gate, argv=(*before, *kept[:at], *places, *kept[at:]))


def _behind_script(gate: Gate, files: Collection[str]) -> Gate:
    """What a package's script starts in the end is told files, behind the reporter."""
    known = toolchains().runners.get(gate.read)
    cwd = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
    endings = known.row.narrow if known else ()
    inside = [path for path in sorted(files) if path.startswith(cwd) and path.endswith(endings or ("\0",))]
    if known is None or not inside or "--" not in gate.reporter:
        return gate
    places = (_relative(path, gate.cwd) for path in inside)
    return replace(gate, reporter=(*gate.reporter, *known.row.by_path, *places))


def _patterns(gate: Gate, runner: KnownRunner, files: Collection[str]) -> Gate:
    """By a pattern, which is how unittest chooses files: one can be told, and only by discovery. Several
    files by their modules, where it looks for them from its own folder."""
    rest = list(gate.argv[runner.at :])
    names = {posixpath.basename(path) for path in files if path.endswith(".py")}
    chosen = [rest[at] for at in positional_indexes("unittest", rest)]
    if not names or chosen not in ([], ["discover"]) or any(w.startswith("--pattern") for w in rest):
        return gate
    if len(names) > 1:
        inside = sorted(_relative(path, gate.cwd) for path in files if path.endswith(".py"))
        if any(word.startswith(("-s", "-t", "-p", "--start", "--top", "../")) for word in (*rest, *inside)):
            return gate
        kept = [word for word in rest if word != "discover"]
        modules = [path.removesuffix(".py").replace("/", ".") for path in inside]
        return replace(gate, argv=(*gate.argv[: runner.at], *kept, *modules))
    if "-p" in rest[:-1]:
        at = rest.index("-p")
        rest = [*rest[:at], *rest[at + 2 :]]
    rest = rest if chosen else ["discover", *rest]
    return replace(gate, argv=(*gate.argv[: runner.at], *rest, "-p", names.pop()))


def positional_indexes(runner: str, rest: list[str]) -> list[int]:
    """Where in a runner's arguments the words stand that are neither options nor their values."""
    found, skip, options = [], False, True
    valued = toolchains().runners[runner].row.valued
    for at, word in enumerate(rest):
        if skip:
            skip = False
        elif not options or not word.startswith("-"):
            found.append(at)
        elif word == "--":
            options = False
        else:
            skip = word in valued
    return found


def _or_names(runner: str, rest: list[str], names: tuple[str, ...]) -> list[str]:
    """Arguments with these names let through by every `-k`, of which the last one counts."""
    said, skip = list(rest), ""
    valued = toolchains().runners[runner].row.valued
    for at, word in enumerate(rest):
        if skip == "-k" or (not skip and word.startswith("-k") and word != "-k"):
            lead = "" if skip else "-k"
            said[at] = f"{lead}({word.removeprefix(lead)}) or {' or '.join(names)}"
        skip = word if not skip and word in valued else ""
    return said


def module_file(name: str, cwd: str, known: Collection[str]) -> str:
    """The file of a dotted unittest id: its longest beginning that is one, as near to the gate as can be."""
    parts = name.split(".")
    lead = "" if cwd in (".", "") else cwd.rstrip("/") + "/"
    for count in range(len(parts) - 1, 0, -1):
        path = "/".join(parts[:count]) + ".py"
        found = [one for one in known if one.startswith(lead) and f"/{one}".endswith(f"/{path}")]
        if found:
            return min(found, key=lambda one: (len(one), one))
    return ""
