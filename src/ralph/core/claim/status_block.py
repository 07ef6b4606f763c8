"""The RALPH_STATUS block: how an agent says where it stands, and how that word is read.

Reading is strict, because a claim is the only thing in free text that has any effect: it asks for
judgement (it never is one, see `exit_gate`). The last complete block counts, and it must have all seven keys.
A block that is indented or fenced is something the agent shows, not something it says, unless its output ends
with it; one that stands behind quote marks is never its own. What decides (STATUS, EXIT_SIGNAL, TESTS_STATUS)
must be right or there is no claim; all other slips are recorded and cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Literal, cast

from msgspec import Struct

from ralph.core.model.agent import AskedWaiver, Claim
from ralph.core.text.clean import one_line

OPEN = "---RALPH_STATUS---"
CLOSE = "---END_RALPH_STATUS---"
KEYS = (
    "STATUS",
    "TASKS_COMPLETED_THIS_LOOP",
    "FILES_MODIFIED",
    "TESTS_STATUS",
    "WORK_TYPE",
    "EXIT_SIGNAL",
    "RECOMMENDATION",
)
_VALUES = {
    "STATUS": ("IN_PROGRESS", "COMPLETE", "BLOCKED"),
    "TESTS_STATUS": ("PASSING", "FAILING", "NOT_RUN"),
    "WORK_TYPE": ("IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING"),
    "EXIT_SIGNAL": ("TRUE", "FALSE"),
}
ALLOW = "ALLOW"  # a further key, once for each exception that is asked for
_ASKED = re.compile(r"([a-z_]+\.[a-z_]+)[ \t:]+(\S[^=\x00-\x1f\x7f-\x9f]{0,270}?)[ \t]+because[ \t]+(\S.*)")
_MAX_ASKS = 20
_DECIDES = frozenset({"STATUS", "TESTS_STATUS", "EXIT_SIGNAL"})
_MAX_SHOWN_CHARS = 60  # characters of a wrong value that are worth repeating
_MAX_RECOMMENDATION = 500
_MAX_DIGITS = 9

# Alternatives stand where values belong, so that an agent that merely echoes its prompt claims nothing.
STATUS_INSTRUCTIONS = f"""\
End your answer with exactly one status block, as the very last thing you print, not indented and not in
a code fence. It has these two marker lines and seven `KEY: value` lines, each once:

{OPEN}
STATUS: IN_PROGRESS | COMPLETE | BLOCKED
TASKS_COMPLETED_THIS_LOOP: <number of tasks you finished in this call>
FILES_MODIFIED: <number of files you created, edited or deleted>
TESTS_STATUS: PASSING | FAILING | NOT_RUN
WORK_TYPE: IMPLEMENTATION | TESTING | DOCUMENTATION | REFACTORING
EXIT_SIGNAL: true | false
RECOMMENDATION: <one line: what comes next, what blocks you, or what was achieved>
{CLOSE}

- STATUS is COMPLETE if, as far as you can tell, the whole task is finished; IN_PROGRESS if work is left.
- BLOCKED is an honest answer. Give it when you cannot continue honestly: the task contradicts itself, a
  check is wrong, or only a human can provide what is missing. Say what you need in RECOMMENDATION.
  It is always better than making a check pass by weakening, skipping or deleting it. If the task needs an
  exception (a test that must change, a protected file), ask for it after RECOMMENDATION, one line for each:
  `{ALLOW}: <guard.kind> <test or path> because <reason>`, with the id from the finding.
- TESTS_STATUS is the result of tests you really ran in this call; NOT_RUN if you ran none.
- EXIT_SIGNAL is true only if nothing is left to do, the tests pass and there is no unresolved error.
- The block is a claim, not a proof: Ralph checks the result itself in a clean copy.
"""


class ParsedStatus(Struct, frozen=True):
    """A claim, if there was a sound one, and everything that was wrong with how it was made."""

    claim: Claim | None
    problems: tuple[str, ...] = ()


class _Block(Struct, frozen=True):
    lines: tuple[str, ...]
    quoted: bool  # shown rather than said
    foreign: bool  # behind quote marks: somebody else's words
    last: bool  # nothing but white space and closing fences comes after it
    asks: tuple[str, ...] = ()  # ALLOW lines right after it: agents put them there too


def parse_status(text: str) -> ParsedStatus:
    """The claim in an agent's final words."""
    if OPEN not in text and CLOSE not in text:
        return ParsedStatus(None)
    blocks, unfinished = _blocks(text.splitlines())
    spoken = [block for block in blocks if not block.foreign and (block.last or not block.quoted)]
    problems = []
    if len(spoken) < len(blocks):
        problems.append("a quoted status block was not counted")
    if unfinished:
        problems.append("an unfinished status block was not counted")
    if not spoken:
        return ParsedStatus(None, tuple(problems))
    if len(spoken) > 1:
        problems.append(f"{len(spoken)} status blocks: the last one counts")
    if not spoken[-1].last:
        problems.append("the status block is not the last thing in the output")
    pairs, sound, slips = _pairs((*spoken[-1].lines, *spoken[-1].asks))
    problems += slips
    read = claim_from(pairs)
    if not sound or any(key not in pairs for key in KEYS):
        return ParsedStatus(None, (*problems, *read.problems))
    return ParsedStatus(read.claim, (*problems, *read.problems))


def claim_from(pairs: Mapping[str, str]) -> ParsedStatus:
    """The claim in a set of fields, however they reached us; the rules are those of the block."""
    problems = [
        f"unknown key {one_line(key, _MAX_SHOWN_CHARS)!r}" for key in pairs if key not in (*KEYS, ALLOW)
    ]
    problems += [f"{key} is missing" for key in KEYS if key not in pairs]
    values: dict[str, str] = {}
    sound = "STATUS" in pairs
    for key, allowed in _VALUES.items():
        value = pairs.get(key, "").strip().upper()
        if value in allowed:
            values[key] = value
        elif key in pairs:
            problems.append(
                f"{key} is {one_line(pairs[key], _MAX_SHOWN_CHARS)!r}, not one of {', '.join(allowed)}"
            )
            sound = sound and key not in _DECIDES
    if not sound:
        return ParsedStatus(None, tuple(problems))
    counts = {key: _count(key, pairs, problems) for key in ("TASKS_COMPLETED_THIS_LOOP", "FILES_MODIFIED")}
    recommendation = one_line(pairs.get("RECOMMENDATION", ""), _MAX_RECOMMENDATION)
    if "RECOMMENDATION" in pairs and not recommendation:
        problems.append("RECOMMENDATION is empty")
    status, tests = values["STATUS"], values.get("TESTS_STATUS", "NOT_RUN")
    signal = values.get("EXIT_SIGNAL") == "TRUE"
    if status == "COMPLETE" and tests == "FAILING":
        problems.append("COMPLETE with failing tests counts as IN_PROGRESS")
        status = "IN_PROGRESS"
    if signal and (status == "BLOCKED" or tests == "FAILING"):
        problems.append(
            f"EXIT_SIGNAL true does not go with {'BLOCKED' if status == 'BLOCKED' else 'failing tests'}"
        )
        signal = False
    asks = _asked_waivers(pairs.get(ALLOW, ""), status, problems)
    claim = Claim(
        status=cast("Literal['IN_PROGRESS', 'COMPLETE', 'BLOCKED']", status),
        exit_signal=signal,
        tests=tests,
        tasks=counts["TASKS_COMPLETED_THIS_LOOP"],
        files=counts["FILES_MODIFIED"],
        work=values.get("WORK_TYPE", ""),
        recommendation=recommendation,
        asks=asks,
    )
    return ParsedStatus(claim, tuple(problems))


def _asked_waivers(text: str, status: str, problems: list[str]) -> tuple[AskedWaiver, ...]:
    """The exceptions that are asked for, one a line; only who is blocked asks."""
    found: dict[str, AskedWaiver] = {}
    for line in filter(None, map(str.strip, text.split("\n"))):
        match = _ASKED.fullmatch(line.strip("`"))
        if match is None:
            shown = one_line(line, _MAX_SHOWN_CHARS)
            problems.append(f"{ALLOW} is {shown!r}, not `guard.kind what because reason`")
        elif len(found) < _MAX_ASKS:
            kind, subject, why = match.groups()
            asked = AskedWaiver(kind, subject, one_line(why, _MAX_RECOMMENDATION))
            found.setdefault(asked.key, asked)
    if found and status != "BLOCKED":
        problems.append(f"{ALLOW} only goes with BLOCKED")
        return ()
    return tuple(found.values())


def _count(key: str, pairs: Mapping[str, str], problems: list[str]) -> int:
    value = pairs.get(key, "0").strip()
    if value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        return int(value)
    problems.append(f"{key} is {one_line(value, _MAX_SHOWN_CHARS)!r}, not a count")
    return 0


_MARGIN = re.compile(r"[ \t>]*")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)")


def _blocks(lines: list[str]) -> tuple[list[_Block], bool]:
    """All complete blocks in order, and whether one was begun and never closed."""
    found: list[tuple[int, int, bool, bool]] = []
    fence = ""
    opened: tuple[int, bool, bool] | None = None
    unfinished = False
    for number, line in enumerate(lines):
        margin = _MARGIN.match(line)
        assert margin is not None  # it matches the empty string
        rest = line[margin.end() :].rstrip()
        quoted, foreign = bool(margin.group()) or bool(fence), ">" in margin.group()
        if rest == OPEN:
            unfinished = unfinished or opened is not None
            opened = (number, quoted, foreign)
        elif rest == CLOSE and opened is not None:
            found.append((opened[0], number, opened[1] or quoted, opened[2] or foreign))
            opened = None
        else:
            fence = _fence_after(rest, fence)
    end = _end_of_words(lines)
    blocks = [
        _Block(tuple(lines[start + 1 : stop]), quoted, foreign, stop >= end, _asks_after(lines[stop + 1 :]))
        for start, stop, quoted, foreign in found
    ]
    return blocks, unfinished or opened is not None


def _asks_after(lines: list[str]) -> tuple[str, ...]:
    """The ALLOW lines that directly follow a block; blank lines may stand between."""
    asks = takewhile(lambda line: not line.strip() or line.startswith(f"{ALLOW}:"), lines)
    return tuple(line for line in asks if line.strip())


def _fence_after(line: str, fence: str) -> str:
    """The code fence we are in after this line; "" for none."""
    match = _FENCE.match(line)
    if match is None:
        return fence
    marker, info = match.groups()
    if not fence:
        return str(marker)
    closes = marker[0] == fence[0] and len(marker) >= len(fence) and not info.strip()
    return "" if closes else fence


def _end_of_words(lines: list[str]) -> int:
    """Index of the last line that is more than white space, quote marks or a bare fence."""
    for number in range(len(lines) - 1, -1, -1):
        if lines[number].strip(" \t>").strip("`~").strip():
            return number
    return 0


def _pairs(lines: Iterable[str]) -> tuple[dict[str, str], bool, list[str]]:
    """The fields of a block, whether its form is sound, and the slips."""
    pairs: dict[str, str] = {}
    problems: list[str] = []
    sound = True
    for line in lines:
        bare = line.lstrip(" \t>").rstrip()
        if not bare:
            continue
        key, colon, value = bare.partition(":")
        if not colon or not re.fullmatch(r"[A-Z][A-Z0-9_]*", key):
            if "RECOMMENDATION" in pairs:
                problems.append("RECOMMENDATION has more than one line: the first counts")
            else:
                problems.append(f"not a `KEY: value` line: {one_line(bare, _MAX_SHOWN_CHARS)!r}")
                sound = False
        elif key not in pairs:
            pairs[key] = value.strip()
        elif key == ALLOW:
            pairs[key] += f"\n{value.strip()}"
        else:
            problems.append(f"{key} is given twice")
            sound = sound and (key not in _DECIDES or pairs[key] == value.strip())
    return pairs, sound, problems
