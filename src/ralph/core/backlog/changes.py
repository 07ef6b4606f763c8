"""What may happen to an item, as facts, and the state that facts make: the truth behind the rendered file.

Each fact is one row of the backlog's stream in the journal. It names the file before and after it by hash,
so that a kill between row and file is told from an edit by hand. Who may do what, and which status follows
which, is decided here; nothing is ever removed, attempts are only appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.backlog.items import BacklogItem, FeatureList, Status
from ralph.core.backlog.json_text import JsonEdit, Path
from ralph.errors import UserError

Author = Literal["user", "ralph"]
Deed = Literal[
    "adopted", "added", "edited", "started", "attempt", "status", "iteration", "override", "synced"
]
CAP_WORDS = "max iterations reached, human review required"
# status -> what may follow; from CANCELLED nothing does, and PASSING is never BLOCKED
FOLLOWS: dict[Status, frozenset[Status]] = {
    "FAILING": frozenset({"PASSING", "BLOCKED", "CANCELLED"}),
    "PASSING": frozenset({"FAILING"}),
    "BLOCKED": frozenset({"FAILING", "CANCELLED"}),
    "CANCELLED": frozenset(),
}
_USERS: frozenset[str] = frozenset({"added", "edited", "override"})
IMMUTABLE = frozenset({"id", "created_at", "status", "attempts", "override_reason", "question"})


class ItemState(Struct, frozen=True, omit_defaults=True):
    """What an item has come to."""

    status: Status = "FAILING"
    iteration: int = 0
    attempts: tuple[dict[str, Any], ...] = ()
    override: str = ""
    question: str = ""  # for a human
    loop: str = ""  # an attempt that was started and has not been recorded; this alone is not in the file


class BacklogFact(Struct, frozen=True, omit_defaults=True, kw_only=True):
    deed: Deed
    item: str = ""
    by: Author = "user"
    at: float = 0
    reason: str = ""
    status: Status | None = None
    iteration: int | None = None
    attempt: dict[str, Any] | None = None
    question: str = ""
    loop: str = ""
    define: dict[str, Any] = {}  # fields that are set
    items: dict[str, ItemState] = {}  # of an adoption
    added: tuple[dict[str, Any], ...] = ()  # whole items
    before: str = ""  # SHA-256 of the file before this, and after it
    after: str = ""


State = dict[str, ItemState]


def fold(facts: Iterable[BacklogFact]) -> State:
    state: State = {}
    for fact in facts:
        apply_fact(state, fact)
    return state


def apply_fact(state: State, fact: BacklogFact) -> None:
    """The state after a fact, in place: a stream may hold many thousands."""
    if fact.deed in ("adopted", "synced"):
        state.update(fact.items)
    for raw in fact.added:
        state.setdefault(raw["id"], ItemState())
    if fact.item:
        state[fact.item] = changed_state(state.get(fact.item, ItemState()), fact)


def changed_state(old: ItemState, fact: BacklogFact) -> ItemState:
    new = old
    if fact.deed == "started":
        return replace(old, loop=fact.loop)
    if fact.deed == "attempt":
        new = replace(new, attempts=(*old.attempts, fact.attempt or {}), loop="", question=fact.question)
    if fact.iteration is not None:
        new = replace(new, iteration=fact.iteration)
    if fact.status is not None:
        kept = fact.reason if fact.status == "BLOCKED" or (fact.deed == "override") else ""
        new = replace(new, status=fact.status, override=kept)
    if fact.deed in ("status", "iteration", "override", "edited"):  # a person's answer
        new = replace(new, question="")
    return new


def check_fact(fact: BacklogFact, old: ItemState | None) -> None:
    """Refuse what the rights and transitions do not allow."""
    if fact.deed in ("adopted", "synced", "added"):
        return
    if old is None:
        words = f"there is no item '{fact.item}'"
        raise UserError(words, code="E-BACKLOG-ITEM-NOT-FOUND", next="ralph backlog list")
    if fact.by == "ralph" and fact.deed in _USERS:
        words = f"only a person may do this: {fact.deed}"
        raise UserError(words, code="E-BACKLOG-FORBIDDEN", next="ralph backlog --help")
    if fact.deed == "edited" and (kept := IMMUTABLE & fact.define.keys()):
        words = f"'{min(kept)}' cannot be edited"
        raise UserError(words, code="E-BACKLOG-FORBIDDEN", next="ralph backlog edit --help")
    if fact.status is not None and fact.status != old.status:
        _check_transition(fact, old)
    back = fact.iteration is not None and fact.iteration < old.iteration
    if back and (fact.by != "user" or not fact.reason):
        words = "a reset is a person's, with a reason"
        step = f'ralph backlog reset {fact.item} --reason "begin again"'
        raise UserError(words, code="E-BACKLOG-MISSING-OVERRIDE-REASON", next=step)


def forbidden_move(name: str, status: str) -> UserError:
    words, step = f"'{name}' is {status}", f"ralph backlog show {name}"
    return UserError(words, code="E-BACKLOG-FORBIDDEN-TRANSITION", next=step)


def _check_transition(fact: BacklogFact, old: ItemState) -> None:
    new = fact.status
    if new not in FOLLOWS[old.status]:
        raise forbidden_move(fact.item, f"{old.status} and cannot become {new}")
    evidence = fact.deed == "attempt" and (fact.attempt or {}).get("result") == "PASSED"
    if new == "PASSING" and not evidence and not (fact.deed == "override" and fact.reason):
        words, step = f"'{fact.item}' has no evidence of its own", f"ralph backlog validate {fact.item}"
        raise UserError(words, code="E-BACKLOG-PASSING-WITHOUT-EVIDENCE", next=step)
    if old.status == "PASSING" and (fact.attempt or {}).get("result") != "FAILED":
        raise forbidden_move(fact.item, "PASSING: only a check that fails again reopens it")
    if new != "PASSING" and not fact.reason and fact.deed != "attempt":
        words, step = f"{new} needs a reason", f"ralph backlog show {fact.item}"
        raise UserError(words, code="E-BACKLOG-MISSING-OVERRIDE-REASON", next=step)


def edits_for(at: Path, shown: ItemState, new: ItemState) -> list[JsonEdit]:
    """How the file's rendering of the item at `at` changes; `shown` is what it shows now."""
    edits: list[JsonEdit] = []
    if new.status != shown.status:
        edits.append(JsonEdit((*at, "status"), new.status))
    if new.attempts[: len(shown.attempts)] == shown.attempts:
        edits += [
            JsonEdit((*at, "attempts"), one, append=True) for one in new.attempts[len(shown.attempts) :]
        ]
    else:
        edits.append(JsonEdit((*at, "attempts"), list(new.attempts)))
    if new.iteration != shown.iteration:
        edits.append(JsonEdit((*at, "ralph_loop", "current_iteration"), new.iteration))
    if new.override != shown.override:
        edits.append(JsonEdit((*at, "override_reason"), new.override or None))
    if new.question != shown.question:
        edits.append(JsonEdit((*at, "question"), new.question or None))
    return edits


def shown_state(item: BacklogItem) -> ItemState:
    """What the file says an item has come to."""
    return ItemState(
        item.status or "FAILING", item.iteration, item.attempts, item.override, item.question or ""
    )


class Difference(Struct, frozen=True):
    """Where the file and the record disagree about an item."""

    item: str
    words: str
    reset: bool = False  # a person set the counter or BLOCKED back


def compare(found: FeatureList, state: Mapping[str, ItemState]) -> tuple[list[Difference], State]:
    """What was changed by hand in results, and the states of items that are taken from the file.

    A first list is taken as it is; what comes later must be proven here, so its PASSING does not count. A
    question that a person took out of the file is answered."""
    differences: list[Difference] = []
    taken: State = {}
    for item in found.items:
        shown, known = shown_state(item), state.get(item.id)
        if known is None:
            taken[item.id] = shown
            if state and shown.status == "PASSING" and not item.override:
                taken[item.id] = replace(shown, status="FAILING")
                words = "is new in the file and PASSING there: it has to be proven here"
                differences.append(Difference(item.id, words))
            continue
        if known.question and not shown.question:
            taken[item.id] = known = replace(known, question="")
        wrong = [
            f"{name} is {_short(there)} in the file, {_short(here)} in the record"
            for name, there, here in (
                ("status", shown.status, known.status),
                ("current_iteration", shown.iteration, known.iteration),
                ("attempts", len(shown.attempts), len(known.attempts)),
                ("override_reason", shown.override, known.override),
                ("question", shown.question, known.question),
            )
            if there != here
        ]
        if not wrong and msgspec.json.encode(shown.attempts) != msgspec.json.encode(known.attempts):
            wrong = ["an attempt was edited: attempts are only appended"]
        if wrong:
            back = known.status == "BLOCKED" and shown.status == "FAILING"
            reset = back or shown.iteration < known.iteration
            differences.append(Difference(item.id, "; ".join(wrong), reset=reset))
            taken[item.id] = known
    words = "is in the record but no longer in the file: items are cancelled, not deleted"
    differences += [Difference(name, words) for name in state if name not in found.by_id]
    return differences, taken


def _short(value: object) -> str:
    text = str(value)
    return f"'{text[:40]}…'" if len(text) > 40 else text if text.isupper() or text.isdigit() else f"'{text}'"


def after_failure(item: BacklogItem, old: ItemState, *, counts: bool) -> tuple[int, Status | None]:
    """Counter and status after an attempt without a pass: at the cap the item is blocked."""
    iteration = old.iteration + 1 if counts else old.iteration
    return iteration, "BLOCKED" if counts and iteration >= item.max_attempts else None


def recurring_pattern(attempts: Iterable[Mapping[str, Any]]) -> str:
    """What failed again and again in the attempts that counted; "" = nothing did more than once."""
    failed = [one for one in attempts if one.get("result") == "FAILED" and one.get("counted", True)]
    seen: dict[str, int] = {}
    for one in failed:
        words = one.get("failing") if isinstance(one.get("failing"), list) else [one.get("failure_reason")]
        for word in {str(word) for word in words or () if word}:
            seen[word] = seen.get(word, 0) + 1
    often = sorted(
        ((count, word) for word, count in seen.items() if count > 1), key=lambda pair: (-pair[0], pair[1])
    )
    return "; ".join(f"in {count} of {len(failed)} attempts: {word}" for count, word in often[:3])
