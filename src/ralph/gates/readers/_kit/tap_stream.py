"""The Test Anything Protocol as a tree of points. Nothing here knows what a point means to a runner.

Subtests are told in three ways: indented before their own point (13 and 14), in braces behind it (node-tap
of old), or not at all (tape: a comment above the assertions of each test).
"""

from __future__ import annotations

import re

from msgspec import Struct, field

_POINT = re.compile(r"(not )?ok\b(?: (\d{1,9}))?(?: (- ))?[ \t]*(.*)\Z")
_PLAN = re.compile(r"1\.\.(\d{1,9})(?:\s*#.*)?\Z")
_DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip|todo)\w*(?:\s.*|:.*)?\Z", re.IGNORECASE)
_TIMING = re.compile(r"\s+# (?:time|duration_ms)[= ][\d.]+\s*(?:ms|s)?\s*\Z")
_SUBTEST = re.compile(r"# Subtest(?:: (.*))?\Z")
_SUMMARY = re.compile(
    r"#\s*(?:(?:tests|pass|fail|skip|todo|cancelled|suites|duration_ms)\s+[\d.]+|ok|time=.*|failed \d+.*"
    r"|(?:todo|skip): \d+|\{ total.*)?\s*\Z"
)
_BAIL = re.compile(r"Bail out!\s*(.*)\Z")
_TAPE = re.compile(r"^# pass {2}\d+$", re.MULTILINE)
_MAX_TEXT = 4000
_MAX_DEPTH = 50


class TapPoint(Struct):
    ok: bool
    number: int | None
    name: str
    directive: str = ""  # skip or todo
    text: str = ""  # what the point tells about its failure
    group: str = ""  # the comment above it, in a stream without nesting
    group_turn: int = 0  # how often that comment stood there by now
    is_test: bool = False  # its name was announced: a test of its own, not an assertion
    children: list[TapPoint] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return self.ok or bool(self.directive)


class _Level(Struct):
    """Points of one depth that no point above them has claimed yet."""

    points: list[TapPoint] = field(default_factory=list)
    plan: int | None = None
    announced: str | None = None
    opened: TapPoint | None = None  # its subtests follow in braces


class TapStream(Struct):
    points: list[TapPoint]
    plan: int | None
    bail: str = ""
    grouped: bool = False  # it ends as tape ends: comments are the names of tests
    torn: bool = False  # a nested plan was not kept, or a subtest never ended

    def adds_up(self, *, loose: bool) -> bool:
        """`loose`: files that broke have points of their own beyond the plan, as ava writes them."""
        if self.torn or self.plan is None or not _in_order(self.points):
            return False
        more = len(self.points) - self.plan
        return more == 0 or (loose and more > 0 and any(not point.ok for point in self.points))


def _in_order(points: list[TapPoint]) -> bool:
    return all(point.number in (None, at) for at, point in enumerate(points, 1))


def parse_tap(text: str) -> TapStream:
    """Lines that are none of the protocol are left out: judged code prints what it likes."""
    parser = _Parser()
    for line in text.split("\n"):
        parser.line(line.rstrip())
    top = parser.levels[0]
    torn = parser.torn or len(parser.levels) > 1
    return TapStream(top.points, top.plan, parser.bail, bool(_TAPE.search(text)), torn)


class _Parser:
    def __init__(self) -> None:
        self.levels = [_Level()]
        self.bail = ""
        self.torn = False
        self._last: TapPoint | None = None
        self._last_indent = 0
        self._yaml = -1  # how far the block of a point's own words is indented; -1 = outside
        self._group = ""
        self._turns: dict[str, int] = {}

    def line(self, line: str) -> None:
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if self._yaml >= 0:
            if body == "..." and indent <= self._yaml:
                self._yaml = -1
            elif self._last is not None and len(self._last.text) < _MAX_TEXT:
                self._last.text += line[self._yaml :] + "\n"
            return
        if body == "---" and self._last is not None and indent == self._last_indent + 2:
            self._yaml = indent
            return
        if not body or indent % 4 or indent // 4 > min(len(self.levels), _MAX_DEPTH):
            return
        self._entry(body, indent // 4)

    def _entry(self, body: str, depth: int) -> None:
        if hit := _POINT.match(body):
            self._point(hit, depth)
        elif hit := _PLAN.match(body):
            level = self._level(depth)
            self.torn = self.torn or level.plan is not None
            level.plan = int(hit[1])
        elif body == "}" and depth < len(self.levels) and (opened := self.levels[depth].opened) is not None:
            opened.children = self._claim(depth)
            self.levels[depth].opened = None
        elif hit := _SUBTEST.match(body):
            self._level(depth).announced = (hit[1] or "").strip()
        elif body.startswith("#") and depth == 0 and not _SUMMARY.match(body):
            name = re.sub(r"^#\s*(?:(?:SKIP|TODO) )?", "", body)
            self._turns[name] = self._turns.get(name, 0) + 1
            self._group = name
        elif depth == 0 and (hit := _BAIL.match(body)):
            self.bail = hit[1].strip() or "no reason was given"

    def _point(self, hit: re.Match[str], depth: int) -> None:
        name = hit[4].strip()
        braces = name.endswith("{") and not name.endswith("\\{")
        name = _TIMING.sub("", name.removesuffix("{").rstrip() if braces else name)
        directive = _DIRECTIVE.search(name)
        if directive:
            name = name[: directive.start()].rstrip()
        point = TapPoint(
            ok=not hit[1],
            number=int(hit[2]) if hit[2] else None,
            name=name.replace("\\#", "#") or f"test {hit[2] or ''}".strip(),
            directive=directive[1].lower() if directive else "",
        )
        level = self._level(depth)
        below = self.levels[depth + 1].announced if depth + 1 < len(self.levels) else None
        point.is_test = point.name in (level.announced, below)
        level.announced = None
        point.children = self._claim(depth)
        if braces:
            level.opened = point
        if depth == 0 and not hit[3] and self._group:  # tape writes no dash
            point.group, point.group_turn = self._group, self._turns[self._group]
        level.points.append(point)
        self._last, self._last_indent = point, depth * 4

    def _level(self, depth: int) -> _Level:
        while len(self.levels) <= depth:
            self.levels.append(_Level())
        return self.levels[depth]

    def _claim(self, depth: int) -> list[TapPoint]:
        """The points one level deeper, which now have an owner."""
        below, self.levels[depth + 1 :] = self.levels[depth + 1 :], []
        if not below:
            return []
        kept = below[0].plan is None or below[0].plan == len(below[0].points)
        self.torn = self.torn or len(below) > 1 or not (kept and _in_order(below[0].points))
        return below[0].points
