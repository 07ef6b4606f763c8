"""Functions of JavaScript and TypeScript, wrapped by `try`; without ast-grep only whole files fail."""

from __future__ import annotations

import re

from ralph.gates.guards._breaks.break_function import JS_FUNCTIONS, FunctionBody, changed_bodies
from ralph.gates.guards._parts.script_language import language
from ralph.gates.programs import program_text

_MODULE = re.compile(r"^\s*(?:import\s+[\w*{\"']|export\b)", re.MULTILINE)
_FIRST = re.compile(r"(?:#![^\n]*\n)?(?:\s*(?:\"use strict\"|'use strict');?[ \t]*\n?)?")


def wrap(path: str, old: bytes | None, new: bytes, mode: str, marks: str) -> dict[str, bytes]:
    text = new.decode()
    module, made = is_module(path, text), text
    whole = mode in ("module", "unloaded")
    if not whole:
        bodies = changed_bodies(language(path), JS_FUNCTIONS, old, text)
        if not bodies and mode != "trace":
            return {}
        for body in reversed(bodies):
            inner = text[body.start : body.end]
            done = inner if body.block else f"{{ return ({inner}\n); }}"
            name = _js_string(body.name)
            around = f"{{ __entered({name}); try {done} finally {{ __left({name}); }} }}"
            if mode in ("foreign", "valued"):  # what `finally` returns takes the place of what was returned
                if not _gives_something(body, inner):
                    continue
                given = "return __foreign" if mode == "foreign" else "throw new Error('broken on purpose')"
                last = f"if (!__thrown && globalThis[__loaded]) {{ __mark('i'); {given}; }}"
                thrown = "catch (__error) { __thrown = true; throw __error; }"
                around = f"{{ let __thrown = false; try {done} {thrown} finally {{ {last} }} }}"
            made = made[: body.start] + around + made[body.end :]
    first = _FIRST.match(made)
    at = first.end() if first else 0
    fails = "\n__mark('i'); __mark('o'); throw new Error('broken on purpose');\n"
    ending = fails if mode == "module" else "\n"
    # Function declarations are known in the whole file, wherever they stand; so is an import.
    helper = program_text("wrap_javascript.js") % {
        "fs": "__fs" if module else 'require("node:fs")',
        "marks": _js_string(marks),
        "mode": _js_string(mode),
        "loaded": _js_string(f"__loaded {path}"),
        "file": _js_string(f"/{path}"),
    }
    lead = 'import * as __fs from "node:fs";' if module else ""
    top = lead + ("" if mode == "module" else fails if whole else "__watch();")
    typed = "// @ts-nocheck\n" if "ts" in path.rsplit(".", 1)[-1] and not at else ""
    return {path: (typed + made[:at] + top + made[at:] + "\n" + helper + ending).encode()}


def is_module(path: str, text: str) -> bool:
    """Is it one of the language's own modules, by its ending or by what it says?"""
    return path.endswith((".mjs", ".mts")) or (
        not path.endswith((".cjs", ".cts")) and bool(_MODULE.search(text))
    )


def _gives_something(body: FunctionBody, inner: str) -> bool:
    """Does it return a value? Not what makes an object, and not what hands out one value after the other."""
    if body.name == "constructor" or re.search(r"^\s*(?:async\s+)?(?:function\s*\*|\*)", body.head):
        return False
    return not body.block or bool(re.search(r"\breturn\s+[^;\s]", inner))


def _js_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
