"""`feature_list.json`: its items, and everything that is wrong with it, each with a JSON pointer.

The one reader of the format (schema 2.x), for the backlog and for inference. Nothing raises, whatever the
text is: what cannot be understood is a problem, and what was understood is there. Unknown fields are kept by
whoever writes (`json_text`); here they are only named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from ralph.core.backlog.items import (
    CRITERIA,
    ID,
    MAX_ATTEMPTS,
    MAX_ITEMS,
    PARTS,
    RESULTS,
    STATUSES,
    BacklogItem,
    FeatureList,
    PrdLink,
    Problem,
    ProtectedFile,
    Severity,
    Status,
    find_cycles,
)


class _Reading:
    """Collects problems while values are taken out of an object."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def add(self, severity: Severity, code: str, pointer: str, message: str) -> None:
        self.problems.append(Problem(severity, code, pointer, message))

    def text(self, raw: dict[str, Any], key: str, at: str) -> str:
        value = raw.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        self.wrong(f"{at}/{key}", "text", value, "WARNING")
        return ""

    def texts(
        self, raw: dict[str, Any], key: str, at: str, severity: Severity = "CRITICAL"
    ) -> tuple[str, ...]:
        value = raw.get(key)
        if value is None:
            return ()
        found: list[str] = []
        for number, one in enumerate(
            [value] if isinstance(value, str) else value if isinstance(value, list) else ()
        ):
            told = one.get("command") if isinstance(one, dict) and key == "verification" else one
            if isinstance(told, str) and told.strip():
                found.append(told)
            else:
                self.wrong(f"{at}/{key}/{number}", "text that is not empty", one, severity)
        if not isinstance(value, str | list):
            self.wrong(f"{at}/{key}", "a list of texts", value, severity)
        return tuple(found)

    def number(self, raw: dict[str, Any], key: str, at: str, default: int, least: int) -> int:
        value = raw.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self.wrong(f"{at}/{key}", f"a whole number of at least {least}", value, "CRITICAL")
        return default

    def wrong(self, pointer: str, expected: str, value: object, severity: Severity) -> None:
        seen = repr(value)
        seen = seen if len(seen) <= 60 else f"{seen[:57]}…"
        self.add(severity, "wrong_type", pointer, f"expected {expected}, found {seen}")


def read_list(text: str) -> FeatureList:
    """The list that a text holds, with all that is wrong with it."""
    reading = _Reading()
    try:
        data = msgspec.json.decode(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        reading.add("CRITICAL", "parse_failure", "", f"not valid JSON: {error}")
        return FeatureList(problems=tuple(reading.problems))
    key, rows = (
        ("", data)
        if isinstance(data, list)
        else ("items", data.get("items") if isinstance(data, dict) else None)
    )
    if not isinstance(rows, list):
        reading.add("CRITICAL", "no_items", "/items", "expected an object with a list 'items'")
        return FeatureList(problems=tuple(reading.problems))
    if len(rows) > MAX_ITEMS:
        reading.add("CRITICAL", "too_many", f"/{key}", f"{len(rows)} items, at most {MAX_ITEMS}")
    top = f"/{key}" if key else ""
    items = [
        item for number, raw in enumerate(rows) if (item := _item(reading, raw, number, f"{top}/{number}"))
    ]
    by_id: dict[str, BacklogItem] = {}
    for item in items:
        if item.id in by_id:
            reading.add(
                "CRITICAL",
                "duplicate_id",
                f"{top}/{item.index}/id",
                f"'{item.id}' is already the id of {top}/{by_id[item.id].index}",
            )
        by_id.setdefault(item.id, item)
    head = data if isinstance(data, dict) else {}
    version = str(head.get("schema_version", ""))
    if version and not version.startswith("2"):
        reading.add("CRITICAL", "schema_version", "/schema_version", f"expected 2.x, found '{version[:40]}'")
    _check_dependencies(reading, items, by_id, top)
    protected = tuple(_protected_files(reading, head.get("protected_files")))
    return FeatureList(
        items=tuple(by_id.values()),
        problems=tuple(reading.problems),
        version=version,
        protected=protected,
        at=key,
        by_id=by_id,
    )


_KNOWN = frozenset(
    """id title description acceptance_criteria verification status priority dependencies attempts notes
    override_reason created_at prd_reference ralph_loop proof proof_reason prompt_parts
    nonfunctional_requirements""".split()  # noqa: SIM905
)


def _item(reading: _Reading, raw: object, number: int, at: str) -> BacklogItem | None:
    if not isinstance(raw, dict):
        reading.wrong(at, "an object", raw, "CRITICAL")
        return None
    name = raw.get("id")
    if not isinstance(name, str) or not ID.fullmatch(name) or len(name) > 60:
        reading.add(
            "CRITICAL", "bad_id", f"{at}/id", f"expected an id such as FEAT-001, found {str(name)[:60]!r}"
        )
        return None
    for key in raw.keys() - _KNOWN:
        reading.add("INFO", "unknown_field", f"{at}/{key}", "not part of the format; it is kept")
    title = reading.text(raw, "title", at)
    if not title.strip():
        reading.add("WARNING", "missing_field", f"{at}/title", "an item needs a title")
    status: Status = raw.get("status", "")
    if status not in STATUSES:
        reading.add(
            "WARNING", "bad_status", f"{at}/status", f"expected {', '.join(STATUSES)}; taken as FAILING"
        )
        status = "FAILING"
    priority = raw.get("priority")
    if priority is not None and (not isinstance(priority, int) or isinstance(priority, bool)):
        reading.wrong(f"{at}/priority", "a whole number", priority, "CRITICAL")
        priority = None
    loop = _object(reading, raw, "ralph_loop", at)
    enabled = loop.get("enabled", False)
    if not isinstance(enabled, bool):
        reading.wrong(f"{at}/ralph_loop/enabled", "true or false", enabled, "CRITICAL")
    item = BacklogItem(
        id=name,
        index=number,
        title=title,
        description=reading.text(raw, "description", at),
        acceptance=reading.texts(raw, "acceptance_criteria", at),
        verification=reading.texts(raw, "verification", at),
        status=status,
        priority=priority,
        dependencies=reading.texts(raw, "dependencies", at),
        enabled=enabled is True,
        max_attempts=reading.number(loop, "max_iterations", f"{at}/ralph_loop", MAX_ATTEMPTS, 1),
        iteration=reading.number(loop, "current_iteration", f"{at}/ralph_loop", 0, 0),
        criteria=_criteria(reading, loop, f"{at}/ralph_loop"),
        prd=_prd_link(reading, raw, at),
        attempts=tuple(_attempts(reading, raw, at)),
        override=reading.text(raw, "override_reason", at),
        notes=raw["notes"] if isinstance(raw.get("notes"), str) else "",
        no_proof=_no_proof(reading, raw, at),
        parts=_parts(reading, raw, at),
        created=reading.text(raw, "created_at", at),
    )
    _check_state(reading, item, at)
    return item


def _object(reading: _Reading, raw: dict[str, Any], key: str, at: str) -> dict[str, Any]:
    value = raw.get(key)
    if value is not None and not isinstance(value, dict):
        reading.wrong(f"{at}/{key}", "an object", value, "CRITICAL")
    return value if isinstance(value, dict) else {}


def _criteria(reading: _Reading, loop: dict[str, Any], at: str) -> tuple[str, ...]:
    found = _object(reading, loop, "convergence_criteria", at)
    for key, value in found.items():
        if key not in CRITERIA:
            expected = f"is none of {', '.join(CRITERIA)}; write a command under 'verification' instead"
            reading.add(
                "CRITICAL", "unknown_criterion", f"{at}/convergence_criteria/{key}", f"'{key}' {expected}"
            )
        elif not isinstance(value, bool):
            reading.wrong(f"{at}/convergence_criteria/{key}", "true or false", value, "CRITICAL")
    return tuple(key for key in CRITERIA if found.get(key) is True)


def _prd_link(reading: _Reading, raw: dict[str, Any], at: str) -> PrdLink | None:
    value = raw.get("prd_reference")
    found = {"file": value} if isinstance(value, str) else _object(reading, raw, "prd_reference", at)
    if not found:
        return None
    file = found.get("file")
    if not isinstance(file, str) or not file or file.startswith("/") or ".." in file.split("/"):
        reading.wrong(f"{at}/prd_reference/file", "a path below the folder of PRDs", file, "CRITICAL")
        return None
    return PrdLink(file, str(found.get("version") or ""), str(found.get("last_updated") or ""))


def _no_proof(reading: _Reading, raw: dict[str, Any], at: str) -> str:
    proof, reason = raw.get("proof"), raw.get("proof_reason")
    if proof is None:
        return ""
    if proof == "none" and isinstance(reason, str) and reason.strip():
        return reason
    reading.add("CRITICAL", "proof", f"{at}/proof", "expected \"none\" together with a text 'proof_reason'")
    return ""


def _parts(reading: _Reading, raw: dict[str, Any], at: str) -> tuple[str, ...]:
    found = reading.texts(raw, "prompt_parts", at)
    for one in found:
        if one not in PARTS:
            reading.add(
                "CRITICAL", "prompt_parts", f"{at}/prompt_parts", f"'{one}' is none of {', '.join(PARTS)}"
            )
    return tuple(one for one in found if one in PARTS)


def _attempts(reading: _Reading, raw: dict[str, Any], at: str) -> Iterator[dict[str, Any]]:
    value = raw.get("attempts")
    if value is not None and not isinstance(value, list):
        reading.wrong(f"{at}/attempts", "a list", value, "CRITICAL")
        return
    for number, one in enumerate(value or ()):
        place = f"{at}/attempts/{number}"
        if not isinstance(one, dict):
            reading.wrong(place, "an object", one, "CRITICAL")
            continue
        yield one
        for severity, code, key, message in attempt_problems(one):
            reading.add(severity, code, f"{place}/{key}", message)


def attempt_problems(one: dict[str, Any]) -> Iterator[tuple[Severity, str, str, str]]:
    """What an attempt lacks to be evidence: severity, code, field, sentence."""
    if one.get("result") not in RESULTS:
        yield "WARNING", "attempt_result", "result", f"expected one of {', '.join(RESULTS)}"
    if not isinstance(one.get("run_id"), str) or not one["run_id"]:
        yield "WARNING", "attempt_run_id", "run_id", "an attempt needs a run_id"
    if not isinstance(one.get("timestamp"), str) or len(one["timestamp"]) < 19:
        yield "WARNING", "attempt_timestamp", "timestamp", "expected an ISO-8601 time"
    if one.get("result") not in ("PASSED", "FAILED"):
        return
    evidence = one.get("evidence")
    if not isinstance(evidence, dict):
        yield "WARNING", "attempt_evidence", "evidence", "a PASSED or FAILED attempt needs evidence"
        return
    commands = evidence.get("commands_run")
    if not isinstance(commands, list) or (one["result"] == "PASSED" and not commands):
        yield "WARNING", "attempt_commands", "evidence/commands_run", "expected the commands that were run"
    if not isinstance(evidence.get("results_summary"), str) or not evidence["results_summary"].strip():
        yield "WARNING", "attempt_summary", "evidence/results_summary", "expected a summary of the results"


def _check_state(reading: _Reading, item: BacklogItem, at: str) -> None:
    passed = any(one.get("result") == "PASSED" and not [*attempt_problems(one)] for one in item.attempts)
    if item.status == "PASSING" and not passed and not item.override:
        why = "PASSING needs a PASSED attempt with its evidence, or an override_reason"
        reading.add("CRITICAL", "passing_without_evidence", f"{at}/status", why)
    if item.status == "BLOCKED" and not item.override:
        reading.add("CRITICAL", "blocked_without_reason", f"{at}/override_reason", "BLOCKED needs a reason")
    if (
        item.status == "PASSING"
        and item.attempts
        and item.attempts[-1].get("result") != "PASSED"
        and not item.override
    ):
        reading.add("WARNING", "latest_not_passed", f"{at}/attempts", "the latest attempt is not PASSED")


def _protected_files(reading: _Reading, value: Any) -> Iterator[ProtectedFile]:
    if value is not None and not isinstance(value, list):
        reading.wrong("/protected_files", "a list", value, "CRITICAL")
        return
    for number, one in enumerate(value or ()):
        at = f"/protected_files/{number}"
        if not isinstance(one, dict) or not isinstance(one.get("path"), str):
            reading.wrong(at, "an object with a path", one, "CRITICAL")
            continue
        tests = reading.texts(one, "required_tests", at)
        yield ProtectedFile(one["path"], reading.text(one, "criticality", at), tests)


def _check_dependencies(
    reading: _Reading, items: list[BacklogItem], by_id: dict[str, BacklogItem], top: str
) -> None:
    for item in items:
        for number, name in enumerate(item.dependencies):
            if name not in by_id:
                place = f"{top}/{item.index}/dependencies/{number}"
                reading.add(
                    "CRITICAL",
                    "unknown_dependency",
                    place,
                    f"'{item.id}' needs '{name}', which is not in the list",
                )
    for cycle in find_cycles({name: one.dependencies for name, one in by_id.items()}):
        place = f"{top}/{by_id[cycle[0]].index}/dependencies"
        reading.add(
            "CRITICAL",
            "dependency_cycle",
            place,
            f"items wait for each other: {' -> '.join((*cycle, cycle[0]))}",
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
