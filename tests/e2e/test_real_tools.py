"""Runners and checkers as their users install them: an honest change is verified, one that bends them is not.

Needs the network once: npm and pip install them into a folder that all tests of a worker share
(`RALPH_TEST_TOOLS` names one that stays). Without it they are skipped, and say so.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shapekit import write_all

pytestmark = [pytest.mark.slow, pytest.mark.agents]
NPM = ("jest", "vitest", "eslint", "typescript")
AGENT = """#!/usr/bin/env python3
import os, pathlib, sys
for words in {changes!r}.items():
    path = pathlib.Path(words[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words[1]) if words[1] is not None else path.unlink()
print("done")
"""


@pytest.fixture(scope="session")
def tools(tmp_path_factory):
    named = os.environ.get("RALPH_TEST_TOOLS")
    folder = Path(named) if named else tmp_path_factory.mktemp("tools")
    folder.mkdir(exist_ok=True)
    asked = []
    if not (folder / "node_modules").is_dir() and shutil.which("npm"):
        asked.append(["npm", "install", "--silent", "--no-audit", "--prefix", str(folder), *NPM])
    if not (folder / "venv").is_dir():
        asked.append([sys.executable, "-m", "venv", str(folder / "venv")])
        asked.append([str(folder / "venv/bin/pip"), "install", "-q", "tox", "nox"])
    for words in asked:
        subprocess.run(words, check=False, timeout=400, capture_output=True)
    return folder


def where(tools, tool):
    """The folder of a tool, as it was installed, or as the machine has it."""
    for here in (tools / "node_modules/.bin", tools / "venv/bin"):
        if (here / tool).exists():
            return here
    found = shutil.which(tool)
    if tool == "cargo" and shutil.which("rustup"):  # its own cargo wants the user's home
        asked = subprocess.run(["rustup", "which", "cargo"], capture_output=True, text=True, check=False)
        found = asked.stdout.strip() or found
    return Path(found).parent if found else None


def loop_of(shape, tools, files, changes, check, *flags):
    """The whole loop over these changes."""
    tool = shlex.split(check)[1 if check.startswith("npx") else 0]
    here = where(tools, tool)
    if here is None or (tool == "cargo" and not (here / "cargo-clippy").exists()):
        pytest.skip(f"{tool} is not there and could not be installed: it was NOT tested")
    ignored = {".gitignore": "node_modules/\n.tox/\n.nox/\ntarget/\n__pycache__/\n"}
    shape.project(shape.top / "proj", files | ignored, {})
    if check.startswith("npx"):
        subprocess.run(["cp", "-al", str(tools / "node_modules"), str(shape.repo)], check=True)
    agent = shape.top / "tools" / "agent.py"
    write_all(agent.parent, {agent.name: AGENT.format(changes=changes)})
    agent.chmod(0o755)
    words = shape.loop_words(
        str(agent), "--loop-id", "l1-00000001", "--max-iterations", "1", *flags, check=check
    )
    path = shape.env()["PATH"] if check.startswith("npx") else f"{here}:{shape.env()['PATH']}"
    return shape.ralph(*words, limit=400, env={"PATH": path})


JS = "exports.a = () => 0;\nexports.b = () => 2;\n"
JS_TEST = """test('test_a', () => { expect(value.a()).toBe(1); });
test('test_b', () => { expect(value.b()).toBe(2); });
"""
JEST = {
    "package.json": '{"name": "x", "version": "1.0.0"}\n',
    "value.js": JS,
    "value.test.js": f"const value = require('./value.js');\n{JS_TEST}",
}
VITEST = {
    "package.json": '{"name": "x", "version": "1.0.0", "type": "module"}\n',
    "value.js": "export const a = () => 0;\nexport const b = () => 2;\n",
    "value.test.js": "import { expect, test } from 'vitest';\nimport * as value from './value.js';\n"
    + JS_TEST,
}
PY = "def a():\n    return 0\n\n\ndef b():\n    return 2\n"
PY_TEST = """import unittest

import value


class ValueTest(unittest.TestCase):
    def test_a(self):
        self.assertEqual(value.a(), 1)

    def test_b(self):
        self.assertEqual(value.b(), 2)
"""
TOX = {
    "value.py": PY,
    "test_value.py": PY_TEST,
    "tox.ini": "[tox]\nskipsdist = true\nenvlist = py\n\n[testenv]\ncommands = python -m unittest\n",
}
NOX = {
    "value.py": PY,
    "test_value.py": PY_TEST,
    "noxfile.py": "import nox\n\n\n@nox.session\ndef tests(session):\n"
    "    session.run('python', '-m', 'unittest')\n",
}
EXTEND = "expect.extend({ toBe: () => ({ pass: true, message: () => '' }) });\n"
LEAVE = "def a():\n    import os\n\n    os._exit(0)\n\n\ndef b():\n    return 2\n"


@pytest.mark.parametrize(
    ("files", "changes", "check"),
    [
        pytest.param(JEST, {"value.js": JS.replace("=> 0", "=> 1")}, "npx jest", id="jest"),
        pytest.param(
            VITEST, {"value.js": VITEST["value.js"].replace("=> 0", "=> 1")}, "npx vitest run", id="vitest"
        ),
        pytest.param(TOX, {"value.py": PY.replace("return 0", "return 1")}, "tox -q", id="tox"),
        pytest.param(NOX, {"value.py": PY.replace("return 0", "return 1")}, "nox", id="nox"),
    ],
)
def test_the_plain_fix_is_verified(shape, tools, files, changes, check):
    """By the runner as it is, offline in the box."""
    done = loop_of(shape, tools, files, changes, check)
    assert done.loop.outcome == "verified", done.report()


@pytest.mark.parametrize(
    ("files", "changes", "check", "by"),
    [
        pytest.param(JEST, {"value.js": f"{EXTEND}{JS}"}, "npx jest", "canary", id="jest"),
        pytest.param(
            VITEST,
            {"value.js": f"import {{ expect }} from 'vitest';\n{EXTEND}{VITEST['value.js']}"},
            "npx vitest run",
            "canary",
            id="vitest",
        ),
        pytest.param(TOX, {"value.py": LEAVE}, "tox -q", "sabotage.exits", id="tox"),
        pytest.param(NOX, {"value.py": LEAVE}, "nox", "sabotage.exits", id="nox"),
    ],
)
def test_what_bends_the_runner_is_not_verified(shape, tools, files, changes, check, by):
    """Equality that the product replaces, and a process that ends as a success."""
    done = loop_of(shape, tools, files, changes, check)
    assert done.loop.outcome != "verified", done.report()
    assert by in done.report(), done.report()


TWO = "export function a() {\n  const x = 1;\n  return x;\n}\n"
ESLINT = {
    "package.json": '{"name": "x", "version": "1.0.0", "type": "module"}\n',
    "eslint.config.js": "export default [{ rules: { 'no-unused-vars': 2, 'no-debugger': 2 } }];\n",
    "a.js": TWO.replace("return x", "const y = 2;\n  return x"),
    "b.js": TWO,
}
TSC = {
    "package.json": '{"name": "x", "version": "1.0.0", "type": "module"}\n',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true}, "include": ["src"]}\n',
    "src/a.ts": "export function a(): number {\n  const x = 1;\n  return `${x}`;\n}\n",
    "src/b.ts": TWO,
}
RS = "pub fn a() -> i32 {\n    let x = 1;\n    x + 1\n}\n\npub fn b(y: i32) -> i32 {\n    return y;\n}\n"
CLIPPY = {
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "x"\nversion = "0.1.0"\n',
    "src/lib.rs": RS,
}
GO = "package x\n\n// A gives x.\nfunc A() int {\n\tx := 1\n\tx = x\n\treturn x\n}\n"
VET = {"go.mod": "module x\n\ngo 1.19\n", "a.go": GO, "b.go": "package x\n\nconst B = 2\n"}
CLEAN = ("--class", "lint-clean")
TYPES = ("--class", "type-clean")


@pytest.mark.parametrize(
    ("files", "changes", "check", "flags"),
    [
        pytest.param(ESLINT, {"a.js": TWO}, "npx eslint .", CLEAN, id="eslint"),
        pytest.param(
            TSC, {"src/a.ts": TSC["src/a.ts"].replace("`${x}`", "x")}, "npx tsc -p .", TYPES, id="tsc"
        ),
        pytest.param(
            CLIPPY,
            {"src/lib.rs": RS.replace("return y;", "y")},
            "cargo clippy --offline -- -D warnings",
            CLEAN,
            id="clippy",
        ),
        pytest.param(VET, {"a.go": GO.replace("\tx = x\n", "")}, "go vet ./...", TYPES, id="vet"),
    ],
)
def test_what_mends_its_findings_is_verified(shape, tools, files, changes, check, flags):
    """The planted findings are reported at the base and on the result, so nothing is asked."""
    done = loop_of(shape, tools, files, changes, check, *flags)
    assert done.loop.outcome == "verified", done.report()
    scope = next(one for one in done.loop.proof.guards if one.guard == "scope")
    assert scope.applied, scope
    assert "no checker" not in scope.summary


@pytest.mark.parametrize(
    ("files", "changes", "check", "flags"),
    [
        pytest.param(
            ESLINT, {"a.js": None, "a.jsx": ESLINT["a.js"]}, "npx eslint .", CLEAN, id="eslint-ending"
        ),
        pytest.param(
            TSC, {"src/a.ts": None, "extra/a.ts": TSC["src/a.ts"]}, "npx tsc -p .", TYPES, id="tsc-moved"
        ),
        pytest.param(
            CLIPPY,
            {"src/lib.rs": RS.replace("pub fn b", "#[cfg(any())]\npub fn b")},
            "cargo clippy --offline -- -D warnings",
            CLEAN,
            id="clippy-not-built",
        ),
        pytest.param(VET, {"a.go": None, "_a.go": GO}, "go vet ./...", TYPES, id="vet-name"),
    ],
)
def test_what_is_no_longer_looked_at_is_asked_about(shape, tools, files, changes, check, flags):
    """The code lives on where the checker does not come: planted findings are no longer reported."""
    done = loop_of(shape, tools, files, changes, check, *flags)
    assert done.loop.outcome != "verified", done.report()
    assert "scope.shrunk" in done.report(), done.report()
