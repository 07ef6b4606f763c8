"""The small edits that the demo agent tries: the right one is among them, none touches words or comments."""

import time

import pytest

from ralph.agents.demo.edits import Hints, apply_edit, definitions, edits, mask_text

NONE = Hints()


@pytest.mark.parametrize(
    ("path", "wrong", "right"),
    [
        ("a.py", "def f(a):\n    return a < 3\n", "def f(a):\n    return a <= 3\n"),
        ("a.py", "def f(a, b):\n    return a+b\n", "def f(a, b):\n    return a-b\n"),
        ("a.py", "def f(a):\n    return not a\n", "def f(a):\n    return a\n"),
        ("a.py", "def f(a):\n    return a and True\n", "def f(a):\n    return a or True\n"),
        ("a.py", "def f(a):\n    a * 2\n", "def f(a):\n    return a * 2\n"),
        ("a.py", "a = sorted(b, key=lambda x: -x)\n", "a = sorted(b, key=lambda x: x)\n"),
        ("a.py", "def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
        ("a.py", "def f(a, b):\n    return a * a\n", "def f(a, b):\n    return a * b\n"),
        ("a.py", "def f(a):\n    return len(a)\n", "def f(a):\n    return len(a) - 1\n"),
        ("a.js", "exports.f = (a) => Math.floor(a);\n", "exports.f = (a) => Math.ceil(a);\n"),
        ("a.js", "function f(a) {\n  return a === 0;\n}\n", "function f(a) {\n  return a !== 0;\n}\n"),
        ("a.js", "function f(a) {\n  a.length;\n}\n", "function f(a) {\n  return a.length;\n}\n"),
        ("a.ts", "const f = (n: number) => n % 11;\n", "const f = (n: number) => n % 10;\n"),
        ("a.go", "func F(a, b int) int { return a - b }\n", "func F(a, b int) int { return b - a }\n"),
        ("a.go", "func F(a int) bool { return a > 0 }\n", "func F(a int) bool { return a >= 0 }\n"),
        ("a.rs", "fn f(a: i32) -> i32 {\n    a + 1;\n}\n", "fn f(a: i32) -> i32 {\n    a + 1\n}\n"),
        ("a.rs", "fn f(a: &str) -> bool { !a.is_empty() }\n", "fn f(a: &str) -> bool { a.is_empty() }\n"),
        ("A.java", "int f(int a) {\n  return a * 3;\n}\n", "int f(int a) {\n  return a * 4;\n}\n"),
        ("A.java", "int f(int a, int b) {\n  return a;\n}\n", "int f(int a, int b) {\n  return b;\n}\n"),
    ],
)
def test_the_right_edit_is_among_them(path, wrong, right):
    """A slip of one token in any of the five languages is one edit away."""
    assert right in {apply_edit(wrong, edit) for edit in edits(wrong, path, NONE)}


def test_constants_of_the_tests_are_tried_last():
    """A wrong constant may be one that the failing test names; it comes after all likelier slips."""
    text = 'def f():\n    return "wrong", 7\n'
    found = edits(text, "a.py", Hints(("42",), ("right",)))
    made = [apply_edit(text, edit) for edit in found]
    assert text.replace("7", "42") in made
    assert text.replace("wrong", "right") in made
    assert [edit.kind for edit in found] == sorted(edit.kind for edit in found)
    assert max(edit.kind for edit in found if edit.new in ("8", "6")) < 4


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", '"""1 < 2"""\n# 3 + 4\nx = "5 - 6"\n'),
        ("a.js", "/* 1 < 2 */\n// 3 + 4\nconst x = '5 - 6' + `${7 * 8}`;\n".replace(" + `${7 * 8}`", "")),
        ("a.go", "/* 1 < 2 */\n// 3 + 4\nvar x = `5 - 6`\n"),
        ("a.rs", "// 3 + 4\n#[cfg(test)]\nmod tests { fn f() -> i32 { 1 + 2 } }\n"),
        ("A.java", "/** 1 < 2 */\nString x = \"5 - 6\"; char y = '7';\n"),
    ],
)
def test_words_comments_and_tests_are_left_alone(path, text):
    """Nothing inside strings, comments or Rust's own test modules is edited; every place stays the same."""
    assert edits(text, path, NONE) == []
    assert len(mask_text(text, path)) == len(text)


def test_definitions_of_all_languages():
    """Functions are found with their parameters, to know which of them a failing test calls."""
    found = {
        "a.py": "async def f(a, b=2):\n    pass\n",
        "a.js": "const f = async (a, b) => {};\n",
        "a.go": "func (r *R) f(a, b int) {}\n",
        "a.rs": "pub fn f(&self, a: i32, b: i32) {}\n",
        "A.java": "  public static int f(final int a, int b) throws E {\n  if (x) {\n",
    }
    for path, text in found.items():
        [one] = definitions(mask_text(text, path), path)
        assert (one.name, one.parameters) == ("f", ("a", "b")), path


def test_hostile_text_takes_no_time():
    """Text that is no program at all is read in bounded time."""
    began = time.process_time()
    for text in ("(" * 3000, "a " * 3000, '"' * 3001, "f(a, " * 1000, "x - " * 1000, "/*" * 3000):
        for path in ("a.py", "a.js", "a.rs", "A.java"):
            edits(text, path, NONE)
    assert time.process_time() - began < 20
