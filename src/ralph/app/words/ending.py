"""The last screen of a stint: headline, proof, what is not proven, and the next commands.

It goes to stdout, because it is the result; progress went to stderr. The same text stands at the top of
the report.
"""

from __future__ import annotations

import msgspec

from ralph.app.words.change import ChangeSize
from ralph.app.words.format import (
    DOT,
    GOOD,
    brief_seconds,
    change_words,
    clock,
    cost_words,
    paint,
    plural,
    safe,
    short,
    table,
)
from ralph.app.words.next_steps import LoopStanding, next_steps, room_flag
from ralph.core.decide.grants import open_waivers
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE
from ralph.core.model.rubric import opinion_line as opinion_words
from ralph.core.model.verdict import Verdict
from ralph.core.views.plan_view import item_lines, plan_line
from ralph.core.views.plan_view import words as plan_words

MAX_SENTENCES = 8
_HEADLINES = {"satisfied": "NOTHING_TO_DO", "unproven": "DONE_UNPROVEN"}


def status_word(loop: Loop) -> str:
    """Where the loop stands, in the word of the headline."""
    if loop.outcome == "verified":
        return "PLANNED" if loop.sealed.plan_brief.mode == "plan" else "VERIFIED_DONE"
    if loop.outcome is not None:
        return _HEADLINES.get(loop.outcome, loop.outcome.upper())
    return "PAUSED" if loop.phase == "paused" else "STOPPED"


def headline(loop: Loop, change: ChangeSize | None = None) -> str:
    """VERIFIED_DONE (A) sandbox S2  fix-auth-7f3a91c2  7 iterations · 24:10 · $1.92 · … · tree 9c1e4d2"""
    return "  ".join((_title(loop), loop.sealed.loop, DOT.join(_numbers(loop, change))))


def _title(loop: Loop) -> str:
    grade = f" ({loop.grade})" if loop.grade else ""
    sandbox = f" sandbox {loop.work.protection}" if loop.work.protection else ""
    return f"{status_word(loop)}{grade}{sandbox}"


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
    parts.append(f"tree {short(loop.work.tree)}")
    old = [gate.name for gate, verdict in newest_verdicts(loop) if _is_old_red(loop, gate, verdict)]
    if loop.outcome in DONE and old:
        parts.append(f"red as before: {', '.join(safe(name, 30) for name in old)}")
    return parts


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
    """gate, verdict, what it said, seconds, evidence."""
    rows: list[tuple[str, ...]] = []
    for gate, verdict in newest_verdicts(loop):
        notes = ["proof"] if gate.proof else []
        notes += [] if gate.required else ["advisory"]
        if verdict is None:
            rows.append((safe(gate.name, 40), "unknown", "not judged on this tree", "", ", ".join(notes)))
            continue
        evidence = f"evidence {verdict.evidence[:8]}" if verdict.evidence else "no evidence kept"
        last = ", ".join([evidence, *notes])
        rows.append(
            (
                safe(gate.name, 40),
                verdict.status,
                safe(verdict.summary, 80),
                brief_seconds(verdict.seconds),
                last,
            )
        )
    return rows


def ending(
    loop: Loop, change: ChangeSize | None = None, *, colour: bool = False, width: int = 0
) -> list[str]:
    """All lines. `width` 0: nobody is looking through a narrow window, so nothing is folded."""
    tone = "green" if loop.outcome in GOOD else "amber" if loop.outcome in (None, "unproven") else "red"
    title = paint(_title(loop), tone, colour)
    lines = _fold(title, len(_title(loop)), loop.sealed.loop, _numbers(loop, change), width)
    lines += table(gate_rows(loop), "  ")
    facts: list[tuple[str, str]] = []
    if loop.outcome not in GOOD:
        facts.append(("why", safe(loop.reason, 300) or f"in phase {loop.phase}"))
    if loop.outcome not in DONE:
        facts += [
            ("asked", safe(f"{one.key}: {one.says}", 300)) for one in open_waivers(loop)[:MAX_SENTENCES]
        ]
        facts += [("not yet", safe(text, 300)) for text in loop.proof.not_yet[:MAX_SENTENCES]]
        facts.append(("best", best_words(loop)))
    elif not loop.landing.result or loop.has_plan:
        facts.append(("why", safe(loop.reason, 300)))
    facts += _plan_facts(loop)
    opinion = loop.jury.opinion
    if opinion is not None and opinion.tree == loop.work.tree:
        role = "" if opinion.required else " (advisory)"
        facts.append(("judge", safe(f"{opinion.status}{role}: {opinion_words(opinion)}", 300)))
    facts += _coverage_facts(loop)
    facts += [("added", safe(text, 300)) for text in _find_additions(loop)]
    facts += [("not proven", safe(text, 300)) for text in loop.proof.unproven if loop.landing.result]
    facts += [("not run", safe(text, 300)) for text in checks_not_run(loop) if loop.landing.result]
    lines += table(facts, "  ")
    return lines + table(next_steps(standing(loop)), "  ")


def _coverage_facts(loop: Loop) -> list[tuple[str, str]]:
    """How many of the changed lines tests execute, where that was asked."""
    if loop.proof.guards_tree != loop.work.tree:
        return []
    return [
        ("coverage", safe(result.summary, 300))
        for result in loop.proof.guards
        if result.guard == "diff_coverage"
    ]


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
    return [*(f"waits for your decision, {one.key}: {one.says}" for one in asked), *loop.proof.not_yet]


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


def _fold(title: str, shown: int, name: str, numbers: list[str], width: int) -> list[str]:
    """The headline on one line where that fits, else at its own joints on several."""
    tail = DOT.join(numbers)
    if not width or shown + len(name) + len(tail) + 4 <= width:
        return [f"{title}  {name}  {tail}"]
    lines, line = [title, f"  {name}"], ""
    for part in numbers:
        joined = f"{line}{DOT}{part}" if line else f"  {part}"
        if len(joined) > width and line:
            lines.append(line)
            joined = f"  {part}"
        line = joined
    return [*lines, line]


def best_words(loop: Loop) -> str:
    best = loop.progress.best
    if best is None:
        return "none: the base was not judged"
    required = sum(gate.required for gate in loop.sealed.criterion.gates)
    measured = f"{best.passing} of {required} required checks pass" if best.passing >= 0 else "not judged"
    red = f", {best.red} red" if best.red > 0 else ""
    if best.iteration == 0:
        return f"the base itself, nothing better was reached ({measured}{red})"
    return f"checkpoint {best.iteration}, commit {short(best.commit)} ({measured}{red})"


def standing(loop: Loop, *, crashed: bool = False) -> LoopStanding:
    room = ""
    if loop.outcome == "exhausted":
        limits, spend = msgspec.structs.asdict(loop.limits), msgspec.structs.asdict(loop.spend)
        room = room_flag(loop.iteration, limits, spend)
    stopped = crashed or loop.phase not in ("paused", "ended")
    line = plan_line(loop)
    return LoopStanding(
        name=loop.sealed.loop,
        word=loop.outcome or ("crashed" if stopped else loop.phase),
        called=loop.work.tree != loop.sealed.base.tree,
        result=loop.landing.result,
        landing=loop.landing.state,
        dropped=loop.landing.was_dropped,
        best=loop.progress.best.iteration if loop.progress.best else None,
        room=room,
        human=line.human[0] if line is not None and line.human else "",
        items=line.newest if line is not None else 0,
        planned=line is not None and line.mode == "planned",
        waivers=tuple(safe(one.key, 300) for one in open_waivers(loop)),
        item=loop.sealed.item,
    )
