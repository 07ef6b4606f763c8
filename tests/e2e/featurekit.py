"""A feature of the small project, the test that its agent writes, and what guards said of both."""

import base64
import json

from ralph.core.model.events import GuardsEnded

FEATURE = "add a power function"
POWER = "\n\ndef power(a, b):\n    return a**b\n"


def files(**texts):
    """The scripted agent that writes these files."""
    table = {name.replace("__", "."): text for name, text in texts.items()}
    return base64.b64encode(json.dumps(table).encode()).decode()


def one_test(assertion):
    head = (
        "import unittest\n\nimport calc\n\n\nclass PowerTest(unittest.TestCase):\n    def test_power(self):\n"
    )
    return f"{head}        {assertion}\n"


def guards(done):
    return {result.guard: result for result in done.all(GuardsEnded)[-1].results}
