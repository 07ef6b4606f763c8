"""Guard "substance": a refactoring changes code, documentation changes documents; blank lines are no work.

Hygiene: not yet. Of a plan, whose items are of any class, each has to change something, whatever the items
before it have shown. Else silent where a check of the user's was red and is green: then something was shown.
What a tool makes is no work by itself: the next time that it is made it is as it was.
"""

from __future__ import annotations

import re

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.asked_for import names_path
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.substance_of import is_document, is_source, speaks_otherwise, substance_of
from ralph.gates.guards._base.texts import Pair, pairs
from ralph.gates.guards._files.manifests import is_lock, is_manifest
from ralph.gates.guards.integrity.witness import shown_by_user

NAME = "substance"
KINDS = guard_kinds(NAME, "do what the task asks for", {
    "nothing": ("not yet", "only blank lines, white space or layout changed"),
    "code": ("not yet", "a refactoring changed no code, only documents, comments or layout",
        "change the code as the task asks"),
    "documents": ("not yet", "a task about documentation changed no document, docstring or comment",
        "change the documents as the task asks"),
    "made": ("asks", "a generated file was edited, and nothing that it is generated from",
        "change what it is generated from, and generate it again"),
})  # fmt: skip
_MADE = re.compile(r"@generated|\bgenerated\s(?:by|from|with)\b|\bdo not edit\b", re.IGNORECASE)
_FILE = re.compile(r"[\w-]+(?:\.\w+)+")
_COMPILED = re.compile(r"\A(?:(?:dist|lib|build|out|es|esm|cjs|js|compiled)/)?(.+)\.[cm]?jsx?\Z")
# Tasks that are about how code is laid out, or about words, whatever their class is called.
_LAYOUT = re.compile(
    r"\b(?:re-?)?format(?:s|ted|ting|ter)?\b|\bwhite-?space|\b(?:re-?)?indent|\b(?:blank|empty) lines?\b"
    r"|\bline (?:lengths?|endings?|breaks?)|\bnew-?lines?\b|\bcrlf\b|\btabs\b|\bauto-? ?fix"
    r"|\b(?:black|prettier|\w*fmt|gofumpt|yapf|pep-?8|flake8|pycodestyle|ruff|lint\w*|cosmetics?|spacing)\b"
    r"|\b(?:code|coding)[ -]?styles?\b|\blook and feel\b|\btrailing\b|\b(?:single|double|missed) quotes\b",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"\bdocs?\b|\bdocument|\breadme\b|\bchange-?log\b|\bdocstrings?\b|\bcomments?\b|\bcommented\b|\btypos?\b|\bspell"
    r"|\blicen[cs]es?\b|\bcopyright\b|\bmarkdown\b|\bguides?\b|\btutorials?\b|\bmanual\b|\bexamples?\b|\bwording\b"
    r"|\btodos?\b|\bheaders?\b|\bgrammar\b|\btexts?\b|\bnotes?\b|\b(?:broken|dead) links?\b|\bannotat"
    r"|\bhistory\b|\bbadges?\b|\bgrammatical"
    r"|\b(?:fix|updat|correct|replac)\w* (?:[\w.-]+ )?(?:links?|urls?)\b|\bdirectives?\b|\.\. ?[\w-]+::",
    re.IGNORECASE,
)
# A task about code. Without such words documents may be what it means: "update the supported versions".
_OF_CODE = re.compile(
    r"`|\w\(|\b[a-z]\w*\.[a-z_]\w|[a-z]_[a-z]|\b(?:re-?(?:factor|structur|organi|writ)|simpl|shorter|clearer|readab|extract|inlin|renam"
    r"|split|tid[yi]|clean|dedup|optimi|speed|fast(?:er|est)?\b|perform|mov(?:e|ing)|migrat|upgrad|port(?:s|ed|ing)?\b|bump|replac|improv"
    r"|modules?\b|functions?\b|class|methods?\b|code|helpers?\b|imports?\b)",
    re.IGNORECASE,
)


def check(facts: GuardFacts) -> GuardResult:
    shown = any(
        shown_by_user(gate, facts.base.get(gate.name), facts.final.get(gate.name)) for gate in facts.gates
    )
    done = facts.item if facts.task_class is None else facts
    # What a check shows of a plan may be the work of an item before this one.
    found = _edited_by_hand(facts) + ([] if done is None or (shown and done is facts) else _look(done))
    good, bad = "the change is of the kind that the task asks for", "no change of that kind"
    return guard_result(NAME, facts, found, good=good, bad=bad)


def _look(facts: GuardFacts) -> list[Finding]:
    changed = pairs(facts)
    if not changed or _LAYOUT.search(facts.task):
        return []
    made_of = {substance_of(pair) for pair in changed}
    if made_of == {"nothing"}:
        text = "only blank lines, white space or layout changed"
        return [Finding("substance.nothing:change", text, path=changed[0].path)]
    if any(names_path(facts.task, pair.path) and substance_of(pair) != "nothing" for pair in changed):
        return []
    told = _WORDS.search(facts.task) or (
        all(is_document(pair.path) for pair in changed)
        and (not _OF_CODE.search(facts.task) or _takes_out(facts.task, changed))
    )
    if facts.task_class == "regression" and "code" not in made_of and not told:
        text = "only documents, comments or layout changed"
        return [Finding("substance.code:change", text, path=changed[0].path)]
    if facts.task_class == "docs" and not any(map(_documents, changed)):
        text = "only code changed, no document, docstring or comment"
        return [Finding("substance.documents:change", text, path=changed[0].path)]
    return []


def _takes_out(task: str, changed: list[Pair]) -> bool:
    """Is what the task wants gone what the documents no longer say, or the name of one of them?"""
    title = task.partition("\n")[0]
    if not re.search(r"\b(?:remov|delet|drop)", title, re.IGNORECASE):
        return False
    named = {word.lower() for word in re.findall(r"\w{4,}", title)}
    gone: set[str] = set()
    for pair in changed:
        kept = set(pair.new.split("\n"))
        gone.update(pair.path.split("/"), (line for line in pair.old.split("\n") if line not in kept))
    said = {word.lower() for text in gone for word in re.findall(r"\w{4,}", text)}
    return any(word in said or word.removesuffix("s") in said or word + "s" in said for word in named)


def _edited_by_hand(facts: GuardFacts) -> list[Finding]:
    """Files whose first lines, or whose place, say what they are made from, and that stayed as it was."""
    changed = {path for one in facts.changes for path in (one.before, one.path)}
    found = []
    for pair in pairs(facts):
        stem, head = _COMPILED.sub(r"\1", pair.path), pair.old[:400]
        words = set(_FILE.findall(head)) if _MADE.search(head) else set()
        sources = facts.base_paths & {lead + stem + end for lead in ("", "src/") for end in (".ts", ".tsx")}
        sources |= {
            one for one in facts.base_paths - {pair.path} if words and one.rsplit("/", 1)[-1] in words
        }
        if sources and changed.isdisjoint(sources) and not names_path(facts.task, pair.path):
            text = f"{pair.path} is generated from {min(sources)}, which did not change"
            found.append(Finding(f"substance.made:{pair.path}", text, path=pair.path))
    return [] if any(is_manifest(one) or is_lock(one) for one in changed) else found


def _documents(pair: Pair) -> bool:
    """Does a reader of the documentation learn something else? Settings and data may be part of it."""
    if is_source(pair.path):
        return pair.change.status != "D" and speaks_otherwise(pair)
    return substance_of(pair) != "nothing"
