"""User stories in a requirement document: "As a P, I want A, so that B", or the stories of a prd.json.

The status is what the document says. It is no proof: only an item of the backlog has one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ralph.core.backlog.prd import read_prd
from ralph.core.plan.import_json import FIELDS, fold_name, looks_like_json, story_objects
from ralph.core.plan.import_words import state_word
from ralph.core.text.clean import one_line
from ralph.core.text.markdown import plain, rows

_WIDTH = 2000
_GOES_ON = re.compile(r"(?:I (?:want|need|would like)|so that|in order to)\b", re.IGNORECASE)
_STORY = re.compile(
    r"(?:(?P<title>[^:]{1,100}):\s+)?as (?:an?|the)\s+(?P<persona>.+?),?\s+I\s+(?:want|need|would like)\s+"
    r"(?:to\s+)?(?P<action>.+?)(?:,?\s+(?:so that|in order to)\s+(?P<benefit>.+?))?[.\s]*",
    re.IGNORECASE,
)
_Draft = tuple[str, str, dict[str, str], bool]  # where, its words, what has a name, should it be a story


class FoundStories(Struct, frozen=True):
    stories: tuple[dict[str, str], ...]  # title, persona, action, benefit, status
    not_understood: tuple[str, ...]


def find_stories(text: str, path: str) -> FoundStories:
    """All stories, and what should be one and is none. Nothing raises, whatever the text is."""
    found, notes = [], []
    for at, words, named, expected in (_in_json if looks_like_json(text) else _in_markdown)(text, path):
        hit = _STORY.fullmatch(words)
        said = (hit.groupdict("") if hit else {}) | {key: value for key, value in named.items() if value}
        if said.get("persona") and said.get("action"):
            said = {"title": said["action"], "benefit": ""} | {key: one for key, one in said.items() if one}
            found.append({key: said[key] for key in ("title", "persona", "action", "benefit", "status")})
            notes += [] if said["benefit"] else [f'{at}: no "so that …": {one_line(said["title"], 80)}']
        elif expected or words[:5].lower().startswith(("as a ", "as an")):
            notes.append(f"{at}: not understood: {one_line(words, 80)}")
    return FoundStories(tuple(found), tuple(notes if found or notes else [f"{path}: no user story in it"]))


def _in_json(text: str, path: str) -> Iterator[_Draft]:
    try:
        data = msgspec.json.decode(text.lstrip("\ufeff").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        yield path, f"not valid JSON: {error}", {}, True
        return
    for number, story in enumerate(story_objects(data, 0), 1):
        raw = {fold_name(name): value for name, value in story.items()} if isinstance(story, dict) else {}
        texts = {name: plain(value, _WIDTH) for name, value in raw.items() if isinstance(value, str)}
        told = [texts[name] for name in (*FIELDS["description"], *FIELDS["title"]) if name in texts]
        named = {name: texts.get(name, "") for name in ("persona", "action", "benefit")}
        named["title"] = next((texts[name] for name in FIELDS["title"] if name in texts), "")
        done = any(raw.get(name) is True for name in FIELDS["passes"])
        named["status"] = state_word(texts.get("status", "")) or ("done" if done else "open")
        best = next((one for one in told if _STORY.fullmatch(one)), told[0] if told else str(story))
        yield f"{path}: story {number}", best, named, True
    prd = read_prd(text, "prd.json")  # by the schema: its sentences
    for one in (*prd.functional, *prd.acceptance, *prd.nonfunctional):
        yield path, plain(one, _WIDTH), {"status": "open"}, False


def _in_markdown(text: str, path: str) -> Iterator[_Draft]:
    """Bullets and paragraphs; what goes on with "I want" or "so that" belongs to the one before."""
    section, title, draft = "", "", None
    for row in rows(f"{text}\n# "):
        words = plain(row.text, _WIDTH)
        if draft and (row.kind in ("text", "quote") or _GOES_ON.match(words)):
            draft = (draft[0], f"{draft[1]} {words}"[:_WIDTH], *draft[2:])
            continue
        if draft:
            yield draft
        draft = None
        if row.kind == "heading":
            section, title = words.lower(), words if row.level > 2 and "stories" not in words.lower() else ""
        elif row.kind in ("text", "quote", "bullet", "box"):
            listed = row.kind in ("bullet", "box") and not row.indent and "stories" in section
            named = {"title": title, "status": "done" if row.mark in ("x", "X") else "open"}
            draft = (f"{path}:{row.line}", words, named, listed)
