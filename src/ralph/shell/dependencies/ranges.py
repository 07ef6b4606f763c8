"""Does a version lie in a range, as pip and npm write them? What is not understood is not satisfied."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

Bounds = tuple[tuple[int, ...], tuple[int, ...] | None]  # from, and below; None = no end

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)(.*)", re.DOTALL)
_CLAUSE = re.compile(r"(~=|===?|!=|<=|>=|<|>)\s*([^\s=<>~!][^\s=<>~]*)")
_PEP440 = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|rc|c)[-_.]?(?P<number>\d*))?"
    r"(?P<post>-\d+|[-_.]?(?:post|rev|r)[-_.]?\d*)?(?:[-_.]?dev[-_.]?(?P<dev>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?"
)
_GIVEN = re.compile(r"\d+(?:\.\d+)*")
_FINAL = (9, 0)
_COMPARATOR = re.compile(r"(\^|~>?|>=|<=|>|<|=)?\s*v?([0-9xX*]+(?:\.[0-9xX*]+)*)(?:[-+][\w.+-]*)?")
_HYPHEN = re.compile(r"v?([\d.]+)\s+-\s+v?([\d.]+)")


def _release(version: str) -> tuple[tuple[int, ...], bool] | None:
    """The numbers of a version without trailing zeros, and whether it is a final release."""
    match = _NUMBERS.fullmatch(version.strip())
    if match is None:
        return None
    final = not match[2] or match[2].startswith((".post", "+"))
    return _trim(tuple(int(part) for part in match[1].split("."))), final


def _trim(numbers: tuple[int, ...]) -> tuple[int, ...]:
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers


class _Version(NamedTuple):
    """A version of PEP 440; everything but `local` in the order of the standard."""

    epoch: int
    release: tuple[int, ...]
    pre: tuple[int, int]
    post: int
    dev: float
    local: str

    @property
    def is_pre(self) -> bool:
        return self.pre != _FINAL or self.dev != math.inf


def _read(text: str) -> _Version | None:
    match = _PEP440.fullmatch(text.strip().lower())
    if match is None:
        return None
    post = -1 if match["post"] is None else int(match["post"].lstrip("-._postrev") or 0)
    dev = math.inf if match["dev"] is None else int(match["dev"] or 0)
    pre = _FINAL
    if match["pre"]:
        pre = ({"a": 0, "b": 1}.get(match["pre"][0], 2), int(match["number"] or 0))
    elif post < 0 and dev != math.inf:
        pre = (-1, 0)  # of no pre-release: before the first
    release = _trim(tuple(int(part) for part in match["release"].split(".")))
    return _Version(
        int(match["epoch"] or 0), release, pre, post, dev, re.sub("[-_]", ".", match["local"] or "")
    )


def pip_allows(spec: str, version: str) -> bool:
    """A list of clauses such as `>=2,<3`; "" allows everything."""
    clauses = [clause.strip() for clause in spec.strip().strip("()").split(",") if clause.strip()]
    wanted = [_CLAUSE.fullmatch(clause) for clause in clauses]
    found = _read(version)
    if found is None:  # no version of Python's, but perhaps the very one
        return all(match is not None and match[1] == "===" and match[2] == version for match in wanted)
    named = [
        one for match in wanted if match and match[1] != "!=" and (one := _read(match[2].removesuffix(".*")))
    ]
    exact = any(match and match[1] == "===" for match in wanted)
    if wanted and found.is_pre and not exact and not any(one.is_pre for one in named):
        return False
    return all(match is not None and _clause_allows(match[1], match[2], found, version) for match in wanted)


def _clause_allows(op: str, text: str, found: _Version, version: str) -> bool:
    if op == "===":
        return text.lower() == version.strip().lower()
    wanted = _read(text.removesuffix(".*"))
    if wanted is None or (text.endswith(".*") and op not in ("==", "!=")):
        return False
    if text.endswith(".*") or op == "~=":
        given = tuple(int(part) for part in _GIVEN.findall(text.lower().rpartition("!")[2])[0].split("."))
        prefix = given if text.endswith(".*") else given[:-1]
        padded = found.release + (0,) * len(given)
        inside = bool(prefix) and found.epoch == wanted.epoch and padded[: len(prefix)] == prefix
        return (inside and found[:5] >= wanted[:5]) if op == "~=" else inside == (op == "==")
    same = found[:5] == wanted[:5] and wanted.local in ("", found.local)
    # Nobody who asks for more than 1.0 means 1.0.post1, nor 2.0rc1 by less than 2.0.
    kin = found[:2] == wanted[:2]
    results = {
        "==": same,
        "!=": not same,
        ">=": found[:5] >= wanted[:5],
        "<=": found[:5] <= wanted[:5],
        ">": found[:5] > wanted[:5]
        and not (kin and found.post >= 0 > wanted.post and found.pre == wanted.pre),
        "<": found[:5] < wanted[:5] and not (kin and found.is_pre and not wanted.is_pre),
    }
    return results[op]


def npm_allows(spec: str, version: str) -> bool:
    """Alternatives of comparators such as `^1.2 || >=3 <4`; "" and "*" allow every release."""
    found = _release(version)
    if found is None or not found[1]:
        return spec.strip().lstrip("=v") == version
    return any(_set_allows(part.strip(), found[0]) for part in spec.split("||"))


def _set_allows(part: str, numbers: tuple[int, ...]) -> bool:
    hyphen = _HYPHEN.fullmatch(part)
    if hyphen:
        part = f">={hyphen[1]} <={hyphen[2]}"
    bounds: list[Bounds] = []
    rest = part.replace(",", " ").strip()
    while rest:
        match = _COMPARATOR.match(rest)
        if match is None or (match.end() < len(rest) and not rest[match.end()].isspace()):
            return False
        bounds.append(_bounds(match[1] or "", match[2]))
        rest = rest[match.end() :].lstrip()
    return all(numbers >= _trim(low) and (high is None or numbers < _trim(high)) for low, high in bounds)


def _bounds(op: str, text: str) -> Bounds:
    given: list[int] = []
    for part in text.split("."):
        if not part.isdigit():
            break
        given.append(int(part))
    low = (*given, 0, 0, 0)[:3]
    if not given:
        return low, None
    after = (*given[:-1], given[-1] + 1)  # the first that the given numbers do not begin
    if op in (">=", "<", ">", "<="):
        above = after if op in (">", "<=") else low
        return (above, None) if op[0] == ">" else ((0,), above)
    if op == "^":
        keep = next((n for n, value in enumerate(given) if value), len(given) - 1) + 1
        return low, (*given[: keep - 1], given[keep - 1] + 1)
    if op.startswith("~"):
        kept = given[: min(2, len(given))]
        return low, (*kept[:-1], kept[-1] + 1)
    return low, after
