"""From a command as a file names it to the form that works here: does its tool exist, and where?

Launchers that would install first (`uv run`, `npx`) give way to what is already installed in the repository's
own `.venv` or `node_modules`; a script with one known runner in it gives way to that runner, whose report can
be read test by test. Looks at the disk, executes nothing.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.core.criterion.proposal import Candidate
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.split_command import skip_options, split
from ralph.gates.command import needs_shell
from ralph.gates.runners import recognise
from ralph.shell.dependencies.shared import NODE_FOLDERS, PYTHON_FOLDERS
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.own_env import only_ours

_LAUNCHERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye", "npx", "bunx", "pnpx", "uvx"})
_ENVIRONMENTS = tuple(f"{one}/bin/{name}" for one in PYTHON_FOLDERS for name in ("python", "python3"))
_PROGRAM = re.compile(r"(python3?) (?:\./)?(\w+)\.py")
_UNITTEST = re.compile(r"^\s+unittest\.main\(\)", re.MULTILINE)
_PACKAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})


class Here:
    """What can be executed in one repository."""

    def __init__(self, top: str, env: Mapping[str, str]) -> None:
        self.top, self.path = top, env.get("PATH", os.defpath)

    def locate(self, word: str, cwd: str) -> str:
        """How `word` is started in this folder: from the repository's own folders, else from PATH."""
        folder = os.path.normpath(os.path.join(self.top, cwd))
        if "/" in word:
            return word if tools.find_executable(word, path="", cwd=folder) else ""
        for place in dict.fromkeys((folder, self.top)):
            for inner in (
                *(f"{one}/bin" for one in PYTHON_FOLDERS),
                *(f"{one}/.bin" for one in NODE_FOLDERS),
            ):
                path = os.path.join(place, inner, word)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    return os.path.relpath(path, folder)
        return word if tools.find_executable(word, path=self.path, cwd=folder) else ""

    def lacks_module(self, python: str, module: list[str], cwd: str) -> bool:
        """Is it neither installed in this environment nor a module of the language or the project?"""
        top = module[0].split(".")[0] if module else ""
        if not top or top in sys.stdlib_module_names or not python.endswith(_ENVIRONMENTS):
            return False
        folder = os.path.normpath(os.path.join(self.top, cwd))
        beside = os.path.dirname(os.path.dirname(os.path.join(folder, python)))
        libs = glob.glob(os.path.join(glob.escape(beside), "lib", "python*", "site-packages"))
        places = [os.path.join(root, top) for root in (*libs, folder, os.path.join(folder, "src"))]
        return not any(os.path.exists(place) or os.path.exists(f"{place}.py") for place in places)


def localise_candidate(made: Candidate, here: Here) -> Candidate:
    """The candidate in its local form, and whether that resolves."""
    if made.rejected or not made.kind:
        return made
    body = _single_command(made)
    known = body and recognise(tuple(shlex.split(body)))
    # What Ralph can read test by test comes first; a body it cannot read only where its script cannot start.
    absent = _absent_tool(made, here)
    for text in (body if known else "", "" if absent else made.run, body):
        if not text:
            continue
        local, ready = _local(_by_runner(text, made.cwd, here), made.cwd, here)
        if ready:
            return replace(made, run=local, was=made.run if local != made.run else "", resolved=True)
    local, ready = _local(made.run, made.cwd, here)
    word = _first(local)
    hint = made.hint or _hint(made.run, made.cwd, here)
    if absent and not hint:
        hint = f"{tools.install_line(absent) or absent} (its script starts {absent})"
    if hint and only_ours(word, here.top):
        hint = f"{hint} (it was found only in Ralph's own environment)"
    return replace(made, resolved=ready and not absent, hint=hint)


def _by_runner(text: str, cwd: str, here: Here) -> str:
    """`python test.py` as what it comes to where that is a unittest program: then its tests are known."""
    hit = _PROGRAM.fullmatch(text)
    if hit is None:
        return text
    try:
        with open(os.path.join(here.top, cwd, f"{hit[2]}.py"), encoding="utf-8") as file:
            return f"{hit[1]} -m unittest {hit[2]}" if _UNITTEST.search(file.read()) else text
    except (OSError, UnicodeDecodeError):
        return text


def _absent_tool(made: Candidate, here: Here) -> str:
    """A known tool that its script starts and that is not here: `make test` starts, and ends at once."""
    firsts = (words[0] for words in split(made.executes.rsplit(" -> ", 1)[-1]))
    return next((one for one in firsts if one in toolchains().tools and not here.locate(one, made.cwd)), "")


_LOCKS = (
    ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
    ("yarn.lock", "yarn install --frozen-lockfile"),
    ("bun.lock", "bun install --frozen-lockfile"),
    ("bun.lockb", "bun install --frozen-lockfile"),
    ("package-lock.json", "npm ci"),
)


def _hint(run: str, cwd: str, here: Here) -> str:
    """What installs the first thing that is missing: a program, else the dependencies of the package."""
    for words in split(run):
        name = words[0]
        runs_modules = name in _PACKAGERS or name in ("npx", "bunx", "pnpx")
        if here.locate(name, cwd) and runs_modules and _needs_modules(here, cwd):
            folder = os.path.join(here.top, cwd)
            locked = (line for lock, line in _LOCKS if os.path.exists(os.path.join(folder, lock)))
            return next(locked, f"{'npm' if name == 'npx' else name} install")
        if name.startswith(("vendor/", "./vendor/")):
            return "composer install"
        inner = _strip_launcher(words) if name in _LAUNCHERS and here.locate(name, cwd) else words
        if words[1:2] == ["-m"] and here.lacks_module(here.locate(name, cwd), words[2:3], cwd):
            return tools.install_line(words[2])
        if inner and not here.locate(inner[0], cwd):
            return tools.install_line(inner[0])
    return ""


def _single_command(made: Candidate) -> str:
    """The one plain command inside a script, also under several interpreters; "" when there is more in it."""
    body = made.executes.rsplit(" -> ", 1)[-1]
    whole = split(body)
    if len(whole) > 1 and all(words[0] in _LAUNCHERS for words in whole):
        inner = {shlex.join(_strip_launcher(words)) for words in whole}
        body = shlex.join(whole[0]) if len(inner) == 1 else body
    return body if body and len(split(body)) == 1 and not needs_shell(body) else ""


def _local(text: str, cwd: str, here: Here) -> tuple[str, bool]:
    if needs_shell(text):
        words = [commands[0] for commands in split(text)]
        known = [word for word in words if word not in ("cd", "test", "[", "exit", "set", "export", "!")]
        return text, all(here.locate(word, cwd) == word or word == "printf" for word in known)
    try:
        words = shlex.split(text)
    except ValueError:
        return text, False
    if not words:
        return text, False
    if words[0] in _LAUNCHERS:
        inner = _strip_launcher(words)
        found = here.locate(inner[0], cwd) if inner else ""
        if found:
            return shlex.join([found, *inner[1:]]), True
        if words[0] in ("npx", "bunx", "pnpx", "uvx"):  # it would fetch the tool from the network
            return text, False
    if words[0] in _PACKAGERS and not os.path.isdir(os.path.join(here.top, cwd, "node_modules")):
        return text, bool(here.locate(words[0], cwd)) and not _needs_modules(here, cwd)
    found = here.locate(words[0], cwd)
    if not found and words[0] == "python":
        found = here.locate("python3", cwd)
    if words[1:2] == ["-m"] and here.lacks_module(found, words[2:3], cwd):
        return text, False
    return (shlex.join([found, *words[1:]]), True) if found and found != words[0] else (text, bool(found))


def _strip_launcher(words: list[str]) -> list[str]:
    """What a launcher starts, its module form kept: `uv run python -m mypy` is `python -m mypy`."""
    at = 1
    if words[0] not in ("npx", "bunx", "pnpx", "uvx"):
        at = next((index + 1 for index, word in enumerate(words) if word in ("run", "exec")), len(words))
    inner = skip_options(words[at:], words[0])
    return inner[1:] if inner[:1] == ["-m"] else inner


def _needs_modules(here: Here, cwd: str) -> bool:
    """Does this package have dependencies that are not installed?"""
    path = os.path.join(here.top, cwd, "package.json")
    try:
        with open(path, "rb") as file:
            text = file.read(256 * 1024)
    except OSError:
        return False
    return b'ependencies"' in text


def _first(text: str) -> str:
    """The program, or the module that an interpreter is to start."""
    words = text.split()
    return (words[2] if words[1:2] == ["-m"] and len(words) > 2 else words[0]) if words else ""
