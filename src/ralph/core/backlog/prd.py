"""Requirement documents (PRDs): as JSON by the schema, or as Markdown with front matter.

What is checkable in one becomes commands: code spans in acceptance criteria, and constraints that say how
they are checked. The rest is told to the agent. Nothing raises; all problems are named with their place.
"""

from __future__ import annotations

import re
import shlex
from typing import Any

import msgspec
from msgspec import Struct

from ralph.core.backlog.items import Problem, Severity
from ralph.core.criterion.find_commands import is_command
from ralph.core.text.markdown import plain, rows

ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-[0-9]+")
VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][\w.+-]+)?")
_TICKED = re.compile(r"`([^`\n]{2,500})`")
_LISTS = ("functional_requirements", "acceptance_criteria", "nonfunctional_requirements", "constraints")
_HEADINGS = {
    "overview": "overview",
    "summary": "overview",
    "functional requirements": "functional_requirements",
    "acceptance criteria": "acceptance_criteria",
    "nonfunctional requirements": "nonfunctional_requirements",
    "non-functional requirements": "nonfunctional_requirements",
    "constraints": "constraints",
}
# "forbid: REGEX in PATH …", "require: REGEX in PATH …", "run: COMMAND"
_CONSTRAINT = re.compile(r"(?:[\w -]{1,60}:\s+)?(forbid|require|run):\s*(.+)", re.IGNORECASE)


class Prd(Struct, frozen=True, kw_only=True):
    path: str
    id: str = ""
    title: str = ""
    overview: str = ""
    functional: tuple[str, ...] = ()
    acceptance: tuple[str, ...] = ()
    nonfunctional: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    version: str = ""
    last_updated: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def commands(self) -> tuple[str, ...]:
        """Commands that its acceptance criteria name."""
        spans = (span for text in self.acceptance for span in _TICKED.findall(text))
        return tuple(dict.fromkeys(span.strip() for span in spans if is_command(span.strip())))

    @property
    def guards(self) -> dict[str, str]:
        """Constraints that a command checks -> the command."""
        made = {text: constraint_command(text) for text in self.constraints}
        return {text: command for text, command in made.items() if command}


def constraint_command(text: str) -> str:
    """The command that is green while a constraint holds; "" when no command can tell."""
    found = _CONSTRAINT.fullmatch(text.strip())
    if found is None:
        return ""
    kind, rest = found[1].lower(), found[2].strip()
    if kind == "run":
        return rest
    pattern, _, paths = rest.rpartition(" in ") if " in " in rest else (rest, "", ".")
    where = " ".join(shlex.quote(path) for path in paths.split())
    # grep says 2 for a path that is not there: neither forbidden nor required text was looked for.
    look = f"grep -rnIE --exclude-dir=.git -e {shlex.quote(pattern)} -- {where}"
    return f"{look}; test $? -eq 1" if kind == "forbid" else look


def read_prd(text: str, path: str) -> Prd:
    """The document, with everything that is wrong with it."""
    if path.endswith((".md", ".markdown")):
        raw, trouble = _from_markdown(text), ""
    else:
        raw, trouble = _from_json(text)
    if trouble:
        return Prd(path=path, problems=(Problem("CRITICAL", "prd_unreadable", path, trouble),))
    problems: list[Problem] = []

    def add(pointer: str, words: str, severity: Severity = "CRITICAL") -> None:
        problems.append(Problem(severity, "prd", f"{path}#/{pointer}", words))

    lists: dict[str, tuple[str, ...]] = {}
    for key in _LISTS:
        value = raw.get(key, [])
        texts = [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
        if not isinstance(value, list) or len(texts) != len(value):
            add(key, "expected a list of texts")
        if key in _LISTS[:2]:
            if not texts:
                add(key, "at least one is required")
            for number, one in enumerate(texts):
                if len(one) < 10:
                    add(f"{key}/{number}", f"expected at least 10 characters, found {one!r}")
        lists[key] = tuple(texts)
    words = {key: raw.get(key, "") for key in ("feature_id", "title", "overview", "version", "last_updated")}
    for key, value in words.items():
        if not isinstance(value, str):
            add(key, "expected text")
            words[key] = ""
    if not ID.fullmatch(words["feature_id"]):
        add(
            "feature_id", f"expected an id such as FEAT-001 or BUG-LED-12, found {words['feature_id'][:60]!r}"
        )
    for key, least in (("title", 5), ("overview", 20)):
        if len(words[key]) < least:
            add(key, f"expected at least {least} characters")
    if words["version"] and not VERSION.fullmatch(words["version"]):
        add("version", "expected a version such as 1.0.0", "WARNING")
    return Prd(
        path=path,
        id=words["feature_id"],
        title=words["title"],
        overview=words["overview"],
        functional=lists["functional_requirements"],
        acceptance=lists["acceptance_criteria"],
        nonfunctional=lists["nonfunctional_requirements"],
        constraints=lists["constraints"],
        version=words["version"],
        last_updated=words["last_updated"],
        problems=tuple(problems),
    )


def _from_json(text: str) -> tuple[dict[str, Any], str]:
    try:
        data = msgspec.json.decode(text.removeprefix("\ufeff").encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return {}, f"not valid JSON: {error}"
    return (data, "") if isinstance(data, dict) else ({}, "expected an object")


def _from_markdown(text: str) -> dict[str, Any]:
    """Front matter of `key: value` lines, then a section for each list."""
    raw: dict[str, Any] = {key: [] for key in _LISTS}
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    body = lines
    if lines and lines[0].strip() == "---" and "---" in (line.strip() for line in lines[1:]):
        end = next(number for number, line in enumerate(lines[1:], 1) if line.strip() == "---")
        for line in lines[1:end]:
            key, colon, value = line.partition(":")
            if colon and key.strip().isidentifier():
                raw[key.strip()] = value.strip().strip("\"'")
        body = lines[end + 1 :]
    section, overview = "", []
    for row in rows("\n".join(body)):
        if row.kind == "heading":
            section = _HEADINGS.get(plain(row.text).lower().strip(" :"), "")
            if not section and row.level == 1:
                raw.setdefault("title", plain(row.text))
        elif section == "overview" and row.kind == "text":
            overview.append(row.text)
        elif section in _LISTS and row.kind in ("bullet", "box"):
            raw[section].append(row.text)
        elif section in _LISTS and row.kind == "text" and raw[section] and row.indent:
            raw[section][-1] += f" {row.text}"
    raw.setdefault("overview", " ".join(overview))
    return raw


def link_problem(prd: Prd, version: str, last_updated: str) -> str:
    """Why a reference to a PRD is stale; "" = it is not."""
    if version and prd.version and version != prd.version:
        return f"refers to version {version}, the PRD has {prd.version}"
    if last_updated and prd.last_updated and last_updated < prd.last_updated:
        return f"refers to the PRD of {last_updated}, it was updated {prd.last_updated}"
    return ""
