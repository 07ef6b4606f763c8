"""Does a version lie in a range, as pip and npm write them? What is not understood is not satisfied."""

from __future__ import annotations

import re

Bounds = tuple[tuple[int, ...], tuple[int, ...] | None]  # from, and below; None = no end

_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)(.*)", re.DOTALL)
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


def pip_allows(spec: str, version: str) -> bool:
    """A list of clauses such as `>=2,<3`; "" allows everything."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # every start of a loop loads this module
    from packaging.version import InvalidVersion

    if not spec.strip().strip("()"):
        return True
    try:
        wanted = SpecifierSet(spec.strip().strip("()"))
        return wanted.contains(version, prereleases=bool(wanted.prereleases))
    except (InvalidSpecifier, InvalidVersion):
        return False


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
