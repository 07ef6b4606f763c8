"""What an agent is told of an item: its words fenced as data, what was tried before, what must hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ralph.core.backlog.items import BacklogItem, ProtectedFile
from ralph.core.backlog.prd import Prd
from ralph.core.text.clean import one_line, trim
from ralph.core.text.quoting import fence_text

MAX_CHARS = 12_000
MAX_TRIED = 5
CLAIM = "claim of the agent: "  # what an investigation is, whoever wrote it down


def item_task(
    item: BacklogItem,
    prd: Prd | None,
    *,
    protected: Sequence[ProtectedFile] = (),
    parts: Sequence[str] = (),
    nonce: str,
) -> str:
    """The task of one attempt. The item's own words may come from anywhere, so they are fenced as data."""
    words = [item.description] if item.description else []
    if prd is not None:
        words += [f"Overview: {prd.overview}"] if prd.overview else []
        words += _section("Functional requirements (guidance)", prd.functional)
    beside = (*item.nonfunctional, *(prd.nonfunctional if prd else ()))
    words += _section("Non-functional requirements", beside)
    words += _section(
        "Acceptance criteria", prd.acceptance if prd is not None and prd.acceptance else item.acceptance
    )
    words += [f"Notes: {item.notes}"] if item.notes else []
    lines = [f"{item.id}: {one_line(item.title, 300)}"]
    if words:
        body = trim("\n".join(words), 400, MAX_CHARS)[:MAX_CHARS]
        lines += ["", "What is wanted, in the words of the backlog:", "", fence_text("the item", body, nonce)]
    if prd is not None and prd.constraints:
        lines += ["", "Hard limits:", *(f"- {one_line(one, 300)}" for one in prd.constraints)]
    if protected:
        lines += ["", "Change these files only if you must; their tests are run then:"]
        lines += [
            f"- {one.path} ({one.criticality or 'protected'}): {', '.join(one.tests)}"
            for one in protected[:40]
        ]
    tried = [text for one in item.attempts if (text := _failure_line(one))][-MAX_TRIED:]
    if tried:
        lines += ["", "Earlier attempts, whose work was set aside (claims of agents are marked):", ""]
        lines.append(fence_text("earlier attempts", "\n".join(tried), nonce))
    for part in parts:
        lines += ["", part.strip()]
    lines += ["", "Work on this item only."]
    return "\n".join(lines)


def _section(name: str, texts: Sequence[str]) -> list[str]:
    return [f"{name}:", *(f"- {one}" for one in texts)] if texts else []


def _failure_line(attempt: dict[str, Any]) -> str:
    if attempt.get("result") == "PASSED":
        return ""
    reason = one_line(str(attempt.get("failure_reason") or "no reason recorded"), 400)
    said = one_line(str(attempt.get("investigation") or "").removeprefix(CLAIM), 600)
    return f"- {attempt.get('run_id')}: {reason}" + (f" | {CLAIM}{said}" if said else "")
