"""A plan as the bytes of its file, and the small edits that keep the file in step with it.

A plan is laid out as a whole when it is made. From then on every tick is one byte at a known place, and work
that was found goes to the end, so that an iteration costs the same for ten items and for ten thousand. The
edits are values; whoever owns the file performs them. Groups are put in order at the next layout.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import GROUPS, MARKS, Item, Plan, State, group_of, normal, normal_item
from ralph.errors import Bug

_TITLE = "# Implementation plan"
_FOUND = "\n## Found\n\n"


class Sheet(Struct, frozen=True):
    """Where things stand in a laid-out file: byte offsets, from 0."""

    size: int
    marks: dict[str, int]  # item -> its box
    found: dict[str, int]  # the same for items that were added since
    specs: tuple[int, int]  # offset and length of each digest
    code: tuple[int, int]


class LineEdit(Struct, frozen=True):
    """Put these bytes at this place: over as many others, or at the end."""

    at: int
    data: bytes


def render_plan(plan: Plan) -> str:
    return lay_out(plan)[0].decode("utf-8")


def lay_out(plan: Plan) -> tuple[bytes, Sheet]:
    """The whole file, and where everything in it stands."""
    plan = normal(plan)
    head = f"{_TITLE}\n\n<!-- ralph plan: specs={plan.specs} code={plan.code} -->\n"
    specs = head.index("specs=") + 6
    code = head.rindex("code=") + 5
    parts, marks, size = [head.encode()], dict[str, int](), len(head)
    group = -1
    for item in plan.items:
        if group_of(item) != group:
            group = group_of(item)
            parts.append(f"\n## {GROUPS[group]}\n\n".encode())
            size += len(parts[-1])
        marks.setdefault(item.id, size + 3)
        parts.append(item_lines(item))
        size += len(parts[-1])
    parts.append(_rest(plan).encode())
    data = b"".join(parts)
    return data, Sheet(len(data), marks, {}, (specs, len(plan.specs)), (code, len(plan.code)))


def item_lines(item: Item) -> bytes:
    notes = f"  - Proof: none because {item.no_proof}\n" if item.no_proof else ""
    notes += "".join(f"  > {note}\n" for note in item.notes)
    return f"- [{MARKS[item.state]}] `{item.id}`: {item.title} ({tags_of(item)})\n{notes}".encode()


def tags_of(item: Item) -> str:
    """P0, S, serves AUTH-1 AUTH-2, after store."""
    words = [f"P{item.priority}"]
    words += [item.size] if item.size else []
    words += [f"serves {' '.join(item.serves)}"] if item.serves else []
    words += [f"after {' '.join(item.after)}"] if item.after else []
    for word, told in (("optional", item.optional), ("human", item.human), ("chore", item.chore)):
        words += [word] if told else []
    return ", ".join(words)


def _rest(plan: Plan) -> str:
    lines = ["", "## Missing specs", ""]
    lines += [f"- `{one.name}`: {one.why}".rstrip() for one in plan.missing] or ["- none"]
    if plan.notes:
        lines += ["", "## Notes", "", *(f"> {note}" for note in plan.notes)]
    return "\n".join(lines) + "\n"


def mark_item(sheet: Sheet, item: str, state: State) -> LineEdit:
    """Tick, reopen, block or cancel one item."""
    at = sheet.marks.get(item, sheet.found.get(item))
    if at is None:
        raise Bug(f"item '{item}' is not in the laid-out plan")
    return LineEdit(at, MARKS[state].encode())


def add_item(sheet: Sheet, item: Item) -> tuple[LineEdit, Sheet]:
    """Write down an item that was found meanwhile."""
    lead = b"" if sheet.found else _FOUND.encode()
    item = normal_item(item)
    data = lead + item_lines(item)
    found = {**sheet.found, item.id: sheet.size + len(lead) + 3}
    return LineEdit(sheet.size, data), replace(sheet, size=sheet.size + len(data), found=found)


def based_on(sheet: Sheet, *, specs: str, code: str) -> tuple[LineEdit, ...] | None:
    """Record other digests; None when they have another length and the plan must be laid out anew."""
    edits = []
    for (at, length), digest in ((sheet.specs, specs), (sheet.code, code)):
        if len(digest) != length:
            return None
        edits.append(LineEdit(at, digest.encode()))
    return tuple(edits)


def apply_edits(data: bytes, edits: tuple[LineEdit, ...]) -> bytes:
    made = bytearray(data)
    for edit in edits:
        made[edit.at : edit.at + len(edit.data)] = edit.data
    return bytes(made)
