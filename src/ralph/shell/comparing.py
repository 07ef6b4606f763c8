"""What was attested of a gate held against evidence, and against what the gate says when it is run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ralph.core.causes import is_missing
from ralph.core.disclose import gate_of, same_text
from ralph.core.model import Reading
from ralph.core.statement import Said, inventory
from ralph.gates.seal import exec_argv
from ralph.shell.rerun import Rerun

_SHOWN = 3


class _Evidence(msgspec.Struct, frozen=True):
    gate: str
    tree: str
    argv: tuple[str, ...]
    run: str
    tool_sha256: str
    report_at: str
    ended: dict[str, Any]


def evidence_trouble(data: bytes, said: Said, entry: Mapping[str, Any], *, evidence: bool) -> str:
    """Why stored bytes do not bear out a verdict, though they have the hash it names; "" when they do."""
    try:
        return _of_evidence(data, said, entry) if evidence else _of_reading(data, said)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return f"its evidence cannot be read: {error}"


def _of_evidence(data: bytes, said: Said, entry: Mapping[str, Any]) -> str:
    found = msgspec.json.decode(data, type=_Evidence)
    if (found.gate, found.tree) != (said.gate, said.tree):
        return "its evidence is of another gate or another tree"
    if found.ended.get("exit_code") != said.exit_code:
        return "its evidence has another exit code"
    if entry.get("withheld"):
        return ""
    gate = gate_of(entry, {})
    argv = exec_argv(gate, found.report_at)
    same = len(argv) == len(found.argv) and all(map(same_text, argv, found.argv))
    if not same or not same_text(gate.run, found.run):
        return "its evidence is of another command"
    if str(entry.get("tool_sha", "")) not in ("", found.tool_sha256):
        return "its evidence is of another tool"
    return ""


def _of_reading(data: bytes, said: Said) -> str:
    reading = msgspec.json.decode(data, type=Reading)
    if reading.status != said.status or reading.counts != said.counts:
        return "its reading says something else than the verdict"
    return "" if said.inventory in ("", inventory(reading.tests)) else "its reading has other tests"


def compared(one: Rerun, said: Said, before: bytes | None) -> tuple[str, str]:
    """State and words for one gate that was run again. `before` is the attested reading, where it is here."""
    now, reading = one.verdict, one.reading
    if is_missing(now, settled=True):
        return "fail", f"no answer here ({now.summary}), attested as {said.status}: verify it again"
    if now.status not in (said.status, "pass"):
        why = now.summary or now.cause
        return "fail", f"{now.status} here ({why}), attested as {said.status}"
    if now.status != said.status:
        return "pass", f"pass, attested as {said.status}"
    lost = _lost(reading, before)
    if lost:
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        return "fail", f"attested as passing, not so here: {', '.join(lost[:_SHOWN])}{more}"
    then, here = said.counts, reading.counts
    if now.status == "pass" and then and (here is None or here.passed < then.passed):
        return "fail", f"{here.passed if here else 0} tests pass here, attested {then.passed}"
    return "pass", f"{now.status}, as attested: {now.summary}"


def _lost(reading: Reading, before: bytes | None) -> list[str]:
    """Tests that were attested as passing and do not pass here."""
    if before is None:
        return []
    then = msgspec.json.decode(before, type=Reading).tests or {}
    here = reading.tests or {}
    return sorted(name for name, state in then.items() if state == "pass" and here.get(name) != "pass")
