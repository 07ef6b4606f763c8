"""Rust's functions, wrapped by a value that panics when it is dropped."""

from __future__ import annotations

import re

from ralph.gates.guards._breaks.break_function import changed_bodies

_NOT_WRAPPED = re.compile(r"\bconst\s+(?:unsafe\s+)?fn\b|\bextern\b")
_GUARD = """
#[allow(dead_code)] fn broken_mark(text: &str) {
    use std::io::Write;
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(%(marks)s) {
        let _ = writeln!(file, "{}", text);
    }
}
struct BrokenOnPurpose;
impl Drop for BrokenOnPurpose {
    fn drop(&mut self) {
        broken_mark("o");
        if !std::thread::panicking() { panic!("broken on purpose"); }
    }
}
broken_mark("i");
let _broken = BrokenOnPurpose;
"""


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    if mode in ("trace", "module"):
        return {}
    text = new.decode()
    made = text
    bodies = changed_bodies("rust", ("function_item",), old, text)
    bodies = [
        body for body in bodies if not _NOT_WRAPPED.search(body.head) and not _is_test(text, body.start)
    ]
    for body in reversed(bodies):
        start = _GUARD % {"marks": f'"{marks}"'}
        start += 'if true { panic!("broken on purpose"); } ' if mode == "instead" else ""
        made = f"{made[: body.start + 1]} {start}{made[body.start + 1 :]}"
    return {path: made.encode()} if bodies else {}


def _is_test(text: str, start: int) -> bool:
    """Does the function stand in the module of tests, or is it one?"""
    above = text[:start]
    inside = above.rfind("#[cfg(test)]")
    return inside >= 0 or "#[test]" in above[max(0, above.rfind("}")) :]
