"""Which tools and languages a task names, and which commands are by them. Pure.

The tool that a task names decides: "fix all TypeScript errors" is never proven by mypy. A name counts when it
is meant as the aim; what is only mentioned (the old tool of a migration, what must not be touched, a file
name, a quotation) does not. The names are rows of the toolchains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.criterion.proposal import Candidate, ProjectFacts
from ralph.core.criterion.task_class import hidden_from_checks, task_class
from ralph.core.model.gate import TaskClass
from ralph.core.toolchains.classify_command import sort_command
from ralph.core.toolchains.kinds import AIMS, gate_kind
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import KINDS, Kind, Name
from ralph.core.toolchains.split_command import split, strip_launchers

__all__ = ["Name", "NamedInTask", "by", "class_of", "missing", "names_in_text", "unmet"]

# Where the aim is that something becomes green, what is named must be what is judged.
GREEN: frozenset[TaskClass] = frozenset(
    {"test-pass", "type-clean", "lint-clean", "build-pass", "coverage", "custom"}
)
_LONGEST = 2000
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<!\w)'[^'\n]+'(?!\w)")
_MEANT = re.compile(
    r"\"([\w-]+)\"(?= (?:pass(?:es)?|happy|clean|green|errors?|warnings?|findings?|must|should|is) ?)",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<![\w/.-])(?:[\w.@-]+/)+[\w.*-]*|(?<![\w/.-])(?!(?i:node\.js|py\.test)\b)[\w-]*\.?[\w-]+\.[a-z]{1,5}(?![\w.])"
    r"|https?://\S+"
)
_CLAUSE = r"[^,.;:!?\n]*?(?=[,.;:!?\n]|\bbut\b|$)"
# The old tool of a migration: what counts is what comes after.
_FORMER = re.compile(
    r"\b(?:migrat|port|convert|switch|mov|rewrit|translat|transpil)(?:e|es|ed|ing|s|t)?\b"
    r"[^.;\n]*?\b(?:to|into|in(?= [A-Z]| rust\b))\s+(?![0-9])"
    r"|\b(?:replac|swap|substitut)(?:e|es|ed|ing|s|t|ping|p)?\b[^.;\n]*?\b(?:by|with|for)\s+"
    r"|\b(?:drop|remov|ditch|retir|delet)(?:e|es|ed|ing|ping|s)?\b[^.;\n]*?\bin favou?r of\s+"
    r"|\b(?:instead of|rather than|in place of|no longer(?: use| uses| using)?|away from)\s+\S+(?: \S+)?",
    re.IGNORECASE,
)
# Said to be left alone. "Without mypy errors" asks for mypy, "without touching mypy" does not.
_LEFT = re.compile(
    r"\b(?:without|do not|don't|dont|never|not|no need to|avoid|must not|should not|shouldn't|mustn't)\s+"
    r"(?:to\s+|ever\s+|be\s+)?(?:touch|chang|edit|modif|us|updat|upgrad|remov|disabl|alter|introduc|add|depend|install"
    r"|worry|run|switch|mov|migrat|break|delet|rewrit|weaken|look)\w*\b"
    + _CLAUSE
    + r"|\b(?:leave|leaving|except(?:ing| for)?|excluding|other than|apart from|ignore|ignoring|skip|skipping"
    r"|regardless of|not (?:the|in|on|for)|(?<=, )not|(?<=\()not)\b" + _CLAUSE,
    re.IGNORECASE,
)
# A tool that only qualifies another thing: "an ESLint plugin", "the mypy config".
_THING = (
    r"(?i:plugins?|rules?|reporters?|configs?|configuration|settings|versions?|matchers?|transformers?|outputs?"
    r"|parsers?|integrations?|wrappers?|adapters?|extensions?|presets?|docs|documentation|badges?|logs?|fixtures?"
    r"|markers?|mocks?|caches?|images?|templates?|support|options?|flags?|comments?|history|icons?|users?|api|"
    r"events?|results?|report|lexers?|highlighters?|exporters?|bindings?|grammars?|generators?|compilers?|syntax"
    r"|printers?)"
)
# The same where something is to become green. Words that are also verbs ("what ESLint flags") are not among
# them, and a state may mean the tool after all: "TypeScript compiler errors", "the ESLint config passes".
_SUBJECT = (
    r"(?:(?i:reporters?|matchers?|transformers?|parsers?|integrations?|wrappers?|adapters?|extensions?|docs"
    r"|documentation|badges?|fixtures?|mocks?|templates?|support|icons?|lexers?|highlighters?|exporters?"
    r"|importers?|bindings?|grammars?|generators?|printers?)\b"
    r"|(?i:plugins?|presets?|configs?|configuration|settings|compilers?|syntax)\b"
    r"(?! (?i:errors?|warnings?|findings?|violations?|complain\w*|issues?|failures?|pass(?:es|ing)?|happy"
    r"|clean|green|is|must|should|succeeds?|fails?|accepts?)\b))"
)


class NamedInTask(Struct, frozen=True):
    """What a text names: tools, and languages that no named tool stands for."""

    tools: tuple[Name, ...] = ()
    languages: tuple[Name, ...] = ()
    rest: str = ""  # the text without the names
    told: str = ""  # the text that was looked at
    spans: tuple[tuple[Name, int, int], ...] = ()  # where in it the names stand

    @property
    def names(self) -> tuple[Name, ...]:
        return (*self.tools, *self.languages)


def names_in_text(text: str, aim: TaskClass) -> NamedInTask:
    """The tools and languages that `text` names as its aim."""
    told = _LEFT.sub(" ", text[:_LONGEST])
    former = _FORMER.search(told)
    if former is not None:
        told = f"{told[: former.start()]} to {told[former.end() :]}"
    told = _FILE.sub(" ", _QUOTED.sub(" ", _MEANT.sub(r"\1", told)))
    found: list[tuple[Name, int, int]] = []
    whole = told
    for name in (*toolchains().named_tools, *toolchains().named_languages):
        hit, meant = _find_name(name, told, aim)
        if hit is None:
            continue
        # A language that is only the subject ("the Ruby highlighter") decides where there is code of it.
        found.append((name if meant else replace(name, weak=True), hit.start(), hit.end()))
        told = told[: hit.start()] + " " * (hit.end() - hit.start()) + told[hit.end() :]
    found.sort(key=lambda span: span[1])
    tools = tuple(name for name, _, _ in found if name.kind is not None)
    languages = tuple(name for name, _, _ in found if name.kind is None)
    tools, languages = _typescript(tools, languages, aim)
    stood_for = {name.family for name in tools}
    languages = tuple(
        {name.family: name for name in reversed(languages) if name.family not in stood_for}.values()
    )[::-1]
    return NamedInTask(tools, languages, " ".join(told.split()), whole, tuple(found))


def _typescript(
    tools: tuple[Name, ...], languages: tuple[Name, ...], aim: TaskClass
) -> tuple[tuple[Name, ...], tuple[Name, ...]]:
    """Where types are the aim, TypeScript is its own checker."""
    mine = next((name for name in languages if name.says == "TypeScript" and not name.weak), None)
    if mine is None or aim != "type-clean":
        return tools, languages
    rest = tuple(name for name in languages if name is not mine)
    if any(name.kind == "types" and name.family == "node" for name in tools):
        return tools, rest
    checker = next(name for name in toolchains().named_tools if name.says == "TypeScript")
    return (*tools, checker), rest


def _find_name(name: Name, told: str, aim: TaskClass) -> tuple[re.Match[str] | None, bool]:
    """Where a name stands, and whether it is meant itself and not only the subject of something else."""
    low = told.lower()
    if not any(word in low for word in name.near):
        return None, False
    end = r"(?![\w/#+]|-(?!clean|free|compliant|happy)|\.\w)"
    thing = _SUBJECT if aim in GREEN else rf"{_THING}\b"
    subject: re.Match[str] | None = None
    for hit in re.finditer(rf"(?<![\w./@#+-])(?:{name.words}){end}", told):
        if not re.match(rf" {thing}", told[hit.end() :]):
            return hit, True
        subject = subject or hit
    if name.kind is not None:
        return None, False
    return subject, aim not in GREEN


def generic(named: NamedInTask, aim: TaskClass) -> bool:
    """Would the task be of the same class without the names ("the tests and ESLint")?"""
    return task_class(named.rest) == aim


# Words that the verb layer knows, in place of the tools that it does not.
_KNOWN: dict[Kind, str] = {
    "test": "unittest",
    "coverage": "coverage",
    "types": "mypy",
    "lint": "eslint",
    "format": "eslint",
    "build": "build",
}


def class_of(task: str, aim: TaskClass) -> TaskClass:
    """The class of a task whose words name tools that the verb layer does not know ("make Biome happy")."""
    if aim not in ("regression", "bug-fix") or hidden_from_checks(task):
        return aim
    named = names_in_text(task, aim)
    if not named.names:
        return aim
    told = named.told
    for name, begin, end in sorted(named.spans, key=lambda span: -span[1]):
        told = f"{told[:begin]} {_KNOWN.get(name.kind, '') if name.kind else ''} {told[end:]}"
    found = task_class(" ".join(told.split()))
    return found if found in GREEN else aim


def named_class(task: str) -> TaskClass:
    """The class of a task by its verb, and by the tools that it names."""
    return class_of(task, task_class(task))


def tools_in(run: str, executes: str = "") -> frozenset[tuple[str, str]]:
    """Everything that checks in a command and in the scripts behind it: (tool, kind)."""
    found: set[tuple[str, str]] = set()
    for text in (run, *re.split(r" -> | && ", executes)):
        for words in split(text):
            told = sort_command(" ".join(words))
            if told.tool:
                found.add((told.tool, told.kind))
            inner = " ".join(word.rsplit("/", 1)[-1] for word in strip_launchers(words)[:2])
            found |= {(inner, str(name.kind)) for name in _wrapped_by(inner)}
    return frozenset(found)


def _wrapped_by(command: str) -> list[Name]:
    """The tools that another program starts by these two words: `react-scripts test` may be one."""
    names = toolchains().named_tools if " " in command else ()
    return [name for name in names if name.kind and name.family == "node" and command in name.tools][-1:]


def _own(one: Candidate) -> frozenset[tuple[str, str]]:
    own = {(one.tool, str(one.kind))} if one.tool and one.kind else set()
    return tools_in(one.was or one.run, one.executes) | tools_in(one.run) | own


def kinds_of(name: Name, aims: Iterable[Kind]) -> tuple[Kind, ...]:
    """What a named tool may be there to check, what the task is about first."""
    wanted = tuple(aims)
    if name.many and wanted:
        return wanted
    own = (name.kind, *name.also) if name.kind else ()
    return tuple(dict.fromkeys((*(kind for kind in wanted if kind in own), *own)))


def by(name: Name, one: Candidate, found: ProjectFacts, kinds: Iterable[str] = ()) -> bool:
    """Is this command by the tool, or for the language, that was named?"""
    own = _own(one)
    if name.kind is not None:
        text = f"{one.run} {one.was} {one.executes}".lower()
        fitting = tuple(kinds) or kinds_of(name, ())
        return any(tool in name.tools and kind in fitting for tool, kind in own) and name.holds in text
    lead = "" if one.cwd == "." else one.cwd + "/"
    if not any(path.startswith(lead) and path.endswith(name.endings) for path in found.paths):
        return False
    families = {family for tool, _ in own if (family := _family(tool))}
    if families:
        return name.family in families
    here = {_package(manifest.language) for manifest in found.manifests if manifest.folder == one.cwd}
    return here == {name.family} or (not here and name.family == "c")


def pure(name: Name, one: Candidate) -> bool:
    """Is nothing of another language in it?"""
    return {family for tool, _ in _own(one) if (family := _family(tool))} <= {name.family}


def _family(tool: str) -> str:
    known = toolchains()
    return "" if tool.split(":", 1)[0] in known.taskers else known.family_of(tool)


def _package(language: str) -> str:
    return toolchains().languages[language].family if language else ""


def present(name: Name, found: ProjectFacts) -> bool:
    """Is there a package of the language at all?"""
    return any(_package(manifest.language) == name.family for manifest in found.manifests)


def unmet(named: NamedInTask, runs: Iterable[str], aims: Iterable[Kind]) -> tuple[Name, ...]:
    """The names that none of these commands is by; for gates of which only the command is known."""
    wanted = tuple(aims)
    known = tuple(runs)
    return tuple(name for name in named.names if not any(serves(name, run, wanted) for run in known))


def names_without_gate(task: str, until: str, aim: TaskClass, runs: Iterable[str]) -> bool:
    """Does a criterion, or else a task, name what none of these commands is by?"""
    named = names_in_text(until or task, aim)
    if aim not in GREEN:
        named = NamedInTask(named.tools)
    return bool(unmet(named, runs, AIMS[aim][0]))


def serves(name: Name, run: str, aims: Iterable[Kind]) -> bool:
    """Is this command by what was named?"""
    own = tools_in(run)
    if name.kind is not None:
        fitting = kinds_of(name, aims)
        return any(tool in name.tools and kind in fitting for tool, kind in own) and name.holds in run.lower()
    return any(_family(tool) == name.family for tool, _ in own)


def fitting_gates(until: str, task: str, runs: Mapping[str, str], aims: frozenset[str]) -> frozenset[str]:
    """Of a project's own gates, those that prove the task: by what is named, else by their kind."""
    kinds = tuple(kind for kind in KINDS if kind in aims)
    of_kind = frozenset(name for name, run in runs.items() if gate_kind(name, run) in aims)
    named = names_in_text(until, "custom") if until else NamedInTask()
    named = named if named.names else names_in_text(task, "type-clean" if "types" in aims else "custom")
    served = frozenset(
        gate for gate, run in runs.items() if any(serves(name, run, kinds) for name in named.names)
    )
    return (served & of_kind) or (served if named.tools else frozenset()) or of_kind


def missing(name: Name, kind: Kind | None = None) -> str:
    """Why nothing was chosen, with what would do."""
    if name.kind is not None:
        what = "tsc" if name.says == "TypeScript" else name.says
        said = f"the task names {name.says}, and no command that runs {what} was found"
    else:
        deeds = {"test": "tests", "coverage": "tests", "types": "checks the types of", "lint": "lints"}
        deed = deeds.get(kind or "test", "builds" if kind == "build" else "checks")
        said = f"the task names {name.says}, and no command that {deed} {name.says} code was found"
    said += " in documents, manifests or CI"
    if name.kind is not None:
        said += f'; give one with --check "{name.check}"'
    return said + (f", and if it is not installed: {name.install}" if name.install else "")
