"""`feature_list.json`: its items, and everything that is wrong with it, each with a JSON pointer.

The one reader of the format (schema 2.x), for the backlog and for inference. Nothing raises, whatever the
text is: what cannot be understood is a problem, and what was understood is there. A list as it should be is
decoded in one go; only what is not is looked at field by field. Unknown fields are kept by whoever writes
(`json_text`); here they are only named, by `unknown_fields`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ralph.core.backlog.fields import check_fields, json_schema
from ralph.core.backlog.items import (
    MAX_ITEMS,
    STATUSES,
    AttemptRow,
    BacklogItem,
    FeatureList,
    ListDocument,
    Problem,
    ProtectedFile,
    Severity,
    find_cycles,
)

_BOM = b"\xef\xbb\xbf"
_MILD = frozenset({"title", "description", "status", "notes", "created_at", "override_reason", "question"})
_CODES = {"id": "bad_id", "title": "missing_field", "status": "bad_status", "proof": "proof"}
_LINKS = frozenset({"unknown_dependency", "dependency_cycle", "duplicate_id"})
_HINTS = {
    "id": "expected an id such as FEAT-001",
    "title": "an item needs a title",
    "status": f"expected {', '.join(STATUSES)}; taken as FAILING",
}


class _Found:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.items: list[BacklogItem] = []
        self.numbers: list[int] = []  # of each item in the file
        self.protected: tuple[ProtectedFile, ...] = ()

    def add(self, severity: Severity, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(severity, code, pointer, message))


def read_list(text: str | bytes) -> FeatureList:
    """The list that a text holds, with all that is wrong with it."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    data = data.removeprefix(_BOM)
    found = _Found()
    at = "" if data.lstrip()[:1] == b"[" else "items"
    try:
        if at:
            made = msgspec.json.decode(data, type=ListDocument)
            found.items, found.protected = list(made.items), made.protected_files
        else:
            found.items = msgspec.json.decode(data, type=list[BacklogItem])
        found.numbers = list(range(len(found.items)))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        if not _read_raw(found, data, at):
            found.add("CRITICAL", "parse_failure", "", f"not valid JSON: {error}")
    top = f"/{at}" if at else ""
    for number, item in zip(found.numbers, found.items, strict=True):
        if item.attempts or item.proof or item.status != "FAILING":
            _check_item(found, item, f"{top}/{number}")
    return _put_together(found, at, top)


def _read_raw(found: _Found, data: bytes, at: str) -> bool:
    """A document that is not as it should be, field by field; False when it is no JSON at all."""
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    rows = raw if not at else raw.get("items") if isinstance(raw, dict) else None
    if not isinstance(rows, list):
        found.add("CRITICAL", "no_items", "/items", "expected an object with a list 'items'")
        return True
    if at:
        good, wrong = check_fields(ListDocument, raw | {"items": []}, "")
        found.protected = msgspec.convert(good.get("protected_files", ()), tuple[ProtectedFile, ...])
        for pointer, message in wrong:
            code = "schema_version" if pointer == "/schema_version" else "wrong_type"
            found.add("CRITICAL", code, pointer, message)
    for number, row in enumerate(rows):
        place = f"{f'/{at}' if at else ''}/{number}"
        if not isinstance(row, dict):
            found.add("CRITICAL", "wrong_type", place, f"expected an object, found {repr(row)[:60]}")
            continue
        good, wrong = check_fields(BacklogItem, _usual_form(row), place)
        for pointer, message in wrong:
            key = pointer[len(place) + 1 :].partition("/")[0]
            code = (
                "unknown_criterion" if "/convergence_criteria/" in pointer else _CODES.get(key, "wrong_type")
            )
            found.add("WARNING" if key in _MILD else "CRITICAL", code, pointer, _HINTS.get(key, message))
        if "id" in good:
            found.items.append(
                msgspec.convert({"title": "(no title)", "status": "FAILING"} | good, BacklogItem)
            )
            found.numbers.append(number)
    return True


def _usual_form(row: dict[str, Any]) -> dict[str, Any]:
    """One text stands for a list of one, an object may hold a command, and a PRD may be named by its file."""
    made = dict(row)
    for key in ("acceptance_criteria", "verification", "dependencies", "prompt_parts"):
        made[key] = [row[key]] if isinstance(row.get(key), str) else row.get(key)
    if isinstance(made["verification"], list):
        made["verification"] = [
            one["command"] if isinstance(one, dict) and "command" in one else one
            for one in made["verification"]
        ]
    if isinstance(row.get("prd_reference"), str):
        made["prd_reference"] = {"file": row["prd_reference"]}
    return made


def _check_item(found: _Found, item: BacklogItem, at: str) -> None:
    """What types do not tell: state without its evidence, and fields that need each other."""
    if item.proof and not (item.proof_reason or "").strip():
        found.add("CRITICAL", "proof", f"{at}/proof", "\"none\" needs a text 'proof_reason'")
    proven = False
    for number, one in enumerate(item.attempts):
        whole = True
        for severity, code, key, message in attempt_problems(one):
            found.add(severity, code, f"{at}/attempts/{number}/{key}", message)
            whole = False
        proven = proven or (whole and one.get("result") == "PASSED")
    if item.status == "BLOCKED" and not item.override:
        found.add("CRITICAL", "blocked_without_reason", f"{at}/override_reason", "BLOCKED needs a reason")
    if item.status == "PASSING" and not item.override:
        if not proven:
            why = "PASSING needs a PASSED attempt with its evidence, or an override_reason"
            found.add("CRITICAL", "passing_without_evidence", f"{at}/status", why)
        if item.attempts and item.attempts[-1].get("result") != "PASSED":
            found.add("WARNING", "latest_not_passed", f"{at}/attempts", "the latest attempt is not PASSED")


def attempt_problems(one: dict[str, Any]) -> Iterator[tuple[Severity, str, str, str]]:
    """What an attempt lacks to be evidence: severity, code, field, sentence."""
    if one.get("result") == "IN_PROGRESS":  # nothing came of it yet
        one = one | {"evidence": None}
    try:
        made = msgspec.convert(one, AttemptRow)
    except msgspec.ValidationError:
        good, wrong = check_fields(AttemptRow, one, "")
        for pointer, message in wrong:
            yield "WARNING", f"attempt_{pointer[1:].partition('/')[0]}", pointer[1:], message
        if good.get("result") not in ("PASSED", "FAILED") or "evidence" in good or "evidence" in one:
            return
        made = AttemptRow("", "", good["result"])
    if made.result not in ("PASSED", "FAILED"):
        return
    if made.evidence is None:
        yield "WARNING", "attempt_evidence", "evidence", "a PASSED or FAILED attempt needs evidence"
    elif made.result == "PASSED" and not made.evidence.commands_run:
        yield "WARNING", "attempt_commands", "evidence/commands_run", "expected the commands that were run"


def is_evidence(attempt: dict[str, Any]) -> bool:
    """A PASSED attempt that is whole."""
    return attempt.get("result") == "PASSED" and next(attempt_problems(attempt), None) is None


_Row = dict[str, msgspec.Raw] | str | float | bool | list[msgspec.Raw] | None


def unknown_fields(data: bytes) -> list[Problem]:
    """Fields that are not part of the format, of a list that could be read."""
    data = data.removeprefix(_BOM)
    top = "" if data.lstrip()[:1] == b"[" else "/items"
    # Of two lists `items` the last one counts, whatever the first one is.
    whole = msgspec.json.decode(data, type=dict[str, msgspec.Raw])["items"] if top else data
    rows = msgspec.json.decode(whole, type=list[_Row])
    known = {one.encode_name for one in msgspec.structs.fields(BacklogItem)}
    return [
        Problem("INFO", "unknown_field", f"{top}/{number}/{key}", "not part of the format; it is kept")
        for number, row in enumerate(rows)
        if isinstance(row, dict) and not row.keys() <= known
        for key in sorted(row.keys() - known)
    ]


def _put_together(found: _Found, at: str, top: str) -> FeatureList:
    if len(found.items) > MAX_ITEMS:
        found.add("CRITICAL", "too_many", top, f"{len(found.items)} items, at most {MAX_ITEMS}")
    by_id: dict[str, BacklogItem] = {}
    index: dict[str, int] = {}
    ahead = False  # somebody waits for what comes later in the file: only then there may be a cycle
    for number, item in zip(found.numbers, found.items, strict=True):
        if item.id in by_id:
            words = f"'{item.id}' is already the id of {top}/{index[item.id]}"
            found.add("CRITICAL", "duplicate_id", f"{top}/{number}/id", words)
            continue
        for name in item.dependencies:
            ahead = ahead or name not in by_id
        by_id[item.id] = item
        index[item.id] = number
    if ahead:
        _check_links(found, by_id, index, top)
    return FeatureList(
        items=tuple(by_id.values()), problems=tuple(found.problems), protected=found.protected, at=at,
        by_id=by_id, index=index,
    )  # fmt: skip


def _check_links(found: _Found, by_id: dict[str, BacklogItem], index: dict[str, int], top: str) -> None:
    for item in by_id.values():
        for number, name in enumerate(item.dependencies):
            if name not in by_id:
                place = f"{top}/{index[item.id]}/dependencies/{number}"
                words = f"'{item.id}' waits for '{name}', which is not in the list"
                found.add("WARNING", "unknown_dependency", place, words)
    for cycle in find_cycles({name: one.dependencies for name, one in by_id.items() if one.dependencies}):
        words = f"items wait for each other: {' -> '.join((*cycle, cycle[0]))}"
        found.add("CRITICAL", "dependency_cycle", f"{top}/{index[cycle[0]]}/dependencies", words)


def reread_item(found: FeatureList, name: str, text: str) -> FeatureList | None:
    """The list after the results of one item changed to this text; None when all must be read again."""
    try:
        item = msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=BacklogItem)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if item.id != name or item.dependencies != found.by_id[name].dependencies:
        return None
    at, again = found.pointer(name), _Found()
    _check_item(again, item, at)
    kept = [one for one in found.problems if not f"{one.pointer}/".startswith(f"{at}/")]
    kept += [one for one in found.problems if one.code in _LINKS and one not in kept]
    by_id = found.by_id | {name: item}
    return msgspec.structs.replace(
        found, items=tuple(by_id.values()), by_id=by_id, problems=(*kept, *again.problems)
    )


def commands_of(
    text: str, wanted: Callable[[str], bool]
) -> tuple[list[tuple[str, str]], tuple[Problem, ...]]:
    """(id, command) of the items that are wanted, and what keeps the list from being read whole."""
    found = read_list(text)
    pairs = [(item.id, command) for item in found.items if wanted(item.id) for command in item.verification]
    return pairs, tuple(
        one for one in found.critical if one.code in ("parse_failure", "no_items", "wrong_type", "bad_id")
    )


def list_schema() -> dict[str, Any]:
    made = json_schema(ListDocument, "Backlog (feature_list.json), schema 2.x")
    attempt = json_schema(AttemptRow, "AttemptRow")
    made["$defs"] |= attempt.pop("$defs") | {
        "AttemptRow": {key: attempt[key] for key in attempt if key != "$schema"}
    }
    made["$defs"]["BacklogItem"]["properties"]["attempts"]["items"] = {"$ref": "#/$defs/AttemptRow"}
    return made
