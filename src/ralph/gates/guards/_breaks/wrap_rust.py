"""Rust's functions, wrapped by a value that panics when it is dropped."""

from __future__ import annotations

import re

from ralph.gates.guards._breaks.break_function import FunctionBody, changed_bodies
from ralph.gates.programs import program_text

_NOT_WRAPPED = re.compile(r"\bconst\s+(?:unsafe\s+)?fn\b|\bextern\b")
_PROGRAM = re.compile(r"(?:^|/)(?:main|build)\.rs\Z|(?:^|/)src/bin/")  # it may end itself


# What stands for a foreign value, by the type as it is written.
_FOREIGN = (
    (re.compile(r"(?:[iu](?:8|16|32|64|128|size)|bool)"), "!given"),
    (re.compile(r"f(?:32|64)"), "given * 3.0 + 12345.5"),
    (re.compile(r"String"), 'given + "broken on purpose"'),
    (re.compile(r"&\s*(?:'\w+\s+)?str"), '{ let _ = given; "broken on purpose" }'),
    (re.compile(r"Vec<.*>"), "given.into_iter().skip(1).collect()"),
    (re.compile(r"Option<.*>"), "given.and(None)"),
)


def bodies_of(old: bytes | None, text: str) -> list[FunctionBody]:
    bodies = changed_bodies("rust", ("function_item",), old, text)
    return [body for body in bodies if not _NOT_WRAPPED.search(body.head) and not _is_test(text, body.start)]


def wrap(
    path: str, old: bytes | None, new: bytes, mode: str, marks: str, *, only: int | None = None
) -> dict[str, bytes]:
    """`only`: the one of `bodies_of` that is broken."""
    if mode in ("module", "unloaded"):
        return {}
    text = new.decode()
    made = text
    bodies = bodies_of(old, text)[slice(only, None if only is None else only + 1)]
    if mode in ("foreign", "valued"):
        made = _give_foreign(text, bodies, marks, fails=mode == "valued")
        return {path: made.encode()} if made != text else {}
    for body in reversed(bodies):
        if mode == "nothing":
            kind = _type_of(body)
            if re.search(r"\bimpl\b|!\Z", kind):
                return {}  # what is of no type that has a name
            start = program_text("wrap_rust_nothing.rs") % {"kind": kind or "()"}
            made = f"{made[: body.start + 1]} {start}{made[body.start + 1 :]}"
            continue
        start = program_text("wrap_rust.rs") % {
            "marks": f'"{marks}"',
            "name": body.name,
            "own": "false" if _PROGRAM.search(path) else "true",
            "fails": "false" if mode == "trace" else "true",
        }
        start += 'if true { panic!("broken on purpose"); } ' if mode == "instead" else ""
        made = f"{made[: body.start + 1]} {start}{made[body.start + 1 :]}"
    return {path: made.encode()} if bodies else {}


def _give_foreign(text: str, bodies: list[FunctionBody], marks: str, *, fails: bool) -> str:
    """Functions whose type tells a foreign value; the body is a closure, so that its returns stay its own."""
    made = text
    for body in reversed(bodies):
        kind = _type_of(body)
        other = next((value for pattern, value in _FOREIGN if pattern.fullmatch(kind)), "")
        other = other and ('{ let _ = given; panic!("broken on purpose") }' if fails else other)
        if other and not re.search(r"\basync\b|\bunsafe\b", body.head):
            mark = program_text("wrap_rust.rs").split("struct", maxsplit=1)[0] % {"marks": f'"{marks}"'}
            inner = made[body.start : body.end]
            around = (
                f'{{ {mark} broken_mark("i"); let given: {kind} = (move || -> {kind} {inner})(); {other} }}'
            )
            made = made[: body.start] + around + made[body.end :]
    return made


def _type_of(body: FunctionBody) -> str:
    """What it gives back, as it is written; "": nothing."""
    shown = re.search(r"->\s*([^{]+?)\s*(?:\bwhere\b[^{]*)?\Z", body.head)
    return shown[1].strip() if shown else ""


def _is_test(text: str, start: int) -> bool:
    """Does the function stand in the module of tests, or is it one?"""
    above = text[:start]
    inside = above.rfind("#[cfg(test)]")
    return inside >= 0 or "#[test]" in above[max(0, above.rfind("}")) :]
