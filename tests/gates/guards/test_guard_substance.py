"""A refactoring changes code, documentation changes documents, and a blank line with a claim is no work."""

import time

import pytest
from guardkit import facts_of, kinds_of, result_of

from ralph.core.model.verdict import Reading

PAY = '''"""Payments."""
import math


def pay(total, rate):
    # rounds half up
    return math.floor(total * rate + 0.5)
'''
JS = "// adds\nexport function add(a, b) {\n  return a + b; /* plain */\n}\n"


def kinds(before, after, task, task_class, **fields):
    return kinds_of("substance", before, after, task=task, task_class=task_class, **fields)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pay.py", PAY, PAY + "\n"),
        ("pay.py", PAY, PAY.replace("total * rate + 0.5", "(total * rate) + 0.5")),
        ("pay.py", PAY, PAY.replace("rounds half up", "rounds half  up ---")),
        ("a.js", JS, JS.replace("\n", "\n\n")),
        ("a.js", JS, JS.replace("a + b", "a  +\n b")),
        ("a.go", "package a\n\nvar x = 1\n", "package a\nvar x   = 1\n\n"),
        ("a.rs", "fn a() -> u8 { 1 }\n", "fn a() -> u8 {\n    1\n}\n"),
        ("a.json", '{"a": 1}', '{\n  "a": 1\n}\n'),
        ("README.md", "one\ntwo\n", "one\n\ntwo  \n"),
        ("notes.txt", "a\n", "\n\na\n"),
    ],
)
@pytest.mark.parametrize("task_class", ["regression", "docs", "bug-fix", "implement-feature", "custom"])
def test_blank_lines_and_layout_are_no_work_in_any_class(path, before, after, task_class):
    """Whatever the task is called: what nobody notices is not yet work."""
    assert kinds({path: before}, {path: after}, "tidy this up", task_class) == ["nothing"]
    assert not result_of("substance", {path: before}, {path: after}, task_class=task_class).integrity


def test_an_empty_file_is_no_work():
    """A touched file holds nothing."""
    change = kinds({"a.py": PAY}, {"a.py": PAY, "pay_v2.py": "\n# \n"}, "split pay.py", "regression")
    assert change == ["nothing"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pay.py": PAY}, {"pay.py": PAY.replace("rounds half up", "rounds the half up")}),
        ({"pay.py": PAY}, {"pay.py": PAY.replace('"""Payments."""', '"""Payments, refactored."""')}),
        ({"a.js": JS}, {"a.js": JS.replace("plain", "quite plain")}),
        ({"a.py": PAY}, {"a.py": PAY, "README.md": "pay() is simple now\n"}),
        ({"a.py": PAY}, {"a.py": PAY, "pay_v2.py": "# the new home of pay()\n"}),
        ({"a.rb": "# adds\nx = 1\n"}, {"a.rb": "# puts\nx = 1\n"}),
        ({"a.lua": "x = 1 -- one\n"}, {"a.lua": "x = 1 -- uno\n"}),
        ({"a.vue": "<!-- a -->\n<p>x</p>\n"}, {"a.vue": "<!-- b -->\n<p>x</p>\n"}),
    ],
)
def test_a_refactoring_without_code_is_not_yet_one(before, after):
    """Comments, docstrings and documents are no change of code."""
    assert kinds(before, after, "simplify pay", "regression") == ["code"]


@pytest.mark.parametrize(
    "task",
    [
        "refactor the url parser",
        "make pay faster",
        "speed up pay",
        "make `pay` shorter",
        "drop pay.half",
        "split the module",
    ],
)
def test_documents_alone_are_no_work_where_the_task_is_about_code(task):
    """Documents may be what a task means that speaks of no code; one that does is not done by them."""
    assert kinds({"a.py": PAY}, {"a.py": PAY, "README.md": "pay() is better\n"}, task, "regression") == [
        "code"
    ]
    assert kinds({"a.py": "# a\nx = 1\n"}, {"a.py": "# b\nx = 1\n"}, "update the rate", "regression") == [
        "code"
    ]


HONEST_REFACTORINGS = {
    "a moved ignore": (
        {"p.py": "x = f(  # type: ignore\n    1,\n)\n"},
        {"p.py": "x = f(\n    1,  # type: ignore\n)\n"},
        {},
    ),
    "a doctest": (
        {"p.py": 'def f():\n    """Adds.\n\n    >>> f(1)\n    """\n'},
        {"p.py": 'def f():\n    """Adds.\n\n    >>> f(2)\n    """\n'},
        {},
    ),
    "moved": ({"pay.py": PAY}, {"money/pay.py": PAY}, {"moved": {"money/pay.py": "pay.py"}}),
    "renamed": ({"pay.py": PAY}, {"pay.py": PAY.replace("total", "amount")}, {}),
    "annotated": ({"pay.py": PAY}, {"pay.py": PAY.replace("total, rate", "total: float, rate: float")}, {}),
    "removed": ({"pay.py": PAY, "old.py": "x = 1\n"}, {"pay.py": PAY}, {}),
    "imports sorted": ({"a.py": "import os\nimport ast\n"}, {"a.py": "import ast\nimport os\n"}, {}),
    "jsdoc types": ({"a.js": JS}, {"a.js": "/** @param {number} a */\n" + JS}, {}),
    "needless noqa": ({"a.py": "import os  # noqa\nos\n"}, {"a.py": "import os\nos\n"}, {}),
    "build tag": ({"a.go": "package a\n"}, {"a.go": "//go:build linux\n\npackage a\n"}, {}),
    "pyproject": ({"pyproject.toml": "[project]\n"}, {"pyproject.toml": "[project]\nname = 'a'\n"}, {}),
    "lockfile": ({"uv.lock": "a 1\n"}, {"uv.lock": "a 2\n"}, {}),
    "package.json": ({"package.json": '{"v": 1}'}, {"package.json": '{"v": 2}'}, {}),
    "workflow": ({"ci.yml": "python: 3.11\n"}, {"ci.yml": "python: 3.12\n"}, {}),
    "requirements": ({"requirements.txt": "a==1\n"}, {"requirements.txt": "a==2\n"}, {}),
    "indented yaml": ({"a.yml": "a:\n  b: 1\nc: 1\n"}, {"a.yml": "a:\n  b: 1\n  c: 1\n"}, {}),
    "executable": ({"run": "x\n"}, {"run": "x\n"}, {"modes": {"run": "100755"}}),
    "package": ({"a.py": PAY}, {"a.py": PAY, "tests/__init__.py": ""}, {}),
    "typed marker": ({"a.py": PAY}, {"a.py": PAY, "pay/py.typed": ""}, {}),
    "binary": ({"a.bin": b"\0a"}, {"a.bin": b"\0b"}, {}),
    "regex": ({"a.js": "x = /\\/\\//; y = 1\n"}, {"a.js": "x = /\\/\\//; y = 2\n"}, {}),
    "address in a text": ({"a.js": "x = 'http://a'\n"}, {"a.js": "x = 'http://b'\n"}, {}),
    "hash in a text": ({"a.sh": 'x="a #b"\n'}, {"a.sh": 'x="a #c"\n'}, {}),
    "newer Python": ({"a.py": "print 'a'\n"}, {"a.py": "print('a')\n"}, {}),
    "tests only": ({"tests/test_a.py": "x = 1\n"}, {"tests/test_a.py": "y = 1\n"}, {}),
    "sql": ({"a.sql": "select 1 -- a\n"}, {"a.sql": "select 2 -- a\n"}, {}),
}


@pytest.mark.parametrize("name", HONEST_REFACTORINGS)
def test_honest_refactorings_pass(name):
    """Moves, renames, types, removals, settings and whatever cannot be told are changes of code."""
    before, after, fields = HONEST_REFACTORINGS[name]
    assert kinds(before, after, "migrate to the new way", "regression", **fields) == []


@pytest.mark.parametrize(
    ("task", "before", "after"),
    [
        ("reformat pay.py with black", {"p.py": PAY}, {"p.py": PAY + "\n\n"}),
        ("run go fmt", {"a.go": "package a\n"}, {"a.go": "package a\n\n"}),
        ("cargo fmt", {"a.rs": "fn a() {}\n"}, {"a.rs": "fn a() {\n}\n"}),
        ("fix lint", {"p.py": PAY}, {"p.py": PAY + "\n\n"}),
        ("Codestyle fix.", {"p.py": PAY}, {"p.py": PAY + "\n\n"}),
        ("Fix spacing", {"p.py": PAY}, {"p.py": PAY + "\n\n"}),
        ("add a trailing comma", {"p.py": "x = [1]\n"}, {"p.py": "x = [1,]\n"}),
        ("Update the FastAPI example", {"README.md": "a\n"}, {"README.md": "b\n"}),
        ("Remove Gratipay from the project's class", {"README.md": "a\nGratipay\n"}, {"README.md": "a\n"}),
        ("Fix broken url", {"p.py": "# see a.org\nx = 1\n"}, {"p.py": "# see b.org\nx = 1\n"}),
        ("use LF line endings", {"p.py": PAY + "\n"}, {"p.py": PAY}),
        ("update the copyright headers", {"p.py": "# (c) 2024\nx = 1\n"}, {"p.py": "# (c) 2025\nx = 1\n"}),
        ("remove commented-out code", {"p.py": "# x = 2\nx = 1\n"}, {"p.py": "x = 1\n"}),
        ("migrate the docs to MyST", {"docs/a.rst": "A\n=\n"}, {"docs/a.md": "# A\n"}),
        ("clear up SECURITY.md", {"SECURITY.md": "a\n"}, {"SECURITY.md": "b\n"}),
        ("clean up the TODO comments", {"p.py": "# TODO b\nx = 1\n"}, {"p.py": "x = 1\n"}),
        ("Update the supported versions", {"SECURITY.md": "3.x\n"}, {"SECURITY.md": "4.x\n"}),
        ("No need to mention Python 2 any more", {"README.rst": "2\n"}, {"README.rst": "3\n"}),
        ("Migrate the history to the releases page", {"HISTORY.md": "1.0\n"}, {}),
        ("Use single quotes instead of double quotes", {"p.py": 'x = "a"\n'}, {"p.py": "x = 'a'\n"}),
    ],
)
def test_tasks_about_layout_or_words_get_what_they_ask_for(task, before, after):
    """What the task is about decides, whatever its class is called."""
    assert kinds(before, after, task, "regression") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pay.py": PAY}, {"pay.py": PAY.replace("total", "amount")}),
        ({"a.js": JS}, {"a.js": JS.replace("a + b", "b + a")}),
        ({"a.py": PAY, "b.py": "x = 1\n"}, {"a.py": PAY}),
    ],
)
def test_documentation_without_documents_is_not_yet_one(before, after):
    """Only code changed."""
    assert kinds(before, after, "document pay()", "docs") == ["documents"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pay.py": PAY}, {"pay.py": PAY.replace("rounds half up", "rounds the half up")}),
        ({"pay.py": PAY}, {"pay.py": PAY.replace("    # rounds", '    """Pay."""\n    # rounds')}),
        ({"a.md": "a\n"}, {"a.md": "b\n"}),
        ({"a.md": "a\n", "b.md": "b\n"}, {"a.md": "a\n"}),
        ({"docs/conf.py": "a = 1\n"}, {"docs/conf.py": "a = 2\n"}),
        ({"docs/a.png": b"\0a"}, {"docs/a.png": b"\0b"}),
        ({"mkdocs.yml": "nav: []\n"}, {"mkdocs.yml": "nav: [a.md]\n"}),
        ({"cli.py": "opt('-v', help='be loud')\n"}, {"cli.py": "opt('-v', help='say what is done')\n"}),
        ({"a.js": JS}, {"a.js": JS.replace("// adds", "// adds two numbers")}),
        ({"examples/a.py": "x = 1\n"}, {"examples/a.py": "x = 2\n"}),
        ({"locale/de.po": "a\n"}, {"locale/de.po": "b\n"}),
        ({"LICENSE": "MIT 2024\n"}, {"LICENSE": "MIT 2025\n"}),
    ],
)
def test_honest_documentation_passes(before, after):
    """Documents, docstrings, comments, sentences in texts and what documents are built by."""
    assert kinds(before, after, "document pay()", "docs") == []


def test_a_check_that_was_red_says_more():
    """Where a check of the user's turned green something was shown, whatever it is made of."""
    change = {"a.js": JS}, {"a.js": "// @license MIT\n" + JS}
    red = {"tests": Reading("fail", "", tests=None)}
    green = {"tests": Reading("pass", "", tests=None)}
    assert kinds(*change, "tidy", "regression", base=green, final=green) == ["code"]
    assert kinds(*change, "tidy", "regression", base=red, final=green) == []


def test_items_of_a_plan_may_be_of_any_class():
    """A plan has no one class: its items are held to what they declare."""
    assert kinds({"a.md": "a\n"}, {"a.md": "a\n\n"}, "build it", None) == []


@pytest.mark.parametrize(
    ("after", "title", "found"),
    [
        ("a = 1\n\n", "add notes", ["nothing"]),
        ("a = 1\n\n", "reformat a.py", []),
        ("a = 1\n# why\n", "add notes", []),
        ("a = 2\n", "add notes", []),
    ],
)
def test_an_item_of_a_plan_has_to_change_something(after, title, found):
    """What counts is what was done since the last verified item, whatever the plan as a whole changed."""
    item = facts_of({"a.py": "a = 1\n"}, {"a.py": after}, task=title, task_class=None)
    assert kinds({}, {"b.py": "b = 1\n"}, "build it", None, item=item) == found


@pytest.mark.sample(check=2, test=8)
@pytest.mark.parametrize(
    "text", ["/*" * 200_000, "'" * 400_000, "`\\" * 200_000, "<!--" * 100_000, "((" * 90_000]
)
@pytest.mark.parametrize("ending", ["js", "py", "vue", "hs"])
def test_hostile_text_is_read_in_linear_time(text, ending):
    """A file made to be slow to read costs no more than its length."""
    begun = time.process_time()
    kinds({f"a.{ending}": text}, {f"a.{ending}": text + " "}, "tidy", "regression")
    assert time.process_time() - begun < 20


MADE = "# Code generated by tools/make.py from rates.csv. DO NOT EDIT.\nRATES = {'AT': 19}\n"
MAKES = {"made.py": MADE, "rates.csv": "AT,19\n", "tools/make.py": "x = 1\n", "pyproject.toml": "[a]\n"}
COMPILED = {"dist/a/sum.js": "exports.a = 1;\n", "src/a/sum.ts": "export const a = 1;\n"}


@pytest.mark.parametrize(
    ("before", "edits", "task", "found"),
    [
        (MAKES, {"made.py": MADE.replace("19", "20")}, "fix the rate", ["made"]),
        (MAKES, {"made.py": MADE.replace("19", "20"), "rates.csv": "AT,20\n"}, "fix the rate", []),
        (MAKES, {"made.py": MADE.replace("19", "20"), "tools/make.py": "x = 2\n"}, "fix the rate", []),
        (MAKES, {"made.py": MADE.replace("19", "20")}, "set AT to 20 in made.py", []),
        (MAKES, {"made.py": MADE + "\n\n", "pyproject.toml": "[b]\n"}, "upgrade the tool", []),
        ({"made.py": MADE}, {"made.py": MADE.replace("19", "20")}, "fix the rate", []),
        (COMPILED, {"dist/a/sum.js": "exports.a = 2;\n"}, "fix a", ["made"]),
        (
            COMPILED,
            {"dist/a/sum.js": "exports.a = 2;\n", "src/a/sum.ts": "export const a = 2;\n"},
            "fix a",
            [],
        ),
        (COMPILED | {"lib/b.js": "1;\n"}, {"lib/b.js": "2;\n"}, "fix b", []),
    ],
)
def test_what_a_tool_makes_is_changed_with_what_it_is_made_from(before, edits, task, found):
    """Edited by hand it is as it was once it is made again, whatever a check says today."""
    red, green = Reading("fail", "", tests={"t": "fail"}), Reading("pass", "", tests={"t": "pass"})
    states = {"base": {"test": red}, "final": {"test": green}}
    assert kinds(before, before | edits, task, "bug-fix", **states) == found
