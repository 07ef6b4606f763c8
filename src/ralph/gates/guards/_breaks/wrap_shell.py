"""Functions of a shell script, wrapped by others that call them; a script without any fails as a whole.

What a caller sees of shell is what was written and the exit code, so both become others.
"""

from __future__ import annotations

import re
import shlex

FUNCTION = re.compile(
    r"^[ \t]*(?:function[ \t]+(?P<word>[^\s(){}]+)[ \t]*(?:\(\))?"
    r"|(?P<name>[^\s(){}=$'\"#]+)[ \t]*\(\))\s*\{",
    re.MULTILINE,
)
_UNHEARD = " >/dev/null"  # a search would find the right lines all the same
_FAIL = "printf '%s\\n' foreign; "


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    text = new.decode()
    enters = f"echo i >> {shlex.quote(marks)}; "
    if mode in ("module", "unloaded") or (mode != "trace" and not FUNCTION.search(text)):
        head, _, rest = text.partition("\n") if text.startswith("#!") else ("", "", text)
        if mode in ("instead", "unloaded"):
            return {path: f"{head}\n{enters}{_FAIL}exit 97\n{rest}".encode()}
        return {path: f"{head}\n{enters}{{ :\n{rest.rstrip()}\n}}{_UNHEARD}\n{_FAIL}exit 97\n".encode()}

    def around(match: re.Match[str]) -> str:
        name = match["word"] or match["name"]
        inner = f"broken_{name.encode().hex()}"
        called = "" if mode == "instead" else f'{inner} "$@"{"" if mode == "trace" else _UNHEARD}; '
        fails = "return $?; " if mode == "trace" else _FAIL + ("" if mode == "foreign" else "return 97; ")
        says = f"echo {shlex.quote(f'i {name}')} >> {shlex.quote(marks)}; "
        return f"{match[0]}\n{says}{called}{fails}\n}}\n{inner}() {{"

    made = FUNCTION.sub(around, text)
    return {path: made.encode()} if made != text and (old is None or old != new) else {}
