"""Guard "diff_coverage": how many of the changed lines any test executes.

It finds nothing and blocks nothing. What judged code says about itself may lower a grade and never raise it:
`core.proof.grade` takes no test for a witness when tests execute not one changed line. What could not be
measured is unknown, and said so.
"""

from __future__ import annotations

from ralph.core.model.verdict import GuardResult
from ralph.gates.executed.watched import JAVASCRIPT, PYTHON, Watch
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import decode, name_some, new_lines
from ralph.gates.guards._parts.statements import changed_statements, utf16
from ralph.gates.guards._watch.judge_files import is_code
from ralph.gates.guards.integrity.witness import source_changes

NAME = "diff_coverage"
CALLED = True
MAX_FILES = 200
MAX_LINES = 5000
MAX_GAP = 3
_MAX_SHOWN = 5
_UNKNOWN = "unknown which changed lines tests execute"


def watch_request(facts: GuardFacts) -> Watch | None:
    """The changed statements; None where no source changed whose execution can be watched."""
    watch = _statements(facts)
    return watch if watch.files else None


def _statements(facts: GuardFacts) -> Watch:
    return facts.once("watch", lambda: _find_statements(facts))


def _find_statements(facts: GuardFacts) -> Watch:
    watch = Watch({})
    fresh = new_lines(facts)
    left = MAX_LINES
    for change in source_changes(facts):
        path = change.path
        new = [row.number for row in fresh.get(path, ())]
        if path.endswith((".d.ts", ".pyi", ".min.js")) or not new:
            continue
        if not path.endswith((*PYTHON, *JAVASCRIPT)):
            if is_code(path):
                watch.unread[path] = "only Python and JavaScript are watched"
            continue
        if len(watch.files) >= MAX_FILES or len(new) > left:
            watch.unread[path] = f"only {MAX_FILES} files and {MAX_LINES} lines are watched"
            continue
        text = decode(facts.read_result(path))
        found = changed_statements(path, text, new)
        if isinstance(found, str):
            watch.unread[path] = found
        elif found:
            left -= len(new)
            watch.files[path] = found
            watch.lengths[path] = utf16((facts.read_result(path) or b"").decode("utf-8", "replace"))
    return watch


def check(facts: GuardFacts) -> GuardResult:
    watch = watch_request(facts)
    unread = _statements(facts).unread
    if watch is None and not unread:
        return _said(facts, "no line changed that a test could execute")
    if watch is None:
        return _said(facts, _unknown_words(unread))
    if not facts.tried.coverage:
        once = "the final verdict was not repeated (confirm = 1)"
        why = once if facts.confirm < 2 else "no check that executes tests was called again"
        return _said(facts, f"{_UNKNOWN}: {why}")
    hits = list(facts.tried.coverage.values())
    executed = {path: {n for one in hits for n in one.executed.get(path, ())} for path in watch.files}
    unknown = dict(unread)
    for path in watch.files:
        if not executed[path] and not any(path in one.measured for one in hits):
            unknown[path] = next((one.unknown[path] for one in hits if path in one.unknown), "not watched")
    return _result(facts, watch, executed, unknown)


def _result(
    facts: GuardFacts, watch: Watch, executed: dict[str, set[int]], unknown: dict[str, str]
) -> GuardResult:
    total = done = 0
    missed: list[str] = []
    for path, rows in watch.files.items():
        if path in unknown:
            continue
        ran = {line for number in executed[path] for line in rows[number].lines}
        changed = {line for row in rows for line in row.lines}
        total, done = total + len(changed), done + len(ran)
        missed += [f"{path}:{words}" for words in _ranges(sorted(changed - ran), changed)]
    if not total:
        return _said(facts, _unknown_words(unknown))
    partial = done < total and any(one.partial for one in facts.tried.coverage.values())
    words = f"{done} of {total} changed lines are executed by tests"
    if missed:
        words += f"; not: {name_some(missed, _MAX_SHOWN)}"
    if partial:
        words += "; processes that could not be watched may have executed more"
    if unknown:
        words += f"; {_unknown_words(unknown)}"
    counted = {"changed_lines": total, "executed_lines": done, "unwatched": len(unknown) + partial}
    return _said(facts, words, counted)


def _said(facts: GuardFacts, words: str, counted: dict[str, int] | None = None) -> GuardResult:
    return GuardResult(NAME, facts.tree, applied=True, summary=words, integrity=False, counted=counted or {})


def _unknown_words(unknown: dict[str, str]) -> str:
    return f"{_UNKNOWN} of {name_some(list(unknown), 1)}: {next(iter(unknown.values()))}"


def _ranges(lines: list[int], changed: set[int]) -> list[str]:
    """[40, 42, 50] as 40-42, 50: blank lines and comments may lie between, no other changed line."""
    spans: list[list[int]] = []
    for line in lines:
        near = bool(spans) and line - spans[-1][1] <= MAX_GAP
        if near and changed.isdisjoint(range(spans[-1][1] + 1, line)):
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return [str(first) if first == last else f"{first}-{last}" for first, last in spans]
