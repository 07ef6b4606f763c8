"""What must be true at the end, in words, as something that can be judged. Pure.

`parse` reads one criterion ("coverage > 80%", "`npm test` passes", "`./app` prints ok", "no new warnings")
and answers with predicates, or with the reason why it cannot be judged. A predicate about a command becomes a
command whose exit code tells; one about a measure is left to the check that measures it.
"""

from __future__ import annotations

import re
import shlex
from typing import Literal

from msgspec import Struct

from ralph.core.toolchains.classify_command import plain_command, sort_command
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import Kind

Sort = Literal["exit", "state", "number", "compare", "match"]


class Predicate(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """exit: `command` ends with 0. state: checks of `kind` are green (of all kinds without one).

    number: `metric` `op` `value`. compare: `metric` against the baseline, `op` is "rises", "falls" or
    "no-new". match: output of `command` holds (or, negated, does not hold) `pattern`.
    A linter's metric is what is counted: errors or findings.
    """

    sort: Sort
    kind: Kind | Literal[""] = ""
    command: str = ""
    metric: str = ""
    op: str = ""
    value: float = 0.0
    pattern: str = ""
    negated: bool = False


class Unclear(Struct, frozen=True):
    """Why words are no criterion, and what would be one."""

    text: str
    why: str
    example: str = ""


_VAGUE = re.compile(
    r"\b(?:good(?: enough)?|better|best|clean(?:er)?|nice(?:r)?|great|perfect|robust|thorough(?:ly)?"
    r"|comprehensive|complete(?:ly)?|done|finished|works?|working|ready|satisf\w+|high[- ]quality"
    r"|production[- ]ready|reasonable"
    r"|fast(?:er)?|readable|maintainable|properly|right|ok|okay)\b",
    re.IGNORECASE,
)
_OPS = (
    (r">=|≥|at least|no less than|not below|minimum(?: of)?|reaches|hits|of at least|or more", ">="),
    (r"<=|≤|at most|no more than|not above|maximum(?: of)?|or less", "<="),
    (r">|above|over|more than|greater than|exceeds?|higher than|beyond", ">"),
    (r"<|below|under|less than|fewer than|lower than", "<"),
    (r"==?|equals?|exactly|is|to|of", ">="),
)
_NUMBER = re.compile(
    r"(?P<op>"
    + "|".join(f"(?:{words})" for words, _ in _OPS)
    + r")\s*(?P<value>\d{1,9}(?:\.\d{1,6})?)\s*(?P<unit>%|percent)?",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"`([^`\n]{1,400})`")
_MATCH = re.compile(
    r"\b(?P<verb>prints?|outputs?|says|shows?|contains?|matches|includes?"
    r"|(?:does not|doesn't|never) (?:print|output|say|contain|show|matche?|include)s?)"
    r"\s+(?P<what>/(?P<regex>[^/\n]{1,200})/|\"(?P<double>[^\"\n]{1,200})\"|'(?P<single>[^'\n]{1,200})'|(?P<bare>\S[^\n]{0,120}))",
    re.IGNORECASE,
)
_GREEN = re.compile(
    r"\b(?:pass(?:es|ing)?|green|succeeds?|exits? (?:with )?(?:code )?0|clean|builds?|compiles?"
    r"|works?|ok|happy|satisfied|silent|quiet|stops? failing)\b",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?<![\d.,])\b(?:no|zero|0|none|without(?: any)?|free of"
    r"|not (?:a single|one|any)|\w+n't (?:a single|any))\b"
    r"(?! (?:new|more than|less than|fewer than))(?![.,]\d)",
    re.IGNORECASE,
)
_NO_NEW = re.compile(
    r"\b(?:no|zero|without(?: any)?)\s+(?:new|further|additional|more(?! than))\b", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\b(?:(?P<errors>errors?)|warnings?|findings?|problems?|issues?|violations?|complaints?)\b",
    re.IGNORECASE,
)
# The number before the words: "10 warnings or fewer", "10 or fewer", "5 errors at most".
_AFTER = re.compile(
    r"(?P<value>\d{1,9})(?: \w+){0,3} (?:or (?:less|fewer|below)|at (?:the )?most|maximum|max)\b",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?P<op>up to|max(?:imum)?(?: of)?|not more than|no more than|not exceed(?:ing)?|down to)\s*"
    r"(?P<value>\d{1,9})",
    re.IGNORECASE,
)
_RISES = re.compile(r"\b(?:increas\w*|rais\w*|ris\w+|improv\w*|goes up|grows?|higher)\b", re.IGNORECASE)
_FALLS = re.compile(
    r"\b(?:decreas\w*|reduc\w*|falls?|drops?|goes? down|shrinks?|fewer|less|lower)\b", re.IGNORECASE
)
_STATES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(r"\bcoverage\b", re.IGNORECASE), "coverage"),
    (re.compile(r"\b(?:types?|type-?check\w*|typing|mypy|pyright|tsc|typescript)\b", re.IGNORECASE), "types"),
    (re.compile(r"\b(?:format\w*|prettier|black|gofmt|rustfmt)\b", re.IGNORECASE), "format"),
    (
        re.compile(
            r"\b(?:lint\w*|warnings?|findings?|violations?|ruff|eslint|clippy|golangci|flake8|style)\b",
            re.IGNORECASE,
        ),
        "lint",
    ),
    (re.compile(r"\b(?:tests?|specs?|suite|ci|pipeline|checks?|green|failures?)\b", re.IGNORECASE), "test"),
    (re.compile(r"\b(?:builds?|compil\w+)\b", re.IGNORECASE), "build"),
    (re.compile(r"\b(?:vulnerabilit\w+|security|secrets?|audit)\b", re.IGNORECASE), "security"),
)
# Nothing may be wrong, whatever would tell: every check that there is.
_ALL_WELL = re.compile(
    r"(?:until )?(?:"
    r"(?:there (?:is|are) |it (?:has|shows) )?(?:no|zero|0)(?: more| remaining)?"
    r" (?:errors?|problems?|issues?)"
    r"(?: (?:left|remain(?:s|ing)?|anymore|any more|at all|are left|is left|whatsoever))*"
    r"|(?:nothing|no check) (?:fails|is failing|breaks|is broken|is red)(?: any ?more)?"
    r"|(?:it|everything|all|the (?:project|code|repo|repository|thing))?(?:'s| is| are)?"
    r" ?(?:error[- ]free|free of errors|without errors)"
    r"|(?:everything|all(?: of it)?|the whole thing)(?: is|'s| are)? (?:passes|passing|green|succeeds)"
    r"|it is no longer so that (?:(?:anything|something) (?:fails|is failing|breaks|is broken|is red)"
    r"|there (?:is|are) (?:an? |any |some |still )*(?:errors?|problems?|issues?)(?: left)?)"
    r")",
    re.IGNORECASE,
)
# "while the tests pass": an end of what is well is no aim. "while they do not pass" is one.
_ENDS_WELL = re.compile(r"it is no longer so that (?!.*(?:\b(?:not|never|cannot)|n't)\b)(.+)", re.IGNORECASE)
_CODE = re.compile(r"\bexits? (?:with )?(?:code )?(\d{1,3})\b", re.IGNORECASE)


def parse(text: str) -> list[Predicate] | Unclear:
    """The predicates of a criterion, all of which must hold."""
    found: list[Predicate] = []
    for part in reversed(parts(text)):
        one = _one(part)
        if isinstance(one, Unclear) and found and found[0].sort in ("state", "exit"):
            one = _said_later(part) or one
        if isinstance(one, Unclear):
            return one
        found.insert(0, one)
    if not found:
        return Unclear(text[:200], "it says nothing", "tests pass")
    return found


def _said_later(part: str) -> Predicate | None:
    """What a part is about whose state is said later: "build, tests and lint are green"."""
    kind = "" if len(part.split()) > 3 or _VAGUE.search(part) else _kind(part)
    return Predicate(sort="state", kind=kind) if kind else None


def parts(text: str) -> list[str]:
    """The parts of a criterion, one for each predicate that `parse` finds."""
    return _parts(text[:2000])


def _parts(text: str) -> list[str]:
    """Parted at `and`, commas and semicolons, but never inside a quoted command or pattern."""
    kept = re.sub(
        r"`[^`]*`|\"[^\"]*\"|/[^/\n]+/", lambda hit: re.sub(r"[,;]| and ", "\0", hit.group(0)), text
    )
    if "\0" in kept:
        return [text.strip()]
    return [part.strip() for part in re.split(r"[,;]|\band\b|&&", text) if part.strip()]


def _one(text: str) -> Predicate | Unclear:
    state = _ENDS_WELL.match(text)
    if state and (_GREEN.search(state[1]) or _NONE.search(state[1])):
        return Unclear(text, "it asks for the end of what is well", "tests pass")
    command = _COMMAND.search(text)
    rest = _COMMAND.sub(" ", text) if command else text
    if command:
        return _about(command.group(1).strip(), rest, text)
    typed = _command_in_text(text)
    if typed:
        return Predicate(sort="exit", command=typed)
    kind = _kind(text)
    if not kind and _ALL_WELL.fullmatch(text.strip(" .!")):
        return Predicate(sort="state")
    if _NO_NEW.search(text):
        if kind:
            return Predicate(sort="compare", kind=kind, metric=kind, op="no-new")
        return Unclear(text, "what must not be new is not named", "no new warnings")
    number = _NUMBER.search(text)
    if kind == "coverage":
        return _coverage(text, number)
    if kind in ("", "lint", "types") and _COUNTED.search(text):
        counted = _findings(text, kind or "lint", number)
        if counted is not None:
            return counted
    if number and not _NONE.search(text) and float(number["value"]) > 0:
        why = "nothing here measures that number"
        return Unclear(text, why, f"`./measure.sh` {_op(number['op'])} {number['value']}")
    if kind and (_GREEN.search(text) or _NONE.search(text) or number):
        return Predicate(sort="state", kind=kind)
    if kind and (_RISES.search(text) or _FALLS.search(text)):
        return Unclear(
            text, "only coverage and a linter's findings are compared as numbers", "no new warnings"
        )
    told = sort_command(text)
    if told.kind and plain_command(text) and not _VAGUE.search(text):
        return Predicate(sort="exit", command=text)
    if _VAGUE.search(text):
        return Unclear(text, "it rests on a word that nothing measures", "tests pass and coverage > 80%")
    return Unclear(text, "no command, number or kind of check is in it", "`npm test` passes")


_PASSES = re.compile(
    r"\s(?:(?:must|should|to|still|all|both)\s)?(?:pass(?:es|ing)?|succeeds?|works"
    r"|(?:is|be|are|goes|turns) (?:green|clean|happy)|exits? (?:with )?(?:code )?(?:0|zero)"
    r"|returns (?:0|zero)|runs without errors|reports nothing|finds nothing)\s*[.!]?$",
    re.IGNORECASE,
)


def _command_in_text(text: str) -> str:
    """The command that a criterion is about without quotes ("npm test passes"): it decides alone."""
    tail = _PASSES.search(text)
    if tail is None:
        return ""
    command = text[: tail.start()].strip().strip("'\"")
    # "go test passes" names a tool; what its project gives it to test is found.
    return command if plain_command(command) and command not in ("go test", "go vet", "go build") else ""


def _kind(text: str) -> Kind | Literal[""]:
    """What is to be checked: by the tool that is named, else by the words."""
    from ralph.core.criterion.named_tools import names_in_text

    tools = names_in_text(text, "custom").tools
    testers = rf"\b(?:{'|'.join(toolchains().test_words)})\b"
    said = re.sub(testers, "tests", text, flags=re.IGNORECASE)
    kind: Kind | Literal[""] = next((kind for pattern, kind in _STATES if pattern.search(said)), "")
    if not tools or (kind == "coverage" and tools[0].kind == "test"):
        return kind
    return kind if kind and (tools[0].many or kind in tools[0].also) else tools[0].kind or kind


def _about(command: str, rest: str, text: str) -> Predicate | Unclear:
    code = _CODE.search(rest)
    if code and code.group(1) != "0":
        wanted = f'{command}; test "$?" -eq {int(code.group(1))}'
        return Predicate(sort="exit", command=wanted)
    match = _MATCH.search(rest)
    if match:
        pattern = match["regex"] or re.escape(match["double"] or match["single"] or match["bare"].strip())
        try:
            re.compile(pattern)
        except re.error as error:
            return Unclear(text, f"the pattern is not one: {error}", f'`{command}` prints "ok"')
        negated = match["verb"].lower().startswith(("does", "never"))
        return Predicate(sort="match", command=command, pattern=pattern, negated=negated)
    number = _NUMBER.search(rest)
    if number:
        return Predicate(
            sort="number",
            command=command,
            metric="output",
            op=_op(number["op"]),
            value=float(number["value"]),
        )
    return Predicate(sort="exit", command=command)


def _coverage(text: str, number: re.Match[str] | None) -> Predicate | Unclear:
    if number:
        value = float(number["value"])
        if not 0 < value <= 100:
            return Unclear(text, f"coverage is a percentage, not {value:g}", "coverage > 80%")
        op = _op(number["op"])
        if op in ("<", "<="):
            return Unclear(text, "less coverage proves nothing", "coverage > 80%")
        return Predicate(sort="number", kind="coverage", metric="coverage", op=op, value=value)
    plain = re.search(r"(\d{1,3}(?:\.\d+)?)\s*(?:%|percent)", text)
    if plain and 0 < float(plain.group(1)) <= 100:
        return Predicate(
            sort="number", kind="coverage", metric="coverage", op=">=", value=float(plain.group(1))
        )
    if _FALLS.search(text) and not _NONE.search(text):
        return Unclear(text, "less coverage proves nothing", "coverage > 80%")
    return Predicate(sort="compare", kind="coverage", metric="coverage", op="rises")


_LESSEN = re.compile(
    r"\s*(?:please )?(?:reduce|decrease|lower|cut|get|bring|keep|limit|drop|lessen)\b", re.IGNORECASE
)


def findings_bound(task: str) -> Predicate | None:
    """The bound on a linter's findings that a task itself names ("get the eslint warnings below 20")."""
    if not _LESSEN.match(task):
        return None
    for part in _parts(task[:2000]):
        one = _one(part) if not _COMMAND.search(part) else None
        if isinstance(one, Predicate) and one.metric in ("errors", "findings"):
            return one
    return None


def _findings(text: str, kind: Kind, number: re.Match[str] | None) -> Predicate | Unclear | None:
    """How many findings of a linter may be left; None when no number and no comparison is in the words."""
    metric = "errors" if any(hit["errors"] for hit in _COUNTED.finditer(text)) else "findings"
    bound = _BOUND.search(text) or _AFTER.search(text)
    if bound is not None:
        op, value = "<=", float(bound["value"])
    elif number is not None:
        # "down to 5" and "is 5" speak of a bound from above; of findings nobody wants more.
        plain = re.fullmatch(_OPS[-1][0], number["op"], re.IGNORECASE)
        op, value = "<=" if plain else _op(number["op"]), float(number["value"])
    elif _FALLS.search(text):
        return Predicate(sort="compare", kind=kind, metric=metric, op="falls")
    else:
        return None
    if op not in ("<", "<=") or value != int(value) or (op == "<" and value < 1):
        return Unclear(
            text, "more findings prove nothing, and fewer than none are not possible", "no new warnings"
        )
    most = value - 1 if op == "<" else value
    if most == 0:
        return Predicate(sort="state", kind=kind)
    return Predicate(sort="number", kind=kind, metric=metric, op="<=", value=most)


def _op(words: str) -> str:
    low = words.lower()
    return next(op for pattern, op in _OPS if re.fullmatch(pattern, low, re.IGNORECASE))


def names_measure(criterion: str) -> bool:
    """Does it name a measure of its own, which a project's configured gates would not judge?

    A command that stands in the words is one. That nothing new is found they do judge: what was green must
    stay so, finding by finding.
    """
    found = parse(criterion)
    own = ("exit", "number", "compare", "match")
    return isinstance(found, list) and any(one.sort in own and one.op != "no-new" for one in found)


def minimum(predicate: Predicate, base: float | None = None) -> float | None:
    """The percentage that a coverage check must reach; None while it depends on a baseline nobody took."""
    if predicate.sort == "compare":
        return None if base is None else min(100.0, round(base + 0.01, 4))
    return min(100.0, predicate.value + 0.01) if predicate.op == ">" else predicate.value


def as_command(predicate: Predicate) -> str:
    """A command that ends with 0 exactly when a predicate about a command holds."""
    run = predicate.command
    if predicate.sort == "match":
        # POSIX extended syntax is what grep knows; \d and friends are Python's and are written out.
        pattern = re.sub(r"\\([ !\"#%&',/:;<=>@_`~-])", r"\1", predicate.pattern)
        pattern = pattern.replace("\\d", "[0-9]").replace("\\w", "[A-Za-z0-9_]").replace("\\s", "[[:space:]]")
        no = "! " if predicate.negated else ""
        return f"out=$({run}) && {no}printf '%s\\n' \"$out\" | grep -Eq -- {shlex.quote(pattern)}"
    if predicate.sort == "number" and run:
        test = f"n {predicate.op} {predicate.value:g}"
        words = "for (i = 1; i <= NF; i++) if ($i ~ /^-?[0-9]+(\\.[0-9]+)?%?$/) { n = $i + 0; seen = 1 }"
        return (
            f"out=$({run}) && printf '%s\\n' \"$out\" | awk '{{ {words} }} END {{ exit !(seen && {test}) }}'"
        )
    return run


def words(predicate: Predicate) -> str:
    """The predicate as a sentence."""
    if predicate.sort == "exit":
        return f"`{predicate.command}` exits 0"
    if predicate.sort == "match":
        return (
            f"`{predicate.command}` {'never prints' if predicate.negated else 'prints'} /{predicate.pattern}/"
        )
    if predicate.sort == "number":
        if predicate.kind in ("lint", "types"):
            return f"at most {predicate.value:g} {predicate.kind} {predicate.metric}"
        unit = " %" if predicate.metric == "coverage" else ""
        what = f"the last number of `{predicate.command}`" if predicate.command else predicate.metric
        return f"{what} {predicate.op} {predicate.value:g}{unit}"
    if predicate.sort == "compare":
        if predicate.op == "falls":
            return f"fewer {predicate.kind} {predicate.metric} than now"
        no_new = predicate.op == "no-new"
        return f"no new {predicate.kind} findings" if no_new else f"{predicate.metric} {predicate.op}"
    return f"{predicate.kind or 'all'} checks are green"
