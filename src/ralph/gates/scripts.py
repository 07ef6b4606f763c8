"""What a package manager's script, a line of shell or a file given to node runs in the end, test by test.

The command stays what it is, `npm test` with arguments behind it, where the runner comes last in its script.
Elsewhere (`tape test/*.js | tap-spec`, `ava && tsd`) the script's own text is sealed with the reporter at its
place. A text that is not understood for certain is read by its exit code.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from ralph.core.toolchains.load import toolchains
from ralph.gates.command import ShellPart, needs_shell, split_text
from ralph.gates.runners import (
    KnownRunner,
    base_name,
    insert,
    insert_before_end,
    keep_stream,
    recognise,
    reporter,
    runner_of,
    runs_scripts,
    skip_launchers,
)

COMMAND = "{command}"  # first word of a reporter that is the whole command instead of more arguments
_Content = Callable[[str], bytes | None]
_SILENT = frozenset({"-s", "--silent", "--loglevel=silent"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FORMATTER = re.compile(r"(?:tap-[\w-]+|faucet|colortap(?:e)?|tnyan|tap|tee)\Z")
_LIBRARY = re.compile(r"""(?:from|require\(|import)\s*["'](tape|tap|uvu)["']""")
_HARMLESS = frozenset({"cd", "echo", "export", "set", "true", ":", "mkdir", "rm", "rimraf", "cp"})
_MAX_DEPTH = 5


class SeenCommand(Struct, frozen=True):
    name: str  # of the runner, and of its reader
    argv: tuple[str, ...]  # what is executed, {report} in it
    others: bool = False  # further commands decide too, by their exit codes


class _Script(Struct, frozen=True):
    manager: str
    name: str
    body: str
    around: tuple[str, str]  # what the manager runs before and after it


def _is_stream(name: str) -> bool:
    runner = runner_of(name)
    return runner is not None and runner.row.stream


def see_through(argv: tuple[str, ...], run: str, cwd: str, content: _Content) -> SeenCommand | None:
    """None where no runner is found that could tell more than its exit code."""
    if argv[:2] == ("/bin/sh", "-c"):
        return _in_text(run, cwd, content, "", 0)
    seen = _in_script(argv, cwd, content, 0) or _in_file(argv, cwd, content)
    if seen is None or not _is_stream(seen.name):
        return seen
    argv = seen.argv if seen.argv[:2] == ("/bin/sh", "-c") else keep_stream(seen.argv)
    return SeenCommand(seen.name, argv, seen.others)


def _in_script(argv: tuple[str, ...], cwd: str, content: _Content, depth: int) -> SeenCommand | None:
    script = _script(argv, cwd, content)
    if script is None or depth >= _MAX_DEPTH:
        return None
    parts = split_text(script.body)
    if parts and parts[-1].text.strip():
        last = tuple(_words(parts[-1].text))
        inner = _plain(last, cwd, content, depth)
        alone = len(parts) == 1 or parts[-2].after in ("&&", ";")
        others = [part for part in parts[:-1] if _plain(tuple(_words(part.text)), cwd, content, depth)]
        if inner is not None and alone and not others:
            added = inner.argv[len(last) :] if inner.argv[: len(last)] == last else None
            if added is not None:  # what a manager is given goes to the end of its script
                apart = ("--",) if added and script.manager == "npm" and "--" not in argv else ()
                decides = inner.others or any(script.around) or any(map(_decides, parts[:-1]))
                return SeenCommand(inner.name, (*argv, *apart, *added), decides)
    if "--" in argv:
        return None  # the user's own arguments would not reach the right place
    before, after = script.around
    text = " && ".join(
        part
        for part in (
            before and f"{script.manager} run {before}",
            "{body}",
            after and f"{script.manager} run {after}",
        )
        if part
    )
    return _in_text(script.body, cwd, content, text, depth)


def _plain(words: tuple[str, ...], cwd: str, content: _Content, depth: int) -> SeenCommand | None:
    """One simple command: a runner with its reporter at the end, a script in turn, or a file of tests."""
    at = skip_launchers(words)
    runner = recognise(words)
    if runner is not None:
        known = runner_of(runner.name)
        return _with_reporter(words, runner) if known and runs_scripts(known) else None
    if at >= len(words):
        return None
    nested = _in_script(words, cwd, content, depth + 1) if at == 0 else None
    return nested or _in_file(words, cwd, content)


def _with_reporter(words: tuple[str, ...], runner: KnownRunner) -> SeenCommand:
    added = reporter(runner, words)
    if _is_stream(runner.name):
        return SeenCommand(runner.name, insert_before_end(words, added[1:]))
    return SeenCommand(runner.name, insert(runner, words, added))


def _in_file(words: tuple[str, ...], cwd: str, content: _Content) -> SeenCommand | None:
    """`node test.js`, where the file says whose tests it holds."""
    at = skip_launchers(words)
    if at >= len(words) or base_name(words[at]) != "node":
        return None
    files = [word for word in words[at + 1 :] if re.search(r"\.[cm]?[jt]sx?\Z", word)]
    if len(files) != 1 or files[0] != words[-1]:
        return None
    path = posixpath.normpath(posixpath.join(cwd, files[0]))
    hit = _LIBRARY.search((content(path) or b"").decode("utf-8", "replace"))
    return SeenCommand(hit[1], words) if hit else None


def _in_text(text: str, cwd: str, content: _Content, frame: str, depth: int) -> SeenCommand | None:
    """A text of shell with the reporter behind its only runner. `frame` is put around it."""
    parts = split_text(text)
    if parts is None:
        return None
    found = [
        (at, seen)
        for at, part in enumerate(parts)
        if (seen := _plain(tuple(_words(part.text)), cwd, content, depth))
    ]
    if len(found) != 1:
        return None
    at, seen = found[0]
    words = tuple(_words(parts[at].text))
    if at and parts[at - 1].after == "|":
        return None
    end = at
    while parts[end].after == "|":
        end += 1
        last = _words(parts[end].text)
        if not last or not _FORMATTER.match(base_name(last[skip_launchers(tuple(last))])):
            return None
    if end > at and not _is_stream(seen.name):
        return None
    whole = seen.argv[:2] == ("/bin/sh", "-c")  # a script of its own, which keeps its stream itself
    if seen.name == "node" and not whole:  # its options stand before its files
        added = shlex.join(word for word in seen.argv if word not in words)
        told = re.sub(r"--test(?=\s|\Z)", f"--test {added}", parts[at].text, count=1)
    elif seen.argv[: len(words)] == words:  # its own words as they are: patterns are for the shell
        told = f"{parts[at].text.strip()} {shlex.join(seen.argv[len(words) :])}".strip()
    elif whole or not needs_shell(parts[at].text.strip()):
        told = shlex.join(seen.argv)
    elif (left := _without_replaced(parts[at].text, seen.name)) is not None:
        known = tuple(_words(left))
        if seen.argv[: len(known)] != known:
            return None
        told = f"{left.strip()} {shlex.join(seen.argv[len(known) :])}".strip()
    else:
        return None  # arguments in the midst of it, among words that the shell has yet to fill in
    if _is_stream(seen.name) and not whole:
        told = f'{told} > "{{report}}"'
    made = "".join(
        told + parts[end].after if number == at else part.text + part.after
        for number, part in enumerate(parts)
        if number <= at or number > end
    )
    made = frame.replace("{body}", made) if frame else made
    lead = _lead(cwd) if frame else ""
    decides = seen.others or "&&" in frame
    decides = decides or any(_decides(part) for n, part in enumerate(parts) if n < at or n > end)
    if _is_stream(seen.name) and not whole:
        made = f'( {made} ); code=$?; cat "{{report}}"; exit $code'
    return SeenCommand(seen.name, ("/bin/sh", "-c", f"{lead}{made}"), decides)


def _without_replaced(text: str, name: str) -> str | None:
    """The text of a command less the options that the reporter takes the place of; None = it has none."""
    known = runner_of(name)
    names = "|".join(map(re.escape, known.row.instead)) if known else ""
    left = re.sub(rf"\s(?:{names})(?:=|\s+)[\w@./-]+(?=\s|\Z)", "", text) if names else text
    return None if left == text else left


def _lead(cwd: str) -> str:
    """The folders in which npm looks for commands: those of a workspace are often hoisted above it."""
    above = 0 if cwd in ("", ".") else posixpath.normpath(cwd).count("/") + 1
    folders = "".join(f"$PWD/{'../' * level}node_modules/.bin:" for level in range(above + 1))
    return f'PATH="{folders}$PATH"; export PATH; '


def _decides(part: ShellPart) -> bool:
    """Is this a command whose own exit code may be what was red?"""
    words = _words(part.text)
    return bool(words) and words[0] not in _HARMLESS


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        return []
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    return words


def _script(argv: tuple[str, ...], cwd: str, content: _Content) -> _Script | None:
    """The script that this command names, where it names one and nothing else."""
    manager = base_name(argv[0])
    rest = [word for word in argv[1:] if word not in _SILENT]
    if manager not in toolchains().packagers or not rest:
        return None
    asked = rest[0] in ("run", "run-script")
    rest = rest[1:] if asked else rest
    if not rest or rest[0].startswith("-") or (manager == "bun" and not asked):
        return None
    if manager == "npm" and not asked and rest[0] not in ("test", "t", "tst"):
        return None
    name = "test" if rest[0] in ("t", "tst") and manager == "npm" else rest[0]
    if rest[1:] and (manager != "npm" or rest[1] != "--"):
        return None
    path = posixpath.normpath(posixpath.join(cwd, "package.json"))
    try:
        scripts: Any = msgspec.json.decode(content(path) or b"{}", type=dict[str, Any]).get("scripts")
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    if not isinstance(scripts, dict) or not isinstance(scripts.get(name), str):
        return None
    before, after = (f"{when}{name}" if f"{when}{name}" in scripts else "" for when in ("pre", "post"))
    return _Script(manager, name, scripts[name], (before, after))
