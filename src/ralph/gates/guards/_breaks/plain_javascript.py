"""Tests in JavaScript called by an ordinary program: a few functions stand in for what runners give them.

Their files are rewritten to take it from there, so that nothing of the runner is loaded. The same stand-in is
then used beneath the runner itself, in a file of tests that takes the place of the first: what it cannot do,
it can do neither time.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping

from ralph.core.model.gate import Gate
from ralph.gates.command import word_set
from ralph.gates.guards._breaks.wrap_javascript import is_module
from ralph.gates.guards._parts.script_language import language
from ralph.gates.narrow import narrow_to_files
from ralph.gates.programs import program_text
from ralph.gates.runners import base_name, recognise, skip_launchers
from ralph.gates.scripts import COMMAND

# A runner that loads all files of tests finds nothing to do in it.
_OWN = "(globalThis[Symbol.for('ordinary')] ?? new Proxy(() => {}, { get: () => () => {} }))"
_FROM = r"(?P<sign>['\"])(?:node:test|mocha|@jest/globals|vitest|ava)(?P=sign)"
_IMPORT = re.compile(rf"\bimport\s+(?P<names>[\w$*{{][^;'\"]*?)\s*from\s*{_FROM}")
_REQUIRE = re.compile(rf"\brequire\(\s*{_FROM}\s*\)")
_STRICT = re.compile(r"(?:#![^\n]*\n)?(?:\s*(?:\"use strict\"|'use strict');?)?")
_GLOBALS = word_set(
    "describe it test suite context specify before after beforeEach afterEach beforeAll afterAll setup"
    " teardown suiteSetup suiteTeardown fit fdescribe xit xtest xdescribe xcontext expect jest vi"
)
# How a runner is told the one test that calls the others.
_INSIDE = {
    "node": "API.test('main', (own) => go(own));",
    "jest": "test('main', go, 600000);",
    "mocha": "it('main', go).timeout(600000);",
    "vitest": "API.test('main', go, 600000);",
    "ava": "API.default('main', async (t) => { t.timeout(600000); await go(); t.pass(); });",
}
_LIBRARIES = {"node": "node:test", "vitest": "vitest", "ava": "ava"}
# A runner that prepares more than these functions do: what is red without it may be so for want of that.
_PREPARED = re.compile(
    r"setup|jsdom|happy-dom|edge-runtime|process\.env|\benv\b|environmentVariables|nodeArguments"
    r"|\brequire[\"']?\s*:|\b[A-Z][A-Z_]+="
)
_PLACE = re.compile(r"import\.meta\.(?:url|dirname|filename)|__dirname|__filename")


def javascript_program(
    gate: Gate,
    tests: Mapping[str, str],
    read: Callable[[str], bytes | None],
    marks: str,
    *,
    dressed: bool,
    named: bool,
    spoken: str,
    settings: Mapping[str, str],
) -> tuple[dict[str, bytes], tuple[str, ...]] | None:
    """Files to write over the result, and what to execute. `spoken`: of the changed files at the base;
    `settings`: files of its settings there, as the agent cannot write them."""
    runner = recognise(gate.argv)
    kind = runner.name if runner else gate.read if gate.reporter[:1] == (COMMAND,) else ""
    paths = sorted(set(tests.values()))
    texts = {path: (read(path) or b"").decode("utf-8", "replace") for path in paths}
    if kind not in _INSIDE or not all(map(language, paths)):
        return None
    own = (
        gate.run,
        *(text for path, text in settings.items() if re.search(rf"package\.json|vite|{kind}", path)),
    )
    if not (runner and kind == "node") and _PREPARED.search("\n".join(own)):
        return None
    if kind == "vitest" and _PLACE.search("\n".join((spoken, *texts.values()))):
        return None  # what is bundled has another place
    if not dressed:
        files = {path: _without_runner(text).encode() for path, text in texts.items()}
        files["main_program.mjs"] = _text("", kind, marks, [(path, path) for path in paths], "mjs", named)
        at = skip_launchers(gate.argv)
        own = gate.argv[at + 1 :] if base_name(gate.argv[at]) == "node" else ()
        flags = [word for word in own if word.startswith("-") and not word.startswith("--test")]
        node = gate.argv[: at + 1] if own else ("node",)
        return files, (*node, *flags, "main_program.mjs")
    first, files, rows = paths[0], {}, []
    for number, path in enumerate(paths):
        beside = posixpath.join(posixpath.dirname(path), f"main{number}_{posixpath.basename(path)}")
        files[beside] = _without_runner(texts[path]).encode()
        near = posixpath.relpath(beside, posixpath.dirname(first) or ".")
        rows.append((path, near if near.startswith(".") else f"./{near}"))
    form = (
        "mjs" if kind in ("vitest", "ava") or (kind != "jest" and is_module(first, texts[first])) else "cjs"
    )
    files[first] = _text(kind, kind, marks, rows, form)
    narrow = narrow_to_files(gate, [first], lambda path: path in texts)
    words = narrow.reporter[1:] if narrow.reporter[:1] == (COMMAND,) else narrow.argv
    return files, tuple(word.replace("{report}", "/dev/null") for word in words)


def _text(
    inside: str, kind: str, marks: str, rows: list[tuple[str, str]], form: str, named: bool = False
) -> bytes:
    library = _LIBRARIES.get(inside, "")
    if form == "mjs":
        lead = (
            "import fs from 'node:fs'; import path from 'node:path'; import assert from 'node:assert';\n"
            "import { createRequire } from 'node:module'; import { pathToFileURL } from 'node:url';\n"
        )
        lead += f"import * as RUNNER from '{library}';\n" if library else ""
    else:
        lead = (
            "const fs = require('node:fs'), path = require('node:path'), assert = require('node:assert');\n"
            "const { createRequire } = require('node:module'), { pathToFileURL } = require('node:url');\n"
        )
        lead += f"const RUNNER = require('{library}');\n" if library else ""
    called = "(delete require.cache[require.resolve(at)], require(at))"
    if form == "mjs":
        called = "import(at + '?again')" if inside == "mocha" else "import(/* @vite-ignore */ at)"
    lead += f"const url = (at) => pathToFileURL(at).href, load = (at) => {called};\n"
    given = json.dumps([marks, bool(inside), kind, rows, named])
    text = program_text("plain_javascript.js").replace("WORDS", given, 1)
    end = _INSIDE[inside].replace("API.", "RUNNER.") if inside else "await go();"
    return f"{lead}{text}\n{end}\n".encode()


def _without_runner(text: str) -> str:
    """The text of tests with the stand-in for what a runner gives them."""
    text = _IMPORT.sub(lambda found: _declare(found["names"]), text)
    text = _REQUIRE.sub(_OWN, text)
    missing = [name for name in sorted(_GLOBALS) if _is_global(name, text)]
    if not missing:
        return text
    found = _STRICT.match(text)
    at = found.end() if found else 0
    # As variables: jest has a parameter of such a name around each file.
    return f"{text[:at]} var {{ {', '.join(missing)} }} = {_OWN}; {text[at:]}"


def _is_global(name: str, text: str) -> bool:
    """Is it used, and not declared in this file?"""
    declared = rf"\b(?:const|let|var|function|class|import)\s*(?:\{{[^}}]*)?[^;=\n(]*(?<![\w.$]){name}\b"
    return bool(re.search(rf"(?<![\w.$]){name}\s*[.(]", text)) and not re.search(declared, text)


def _declare(names: str) -> str:
    """`test, { mock as m }` of an import as declarations."""
    whole, _, parts = names.partition("{")
    if names.startswith("type "):
        return ""
    if "*" in names:
        return f"var {names.rsplit(maxsplit=1)[-1]} = {_OWN}"
    kept = [part.strip() for part in parts.rstrip("} \n").split(",") if not part.strip().startswith("type ")]
    bound = ", ".join(re.sub(r"\s+as\s+", ": ", part) for part in kept if part)
    first = whole.strip(" ,\n")
    rows = [f"var {first} = {_OWN}"] if first else []
    return "; ".join([*rows, f"var {{ {bound} }} = {_OWN}"] if bound else rows)
