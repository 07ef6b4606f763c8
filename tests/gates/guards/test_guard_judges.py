"""What judges is found by who read it at the base; what cannot be told is named, and nobody is accused."""

import pytest
from guardkit import PYTEST, facts_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import FileReads, Finding, Reading
from ralph.gates.guards import Tried, attribution_request, overlay_request
from ralph.gates.guards._watch.attribution import not_told
from ralph.gates.guards._watch.exercised import exercised_files, other_product
from ralph.gates.guards._watch.judge_files import Judges, watched_judges
from ralph.gates.guards.integrity.base_tests import check

TEST = "from shop.agree import agree\nfrom shop.near import near\nfrom shop.prices import total\n"
TEST += "def test_a():\n    got = total([1])\n    assert near(got, 1)\n    agree(total([2]), 2)\n"
FILES = {
    "shop/prices.py": "def total(x):\n    return 0\n",
    "shop/agree.py": "def agree(a, b):\n    if a != b:\n        raise AssertionError(a)\n",
    "shop/near.py": "def near(a, b):\n    return a == b\n",
    "shop/rates.json": "{}",
    "wanted/sums.json": "[1]",
    "README.md": "text",
    "tests/test_a.py": TEST,
}
BY = {
    "shop/prices.py": ("tests/test_a.py",),
    "shop/agree.py": ("tests/test_a.py",),
    "shop/near.py": ("tests/test_a.py",),
    "shop/rates.json": ("shop/prices.py",),
    "wanted/sums.json": ("tests/test_a.py",),
    "README.md": ("tests/test_b.py",),
}
ID = "tests/test_a.py::test_a"


def judged(
    edit, *, reads=None, task="", message="shop/agree.py:3: AssertionError", gates=(PYTEST,), **fields
):
    seen = reads or FileReads(opened=tuple(FILES), by=BY, outside=("packaging",), roots=(".",))
    base = Reading(
        "fail", "", tests={ID: "fail"}, files={ID: "tests/test_a.py"}, findings=(Finding(ID, message),)
    )
    after = {path: text for path, text in (FILES | edit).items() if text is not None}
    base = replace(base, reads=seen)
    return facts_of(FILES, after, base={"tests": base}, task=task, gates=gates, **fields)


def test_expected_values_judge_wherever_they_stand():
    """Data that only tests read, who also try the product, is put back when the base's tests judge."""
    facts = judged({"wanted/sums.json": "[0]"})
    assert watched_judges(facts).known == {"wanted/sums.json"}
    assert overlay_request(facts).restore == ("wanted/sums.json",)
    assert attribution_request(facts).restore == ("wanted/sums.json",)


def test_data_that_the_product_reads_is_product():
    facts = judged({"shop/rates.json": "[0]", "README.md": "other"})
    assert watched_judges(facts) == Judges()
    assert overlay_request(facts) is None


def test_data_that_is_itself_what_is_checked_is_product():
    """A test that reads a table and tries no code looks at the table."""
    reads = FileReads(opened=tuple(FILES), by={"wanted/sums.json": ("tests/test_a.py",)})
    assert watched_judges(judged({"wanted/sums.json": "[0]"}, reads=reads)) == Judges()


def test_what_the_task_asks_to_change_is_changed():
    """Named as something to change, not merely as what shows the bug."""
    edit = {"wanted/sums.json": "[0]"}
    assert watched_judges(judged(edit, task="round up, and update wanted/sums.json")) == Judges()
    assert watched_judges(judged(edit, task="fix total(): wanted/sums.json shows what is wrong")).known


def test_a_helper_that_failed_the_base_judges_and_one_that_compares_is_unclear():
    """By where the red tests failed; a helper that only compares may be the product as well."""
    facts = judged({"shop/agree.py": "def agree(a, b):\n    pass\n", "shop/near.py": "near = 1\n"})
    assert watched_judges(facts).known == {"shop/agree.py"}
    assert watched_judges(facts).unclear == {"shop/near.py"}
    assert other_product(facts) == ["shop/prices.py"]
    assert "shop/near.py" not in other_product(facts)


def test_the_product_that_only_tests_import_is_product():
    """Nothing is handed to it that other code of the product made."""
    facts = judged({"shop/prices.py": "def total(x):\n    return sum(x)\n"})
    assert watched_judges(facts) == Judges()
    assert "shop/prices.py" in exercised_files(facts)


def test_a_new_file_in_place_of_something_else_is_left_out():
    """A module that takes the place of an installed one, and a file that tests looked for."""
    reads = FileReads(
        opened=tuple(FILES),
        by=BY,
        missed={"wanted/local.json": ("tests/test_a.py",)},
        outside=("packaging",),
        roots=(".",),
    )
    edit = {"packaging/version.py": "x = 1\n", "wanted/local.json": "[0]", "shop/new.py": "y = 1\n"}
    facts = judged(edit, reads=reads)
    assert watched_judges(facts).added == {"packaging/version.py", "wanted/local.json"}
    assert set(overlay_request(facts).drop) == {"packaging/version.py", "wanted/local.json"}


@pytest.mark.parametrize(
    "said", ["Error: Cannot find module '../default'", "ModuleNotFoundError: No module named 'shop.default'"]
)
def test_a_new_module_without_which_a_check_could_not_go_on_is_product(said):
    """Tests looked for it, and the base was red because it was not there: that is what was asked for."""
    for message, added in ((said, set()), ("AssertionError: 1 != 2", {"default.js"})):
        reads = FileReads(opened=tuple(FILES), by=BY, missed={"default.js": ("tests/test_a.py",)})
        facts = judged({"default.js": "module.exports = 1\n"}, reads=reads, message=message)
        assert watched_judges(facts).added == added


def test_a_file_that_nobody_tells_about_belongs_to_who_names_it():
    """A shell opens files, and inotify does not tell who: the text that names one does."""
    files = {"check.sh": "diff out wanted/labels\n", "wanted/labels": "1\n", "show.js": "console.log(1)\n"}
    gate = Gate(name="tests", run="sh check.sh", argv=("sh", "check.sh"), proof=True, own_files=("check.sh",))
    base = {"tests": Reading("fail", "", reads=FileReads(opened=tuple(files)))}
    facts = facts_of(files, files | {"wanted/labels": "2\n"}, base=base, gates=(gate,))
    assert watched_judges(facts).known == {"wanted/labels"}


def test_accused_is_only_who_turned_it_green_by_the_judge_alone():
    """The base with the judge's files alone: green accuses, red asks, for the behaviour changed as well."""
    red = Reading("fail", "", tests={ID: "fail"}, files={ID: "tests/test_a.py"})
    green = Reading("pass", "", tests={ID: "pass"}, files={ID: "tests/test_a.py"})
    edit = {"wanted/sums.json": "[0]"}
    for alone, asks in ((green, False), (red, True)):
        facts = judged(
            edit, final={"tests": green}, tried=Tried(overlay={"tests": red}, attributed={"tests": alone})
        )
        found = check(facts).findings
        assert [(finding.key, finding.asks) for finding in found] == [(f"base_tests.red:{ID}", asks)]


def test_what_cannot_be_told_is_named_where_it_matters():
    """An unclear file that alone turns the check green is named; one that does not is not."""
    red = Reading("fail", "", tests={ID: "fail"})
    green = Reading("pass", "", tests={ID: "pass"})
    edit = {"shop/near.py": "def near(a, b):\n    return True\n"}
    named = check(judged(edit, final={"tests": green}, tried=Tried(attributed={"tests": green})))
    assert not named.applied
    assert "shop/near.py" in named.summary
    assert not named.findings
    assert check(judged(edit, final={"tests": green}, tried=Tried(attributed={"tests": red}))).applied


def test_values_written_as_code_are_product_where_nothing_else_is_tried():
    """Constants that tests import alone are what they check; beside other code they are expected data."""
    seen = FileReads(
        opened=("limits.py", "tests/test_a.py"), by={"limits.py": ("tests/test_a.py",)}, roots=(".",)
    )
    files = {"limits.py": "MOST = 1\n", "tests/test_a.py": "from limits import MOST\n"}
    base = Reading("fail", "", tests={ID: "fail"}, files={ID: "tests/test_a.py"}, reads=seen)
    facts = facts_of(files, files | {"limits.py": "MOST = 2\n"}, base={"tests": base}, gates=(PYTEST,))
    assert watched_judges(facts) == Judges()
    beside = replace(base, reads=FileReads(
        opened=("limits.py", "shop.py", "tests/test_a.py"),
        by={"limits.py": ("tests/test_a.py",), "shop.py": ("tests/test_a.py",)}, roots=(".",),
    ))  # fmt: skip
    files["shop.py"] = "def total(x):\n    return 0\n"
    facts = facts_of(files, files | {"limits.py": "MOST = 2\n"}, base={"tests": beside}, gates=(PYTEST,))
    assert watched_judges(facts).known == {"limits.py"}


@pytest.mark.parametrize(
    ("path", "text", "judges"),
    [
        ("shop/wanted.py", "SUMS = [1]\n", True),
        ("shop/wanted.js", "export default { one: 1 };\n", True),
        ("shop/wanted.js", "module.exports = {\n  one: 1,\n};\n", True),
        ("shop/wanted.go", "package shop\nvar Wanted = []int{1}\n", True),
        ("shop/__init__.py", '"""A shop."""\n', False),
        ("shop/__init__.py", '"""A shop."""\n\n__version__ = "1.0"\n', False),
        ("shop/names.py", "from shop.prices import total\n", False),
        ("shop/names.py", "", False),
        ("shop/names.py", "# once = 1\n", False),
        ("shop/index.js", "export { total } from './prices.js';\nexport const version = '1';\n", False),
        ("src/lib.rs", "pub mod prices;\npub const MOST: u32 = 3;\n", False),
    ],
)
def test_only_values_are_expected_values(path, text, judges):
    """A file that offers what others hold, or says nothing yet, is the product, whoever alone reads it."""
    files = FILES | {path: text}
    by = BY | {path: ("tests/test_a.py",)}
    base = Reading("fail", "", tests={ID: "fail"}, files={ID: "tests/test_a.py"})
    base = replace(base, reads=FileReads(opened=tuple(files), by=by, roots=(".",)))
    after = files | {path: f"{text}from shop.near import near\n"}
    facts = facts_of(files, after, base={"tests": base}, gates=(PYTEST,))
    assert (path in watched_judges(facts).known) is judges


def test_expected_values_that_are_read_no_more_are_asked_about():
    """They and the tests are what they were, and nobody looked at them: something stands in their place."""
    edit = {"shop/prices.py": "def total(x):\n    return 1\n"}

    def keys(*opened, also=None, lost=""):
        again = Reading("pass", "", reads=FileReads(opened=opened, lost=lost))
        facts = judged({**edit, **(also or {})}, repeats={"tests": (again,)})
        return [finding.key for finding in check(facts).findings]

    rest = [path for path in FILES if path != "wanted/sums.json"]
    assert keys(*rest) == ["base_tests.unread:wanted/sums.json"]
    assert keys(*FILES) == []
    assert keys(*rest, lost="too much at once") == []
    assert keys(*(path for path in FILES if path != "shop/rates.json")) == [], "the product may do without"
    assert keys(*rest, also={"wanted/sums.json": None}) == [], "what is gone is asked about elsewhere"


def test_a_product_that_names_what_judges_it_is_asked_about():
    """Who reads the expected values need not compute them; a generator that no check opens may name them."""

    def keys(*lines, path="shop/prices.py", task="", opened=(*FILES, "shop/prices.py")):
        again = Reading("pass", "", reads=FileReads(opened=opened))
        facts = judged({path: "\n".join(lines)}, task=task, repeats={"tests": (again,)})
        return [finding.key for finding in check(facts).findings]

    assert keys("KNOWN = open('wanted/sums.json')") == ["base_tests.looked_up:wanted/sums.json"]
    assert keys("KNOWN = HERE / 'wanted' / 'sums.json'") == ["base_tests.looked_up:wanted/sums.json"]
    assert keys("KNOWN = open('tests/test_a.py')") == ["base_tests.looked_up:tests/test_a.py"]
    assert keys("# as in wanted/sums.json", "RATES = open('shop/rates.json')") == []
    assert keys("open('wanted/sums.json', 'w')", path="tools/make.py") == [], "no check opens it"


@pytest.mark.parametrize(
    ("path", "by", "said"),
    [
        ("wanted/more.txt", BY, True),  # a diff of a shell may have read it
        ("check.sh.in", BY, True),
        ("shop/other.py", BY, False),  # Python would have told
        ("docs/guide.md", BY, False),
        (".gitignore", BY, False),
        ("shop/rates.json", BY, False),  # it was seen
        ("shop/other.py", {}, True),
    ],
)
def test_a_lost_count_is_said_where_it_matters(path, by, said):
    """Python and Node tell of their own reads; what only other programs read is not known then."""
    before = FILES | {path: "a\n"}
    seen = FileReads(opened=tuple(FILES), by=by, lost="too much at once")
    base = Reading("fail", "", tests={ID: "fail"}, files={ID: "tests/test_a.py"}, reads=seen)
    facts = facts_of(before, before | {path: "b\n"}, base={"tests": base}, gates=(PYTEST,))
    assert bool(watched_judges(facts).lost) is said
    assert ("by their names only: too much at once" in not_told(facts)) is said


def test_nothing_watched_at_all_is_said():
    """No file was seen, and why: then names are all that is known."""
    base = Reading("fail", "", tests={ID: "fail"}, reads=FileReads(lost="no inotify"))
    facts = facts_of(FILES, FILES | {"wanted/sums.json": "[0]"}, base={"tests": base}, gates=(PYTEST,))
    assert watched_judges(facts).lost == "no inotify"
