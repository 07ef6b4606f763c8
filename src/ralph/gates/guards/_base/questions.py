"""Many questions about tests of one file, class or table of cases, put as one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.model.verdict import Finding, Reading
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import kind_of

_FEW = 3  # so many are asked one by one
_GIST = 120
# Of what pytest shows its marked lines, of a difference both sides; not the frame that Go puts around all.
_SAID = re.compile(r"\s*(?!=== |--- |E?\s*$)")
_CLAIM = re.compile(r"[-+] \S|\W?(?:assert(?:ionerror)?|difference|expected|actual)\b", re.IGNORECASE)


def join_questions(findings: list[Finding], known: Iterable[str], facts: GuardFacts) -> list[Finding]:
    """`known`: the base's tests. A place is asked about as a whole where all its tests are.

    A word for it is a word for each of them. What accuses, or was answered by its own name, stays apart.
    """
    answered = {*facts.waivers, *facts.granted}
    open_ = [finding for finding in findings if finding.asks and finding.key not in answered]
    had = Counter(head for name in known for head in _heads(name))
    lost = Counter((kind_of(finding), head) for finding in open_ for head in _heads(_name(finding)))
    joined: dict[str, Finding] = {}
    for finding in findings:
        kind, heads = kind_of(finding), _heads(_name(finding)) if finding in open_ else ()
        whole = next((head for head in heads if _FEW < lost[kind, head] == had[head]), "")
        if not whole and "[" in finding.key and heads and lost[kind, heads[-1]] > _FEW:
            whole = heads[-1]  # some cases of one test
        key = f"{kind}:{whole}" if whole else finding.key
        more = f"{finding.message} (and {lost[kind, whole] - 1} more of {whole})"
        joined.setdefault(key, replace(finding, key=key, message=more) if whole else finding)
    return list(joined.values())


def gist(over: Reading | None, name: str) -> str:
    """What this test said, in a few words for a sentence about it: its claim, as far as a runner marks it."""
    said = next((one.message for one in over.findings if one.key == name), "") if over is not None else ""
    lines = [line.strip().removeprefix("E ").strip() for line in said.splitlines() if _SAID.match(line)]
    claims = [line for line in lines if _CLAIM.match(line)]
    words = "; ".join((claims or lines)[:_FEW])
    return f": {words[:_GIST]}{'…' if len(words) > _GIST else ''}" if words else ""


def _name(finding: Finding) -> str:
    return finding.key.partition(":")[2]


def _heads(name: str) -> tuple[str, ...]:
    """What a test stands in, the largest first: its file, its class, the function of its cases."""
    place, case, _ = name.partition("[")
    parts = place.split("::")
    return tuple("::".join(parts[:end]) for end in range(1, len(parts) + bool(case)))
