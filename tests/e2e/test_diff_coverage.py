"""How many changed lines tests execute: on the card, in the report, in --json; it lowers and never raises."""

import json
import shutil

import pytest
from featurekit import FEATURE, POWER, files, guards, one_test
from kit import agent, fixed_calc, shims

pytestmark = pytest.mark.slow

BRANCHES = """

def power(a, b):
    # a comment is no line that could be executed
    if b < 0:
        raise ValueError(
            "negative"
        )

    return a**b
"""
PYTEST = "import calc\n\n\ndef test_power():\n    assert calc.power(2, 5) == 32\n"


@pytest.fixture
def green(place):
    place.commit("no bugs", calc__py=fixed_calc())
    return place


def coverage(done):
    return guards(done)["diff_coverage"]


def test_an_own_test_is_a_witness_and_lines_that_no_test_executes_are_named(green):
    """A feature whose new test is red on the base source and under sabotage is grade B, without any claim.
    Card, report and --json say how many changed lines are executed, and which are not.
    """
    words = files(
        calc__py=fixed_calc() + BRANCHES, test_power__py=one_test("self.assertEqual(calc.power(2, 5), 32)")
    )
    done = green.loop(agent("writes_files", words), task=FEATURE)
    first = (fixed_calc() + BRANCHES).split("\n").index("        raise ValueError(") + 1
    said = f"2 of 4 changed lines are executed by tests; not: calc.py:{first}-{first + 1}"
    loop = green.expect(
        done, "verified", 0, 1, grade="B", says=(f" · {said}", "2 of 2 sabotages were noticed")
    )
    found = guards(done)
    assert found["witness"].counted == {"witness": 1}
    assert found["sabotage"].counted == {"sabotaged": 2, "noticed": 2}
    assert found["sabotage"].evidence
    assert "sabotages were noticed" in green.git("log", "-1", "--format=%B", loop.landing.result)
    assert coverage(done).counted == {"changed_lines": 4, "executed_lines": 2, "unwatched": 0}
    assert said in green.ralph("report").out
    told = json.loads(green.ralph("report", "--json").out)
    assert [one["summary"] for one in told["guards"] if one["guard"] == "diff_coverage"] == [said]


@pytest.mark.soak
@pytest.mark.parametrize("check", ["pytest", "coverage run -m pytest"])
def test_pytest_in_every_shape(green, tmp_path, check):
    """pytest: alone, and beside coverage that the suite measures itself."""
    words = files(calc__py=fixed_calc() + BRANCHES, test_power__py=PYTEST)
    path = shims(tmp_path, "pytest", "coverage")
    done = green.loop(
        agent("writes_files", words),
        task=FEATURE,
        check=check,
        env={"PATH": f"{path}:{green.env()['PATH']}"},
        limit=240,
    )
    green.expect(done, "verified", 0, 1, says="2 of 4 changed lines are executed by tests")


@pytest.mark.soak
def test_what_child_processes_execute_counts(green):
    """A test that starts the program as a process of its own executes its lines."""
    tool = "import sys\n\nimport calc\n\nif sys.argv[1:]:\n    print(calc.power(int(sys.argv[1]), 5))\n"
    test = one_test(
        "import subprocess, sys\n"
        "        said = subprocess.run([sys.executable, 'tool.py', '2'], capture_output=True, text=True)\n"
        "        self.assertEqual(said.stdout.strip(), '32')"
    ).replace("import calc\n", "")
    words = files(calc__py=fixed_calc() + POWER, tool__py=tool, test_power__py=test)
    done = green.loop(agent("writes_files", words), task=FEATURE)
    green.expect(done, "verified", 0, 1, says="all changed lines are executed by tests")


@pytest.mark.soak
def test_a_test_that_reads_the_source_is_no_witness(green):
    """A test that only looks for words in the file executes nothing of it: no grade B for that."""
    test = one_test("self.assertIn('return a**b', open('calc.py').read())").replace("import calc\n", "")
    words = files(calc__py=fixed_calc() + POWER, test_power__py=test)
    done = green.loop(agent("writes_files", words, "COMPLETE"), task=FEATURE)
    said = "the agent's own tests execute none of the 1 changed lines"
    green.expect(done, "unproven", 3, 2, grade="C", says=(said, "not: calc.py:"))


@pytest.mark.soak
def test_children_without_our_environment_lower_nothing(green):
    """What an unwatched process executes is not known, so it is not held against the tests."""
    test = one_test(
        "import subprocess, sys\n"
        "        said = subprocess.run([sys.executable, '-I', '-c', \"import sys; sys.path.insert(0, '.'); "
        'import calc; print(calc.power(2, 5))"], capture_output=True, text=True, env={})\n'
        "        self.assertEqual(said.stdout.strip(), '32')"
    ).replace("import calc\n\n", "")
    words = files(calc__py=fixed_calc() + POWER, test_power__py=test)
    done = green.loop(agent("writes_files", words), task=FEATURE)
    said = "processes that could not be watched may have executed more"
    green.expect(done, "verified", 0, 1, grade="B", says=said)


@pytest.mark.soak
def test_a_suite_that_minds_being_watched_is_not_called_flaky(green):
    """A test that is red only while a trace function is set changes no verdict: a plain call tells."""
    test = one_test("self.assertEqual(calc.power(2, 5), 32)")
    test += "\n    def test_trace(self):\n        import sys\n        self.assertIsNone(sys.gettrace())\n"
    words = files(calc__py=fixed_calc() + POWER, test_power__py=test)
    done = green.loop(agent("writes_files", words), task=FEATURE)
    green.expect(done, "verified", 0, 1, grade="B", says="comes out differently while it is watched")


@pytest.mark.soak
def test_judged_once_it_is_unknown(green):
    """Without a repeat there is no call to watch, and the card says so."""
    words = files(
        calc__py=fixed_calc() + POWER, test_power__py=one_test("self.assertEqual(calc.power(2, 5), 32)")
    )
    done = green.loop(agent("writes_files", words), "--confirm", "1", task=FEATURE)
    green.expect(
        done, "verified", 0, 1, says="unknown which changed lines tests execute: the final verdict was"
    )


NODE = """

export function power(a, b) {
  // no line of code
  if (b < 0) {
    throw new Error("negative");
  }
  return a ** b;
}
export const twice = (a) => a * 2;
"""
NODE_TEST = """import test from "node:test";
import assert from "node:assert";
import { power } from "./calc.mjs";

test("power", () => assert.equal(power(2, 5), 32));
"""


@pytest.mark.soak
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_node_by_the_coverage_of_v8(place):
    """node --test: the same by V8's own coverage, without any package."""
    path = f"{shutil.which('node').rsplit('/', 1)[0]}:{place.env()['PATH']}"
    place.commit(
        "node",
        calc__mjs="export const one = 1;\n",
        one__test__mjs=NODE_TEST.replace(
            'import { power } from "./calc.mjs";\n', 'import { one } from "./calc.mjs";\n'
        ).replace('"power", () => assert.equal(power(2, 5), 32)', '"one", () => assert.equal(one, 1)'),
    )
    words = files(calc__mjs="export const one = 1;\n" + NODE, power__test__mjs=NODE_TEST)
    done = place.loop(agent("writes_files", words), task=FEATURE, check="node --test", env={"PATH": path})
    said = "2 of 4 changed lines are executed by tests; not: calc.mjs:7, calc.mjs:11"
    place.expect(done, "verified", 0, 1, grade="B", says=said)
