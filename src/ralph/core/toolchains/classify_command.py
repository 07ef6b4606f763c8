"""What a command found in a repository is for, and whether it may be proposed at all.

Commands from documents, manifests and CI files are foreign text. `sort_command` says which kind of check
one is, or why it is none: deploying, publishing, network, deleting, setting up, hiding another command.
Only words are looked at; nothing is executed and no file is read here.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.never_fails import why_degenerate, why_idle
from ralph.core.toolchains.rows import KINDS, Kind
from ralph.core.toolchains.split_command import environments, judging, skip_options, split, strip_launchers

MAX_CHARS = 500  # characters; a longer command is a program, and nobody reads it before saying yes
VEILED = "it hides another command in itself"  # as the table of deeds says it


class Sorted(Struct, frozen=True):
    """`kind` is "" for a command that is no check; `why` then says what it is instead."""

    kind: Kind | Literal[""] = ""
    tool: str = ""  # what really checks, behind launchers: mypy for `uv run mypy`
    why: str = ""
    unknown: bool = False  # no word of it tells what it does: it may well be a check


_EXPRESSION = re.compile(r"\$\{\{|\{\{|<%|\$\{?[A-Za-z_]")


_TEMPORARY = re.compile(r"\b([A-Za-z_]\w*)=[\"']?(?:\$\(|`)mktemp\b")
# Below the current folder; a name in capitals may be a variable of make's.
_BELOW = r"(?![A-Z_]+\b)(?!\.git\b)(?![.*/]+(?:[\s\"';&|)]|$))(?!\S*\.\.)[\"']?[\w.*@][\w.*@/-]*[\"']?"


def why_dangerous(command: str) -> str:
    """Why this text must not be executed for a check; "" when no such word is in it.

    What a check removes below its own folder, or a temporary file that it made, is gone with its checkout.
    """
    made = "|".join(map(re.escape, _TEMPORARY.findall(command))) or "(?!)"
    path = rf"""(?:{_BELOW}|["']?\$\{{?(?:{made})\}}?["']?)"""
    rest = re.sub(rf"""\b(?:rm|rimraf)(?: --?[\w-]+)*(?: {path})+(?=[ \t]*(?:[;&|)"'\n]|$))""", "", command)
    rest = rest if re.search(r"\w", rest) else command  # which does nothing else
    return next((why for pattern, why in toolchains().deeds if pattern.search(rest)), "")


def sounds_like_check(command: str) -> bool:
    """Is a word of it a program that checks, or one that starts a project's scripts?"""
    known = toolchains()
    for words in split(command):
        part = strip_launchers(words)
        tool = known.tools.get(known.name_of(part[0])) if part else None
        if tool and (tool.kind or tool.role or tool.verbs) and not known.setup.match(" ".join(part)):
            return True
    return False


def named_kind(name: str) -> str:
    """What the name of a script or target promises: a kind, or deploy, service, setup, slow, writes, ""."""
    name = name.lower()
    return next((kind for pattern, kind in toolchains().scripts if pattern.search(name)), "")


def fetches(words: list[str]) -> bool:
    """Does a simple command install something, and so need the network?"""
    return bool(toolchains().fetches.match(" ".join(words)))


def sort_command(command: str) -> Sorted:
    """Which kind of check this is. A compound is what its last check is, unless any part of it is a deed."""
    text = " ".join(command.split())
    if len(text) > MAX_CHARS or not text.isprintable():
        return Sorted(
            why="it is too long to be read" if len(text) > MAX_CHARS else "it holds unprintable characters",
            unknown=True,
        )
    why = why_dangerous(text) or why_degenerate(text)
    if why:
        return Sorted(why=why, unknown=why in toolchains().veiled)
    if _EXPRESSION.search(text):
        return Sorted(why="it holds a variable that is only known elsewhere", unknown=True)
    found: list[Sorted] = []
    ends = judging(text)
    counted = [list(words) for words in ends.judged if not why_idle(list(words))] if ends else split(text)
    for words in split(text):
        one = _sort_words(words)
        if one.why:
            return one
        if one.kind and any(part[-len(words) :] == words for part in counted):
            found.append(one)
    if not found:
        return Sorted(why="it is no check that is known")
    kinds = [one.kind for one in found]
    for kind in ("test", "coverage"):
        if kind in kinds:  # `npm run build && npm test` is a test that needs a build
            return found[kinds.index(kind)]
    return found[-1]


def _sort_words(words: list[str]) -> Sorted:
    known = toolchains()
    if known.setup.match(" ".join(words)) or words[0] in (
        "cd",
        "pushd",
        "popd",
        "test",
        "[",
        "exit",
        "set",
        "rm",
        "rimraf",
    ):
        return Sorted()
    inner = strip_launchers(words)
    if not inner:
        return Sorted()
    name, rest = known.name_of(inner[0]), inner[1:]
    if name in known.packagers or name in known.taskers:
        return _script(name, rest)
    if name in ("tox", "nox"):
        return _environment(name, rest)
    kind = _verb(name, rest)
    if kind:
        return kind
    if name in known.kinds:
        tool = known.tools[name]
        covered = tool.coverage and any(re.match(r"--(?:cov\b|cov=|coverage)", word) for word in rest)
        return Sorted(kind="coverage" if covered and _threshold(rest) else known.kinds[name], tool=name)
    launched = inner[0] != words[0] or "/" in words[0]  # a bare file name is no command
    if launched and (re.search(r"\.(?:sh|py|rb|pl|js|mjs|bash)$", name) or "/" in words[0]):
        said = named_kind(re.sub(r"\.\w+$", "", name))
        if said in KINDS:
            return Sorted(kind=said, tool=name)
        return Sorted(why=f"it starts {name}, whose purpose is not known", unknown=True)
    if name in ("echo", "true"):
        return Sorted()
    return Sorted(why=f"{name} is no check that is known", unknown=True)


def _environment(name: str, rest: list[str]) -> Sorted:
    """`tox -e typing`, `nox -s lint`: the environment's name says what it is for; else these are tests."""
    chosen = environments(name, rest)
    said = named_kind(chosen[0]) if chosen else "test"
    if said in ("deploy", "service", "setup", "writes"):
        return Sorted(why=f"the environment {chosen[0]} of {name} is no check")
    return Sorted(
        kind=said if said in KINDS else "test", tool=name if said in ("", "test") else f"{name}:{said}"
    )


def _threshold(words: list[str]) -> bool:
    return any(word.startswith(("--cov-fail-under", "--coverageThreshold")) for word in words)


def _verb(name: str, rest: list[str]) -> Sorted | None:
    tool = toolchains().tools.get(name)
    if tool is None or not tool.verbs:
        return None
    plain = [word for word in rest if not word.startswith("-")]
    for verb in tool.verbs:
        wanted = verb.words.split()
        fits = not wanted or (plain[:1] and plain[0] in wanted) or any(one in plain for one in wanted[:2])
        if name == "python":
            fits = rest[:2] == wanted
        needs = set(verb.needs.split())
        if fits and (not needs or needs & {word.split("=", 1)[0] for word in rest}):
            return Sorted(kind=verb.kind, tool=f"{name} {verb.kind}" if tool.many_tools else name)
        if fits and needs and verb.kind == "format":
            return Sorted(why="it changes files instead of checking them")
    if tool.kind:
        return None
    own = tool.runs_code and not any(word in toolchains().words.idle_verbs for word in rest[:1])
    return Sorted(why=f"{name} is not used as a check here", unknown=own)


def _script(name: str, rest: list[str]) -> Sorted:
    """`npm test`, `yarn lint`, `make check`: the name of the script says what it is for."""
    if rest[:1] == ["audit"]:
        return Sorted(kind="security", tool=f"{name} audit")
    words = skip_options(rest)
    if name in toolchains().packagers and words[:1] in (["run"], ["run-script"], ["workspace"]):
        words = skip_options(words[2:] if words[0] == "workspace" else words[1:])
        if words[:1] == ["run"]:
            words = skip_options(words[1:])
    if not words:
        usual = {"make": Sorted(kind="build", tool="make all"), "rake": Sorted(kind="test", tool="rake")}
        return usual.get(name, Sorted())  # the default task of Ruby projects is their tests
    script = words[0]
    if name == "bun" and script == "test" and "run" not in rest:
        return Sorted(kind="test", tool="bun test")
    said = named_kind(script)
    if said in KINDS:
        return Sorted(kind=said, tool=f"{name}:{script}")
    whys = {
        "deploy": "it deploys or publishes",
        "service": "it starts something that does not end",
        "setup": "it sets things up",
        "slow": "it is an integration or speed test",
        "writes": "it changes files instead of checking them",
    }
    why = whys.get(said, f"nothing is known of the script {script}")
    return Sorted(why=why, unknown=said in ("", "slow"))


SHELL_SIGNS = re.compile(r"[;|&$<>(){}\\\n]")


# Words that make a sentence of what begins like a command: "pytest and ruff are happy".
_SENTENCE = re.compile(r"\s(?:and|or|both|is|are|then|reports|finds|says|has|have|until|with no)(?:\s|$)")


def plain_command(text: str) -> bool:
    """Words that are a check beyond doubt, without quotes around them."""
    tool = toolchains().tools.get(text)
    if SHELL_SIGNS.search(text) or _SENTENCE.search(text) or (" " not in text and not (tool and tool.alone)):
        return False
    return (
        text == text.strip() and text[:1].islower() | text.startswith("./") and sort_command(text).kind != ""
    )


def script_of(command: str) -> tuple[str, str] | None:
    """(runner, script) for one plain `npm test`, `yarn run lint`, `make check`; None for everything else."""
    commands = split(command)
    if len(commands) != 1:
        return None
    words = commands[0]
    name = words[0].rsplit("/", 1)[-1]
    packagers = toolchains().packagers
    if name not in packagers and name not in ("make", "gmake", "just", "composer"):
        return None
    rest = skip_options(words[1:])
    if name in packagers and rest[:1] in (["run"], ["run-script"]):
        rest = skip_options(rest[1:])
    if len(rest) < 1 or (name == "bun" and words[1:] == ["test"]):
        return None
    return ("make" if name == "gmake" else name), rest[0]
