"""The files of hidden checks: which paths their commands name, and what of that an agent must not see.

A command names files in many ways: as its script, as an argument, behind an option, in a variable, with `~`,
inside `sh -c`. What is executed (a script, a folder of tests) is hidden wherever it stands, with the folder
that it has for itself; anything else that is named is hidden unless the system or a tool needs it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.errors import UserError
from ralph.gates.command import word_set
from ralph.gates.judging_paths import is_test
from ralph.gates.runners import base_name, is_python, recognise, runner_of, skip_launchers
from ralph.shell.files.paths import covers

_SEPARATORS = frozenset("|&;()<>\n")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_INTERPRETERS = word_set(
    "sh bash dash zsh ksh fish source . node ruby perl php deno bun tsx ts-node Rscript lua awk java prove "
    "bats"
)
_SHELLS = word_set("sh bash dash zsh ksh fish")
_PROGRAMS = word_set("go cargo make gmake just npm yarn pnpm mvn gradle cmake ctest dotnet tox nox")
_BEFORE = word_set("exec command time nice nohup timeout stdbuf xvfb-run sudo builtin eval !")
_CODE = frozenset({"-c", "-e", "--eval", "-lc", "-ec", "-ce", "-xc"})
# Nobody keeps a check here; hidden, these would take the agent's own tools and certificates away.
_NEEDED = re.compile(
    r"/(?:etc|dev|proc|sys|run|bin|sbin|lib\w*|usr/(?:bin|sbin|lib\w*|include|libexec|share/[^/]+))(?:/|\Z)"
    r"|.*/(?:site|dist)-packages(?:/|\Z)"
)
# Folders that belong to everybody: what stands in one of them has none for itself.
_COMMON = re.compile(
    r"/(?:[^/]+|(?:usr|var|home)/[^/]+|usr/local/[^/]+|(?:usr|var)/(?:local/)?(?:lib|share)/[^/]+/?)?\Z"
)
_DEPTH = 4  # of sh -c "sh -c …"


def _takes_files(name: str) -> bool:
    """Are a runner's words files? To others they may be names."""
    runner = runner_of(name)
    return runner is not None and runner.row.words_are_files


class NamedPaths(Struct, frozen=True):
    """Paths as the user's machine knows them; they need not exist."""

    executed: tuple[str, ...]
    other: tuple[str, ...]


def paths_in_command(gate: Gate, repo: str, env: Mapping[str, str]) -> NamedPaths:
    """Every path that the command could mean, absolute."""
    cwd = os.path.normpath(os.path.join(repo, gate.cwd))
    # The gate's own variables count, and so do those of the box: `$HOME` means the same inside.
    scan = _Scan(cwd, {"HOME": env.get("HOME", "/"), "PWD": cwd, **gate.env})
    scan.shell(gate.run, _DEPTH)
    for value in (*gate.env.values(), *gate.path):
        scan.values(value)
    return NamedPaths(tuple(dict.fromkeys(scan.executed)), tuple(dict.fromkeys(scan.other)))


def paths_to_show(gate: Gate, repo: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """What the box of a hidden check itself must see of this."""
    found = paths_in_command(gate, repo, env)
    return tuple(path for path in (*found.executed, *found.other) if _real(path, repo))


def paths_to_hide(
    gates: Sequence[Gate],
    repo: str,
    env: Mapping[str, str],
    needed: Iterable[str],
    visible: Iterable[Gate] = (),
) -> tuple[str, ...]:
    """What no other box may see. `needed`: programs and folders of PATH that must stay visible.

    So must the files of the `visible` checks, which may lie beside a hidden one; but what a hidden check
    names itself, or stands in a folder that it names, is hidden all the same.
    """
    own = [path for gate in gates for path in paths_to_show(gate, repo, env)]
    beside = (path for gate in visible for path in paths_to_show(gate, repo, env))
    needed = (*needed, *(path for path in beside if not any(covers(name, path) for name in own)))
    kept = tuple(dict.fromkeys(real for path in needed for real in (path, os.path.realpath(path))))
    found: dict[str, None] = {}
    for gate in gates:
        names = paths_in_command(gate, repo, env)
        for path in names.executed:
            if _real(path, repo) and not _tool(path, kept):
                found[_hideable(path, kept)] = None
        for path in names.other:
            if _real(path, repo) and not _NEEDED.match(path) and not _tool(path, kept):
                found[os.path.realpath(path)] = None
    free = [path for path in found if not any(covers(path, keep) for keep in kept)]
    # Inside a folder that is hidden nothing may be named by hiding it again.
    return tuple(path for path in free if not any(covers(top, path) for top in free if top != path))


def unseen(gate: Gate, repo: str, paths: frozenset[str]) -> Gate:
    """The gate, when it stands outside the repository: what is in there, the agent can read."""
    found = gate.own_files[0] if gate.own_files else _inside(gate, repo, paths)
    if found:
        known = found in paths or any(path.startswith(found + "/") for path in paths)
        why = "the agent can read it, now or in the history" if known else "no commit has it, so no box would"
        raise UserError(
            f'hidden check "{gate.name}" names a file of the repository: {found}',
            code="E-HIDDEN-INSIDE",
            why=f"{why}; expected files outside the repository, such as ~/checks/property.py",
            next="ralph help checks",
        )
    return gate


def unhidden(gates: Iterable[Gate], repo: str, env: Mapping[str, str], *, boxed: bool) -> tuple[str, ...]:
    """What to say before a loop without a sandbox: there an agent reads whatever the user can read."""
    names = [gate.name for gate in gates if gate.hidden and paths_to_show(gate, repo, env)]
    if boxed or not names:
        return ()
    return (f"without a sandbox the agent can read the files of the hidden check ({', '.join(names)})",)


def _inside(gate: Gate, repo: str, paths: frozenset[str]) -> str:
    """A file of the repository that this check executes, or tests that it calls by name; "" = none.

    What an agent works on can be named freely: `python3 /checks/run.py src/app.py`.
    """
    for path in paths_in_command(gate, repo, {}).executed:
        if not covers(repo, path) or path == repo:
            continue
        name = os.path.relpath(path, repo)
        if name in paths or os.path.isfile(path) or (os.path.isdir(path) and is_test(name + "/x")):
            return name
    return ""


def _hideable(path: str, kept: tuple[str, ...]) -> str:
    """With the folder that it has for itself: what it compares with often lies beside it."""
    real = os.path.realpath(path)
    folder = os.path.dirname(real)
    if os.path.isdir(real) or _COMMON.match(folder) or _NEEDED.match(folder):
        return real
    return real if any(covers(folder, keep) or os.path.dirname(keep) == folder for keep in kept) else folder


def _real(path: str, repo: str) -> bool:
    """There, and not in the repository: what an agent has there is the loop's own tree."""
    return os.path.lexists(path) and not covers(repo, path) and not covers(path, repo)


def _tool(path: str, kept: tuple[str, ...]) -> bool:
    """The interpreter or runner of the check, or a program of the system, rather than the check."""
    name = base_name(path)
    known = is_python(name) or name in _INTERPRETERS | _PROGRAMS | _BEFORE or recognise((name,)) is not None
    known = known or re.match(r"/(?:usr/)?s?bin/", path) is not None
    return path in kept or (known and os.path.isfile(path) and os.access(path, os.X_OK))


class _Scan:
    """Goes through a command as a shell would, as far as that can be known without one."""

    def __init__(self, cwd: str, variables: dict[str, str]) -> None:
        self.cwd, self.variables = cwd, variables
        self.executed: list[str] = []
        self.other: list[str] = []

    def shell(self, text: str, depth: int) -> None:
        if not depth:
            return
        for command in _commands(text):
            argv = [self.expand(word) for word in command]
            while argv and (match := _ASSIGNMENT.fullmatch(argv[0])):
                self.variables[match.group(1)] = match.group(2)
                self.values(match.group(2))
                argv = argv[1:]
            if argv[:1] == ["cd"] and len(argv) > 1:
                self.cwd = self.path(argv[1])
            elif argv:
                self.command(tuple(argv), depth)

    def command(self, argv: tuple[str, ...], depth: int) -> None:
        at = skip_launchers(argv)
        for word in argv[:at]:
            self.values(word)
        while at < len(argv) and (base_name(argv[at]) in _BEFORE or (at and argv[at].startswith("-"))):
            at += 1
            while at < len(argv) and re.fullmatch(r"-.*|\d+[smhd]?|\w+=.*", argv[at]):
                self.values(argv[at])
                at += 1
        if at >= len(argv):
            return
        tool, rest = base_name(argv[at]), argv[at + 1 :]
        if "/" in argv[at]:
            self.executed.append(self.path(argv[at]))
        runner = recognise(argv[at:])
        scripts = 0 if runner or not (is_python(tool) or tool in _INTERPRETERS) else 1
        for index, word in enumerate(rest):
            if scripts and word in _CODE and index + 1 < len(rest):
                if tool in _SHELLS:
                    self.shell(rest[index + 1], depth - 1)
                else:
                    self.code(rest[index + 1])
                scripts = 0
            elif scripts and word == "-m":
                scripts = 0
            elif word.startswith("-"):
                self.values(word)
            elif scripts or (runner and ("/" in word or _takes_files(runner.name))):
                self.executed.append(self.path(word))
                if runner and runner.name == "unittest":
                    self.executed.append(self.path(word.replace(".", "/") + ".py"))
                scripts = 0
            else:
                self.values(word)

    def code(self, text: str) -> None:
        """Paths in a program that is written out in the command."""
        for quoted in re.findall(r"""["']([^"'\s]*/[^"'\s]*)["']""", text):
            self.values(quoted)

    def values(self, word: str) -> None:
        """`/a`, `--opt=/a`, `-I/a`, `A=/a:/b`: every path in a word."""
        for part in re.split(r"[=,:]", word):
            plain = re.sub(r"\A-[A-Za-z](?=[/~.])", "", part)
            if plain and not plain.startswith("-") and ("/" in plain or plain[0] in "~."):
                self.other.append(self.path(plain))

    def path(self, word: str) -> str:
        word = word.split("::", 1)[0]
        if word == "~" or word.startswith("~/"):
            word = self.variables["HOME"] + word[1:]
        return os.path.normpath(os.path.join(self.cwd, word))

    def expand(self, word: str) -> str:
        return _VARIABLE.sub(
            lambda match: self.variables.get(match.group(1) or match.group(2), match.group(0)), word
        )


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command, assignments and all."""
    lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    command: list[str] = []
    try:
        for word in lexer:
            if word and all(char in _SEPARATORS for char in word):
                if command:
                    yield command
                command = []
            else:
                command.append(word)
    except ValueError:
        pass  # an unfinished quote: the words before it still count
    if command:
        yield command
