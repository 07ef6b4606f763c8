"""What a prompt must say whatever its template says: the rule of its mode, and how to answer.

A project may have its own templates; these parts are added where one leaves them out
(`facts.add_required_parts`).
The plan's form is told exactly as `file` reads it.
"""

from __future__ import annotations

from typing import Literal

from ralph.core.claim.status_block import CLOSE, STATUS_INSTRUCTIONS
from ralph.core.model.plan.items import NAME

Kind = Literal["prompt", "plan", "build", "close", "read"]  # the template's name
KINDS: tuple[Kind, ...] = ("prompt", "plan", "build", "close", "read")

EXAMPLE = """\
# Implementation plan

## High

- [ ] `session-store`: Keep sessions in one store (P0, S, serves AUTH-3)
- [ ] `login-form`: Show the login form (P0, M, serves AUTH-1 AUTH-2, after session-store)
  > src/forms.py has the widgets; only the page is missing

## Medium

- [ ] `ci-cache`: Cache the dependencies in CI (P1, S, chore)

## Low

- [ ] `login-help`: Explain a wrong password in words (P2, S, serves AUTH-4, after login-form)

## Missing specs

- `AUTH-9`: no spec says what happens when a session expires
"""
FORM = f"""\
`{NAME}` has exactly this form:

```markdown
{EXAMPLE}```

- One line per item: box, `id` in backticks, colon, title, tags in brackets. Ids consist of letters, digits,
  `.`, `_` and `-`.
- P0, P1 or P2 is the priority: P0 = blockers, P1 = core and features, P2 = polish. S, M or L is the size;
  split L items.
- `serves ID ID`: the criteria of the specs that the item implements; `chore`: work that no spec asks for.
- `after ID ID`: items that must be done first; no dependency cycles. Other tags: `optional`, and `human` for
  what only a human can do. Lines that begin with `  > ` below an item are its notes.
- Write `  - Proof: none because REASON` below an item that no test can show. The user sees the reason.
- Always include `## Missing specs`, with `- none` if no spec is missing.
"""
PLAN_RULE = f"""\
- Planning only: write `{NAME}` and nothing else. Ralph discards and reports every other change.
  Do not implement anything, not even one line.
- Do not stop until all four are true: you read every spec, compared each criterion with the code, wrote the
  plan, and listed missing specs (or `- none`).
- A missing or contradictory spec is a blocker: list it under `## Missing specs`. Never guess what it would
  say.
"""
CLOSE_RULE = f"""\
- Change nothing, except that you may add new items at the end of `{NAME}`. Ralph discards and reports every
  other change.
"""
READ_RULE = """\
- Read only: do not change, create or delete anything; changes are discarded. Your answer is your notes.
"""


def build_rule(item: str) -> str:
    return f"""\
- Exactly one item: `{item}`. Do not start any other plan item, however small.
- Ticking a box has no effect: Ralph ticks and commits an item when it has verified it. Do not tick, reopen,
  reword or delete items. Append work that you find as new items at the end of `{NAME}`, under
  `## Found`, in the same form; do not do it now.
"""


_BLOCK = STATUS_INSTRUCTIONS.partition(f"{CLOSE}\n")[0] + f"{CLOSE}\n"
_BLOCKED = """\
- BLOCKED is an honest answer. Give it when you cannot continue honestly: a spec is missing or contradicts
  itself, a check is wrong, or only a human can provide what you need. Say what in RECOMMENDATION.
  It is always better than making a check pass by weakening, skipping or deleting it.
"""
_REST = """\
- TESTS_STATUS is the result of tests you really ran in this call; NOT_RUN if you ran none.
- The block is a claim, not a proof: Ralph checks the result itself in a clean copy.
"""
_BUILD = """\
- TASKS_COMPLETED_THIS_LOOP is 1 if this item is done as far as you can tell, else 0; never more than 1.
- STATUS is COMPLETE and EXIT_SIGNAL true only if nothing in the whole plan is left after this item: no open
  item, the whole test suite passes, no unresolved error, no meaningful work remains. Otherwise STATUS is
  IN_PROGRESS and EXIT_SIGNAL false, even if this item is done.
"""
_PLAN = """\
- TASKS_COMPLETED_THIS_LOOP is 1 if the plan is written, else 0. FILES_MODIFIED is at most 1. WORK_TYPE is
  DOCUMENTATION.
- STATUS is IN_PROGRESS and EXIT_SIGNAL false: a plan does not finish anything. List a missing spec in the
  plan; it is no reason for BLOCKED.
"""
_CLOSE = """\
- TASKS_COMPLETED_THIS_LOOP and FILES_MODIFIED are 0 unless you added items to the plan.
- STATUS is COMPLETE and EXIT_SIGNAL true only if nothing meaningful is left: no open item, the whole test
  suite passes, no unresolved error, no TODO, no half feature. If you added items, STATUS is IN_PROGRESS and
  EXIT_SIGNAL false.
"""


def answer_of(kind: Kind) -> str:
    """How the status block is taught; a reader gives none."""
    if kind == "prompt":
        return STATUS_INSTRUCTIONS
    if kind == "read":
        return ""
    own = {"plan": _PLAN, "build": _BUILD, "close": _CLOSE}[kind]
    return f"{_BLOCK}\n{own}{_BLOCKED}{_REST}"


def rule_of(kind: Kind, item: str = "") -> str:
    if kind == "build":
        return build_rule(item)
    return {"prompt": "", "plan": PLAN_RULE, "close": CLOSE_RULE, "read": READ_RULE}[kind]
