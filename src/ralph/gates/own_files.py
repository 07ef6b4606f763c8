"""Which files of the repository a gate's command is made of: its scripts, configs and task files.

Such a file is part of the check, so changing it is a finding. What the command merely looks at
(`mypy app.py`, `node --test a.test.js`) is the work itself and not listed here. A program run by an
interpreter (`python main.py`) may be either; its name decides: see `_CHECKLIKE`.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from ralph.gates.command import word_set
from ralph.gates.runners import base_name, is_python, recognise, skip_launchers

_CONFIG_OPTIONS = word_set(
    "-c --config --config-file --configfile --conf --rcfile --settings --project -p -f --file --makefile "
    "--justfile --confcutdir --ini --ruleset --rules --policy"
)
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish", "source", "."})
_INTERPRETERS = frozenset(
    {"node", "ruby", "perl", "php", "deno", "bun", "tsx", "ts-node", "Rscript", "lua", "awk"}
)
_TASK_FILES: dict[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "npm": ("package.json",),
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "bun": ("package.json",),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "invoke": ("tasks.py",),
}
_FOLDER_OPTIONS = frozenset({"-C", "--directory", "--prefix", "--cwd", "--dir"})
_CHECKLIKE = re.compile(
    r"(?:^|[/_.-])(?:tests?|checks?|checker|verify|verifier|validate|lint|ci|e2e|specs?|accept|acceptance|smoke|"
    r"judge|gates?|scripts?|tools?|bin|hack)(?:[/_.-]|$)"
)


def own_files(commands: list[list[str]], cwd: str, exists: Callable[[str], bool]) -> tuple[str, ...]:
    """Repository paths, sorted. `exists` says whether a path is a file at the base."""
    found: set[str] = set()
    folder = cwd
    for command in commands:
        if command[0] == "cd" and len(command) > 1:
            folder = posixpath.join(folder, command[1])
            continue
        for name in _files_named(tuple(command)):
            path = posixpath.normpath(posixpath.join(folder, name))
            if not path.startswith(("../", "/")) and exists(path):
                found.add(path)
    return tuple(sorted(found))


def _files_named(argv: tuple[str, ...]) -> list[str]:
    at = skip_launchers(argv)
    if at >= len(argv):
        return []
    names = [argv[at], *_option_values(argv[at + 1 :])]
    tool = base_name(argv[at])
    if recognise(argv):
        return names
    if tool in _SHELLS:
        names += _first_argument(argv[at + 1 :])
    elif tool in _INTERPRETERS or is_python(tool):
        names += [name for name in _first_argument(argv[at + 1 :]) if is_checklike(name)]
    folder = next((argv[i + 1] for i in range(len(argv) - 1) if argv[i] in _FOLDER_OPTIONS), ".")
    names += [posixpath.join(folder, name) for name in _TASK_FILES.get(tool, ())]
    return names


def is_checklike(path: str) -> bool:
    return bool(_CHECKLIKE.search(path))


def _first_argument(rest: tuple[str, ...]) -> list[str]:
    for word in rest:
        if word in ("-c", "-e", "-m", "--eval"):
            return []  # code or a module, not a file
        if not word.startswith("-"):
            return [word]
    return []


def _option_values(rest: tuple[str, ...]) -> list[str]:
    values = []
    for index, word in enumerate(rest):
        if word in _CONFIG_OPTIONS and index + 1 < len(rest):
            values.append(rest[index + 1])
        elif "=" in word and word.split("=", 1)[0] in _CONFIG_OPTIONS:
            values.append(word.split("=", 1)[1])
        elif word.startswith("-c") and not word.startswith("--") and len(word) > 2:
            values.append(word[2:])
    return values
