"""Requirement documents (PRDs): as JSON by the schema, or as Markdown with front matter.

What is checkable in one becomes commands: code spans in acceptance criteria, and constraints that say how
they are checked. The rest is told to the agent. Nothing raises; all problems are named with their place.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields

from ralph.core.backlog.fields import check_fields, json_schema
from ralph.core.backlog.items import FeatureList, PrdLink, Problem
from ralph.core.text.markdown import plain, rows

ID = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-[0-9]+")
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


_Sentence = Annotated[str, Meta(min_length=10)]
_Sentences = Annotated[tuple[_Sentence, ...], Meta(min_length=1)]
_SHORT = {
    "id": "feature_id",
    "functional": "functional_requirements",
    "acceptance": "acceptance_criteria",
    "nonfunctional": "nonfunctional_requirements",
}


class PrdDocument(Struct, frozen=True, rename=_SHORT):
    """A requirement document, as it should be."""

    id: Annotated[str, Meta(pattern=f"^{ID.pattern}$")]
    title: Annotated[str, Meta(min_length=5)]
    overview: Annotated[str, Meta(min_length=20)]
    functional: _Sentences
    acceptance: _Sentences
    nonfunctional: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    version: Annotated[str, Meta(pattern=r"^(\d+\.\d+\.\d+([-+][\w.+-]+)?)?$")] = ""
    last_updated: Annotated[str, Meta(pattern=r"^(\d{4}-\d\d-\d\d.*)?$")] = ""


class Prd(Struct, frozen=True, kw_only=True):
    """A requirement document, as far as it could be read."""

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
        from ralph.core.criterion.find_commands import is_command  # with all tools: not for every list

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
    good, wrong = check_fields(PrdDocument, raw, "")
    hints = {"/feature_id": "expected an id such as FEAT-001 or BUG-LED-12"}
    mild = ("/version", "/last_updated")
    problems = tuple(
        Problem("WARNING" if at in mild else "CRITICAL", "prd", f"{path}#{at}", hints.get(at, words))
        for at, words in wrong
    )
    named = {one.name: good[one.encode_name] for one in fields(PrdDocument) if one.encode_name in good}
    lists = {  # a short sentence is told to the agent all the same
        one.name: tuple(text for text in value if isinstance(text, str))
        for one in fields(PrdDocument)
        if isinstance(value := raw.get(one.encode_name), list)
    }
    return Prd(path=path, problems=problems, **named | lists)


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


def prd_names(file: str) -> tuple[str, ...]:
    """The names under which a PRD that an item refers to may be found."""
    return (file, f"{file}.json", f"{file}.md")


def is_prd(name: str) -> bool:
    """The schema that lies beside them is none."""
    told = ("readme.md", "schema.json", "prd.schema.json")
    return name.endswith((".json", ".md")) and name.lower() not in told


def check_links(
    found: FeatureList, names: Collection[str], read: Callable[[str], Prd | None]
) -> tuple[list[Prd], list[Problem]]:
    """The PRDs that items refer to, and what is wrong: missing, wrong, stale, or nobody refers to it."""
    problems: list[Problem] = []
    prds: dict[str, Prd | None] = {}
    used: set[str] = set()
    for item in found.items:
        if item.prd is None:
            continue
        at = f"{found.pointer(item.id)}/prd_reference"
        used |= {*prd_names(item.prd.file)}
        if item.prd.file not in prds:
            prds[item.prd.file] = read(item.prd.file)
            problems += prd.problems if (prd := prds[item.prd.file]) else ()
        prd = prds[item.prd.file]
        if prd is None:
            words = f"'{item.id}' refers to '{item.prd.file}', which is not there"
            problems.append(Problem("CRITICAL", "prd_missing", f"{at}/file", words))
        elif stale := link_problem(prd, item.prd):
            problems.append(Problem("WARNING", "prd_stale", at, stale))
    orphans = [name for name in names if is_prd(name) and name not in used]
    problems += [Problem("WARNING", "prd_orphan", one, "no item refers to this PRD") for one in orphans]
    return [prd for prd in prds.values() if prd], problems


def link_problem(prd: Prd, link: PrdLink) -> str:
    """Why a reference to a PRD is stale; "" = it is not."""
    if link.version and prd.version and link.version != prd.version:
        return f"refers to version {link.version}, the PRD has {prd.version}"
    if link.last_updated and prd.last_updated and link.last_updated < prd.last_updated:
        return f"refers to the PRD of {link.last_updated}, it was updated {prd.last_updated}"
    return ""


def prd_schema() -> dict[str, Any]:
    return json_schema(PrdDocument, "Requirement document (PRD)")
