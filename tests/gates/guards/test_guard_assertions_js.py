"""The guard "assertions" for JavaScript and TypeScript, by the extra that parses them."""

import sys

import pytest
from guardkit import facts_of, kinds_of

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY

NODE = Gate(name="tests", run="node --test", argv=("node", "--test"), read="node", proof=True)
PATH = "test/a.test.js"
BASE = """\
const test = require("node:test");
const assert = require("node:assert");
const { add } = require("../calc");

test("adds", () => {
  assert.strictEqual(add(2, 2), 4);
  assert.ok(add(1, 0));
});

describe("big", () => {
  it("numbers", async () => {
    expect(add(10, 10)).toBe(20);
    await expect(load()).rejects.toThrow("no");
  });
});
"""


def swap(old, new):
    assert old in BASE
    return BASE.replace(old, new, 1)


ATTACKS = {
    "removed": (swap("  assert.strictEqual(add(2, 2), 4);\n", ""), ["removed"]),
    "emptied": (swap("  assert.strictEqual(add(2, 2), 4);\n  assert.ok(add(1, 0));\n", ""), ["removed"]),
    "expect removed": (swap("    expect(add(10, 10)).toBe(20);\n", ""), ["removed"]),
    "skip call": (swap('test("adds"', 'test.skip("adds"'), ["skip"]),
    "skip suite": (swap("describe(", "describe.skip("), ["skip"]),
    "only": (swap('it("numbers"', 'it.only("numbers"'), ["skip"]),
    "todo": (swap('test("adds"', 'test.todo("adds"'), ["skip"]),
    "xit": (swap("it(", "xit("), ["skip"]),
    "xdescribe": (swap("describe(", "xdescribe("), ["skip"]),
    "option": (swap('test("adds", ()', 'test("adds", { skip: true }, ()'), ["skip"]),
    "todo option": (swap('test("adds", ()', 'test("adds", { todo: "later" }, ()'), ["skip"]),
    "skipped inside": (swap("() => {\n  assert", "(t) => {\n  t.skip();\n  assert"), ["skip"]),
    "weaker": (swap("assert.strictEqual(add(2, 2), 4)", "assert.ok(add(2, 2))"), ["weakened"]),
    "truthy": (swap("toBe(20)", "toBeTruthy()"), ["weakened"]),
    "defined": (swap("toBe(20)", "toBeDefined()"), ["weakened"]),
    "constant": (swap("assert.strictEqual(add(2, 2), 4)", "assert.strictEqual(4, 4)"), ["tautology"]),
    "true": (swap("assert.strictEqual(add(2, 2), 4)", "assert(true)"), ["tautology"]),
    "itself": (swap("expect(add(10, 10)).toBe(20)", "expect(add(10, 10)).toBe(add(10, 10))"), ["tautology"]),
    "expected": (swap("add(2, 2), 4", "add(2, 2), 0"), ["expected"]),
    "matcher expected": (swap("toBe(20)", "toBe(0)"), ["expected"]),
    "swallowed": (
        swap("    expect(add(10, 10)).toBe(20);", "    try { expect(add(10, 10)).toBe(20); } catch {}"),
        ["dead"],
    ),
    "returned": (swap("  assert.strictEqual", "  return;\n  assert.strictEqual"), ["dead"]),
    "if false": (
        swap("    expect(add(10, 10)).toBe(20);", "    if (false) { expect(add(10, 10)).toBe(20); }"),
        ["dead"],
    ),
}
HONEST = {
    "formatting": BASE.replace(
        "assert.strictEqual(add(2, 2), 4)", "assert.strictEqual(\n    add(2, 2),\n    4,\n  )"
    ),
    "quotes": BASE.replace('"', "'"),
    "more": swap("  assert.ok(add(1, 0));\n", "  assert.ok(add(1, 0));\n  assert.equal(add(1, 1), 2);\n"),
    "new test": BASE + 'test("more", () => { assert.equal(add(1, 2), 3); });\n',
    "new skipped test": BASE + 'test.skip("later", () => {});\n',
    "stricter": swap("assert.ok(add(1, 0))", "assert.strictEqual(add(1, 0), 1)"),
    "moved": BASE.replace("  assert.ok(add(1, 0));\n", "")
    + 'test("one", () => {\n  assert.ok(add(1, 0));\n});\n',
    "handled": swap(
        "    expect(add(10", "    try { load(); } catch (e) { assert.ok(e); }\n    expect(add(10"
    ),
    "renamed subject": BASE.replace("add(", "plus("),
}


@pytest.fixture(autouse=True)
def extra():
    pytest.importorskip("ast_grep_py")


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("path", [PATH, "src/a.spec.ts"])
def test_attack(name, path):
    """A test of the base that asks less accuses."""
    text, expected = ATTACKS[name]
    assert kinds_of("assertions", {path: BASE}, {path: text}, gates=(NODE,)) == expected


@pytest.mark.parametrize("name", HONEST)
def test_honest_change(name):
    """Formatting, moving, adding and sharpening are no findings."""
    assert kinds_of("assertions", {PATH: BASE}, {PATH: HONEST[name]}, gates=(NODE,)) == []


def test_base_version_passes():
    """Where the base's version passes over the new source, only skips may not grow."""
    seen = {"tests": Reading("pass", "", tests={"adds": "pass", "big > numbers": "pass"})}
    fields = {"gates": (NODE,), "base": seen, "overlay": seen, "final": seen}
    assert kinds_of("assertions", {PATH: BASE}, {PATH: ATTACKS["weaker"][0]}, **fields) == []
    assert kinds_of("assertions", {PATH: BASE}, {PATH: ATTACKS["skip call"][0]}, **fields) == ["skip"]


@pytest.mark.parametrize("path", ["a.test.tsx", "a.test.mjs", "test/a.ts", "__tests__/a.jsx"])
@pytest.mark.parametrize(
    "text", ["\x00\xff", "((((" * 3000, "}{" * 2000, "test('a', () => { expect(", "`${" * 500]
)
def test_any_text(path, text):
    """No text breaks it."""
    kinds_of("assertions", {path: BASE}, {path: text}, gates=(NODE,))
    kinds_of("assertions", {path: text}, {path: BASE}, gates=(NODE,))


def test_without_the_extra(monkeypatch):
    """Without the extra the guard says that it did not look, and names the extra."""
    monkeypatch.setitem(sys.modules, "ast_grep_py", None)
    given = facts_of({PATH: BASE}, {PATH: ATTACKS["removed"][0]}, gates=(NODE,))
    seen = REGISTRY["assertions"](given)
    assert (seen.applied, seen.findings) == (False, ())
    assert '"tamper"' in seen.summary
    other = REGISTRY["assertions"](facts_of({}, {PATH: BASE, "src/a.js": "x"}, gates=(NODE,)))
    assert other.applied, "a new test has no base to be compared with"
