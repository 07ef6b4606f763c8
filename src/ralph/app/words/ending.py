"""The last card of a stint: outcome and grade in words, what is not proven, and the next commands.

It goes to stdout, because it is the result; progress went to stderr. Its `Status:` line is for programs; the
same words are the headline of the report.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from ralph.app.words.change import ChangeSize
from ralph.app.words.format import (
    DOT,
    GOOD,
    MARKS,
    asked_words,
    change_words,
    clock,
    cost_words,
    paint,
    plural,
    role_spend_words,
    safe,
    short,
    short_name,
    table,
)
from ralph.app.words.grade_words import coverage_words, grade_words
from ralph.app.words.next_steps import LoopStanding, Next, next_steps, room_flag
from ralph.core.decide.grants import QUESTION, accusations, left_to_do, open_waivers
from ralph.core.decide.stints.approval import pending
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE
from ralph.core.model.rubric import opinion_line as opinion_words
from ralph.core.model.verdict import Verdict
from ralph.core.views.plan_view import item_lines, plan_line
from ralph.core.views.plan_view import words as plan_words
from ralph.core.views.summary import best_checkpoint, best_iteration
from ralph.core.views.team_view import team_line

MAX_SENTENCES = 8
_HEADLINES = {"satisfied": "NOTHING_TO_DO", "unproven": "DONE_UNPROVEN"}
_TITLES = {"VERIFIED_DONE": "VERIFIED", "NOTHING_TO_DO": "NOTHING TO DO", "DONE_UNPROVEN": "DONE, UNPROVEN"}
_AT_WORK = ("STOPPED", "IN_PROGRESS")  # a card is the end of a stint; a report may be read in the middle
_CARD_WIDTH = 80  # where nobody says how wide the window is


def status_word(loop: Loop) -> str:
    """Where the loop stands, in the word of the headline."""
    if loop.outcome == "verified":
        return "PLANNED" if loop.sealed.plan_brief.mode == "plan" else "VERIFIED_DONE"
    if loop.outcome is not None:
        return _HEADLINES.get(loop.outcome, loop.outcome.upper())
    return "PAUSED" if loop.phase == "paused" else "STOPPED"


def headline(loop: Loop, change: ChangeSize | None = None) -> str:
    """VERIFIED_DONE (A) sandbox S2  fix-auth-7f3a91c2  7 iterations · 24:10 · $1.92 · … · tree 9c1e4d2"""
    parts = [*_numbers(loop, change), f"tree {short(loop.work.tree)}", *_old_reds(loop)]
    title = _title(loop) if loop.phase in ("paused", "ended") else _title(loop).replace(*_AT_WORK, 1)
    return "  ".join((title, loop.sealed.loop, DOT.join(parts)))


def _title(loop: Loop) -> str:
    """For programs: these words do not change."""
    grade = f" ({loop.grade})" if loop.grade else ""
    sandbox = f" sandbox {loop.judged_in}" if loop.judged_in else ""
    return f"{status_word(loop)}{grade}{sandbox}"


def status_line(loop: Loop, width: int = 0) -> list[str]:
    """Status: VERIFIED_DONE (A) sandbox S2 · tree 9c1e4d2 · fix-auth-7f3a91c2"""
    parts = [f"Status: {_title(loop)}", f"tree {short(loop.work.tree)}", *_old_reds(loop), loop.sealed.loop]
    return _fold(parts, width)


def _numbers(loop: Loop, change: ChangeSize | None) -> list[str]:
    spend = loop.spend
    parts = [
        plural(loop.iteration, "iteration") if spend.calls else "no agent call",
        clock(loop.elapsed_seconds),
        cost_words(spend.cost, spend.blind, spend.calls, estimated=spend.estimated),
    ]
    if change is not None:
        parts.append(change_words(*change))
    elif loop.work.changed_lines:
        parts.append(f"{plural(loop.work.changed_lines, 'line')} changed")
    return parts


def _old_reds(loop: Loop) -> list[str]:
    """Red that was there before, beside a result that is done all the same."""
    old = [gate.name for gate, verdict in newest_verdicts(loop) if _is_old_red(loop, gate, verdict)]
    return (
        [f"red as before: {', '.join(safe(name, 30) for name in old)}"]
        if old and loop.outcome in DONE
        else []
    )


def _is_old_red(loop: Loop, gate: Gate, verdict: Verdict | None) -> bool:
    before = loop.proof.baseline.get(gate.name)
    red_now = verdict is not None and verdict.status != "pass"
    return not gate.proof and red_now and before is not None and before.status != "pass"


def newest_verdicts(loop: Loop) -> list[tuple[Gate, Verdict | None]]:
    """Each sealed gate with its newest verdict on the tree at hand."""
    newest = (
        loop.proof.finals
        if loop.proof.finals and loop.proof.finals_tree == loop.work.tree
        else loop.proof.verdicts
    )
    if loop.progress.best is None:
        newest = loop.proof.baseline
    return [(gate, newest.get(gate.name)) for gate in loop.sealed.criterion.gates]


def gate_rows(loop: Loop) -> list[tuple[str, ...]]:
    """Each check with what it said before and what it says now: tests, 2 failed → 6 passed."""
    rows: list[tuple[str, ...]] = []
    for gate, verdict in newest_verdicts(loop):
        mark = MARKS[verdict.status if verdict is not None else "unknown"]
        role = "" if gate.required else "  (advisory)"
        rows.append((f"{mark} {safe(gate.name, 40)}", f"{_before_and_now(loop, gate, verdict)}{role}"))
    return rows


def _before_and_now(loop: Loop, gate: Gate, verdict: Verdict | None) -> str:
    before = loop.proof.baseline.get(gate.name)
    if verdict is None:
        return "not judged on this tree"
    now = safe(verdict.summary, 80) or verdict.status
    if before is None or loop.progress.best is None or before.summary == verdict.summary:
        return now
    return f"{safe(before.summary, 60) or before.status} → {now}"


def ending(
    loop: Loop, change: ChangeSize | None = None, *, number: int = 0, colour: bool = False, width: int = 0
) -> list[str]:
    """All lines of the card. `width` 0: nobody is looking through a narrow window, so nothing is folded."""
    lines = _fold_title(loop, number, colour, width)
    covered = coverage_words(loop)
    lines += _fold([*_numbers(loop, change), *([safe(covered, 200)] if covered else [])], width)
    lines += table(gate_rows(loop), "  ")
    lines += [f"  {label}  {text}" for label, text in _facts(loop)]
    lines += status_line(loop, width)
    return [*lines, *_next_lines(next_steps(standing(loop, number=number)), width)]


def _fold_title(loop: Loop, number: int, colour: bool, width: int) -> list[str]:
    """✔ VERIFIED  #7 fix-auth  grade A: red before, tests untouched"""
    tone = "green" if loop.outcome in GOOD else "amber" if loop.outcome in (None, "unproven") else "red"
    mark = {"green": "✔", "amber": "◑" if loop.outcome else "‖", "red": "✘"}[tone]
    title = f"{mark} {_TITLES.get(status_word(loop), status_word(loop))}"
    name = f"#{number} {short_name(loop.sealed.loop)}" if number else loop.sealed.loop
    grade = f"grade {loop.grade}: {grade_words(loop)}" if loop.grade else ""
    whole = "  ".join(part for part in (title, name, grade) if part)
    if width and len(whole) > width:
        return [f"{paint(title, tone, colour)}  {name}", *([f"  {grade}"] if grade else [])]
    return [whole.replace(title, paint(title, tone, colour), 1)]


def _next_lines(steps: tuple[Next, ...], width: int) -> list[str]:
    """The next commands with what each is for, two on a line where there is room."""
    if not steps:
        return []
    left = max((n for one in steps if (n := len(one.command)) <= (width or _CARD_WIDTH)), default=0)
    cells = [f"{one.command:<{left}}  {one.why}" for one in steps]
    wide = max(map(len, cells))
    if 2 * wide + 7 > (width or _CARD_WIDTH):
        return ["", *(f"  {cell}" for cell in cells)]
    half = (len(cells) + 1) // 2
    pairs = zip_longest(cells[:half], cells[half:], fillvalue="")
    return ["", *(f"  {first:<{wide}}   {second}".rstrip() for first, second in pairs)]


def _facts(loop: Loop) -> list[tuple[str, str]]:
    """What else has to be said, with a label: why, what is missing, what is not proven."""
    facts: list[tuple[str, str]] = []
    asked = open_waivers(loop) if loop.outcome not in DONE or loop.outcome == "unproven" else ()
    if loop.outcome not in GOOD:
        names_them = asked and loop.reason.startswith(QUESTION)  # so do the lines below
        why = QUESTION if names_them else loop.reason
        facts.append(("why", safe(why, 300) or f"in phase {loop.phase}"))
    facts += _first_ones("asked", [asked_words(one.key, one.says) for one in asked])
    if loop.outcome not in DONE:
        facts += _first_ones("not yet", left_to_do(loop))
        facts.append(("best", best_words(loop)))
    elif not loop.landing.result or loop.has_plan:
        facts.append(("why", safe(loop.reason, 300)))
    facts += _plan_facts(loop)
    opinion = loop.jury.opinion
    if opinion is not None and opinion.tree == loop.work.tree:
        role = "" if opinion.required else " (advisory)"
        facts.append(("judge", safe(f"{opinion.status}{role}: {opinion_words(opinion)}", 300)))
    if (team := team_line(loop)) is not None:
        facts += [
            (one.role, f"{safe(one.agent, 40)}, {role_spend_words(msgspec.structs.asdict(one.spend))}")
            for one in team.roles
        ]
        facts += [("without", safe(f"{role}: {why}", 300)) for role, why in team.without.items()]
    facts += [("added", safe(text, 300)) for text in _find_additions(loop)]
    facts += [("not proven", safe(text, 300)) for text in loop.proof.unproven if loop.landing.result]
    facts += [("not run", safe(text, 300)) for text in checks_not_run(loop) if loop.landing.result]
    pad = max((len(label) for label, _ in facts), default=0)
    return [(label.ljust(pad), text) for label, text in facts]


def _first_ones(label: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    more = len(texts) - MAX_SENTENCES
    rest = [(label, f"and {more} more: ralph report")] if more > 0 else []
    return [(label, safe(text, 300)) for text in texts[:MAX_SENTENCES]] + rest


def _find_additions(loop: Loop) -> list[str]:
    """What the result brings along that acts beyond the code: a workflow, a dependency."""
    words = {"protected": "continuous integration", "dependencies": "dependencies: added"}
    told = [one for one in loop.proof.guards if not one.findings and one.guard in words]
    found = [one.summary for one in told if one.summary.startswith(words[one.guard])]
    return found if loop.proof.guards_tree == loop.work.tree else []


def checks_not_run(loop: Loop) -> tuple[str, ...]:
    """Kinds of check that the project has and that were no part of the proof; one may have joined since."""
    others = loop.sealed.other_checks
    if not others:
        return ()
    from ralph.core.toolchains.kinds import gate_kind  # its tables take a while to load

    joined = {gate_kind(gate.name, gate.run) for gate in loop.sealed.criterion.gates}
    return tuple(f"{kind}: {run}" for kind, run in others.items() if kind not in joined)


def not_yet_lines(loop: Loop) -> list[str]:
    """What waits for the user's word stands first."""
    asked = open_waivers(loop) if loop.outcome == "blocked" else ()
    waits = [f"waits for your decision, {asked_words(one.key, one.says)}" for one in asked]
    return [*waits, *left_to_do(loop)]


def _plan_facts(loop: Loop) -> list[tuple[str, str]]:
    """The items, and both halves of the exit condition, each by itself."""
    line = plan_line(loop)
    if line is None:
        return []
    facts = [("plan", safe(plan_words(line), 300))]
    noted = [one for one in item_lines(loop) if one.note]
    facts += [("item", safe(f"{one.item}: {one.note}", 300)) for one in noted[:MAX_SENTENCES]]
    if line.words is not None:
        held = [name for name, holds in line.conditions.items() if not holds]
        told = f"not: {', '.join(held)}" if held else "its four conditions hold"
        facts.append(("words", f"{line.words} of {line.words_needed} completion indicators"))
        facts.append(("signal", f"EXIT_SIGNAL {'true' if line.signal else 'false'}; {told}"))
    return facts


def _fold(parts: list[str], width: int) -> list[str]:
    """On one line where that fits, else broken between its parts, never inside one."""
    lines, line = [], ""
    for part in parts:
        joined = f"{line}{DOT}{part}" if line else f"  {part}"
        if width and len(joined) > width and line:
            lines.append(line)
            joined = f"  {part}"
        line = joined
    return [*lines, line]


def best_words(loop: Loop) -> str:
    best = best_checkpoint(loop)
    if best is None:
        return "none: the base was not judged"
    required = sum(gate.required for gate in loop.sealed.criterion.gates)
    measured = f"{best.passing} of {required} required checks ok" if best.passing >= 0 else "not judged"
    red = f", {best.red} red" if best.red > 0 else ""
    if best.iteration == 0:
        return f"the starting commit; no iteration improved on it ({measured}{red})"
    return f"checkpoint {best.iteration}, commit {short(best.commit)} ({measured}{red})"


def standing(loop: Loop, *, crashed: bool = False, number: int = 0) -> LoopStanding:
    room = ""
    if loop.outcome == "exhausted":
        limits, spend = msgspec.structs.asdict(loop.limits), msgspec.structs.asdict(loop.spend)
        room = room_flag(loop.iteration, limits, spend)
    stopped = crashed or loop.phase not in ("paused", "ended")
    line = plan_line(loop)
    return LoopStanding(
        name=str(number) if number else loop.sealed.loop,
        word=loop.outcome or ("crashed" if stopped else loop.phase),
        changed=loop.work.tree != loop.sealed.base.tree,
        result=loop.landing.result,
        landing=loop.landing.state,
        dropped=loop.landing.was_dropped,
        best=best_iteration(loop),
        room=room,
        human=line.human[0] if line is not None and line.human else "",
        items=line.newest if line is not None else 0,
        planned=line is not None and line.mode == "planned",
        waivers=tuple(safe(one.key, 300) for one in open_waivers(loop)),
        accused=tuple(safe(one.key, 300) for one in accusations(loop)),
        approval=pending(loop),
        item=loop.sealed.item,
    )
