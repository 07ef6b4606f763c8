"""Which tests prove which criterion."""

from __future__ import annotations

import time

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.core.model.plan.test_link import CriterionTest, status_by_criterion
from ralph.core.model.verdict import Reading
from ralph.core.specs.find_tests import declared_tests, index_of, link_tests, named_in
from ralph.core.specs.parse import Spec, SpecCriterion


def spec(*ids: str) -> Spec:
    return Spec("specs/01-a.md", criteria=tuple(SpecCriterion(name, "t", 1, 1) for name in ids))


NAMES: list[tuple[str, set[str]]] = [
    ("test_auth_1_opens", {"AUTH-1"}),
    ("test_auth1", {"AUTH-1"}),
    ("TestAuth1Opens", {"AUTH-1"}),
    ("TestAUTH1", {"AUTH-1"}),
    ("AUTH-1 opens", {"AUTH-1"}),
    ("AUTH-001 opens", {"AUTH-1"}),
    ("AUTH-1, AUTH-2: both", {"AUTH-1", "AUTH-2"}),
    ("auth-10", set()),
    ("test_auth_11", set()),
    ("AUTH 1", set()),
    ("auth. 1 second later", set()),
    ("AUTH-1.5 seconds", set()),
    ("AC-1.2", {"AC-1.2"}),
    ("AC-1", {"AC-1"}),
    ("test_ac_1_2", {"AC-1.2"}),
    ("log_in_3", {"LOG-IN-3"}),
    ("", set()),
]


@pytest.mark.parametrize(("text", "found"), NAMES)
def test_ids_in_names(text: str, found: set[str]) -> None:
    """An id is found as it is, in snake_case and in CamelCase, and never as a part of another number."""
    assert named_in(text, index_of(["AUTH-1", "AUTH-2", "AC-1", "AC-1.2", "LOG-IN-3"])) == found


PYTHON = '''\
# AUTH-1
def test_above(): ...

class TestThings:
    """AUTH-9"""

    @pytest.mark.parametrize(
        "a",
        [1, 2],
    )
    @pytest.mark.criterion("AUTH-2")
    def test_marked(self, a):
        """AUTH-3 holds too.

        And AUTH-4.
        """
        assert "AUTH-9"

    def test_auth_5_named(
        self,
    ):  # AUTH-6
        # AUTH-7
        x = 1
        # AUTH-9

@criterion("AUTH-8")
class TestMarked:
    async def test_inherits(self):
        pass

def test_none(): pass
'''
JAVASCRIPT = """\
describe("x", () => {
  // AUTH-1
  it("works", () => {
    // AUTH-2
    f("AUTH-9") // AUTH-9
  });
  test.only(`AUTH-3`, f);
})
"""
GO = """\
// AUTH-1
func TestOpens(t *testing.T) {
\t// AUTH-2
}
func helper() {}
func (s *Suite) TestAuth3(t T) {
}
"""
OTHERS = {
    "a.test.js": (JAVASCRIPT, {"works": {"AUTH-1", "AUTH-2"}, "AUTH-3": {"AUTH-3"}}),
    "a_test.go": (GO, {"TestOpens": {"AUTH-1", "AUTH-2"}, "TestAuth3": {"AUTH-3"}}),
    "a.rs": ("/// AUTH-1\n#[test]\nfn opens() {\n}\n\nfn auth_2() {}\n", {"opens": {"AUTH-1"}}),
    "A.java": ('@Tag("AUTH-1")\n@Test\npublic void opens() {\n}\n', {"opens": {"AUTH-1"}}),
    "a.kt": ("@Test\nfun `AUTH-2 opens`() {\n}\n", {"AUTH-2 opens": {"AUTH-2"}}),
}


def test_python_tests() -> None:
    """Name, docstring, marker and comment beside a test count; its body and its class's docstring do not."""
    found = declared_tests("t.py", PYTHON, index_of([f"AUTH-{n}" for n in range(1, 10)]))
    assert {(one.scopes, one.name): set(one.names) for one in found} == {
        ((), "test_above"): {"AUTH-1"},
        (("TestThings",), "test_marked"): {"AUTH-2", "AUTH-3", "AUTH-4"},
        (("TestThings",), "test_auth_5_named"): {"AUTH-5", "AUTH-6", "AUTH-7"},
        (("TestMarked",), "test_inherits"): {"AUTH-8"},
        ((), "test_none"): set(),
    }
    assert [one.line for one in found] == [2, 12, 19, 28, 31]


@pytest.mark.parametrize("path", OTHERS)
def test_other_languages(path: str) -> None:
    """The same holds for tests of other languages."""
    text, expected = OTHERS[path]
    found = declared_tests(path, text, index_of([f"AUTH-{n}" for n in range(1, 10)]))
    assert {one.name: set(one.names) for one in found} == expected


def test_the_table() -> None:
    """Every criterion has a row for each test that names it, with what the gate saw, or says untested."""
    reading = Reading(
        "fail",
        "",
        tests={
            "t/test_a.py::test_above": "pass",
            "t/test_a.py::TestThings::test_marked[1]": "pass",
            "t/test_a.py::TestThings::test_marked[2]": "fail",
            "t/test_a.py::TestMarked::test_inherits": "pass",
            "t/x.py::test_auth_9": "skipped",
        },
        flaky=("t/test_a.py::TestMarked::test_inherits",),
    )
    rows = link_tests(
        [spec("AUTH-1", "AUTH-2", "AUTH-5", "AUTH-8", "AUTH-9", "AUTH-10")], reading, {"t/test_a.py": PYTHON}
    )
    assert [(one.criterion, one.test, one.status) for one in rows] == [
        ("AUTH-1", "t/test_a.py::test_above", "pass"),
        ("AUTH-2", "t/test_a.py::TestThings::test_marked[1]", "pass"),
        ("AUTH-2", "t/test_a.py::TestThings::test_marked[2]", "fail"),
        ("AUTH-5", "t/test_a.py:19 test_auth_5_named", "unseen"),
        ("AUTH-8", "t/test_a.py::TestMarked::test_inherits", "flaky"),
        ("AUTH-9", "t/x.py::test_auth_9", "skipped"),
        ("AUTH-10", "", "untested"),
    ]
    assert status_by_criterion(rows) == {
        "AUTH-1": "pass",
        "AUTH-2": "fail",
        "AUTH-5": "unseen",
        "AUTH-8": "flaky",
        "AUTH-9": "skipped",
        "AUTH-10": "untested",
    }


def test_ids_of_other_readers() -> None:
    """The ids of jest, go, cargo, unittest and plain JUnit find their tests, too."""
    files = {
        "a.test.js": '// AUTH-1\nit("works [x]", () => {})',
        "p/a_test.go": "// AUTH-2\nfunc TestOpens(t T) {\n}",
        "src/a.rs": "// AUTH-3\n#[test]\nfn opens() {}",
        "tests/test_u.py": "class A(TestCase):\n    # AUTH-4\n    def test_u(self): ...",
        "tests/test_v.py": "class A(TestCase):\n    def test_u(self): ...",
    }
    reading = Reading(
        "pass",
        "",
        tests={
            "a.test.js > works [x]": "pass",
            "example.com/p::TestOpens/sub": "pass",
            "lib > tests::opens": "pass",
            "tests.test_u.A.test_u": "pass",
            "tests.test_v.A.test_u": "pass",
        },
        files={"a.test.js > works [x]": "a.test.js"},
    )
    rows = link_tests([spec("AUTH-1", "AUTH-2", "AUTH-3", "AUTH-4")], reading, files)
    assert [one.test for one in rows] == [
        "a.test.js > works [x]",
        "example.com/p::TestOpens/sub",
        "lib > tests::opens",
        "tests.test_u.A.test_u",
    ]


def test_a_name_that_stands_for_two() -> None:
    """Where it cannot be told which of two tests is meant, both must name the criterion."""
    one, two = "# AUTH-1\ndef test_x(): ...", "def test_x(): ..."
    reading = Reading("pass", "", tests={"test_x": "pass"})
    rows = link_tests([spec("AUTH-1")], reading, {"a.py": one, "b.py": two})
    assert status_by_criterion(rows)["AUTH-1"] != "pass"
    assert status_by_criterion(link_tests([spec("AUTH-1")], reading, {"a.py": one, "b.py": one})) == {
        "AUTH-1": "pass"
    }


def test_nothing_is_known_without_a_reading() -> None:
    """Without per-test results a named test is unknown; a folder's name proves nothing."""
    files = {"a.py": "# AUTH-1\ndef test_x(): ..."}
    assert link_tests([spec("AUTH-1")], None, files) == (
        CriterionTest("specs/01-a.md", "AUTH-1", "a.py:2 test_x", "unknown"),
    )
    assert status_by_criterion(link_tests([spec("AUTH-1")], Reading("pass", ""), files)) == {
        "AUTH-1": "unknown"
    }
    reading = Reading("pass", "", tests={"auth-1/test_a.py::test_x": "pass"})
    assert status_by_criterion(link_tests([spec("AUTH-1")], reading, {})) == {"AUTH-1": "untested"}


def test_a_criterion_without_an_id_is_untested() -> None:
    """What cannot be named cannot be tied."""
    assert link_tests([spec("")], None, {})[0].status == "untested"


PIECES = st.sampled_from(
    [
        "def test_a(",
        "class B:",
        "# AUTH-1",
        '"""',
        "@x(",
        ")",
        "it('",
        "\n",
        "    ",
        "fn ",
        "#[test]",
        ":",
        "{",
    ]
)


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("".join), st.text(max_size=30))
def test_any_file_can_be_looked_at(text: str, test_id: str) -> None:
    """Nothing makes it raise, and every criterion has at least one row."""
    rows = link_tests([spec("AUTH-1", "A-2")], Reading("pass", "", tests={test_id: "pass"}), {"x": text})
    assert {one.criterion for one in rows} == {"AUTH-1", "A-2"}


@pytest.mark.parametrize(
    "piece", ["def test_a(\n", "# x\n", "(", "@x\n", "AUTH-", "    )\n", "it('", "/", "func ("]
)
def test_large_files_take_little_time(piece: str) -> None:
    """A large file of anything is looked through in a moment."""
    began = time.process_time()
    link_tests([spec("AUTH-1")], None, {"x": piece * (60_000 // len(piece))})
    assert time.process_time() - began < 20


def test_a_criterion_with_very_many_tests() -> None:
    """A few rows stand for thousands of tests, and the red one is among them."""
    tests = {f"test_auth_1_{number:05}": "pass" for number in range(5000)} | {"test_auth_1_x": "fail"}
    found = link_tests([spec("AUTH-1")], Reading("fail", "", tests=tests), {})  # type: ignore[arg-type]
    assert len(found) == 50
    assert status_by_criterion(found) == {"AUTH-1": "fail"}
