"""Stories in JSON as plan items: the shapes in which PRDs, feature lists and task files are commonly written.

A list of objects, or an object that holds one under a usual name. Field names are matched without case and
underscores. `passes: true` makes an item done: whoever imports decides whether that is believed. Fields that
are not in the table are named, each once. Numbers as priority are levels up to 3, and an order beyond.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ralph.core.model.plan.items import (
    HIGH,
    ID,
    LOW,
    MEDIUM,
    Item,
    Size,
    State,
    declared_reason,
    id_of,
    line,
    normal_item,
)
from ralph.core.model.verdict import Finding
from ralph.core.plan.import_words import (
    Imported,
    depends_in,
    finish_import,
    priority_word,
    size_word,
    state_word,
    unread_line,
)
from ralph.core.specs.parse import CRITERION_ID

LISTS = (
    "userstories",
    "stories",
    "features",
    "tasks",
    "items",
    "requirements",
    "backlog",
    "featurelist",
    "issues",
)
SUBTASKS = ("subtasks", "children", "substories")
MAX_DEPTH = 4
MAX_ITEMS = 50_000
# meaning -> how the field is called, in order of preference
FIELDS: dict[str, tuple[str, ...]] = {
    "id": ("id", "key", "storyid", "taskid", "featureid", "number"),
    "title": ("title", "name", "summary", "feature", "story", "task"),
    "description": ("description", "details", "userstory", "action", "persona", "benefit"),
    "criteria": (
        "acceptancecriteria",
        "acceptance",
        "criteria",
        "steps",
        "verification",
        "teststrategy",
        "successcriteria",
    ),
    "priority": ("priority", "rank", "severity"),
    "size": ("size", "estimate", "effort", "complexity", "storypoints"),
    "state": ("status", "state"),
    "passes": ("passes", "passed", "done", "complete", "completed", "implemented"),
    "after": ("dependencies", "dependson", "depends", "blockedby", "after", "requires"),
    "notes": ("notes", "note", "hints", "technicalnotes", "context"),
    "optional": ("optional",),
    "human": ("human", "manual", "requireshuman"),
    "proof": ("proof",),
    "reason": ("proofreason", "noproofreason"),
}
_JSON = re.compile(r"[\ufeff\s]*(?:\{|\[\s*(?:[{\[\"]|\]?\s*$))")
_MEANING = {name: meaning for meaning, names in FIELDS.items() for name in names}


class _StoryDraft(NamedTuple):
    item: Item
    number: float | None  # its priority, where that is a number


def looks_like_json(text: str) -> bool:
    """A JSON document begins with a brace, or with a bracket that is no box, link or label."""
    return _JSON.match(text) is not None


def read_stories(text: str, path: str) -> Imported:
    try:
        data = msgspec.json.decode(text.lstrip("\ufeff").encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return finish_import([], [unread_line(path, 1, f"the JSON cannot be read: {error}")], path)
    unread: list[Finding] = []
    stories = list(story_objects(data, 0))[:MAX_ITEMS]
    if not stories:
        unread.append(unread_line(path, 1, f"no list under any of: {', '.join(LISTS[:6])}"))
    fields: dict[str, int] = {}
    drafts: list[_StoryDraft] = []
    for number, story in enumerate(stories, 1):
        if not isinstance(story, dict):
            unread.append(unread_line(path, 0, f"story {number} is no object: {story}"))
            continue
        drafts += _items(story, fields, unread, path)
    unread += [unread_line(path, 0, f"field '{name}' ({count} times)") for name, count in fields.items()]
    return finish_import(_rank_drafts(drafts), unread, path)


def story_objects(data: Any, depth: int) -> Iterator[Any]:
    """The first list of stories, or those one level down (a list for each tag, epic or milestone)."""
    if isinstance(data, list):
        if any(isinstance(one, dict) for one in data):
            for one in data:
                inner = (
                    list(story_objects(one, depth + 1))
                    if isinstance(one, dict) and not _has_title(one)
                    else []
                )
                yield from inner or [one]
        return
    if not isinstance(data, dict) or depth >= MAX_DEPTH:
        return
    named: list[Any] = [
        value for name, value in data.items() if fold_name(name) in LISTS and isinstance(value, list)
    ]
    for value in named or [value for value in data.values() if isinstance(value, dict | list)]:
        yield from story_objects(value, depth + 1)


def _has_title(story: dict[Any, Any]) -> bool:
    return any(_MEANING.get(fold_name(name)) in ("title", "description") for name in story) and not any(
        fold_name(name) in LISTS for name in story
    )


def fold_name(name: object) -> str:
    return str(name).replace("_", "").replace("-", "").replace(" ", "").lower()


def _items(
    story: dict[Any, Any], fields: dict[str, int], unread: list[Finding], path: str, above: str = ""
) -> list[_StoryDraft]:
    """The item of a story, after those of its subtasks."""
    found: dict[str, list[Any]] = {}
    below: list[Any] = []
    for name, value in story.items():
        meaning = _MEANING.get(fold_name(name))
        if fold_name(name) in SUBTASKS and isinstance(value, list) and not above:
            below = value
        elif meaning:
            found.setdefault(meaning, []).append(value)
        else:
            fields[line(str(name))] = fields.get(line(str(name)), 0) + 1
    made = _one(found, unread, path, above)
    if made is None:
        return []
    item = made.item
    children = [
        child
        for one in below
        if isinstance(one, dict)
        for child in _items(one, fields, unread, path, item.id)
    ]
    names = dict.fromkeys(child.item.id for child in children)
    for at, child in enumerate(children):
        after = tuple(_sibling(one, item.id, names) for one in child.item.after)
        children[at] = _StoryDraft(replace(child.item, after=after), child.number)
    return [*children, _StoryDraft(replace(item, after=(*item.after, *names)), made.number)]


def _sibling(name: str, above: str, names: dict[str, None]) -> str:
    return f"{above}.{name}" if f"{above}.{name}" in names else name


def _one(found: dict[str, list[Any]], unread: list[Finding], path: str, above: str) -> _StoryDraft | None:
    texts = [line(str(one)) for one in found.get("description", ()) if isinstance(one, str) and one.strip()]
    titles = [line(str(one)) for one in found.get("title", ()) if isinstance(one, str) and one.strip()]
    title = titles[0] if titles else texts[0] if texts else ""
    name = _name(found.get("id", [""])[0])
    if not title and not name:
        unread.append(unread_line(path, 0, "a story without a title"))
        return None
    criteria = [one for value in found.get("criteria", ()) for one in _strings(value)]
    notes = [text for text in (*titles[1:], *texts) if text != title]
    notes += [f"acceptance: {one}" for one in criteria]
    notes += [one for value in found.get("notes", ()) for one in _strings(value)]
    told = found.get("priority", [None])[0]
    number = float(told) if isinstance(told, int | float) and not isinstance(told, bool) else None
    rank = priority_word(told) if isinstance(told, str) else None
    notes += [f"priority: {line(told)}"] if isinstance(told, str) and told.strip() and rank is None else []
    size: Size = next((size_word(str(one)) for one in found.get("size", ())), "")
    notes += [f"size: {line(str(one))}" for one in found.get("size", ()) if not size and one is not None]
    no_proof = _no_proof(found, notes, unread, path)
    item = Item(
        id=f"{above}.{name}" if above and name else name or id_of(title),
        title=title or name,
        priority=MEDIUM if rank is None else rank,
        size=size,
        after=tuple(_name(one) for value in found.get("after", ()) for one in _references(value)),
        serves=tuple(hit[0] for one in criteria if (hit := CRITERION_ID.match(one))),
        state=_state(found, unread, path),
        optional=any(one is True for one in found.get("optional", ())),
        human=any(one is True for one in found.get("human", ())),
        no_proof=no_proof,
        notes=tuple(notes),
    )
    return _StoryDraft(normal_item(item), number)


def _state(found: dict[str, list[Any]], unread: list[Finding], path: str) -> State:
    for value in found.get("state", ()):
        state = state_word(str(value))
        if state:
            return state
        unread.append(unread_line(path, 0, f"status '{line(str(value))}'"))
    return "done" if any(one is True for one in found.get("passes", ())) else "open"


def _no_proof(found: dict[str, list[Any]], notes: list[str], unread: list[Finding], path: str) -> str:
    """Why nothing proves it: "none" with "proof_reason", or both in one text. Other proofs are notes."""
    told = [one for value in found.get("proof", ()) for one in _strings(value)]
    said = [one for value in found.get("reason", ()) for one in _strings(value)]
    reasons = [declared_reason(f"proof: {one}") for one in told]
    if all(one is None for one in reasons):
        notes += [f"proof: {one}" for one in told] + [f"proof reason: {one}" for one in said]
        return ""
    reason = next((one for one in (*reasons, *said) if one), "")
    if not reason:
        unread.append(unread_line(path, 0, "'proof: none' without a reason: say it as 'proof_reason'"))
    return reason


def _rank_drafts(drafts: list[_StoryDraft]) -> list[Item]:
    """Numbers as priority: up to 3 they are levels, the lowest first; beyond that they give the order."""
    numbers = [draft.number for draft in drafts if draft.number is not None]
    if not numbers:
        return [draft.item for draft in drafts]
    if max(numbers) > LOW + 1:
        last = max(numbers)
        return [
            draft.item for draft in sorted(drafts, key=lambda one: last if one.number is None else one.number)
        ]
    first = 0 if min(numbers) < 1 else 1
    return [
        draft.item
        if draft.number is None
        else replace(draft.item, priority=min(max(int(draft.number) - first, HIGH), LOW))
        for draft in drafts
    ]


def _name(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    return text if ID.fullmatch(text) else (id_of(text) if text else "")


def _strings(value: Any) -> list[str]:
    """Text out of a string, a list, or objects with a description."""
    if isinstance(value, str):
        return [made] if (made := line(value)) else []
    if isinstance(value, list):
        return [text for one in value for text in _strings(one)]
    if isinstance(value, dict):
        chosen = [
            value[name]
            for name in ("id", "description", "text", "criterion", "title", "step")
            if name in value
        ]
        return [line(": ".join(str(one) for one in chosen))] if chosen else [line(str(value))]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _references(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return list(depends_in(value)) if isinstance(value, str) else [value]
