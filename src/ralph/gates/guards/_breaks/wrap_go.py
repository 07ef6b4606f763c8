"""Go's functions, wrapped by a deferred panic; helpers stand in a file of their own beside each.

To give something else back, results get names and are changed when the function returns.
"""

from __future__ import annotations

import posixpath
import re

from ralph.gates.guards._breaks.break_function import FunctionBody, changed_bodies
from ralph.gates.guards._parts.brackets import closing, split_arguments
from ralph.gates.programs import program_text

_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_FAIL = 'panic("broken on purpose")'


def bodies_of(old: bytes | None, text: str) -> list[FunctionBody]:
    return changed_bodies("go", ("function_declaration", "method_declaration"), old, text)


def wrap(
    path: str, old: bytes | None, new: bytes, mode: str, marks: str, *, only: int | None = None
) -> dict[str, bytes]:
    """`only`: the one of `bodies_of` that is broken."""
    text = new.decode()
    package = _PACKAGE.search(text)
    if package is None or mode == "unloaded":  # a program in Go is in functions
        return {}
    made = text
    if mode == "module":
        made += '\nfunc init() { brokenMark("i"); brokenLeft("", false) }\n'
    else:
        bodies = bodies_of(old, text)[slice(only, None if only is None else only + 1)]
        for body in reversed(bodies):
            if mode in ("foreign", "valued", "nothing"):
                made = _give_foreign(made, body, at_once=mode == "nothing")
                continue
            # A program may end itself; what it is made of may not.
            own = str(package[1] != "main").lower()
            start = f'defer brokenLeft("{body.name}", brokenEntered("{body.name}", {own}))'
            start += f"; {_FAIL}" if mode == "instead" else ""
            made = f"{made[: body.start + 1]} {start}; {made[body.start + 1 :]}"
    if made == text:
        return {}
    valued = f'if len(results) > 0 {{ brokenMark("i"); {_FAIL} }}' if mode == "valued" else ""
    fail = "" if mode == "trace" else _FAIL
    words = {"package": package[1], "marks": f'"{marks}"', "fail": fail, "valued": valued}
    helper = program_text("wrap_go.go") % words
    beside = posixpath.join(posixpath.dirname(path), f"zz_broken_{package[1]}.go")
    return {path: made.encode(), beside: helper.encode()}


def _give_foreign(text: str, body: FunctionBody, *, at_once: bool = False) -> str:
    """The function with named results that are changed at its end; as it is where it gives nothing back.

    `at_once`: with named results that it gives back as they are, before any work.
    """
    rest = body.head.removeprefix("func").lstrip()
    rest = _behind(rest) if rest.startswith("(") else rest  # what a method belongs to
    name = re.match(r"\s*\w+\s*", rest)
    rest = rest[name.end() :] if name else rest
    rest = _behind(rest) if rest.startswith("[") else rest
    result = _behind(rest).strip()
    if not result:
        return f"{text[: body.start + 1]} if true {{ return }}; {text[body.start + 1 :]}" if at_once else text
    many = result[1:-1] if result.startswith("(") else ""
    spans = split_arguments(many, 0, len(many), "go") if many else ()
    parts = [many[at:end].strip() for at, end in spans] if result.startswith("(") else [result]
    if result.startswith("(") and any(re.match(r"\w+\s+[\w*\[.(]", part) for part in parts):
        names = [re.split(r"\s", part)[0] for part in parts]
        named = result
    else:
        names = [f"broken{number}" for number in range(len(parts))]
        named = f"({', '.join(f'{one} {kind}' for one, kind in zip(names, parts, strict=True))})"
    kept = [f"&{one}" for one in names if one != "_"]
    at = body.start - len(body.head) + body.head.rindex(result)
    start = "if true { return }" if at_once else f"defer brokenForeign({', '.join(kept)})"
    return f"{text[:at]}{named} {{ {start}; {text[body.start + 1 :]}"


def _behind(text: str) -> str:
    """What stands behind the bracket that it begins with."""
    return text[closing(text, 0, "go") :].lstrip()
