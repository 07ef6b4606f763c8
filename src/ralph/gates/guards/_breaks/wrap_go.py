"""Go's functions, wrapped by a deferred panic; helpers stand in a file of their own beside each."""

from __future__ import annotations

import posixpath
import re

from ralph.gates.guards._breaks.break_function import changed_bodies

_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_HELPER = """package %(package)s

import "os"

func brokenMark(text string) {
	file, err := os.OpenFile(%(marks)s, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		file.WriteString(text + "\\n")
		file.Close()
	}
}

func brokenLeft() {
	brokenMark("o")
	%(fail)s
}
"""
_FAIL = 'panic("broken on purpose")'


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    text = new.decode()
    package = _PACKAGE.search(text)
    if package is None or mode == "trace":
        return {}
    made = text
    if mode == "module":
        made += '\nfunc init() { brokenMark("i"); brokenLeft() }\n'
    else:
        bodies = changed_bodies("go", ("function_declaration", "method_declaration"), old, text)
        if not bodies:
            return {}
        for body in reversed(bodies):
            start = 'brokenMark("i"); defer brokenLeft()'
            start += f"; {_FAIL}" if mode == "instead" else ""
            made = f"{made[: body.start + 1]} {start}; {made[body.start + 1 :]}"
    helper = _HELPER % {"package": package[1], "marks": f'"{marks}"', "fail": _FAIL}
    beside = posixpath.join(posixpath.dirname(path), f"zz_broken_{package[1]}.go")
    return {path: made.encode(), beside: helper.encode()}
