"""A finding planted into every definition of a file, so that a checker that looks there must report it.

One line at the beginning of each function and one before its last statement, which break rules of many
checkers at once. For coverage only a function at the end of the file that nothing calls: the tests stay
green, and their report tells of it. Which of them a checker reports is tried at the base first.
"""

from __future__ import annotations

import ast
import re
import zlib

from msgspec import Struct

from ralph.gates.guards._breaks.break_function import (
    JS_FUNCTIONS,
    LINE,
    FunctionBody,
    all_functions,
    changed_bodies,
)
from ralph.gates.guards._parts.script_language import MAX_CHARS, language

NAME = "planted_on_purpose"
LAST = " (its last statement)"  # what stands behind an early end may not be looked at
_PYTHON = f"import {NAME}_a, {NAME}_b; {NAME}: int = ''\n"
_PYTHON_LAST = _PYTHON.replace(NAME, f"{NAME}_last")
# At the end of a file, for rules that want more than one line, and with lines that nothing executes.
_PYTHON_END = f"""

def {NAME}(a, b=[]):
    {_PYTHON.strip()}
    if a == None: print(eval("a"), b)
    assert a
    return b
"""
_JS = f"debugger; var {NAME} = 1 == '1';"
_TS = f"debugger; var {NAME}: number = '1';"
_RUST = f"let {NAME} = 1;"
# The compiler wants every variable used, and go vet minds one that is given to itself.
_GO = f"{{ {NAME} := 1; {NAME} = {NAME}; _ = {NAME} }};"
# By ending; %s parts the files of a package.
_UNCALLED = {
    "py": f"\n\n\ndef {NAME}_%s():\n    return 1\n",
    "js": f"\nfunction {NAME}_%s() {{\n  return 1;\n}}\n",
    "ts": f"\nexport function {NAME}_%s() {{\n  return 1;\n}}\n",
    "go": f"\nfunc {NAME}_%s() int {{\n\treturn 1\n}}\n",
    "rs": f"\n#[allow(dead_code)]\nfn {NAME}_%s() -> i32 {{\n    1\n}}\n",
}


class PlantedFile(Struct, frozen=True):
    """A file with findings in it."""

    content: bytes
    sites: dict[int, str]  # line -> the definition it stands in; "" = the file itself


def plant_findings(path: str, content: bytes) -> PlantedFile | None:
    """None: nothing can be planted into such a file."""
    if len(content) > MAX_CHARS:
        return None
    try:
        if path.endswith(".py"):
            return _python(content.decode("utf-8-sig"))
        if language(path) and not path.endswith(".d.ts"):
            line = _TS if path.rsplit(".", 1)[-1] in ("ts", "mts", "cts", "tsx") else _JS
            return _into_bodies(content.decode(), language(path), JS_FUNCTIONS, line)
        if path.endswith(".rs"):
            return _into_bodies(content.decode(), "rust", ("function_item",), _RUST)
        if path.endswith(".go"):
            kinds = ("function_declaration", "method_declaration")
            return _into_bodies(content.decode(), "go", kinds, _GO)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - a panic of ast-grep's parser is no Exception
        return None
    return None


def plant_uncalled(path: str, content: bytes) -> PlantedFile | None:
    """The file with one function more, which nothing calls, and the names of all others."""
    ending = path.rsplit(".", 1)[-1]
    end = _UNCALLED.get({"javascript": "js", "typescript": "ts", "tsx": "ts"}.get(language(path), ending))
    if end is None or len(content) > MAX_CHARS or path.endswith((".d.ts", "_test.go")):
        return None
    planted = plant_findings(path, content)
    made = content + (end % f"{zlib.crc32(path.encode()):x}").encode()
    return PlantedFile(made, {**(planted.sites if planted is not None else {}), 0: ""})


def definitions(path: str, text: str) -> frozenset[str]:
    """Names of the functions that stand in a file, as `plant_findings` calls them."""
    planted = plant_findings(path, text.encode())
    names = planted.sites.values() if planted is not None else ()
    return frozenset(name.removesuffix(LAST) for name in names) - {""}


def _python(text: str) -> PlantedFile:
    tree = ast.parse(text)
    lines = LINE.findall(text)
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    sites: list[tuple[int, str]] = []
    for name, node in all_functions(tree):
        told = ast.get_docstring(node, clean=False) is not None and len(node.body) > 1
        # The other way round, so that of one statement both stand before it in their order.
        for here, line, place in ((node.body[-1], _PYTHON_LAST, LAST), (node.body[told], _PYTHON, "")):
            marks = getattr(here, "decorator_list", [])
            at = min([here.lineno, *(mark.lineno for mark in marks)])
            lead = lines[at - 1][: here.col_offset]
            if not lead.strip() and at > node.lineno:
                sites.append((at, f"{name}{place}"))
                lines[at - 1] = f"{lead}{line}{lines[at - 1]}"
    numbered: dict[int, str] = {}
    for moved, (at, name) in enumerate(sorted(sites, key=lambda site: (site[0], site[1].endswith(LAST)))):
        numbered[at + moved] = name
    made = "".join(lines)
    last = made.count("\n")
    for number in range(last + 1, last + _PYTHON_END.count("\n") + 1):
        numbered[number] = ""
    made += _PYTHON_END
    ast.parse(made)
    return PlantedFile(made.encode(), numbered)


def _into_bodies(text: str, tongue: str, kinds: tuple[str, ...], line: str) -> PlantedFile | None:
    bodies = [body for body in changed_bodies(tongue, kinds, None, text) if body.block]
    bodies = [body for body in bodies if not _holds_tests(text, body)]
    if not bodies:
        return None
    places: list[tuple[int, str, str]] = []
    for body in bodies:
        named = f"{NAME}_{zlib.crc32(body.name.encode()):x}"  # golangci tells no more than three alike
        places.append((body.start + 1, line.replace(NAME, named), body.name))
        if body.last:
            places.append((body.last, line.replace(NAME, f"{named}_last"), f"{body.name}{LAST}"))
    made, at, sites = "", 0, {}
    for here, planted, name in places:  # on lines of their own: what stands beside may have findings itself
        made += f"{text[at:here]}\n{planted}\n"
        at = here
        sites[made.count("\n")] = name
    return PlantedFile(f"{made}{text[at:]}".encode(), sites)


def _holds_tests(text: str, body: FunctionBody) -> bool:
    above = text[max(0, body.start - len(body.head) - 60) : body.start]
    return bool(re.search(r"#\[(?:cfg\()?test\b", above))
