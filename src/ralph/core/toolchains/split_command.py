"""A command as words: its simple commands, which of them decide the exit code, what a launcher starts."""

from __future__ import annotations

import re
import shlex

from msgspec import Struct

from ralph.core.toolchains.load import toolchains

_SIGNS = "|&;()<>"
_SIGN = re.compile(r"&&|\|\||\|&|[<>]&|&>>?|>>|<<|[|&;()<>]")
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")
_SAYS = frozenset({"true", ":", "echo", "printf"})
# The last stage of a pipe is what counts; these take whatever comes and are content.
_FILTERS = frozenset(
    {"tee", "cat", "head", "tail", "sed", "awk", "tr", "sort", "less", "more", "ts", "column", "wc"}
)
_FLOW = frozenset({"if", "for", "while", "until", "case", "function", "select"})


def _tokens(command: str) -> list[str]:
    """Words and shell signs. Raises ValueError for quotes that do not close."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[str] = []
    for word in lexer:  # `);` comes as one
        found += _SIGN.findall(word) if word and set(word) <= set(_SIGNS) else [word]
    return found


def split(command: str) -> list[list[str]]:
    """The words of each simple command."""
    commands: list[list[str]] = [[]]
    try:
        for word in _tokens(command):
            if word and all(char in _SIGNS for char in word):
                commands.append([])
            elif commands[-1] or not _ASSIGNS.match(word):
                commands[-1].append(word)
    except ValueError:
        return []
    return [words for words in commands if words]


class Ending(Struct, frozen=True):
    """What decides the exit code of a command: these simple commands, or nothing."""

    judged: tuple[tuple[str, ...], ...] = ()  # assignments before a command are kept as its first words
    passes: bool = False  # whatever happens
    fails: bool = False


def judging(command: str) -> Ending | None:
    """What decides how a command ends; None where control flow or open quotes hide it."""
    try:
        tokens = _tokens(command.replace("\\\n", " ").replace("\n", " ; "))
    except ValueError:
        return None
    if _FLOW & set(tokens) or "<<" in command:
        return None
    return _Reader(tokens).read_list()


class _Reader:
    """One pass over the words and signs of a command, by the shell's grammar without control flow."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = tokens, 0
        self.errexit = self.pipefail = False

    def _next(self) -> str:
        """The word or sign that stands next; at the end a line break, which no token is."""
        return self.tokens[self.at] if self.at < len(self.tokens) else "\n"

    def read_list(self) -> Ending:
        """`a && b ; c`: only the last of them counts, unless the shell stops at the first failure."""
        whole = Ending(passes=True)
        while self._next() not in (")", "}", "\n"):
            one = self._and_or()
            whole = _and(whole, one) if self.errexit else one
            sign = self._next()
            if sign == "&":  # what goes on in the background tells nothing
                whole = Ending(passes=True)
            if sign and set(sign) <= {";", "&"}:
                self.at += 1
        self.at += 1
        return whole

    def _and_or(self) -> Ending:
        whole = self._pipeline()
        while self._next() in ("&&", "||"):
            sign = self._next()
            self.at += 1
            other = self._pipeline()
            if sign == "&&":
                whole = _and(whole, other)
            elif other.passes:
                whole = other
            elif not other.fails:
                whole = Ending((*whole.judged, *other.judged), passes=whole.passes)
        return whole

    def _pipeline(self) -> Ending:
        whole = self._one()
        while self._next() in ("|", "|&"):
            self.at += 1
            other = self._one()
            passive = bool(other.judged) and other.judged[0][0].rsplit("/", 1)[-1] in _FILTERS
            other = Ending(passes=True) if passive else other
            whole = _and(whole, other) if self.pipefail else other
        return whole

    def _one(self) -> Ending:
        if self._next() in ("(", "{"):
            self.at += 1
            inner = self.read_list()
            self._redirections()
            return inner
        words: list[str] = []
        while (word := self._next()) not in ("}", "\n"):
            if word and set(word) <= set(_SIGNS) - {"<", ">"}:
                break
            if not self._redirections():
                words.append(word)
                self.at += 1
            elif words and words[-1].isdigit():
                words.pop()  # the 2 of 2>&1
        return self._simple(words)

    def _redirections(self) -> bool:
        seen = False
        while (word := self._next()) and set(word) <= set(_SIGNS) and set(word) & {"<", ">"}:
            self.at += 2
            seen = True
        return seen

    def _simple(self, words: list[str]) -> Ending:
        plain = [word for word in words if not _ASSIGNS.match(word)] if words else []
        if not plain or plain[0].rsplit("/", 1)[-1] in _SAYS:
            return Ending(passes=True)
        name = plain[0].rsplit("/", 1)[-1]
        if name == "set":
            flags = "".join(word[1:] for word in plain[1:] if word[:1] == "-")
            self.errexit = "e" in flags or (self.errexit and "+e" not in plain)
            self.pipefail = self.pipefail or "pipefail" in plain
            return Ending(passes=True)
        if name == "exit":
            return Ending(passes=True) if plain[1:] == ["0"] else Ending(fails=True)
        if name == "false":
            return Ending(fails=True)
        if name in ("sh", "bash", "zsh", "dash") and (inner := _shell_text(plain)) is not None:
            reader = _Reader(inner[0])
            reader.errexit, reader.pipefail = inner[1], "pipefail" in plain
            return reader.read_list()
        return Ending((tuple(words),))


def _and(one: Ending, other: Ending) -> Ending:
    return Ending((*one.judged, *other.judged), one.passes and other.passes, one.fails or other.fails)


def _shell_text(words: list[str]) -> tuple[list[str], bool] | None:
    """The program of `sh -c`, and whether that shell stops at the first failure."""
    flags = [word for word in words[1:] if word.startswith("-")]
    at = next((at for at, word in enumerate(words) if re.fullmatch(r"-[a-z]*c", word)), 0)
    if not at or at + 1 >= len(words):
        return None
    try:
        tokens = _tokens(words[at + 1])
    except ValueError:
        return None
    return None if _FLOW & set(tokens) else (tokens, any("e" in flag for flag in flags))


def strip_launchers(words: list[str]) -> list[str]:
    """The words of what is really executed, behind `uv run`, `npx`, `bundle exec`, `python -m`, …"""
    known = toolchains()
    while words:
        name = words[0].rsplit("/", 1)[-1]
        rest = words[1:]
        launches = known.launchers.get(name, "")
        if launches == "after run or exec" and rest:
            after = skip_options(rest, name)
            if after[:1] not in (["run"], ["exec"]):
                return words
            words = skip_options(after[1:], name)
        elif launches == "at once":
            words = skip_options(rest, name)
            while words and re.match(r"[A-Za-z_]\w*=", words[0]):
                words = words[1:]
        elif name == "timeout":
            words = skip_options(rest)[1:]
        elif name in known.packagers and rest[:1] in (["exec"], ["dlx"], ["x"]):
            words = skip_options(rest[1:])
        elif re.fullmatch(r"(?:python|pypy)[\d.]*", name):
            words = _python(rest)
            if words[:1] == ["python"]:
                return words
        elif name in ("sh", "bash", "ruby", "php") and rest and not rest[0].startswith("-"):
            words = rest
        else:
            return [name, *rest]
    return words


def skip_options(words: list[str], launcher: str = "") -> list[str]:
    """The words behind the options; which take a value is known of each launcher, and of most programs."""
    known = toolchains()
    row = known.tools.get(known.name_of(launcher))
    at, valued = 0, known.words.valued | ((row.launch_values if row else None) or frozenset())
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in valued else 1
    return words[at:]


_CHOOSES = {"tox": ("-e", "-f", "-m"), "nox": ("-e", "-s", "-t", "--session", "--sessions", "--tags")}


def environments(name: str, rest: list[str]) -> list[str]:
    """The environments, factors, labels or tags that tox or nox is told: `tox -e py312`, `tox -f lint`."""
    own = rest[: rest.index("--")] if "--" in rest else rest
    return [own[at + 1] for at, word in enumerate(own[:-1]) if word in _CHOOSES[name]]


def _python(words: list[str]) -> list[str]:
    while words and words[0].startswith("-"):
        if words[0] == "-m" and len(words) > 1:
            return ["python", "-m", "build"] if words[1] == "build" else words[1:]
        words = words[2:] if words[0] in ("-W", "-X") else words[1:]
    return words or ["python"]
