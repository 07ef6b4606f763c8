"""A project whose own tests mind foreign ones beside them: canaries must not make it look flaky."""

import pytest
from kit import agent

from ralph.core.model.events import GuardsEnded

pytestmark = pytest.mark.soak

SIZE = """import unittest


class SizeTest(unittest.TestCase):
    def test_nobody_adds_tests_unasked(self):
        with open("test_calc.py") as file:
            self.assertLess(file.read().count("def "), {most})
"""


def test_a_project_that_counts_its_tests(place):
    """What only a canary makes red is red at the base too, so a plain call decides, there and at the end."""
    count = (place.repo / "test_calc.py").read_text().count("def ") + 1
    place.commit("counts its tests", test_size__py=SIZE.format(most=count))
    done = place.loop(agent("honest_steps", "1"), check="python3 -m unittest")
    place.expect(done, "verified", 0, 1, grade="A")
    found = {result.guard: result for result in done.all(GuardsEnded)[-1].results}
    assert found["repeat"].counted == {"repeats": 3}
    assert not found["repeat"].findings
    assert found["canary"].applied
