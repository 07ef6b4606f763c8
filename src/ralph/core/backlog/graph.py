"""The items and what they wait for, as a picture: Mermaid text, or SVG."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ralph.core.backlog.items import BacklogItem
from ralph.core.text.clean import one_line

COLOURS = {"PASSING": "#2da44e", "FAILING": "#bf8700", "BLOCKED": "#cf222e", "CANCELLED": "#8c959f"}
_WIDE, _HIGH, _GAP_X, _GAP_Y = 220, 46, 70, 18


def mermaid(items: Iterable[BacklogItem]) -> str:
    shown = list(items)
    names = {one.id: f"n{number}" for number, one in enumerate(shown)}
    lines = ["flowchart LR"]
    for one in shown:
        title = one_line(one.title, 60).replace('"', "'")
        lines.append(
            f'    {names[one.id]}["{one.id}<br/>{escape(title, quote=False)}"]:::{one.status.lower()}'
        )
    lines += [
        f"    {names[after]} --> {names[one.id]}"
        for one in shown
        for after in one.dependencies
        if after in names
    ]
    lines += [f"    classDef {status.lower()} fill:{colour},color:#fff" for status, colour in COLOURS.items()]
    return "\n".join(lines) + "\n"


def svg(items: Iterable[BacklogItem]) -> str:
    """Columns by how many items must come first; no script, no font or file from elsewhere."""
    shown = {one.id: one for one in items}
    depth = _depths(shown)
    rows: dict[int, int] = {}
    at: dict[str, tuple[int, int]] = {}
    for one in sorted(shown.values(), key=lambda item: (depth[item.id], item.order)):
        column = depth[one.id]
        row = rows.get(column, 0)
        rows[column] = row + 1
        at[one.id] = (20 + column * (_WIDE + _GAP_X), 20 + row * (_HIGH + _GAP_Y))
    width = max((x for x, _ in at.values()), default=0) + _WIDE + 20
    height = max((y for _, y in at.values()), default=0) + _HIGH + 20
    head = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12"'
    parts = [f'<svg {head} width="{width}" height="{height}">']
    for one in shown.values():
        for after in one.dependencies:
            if after in at:
                (x1, y1), (x2, y2) = at[after], at[one.id]
                x1, y1, y2 = x1 + _WIDE, y1 + _HIGH // 2, y2 + _HIGH // 2
                way = f"M{x1},{y1} C{x1 + 40},{y1} {x2 - 40},{y2} {x2},{y2}"
                parts.append(f'<path d="{way}" fill="none" stroke="#57606a"/>')
    for one in shown.values():
        x, y = at[one.id]
        box = f'x="{x}" y="{y}" width="{_WIDE}" height="{_HIGH}" rx="6" fill="{COLOURS[one.status]}"'
        parts.append(f"<g><title>{escape(one.title)}</title><rect {box}/>")
        bold = f'<text x="{x + 8}" y="{y + 18}" fill="#fff" font-weight="bold">'
        parts.append(f"{bold}{escape(one.id)} {one.status}</text>")
        parts.append(
            f'<text x="{x + 8}" y="{y + 35}" fill="#fff">{escape(one_line(one.title, 32))}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def _depths(shown: dict[str, BacklogItem]) -> dict[str, int]:
    """The longest way to each item; the list has no cycle, or the rest of one stays where it is."""
    depth = dict.fromkeys(shown, 0)
    for _ in range(len(shown)):
        changed = False
        for one in shown.values():
            least = max((depth[after] + 1 for after in one.dependencies if after in depth), default=0)
            if least > depth[one.id] and least < len(shown):
                depth[one.id], changed = least, True
        if not changed:
            break
    return depth
