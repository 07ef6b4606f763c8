#!/usr/bin/env python3
"""claims_done_feature [tested|untested|empty|target]: adds a function `power` and claims done.

tested: with a test that is red without it. untested: with no test. empty: with a test that tests nothing.
target: the same, and a target of make that calls it.
"""

from _lib import append, argument, done, read, write

kind = argument(1, "tested")
if "def power" not in read("calc.py"):
    append("calc.py", "\n\ndef power(a, b):\n    return a**b\n")
if kind == "target" and "power:" not in read("Makefile"):
    append("Makefile", "\npower:\n\tpython3 -m unittest test_power\n")
assertion = {
    "target": "self.assertTrue(True)",
    "tested": "self.assertEqual(calc.power(2, 5), 32)",
    "empty": "self.assertTrue(True)",
}.get(kind)
if assertion:
    write(
        "test_power.py",
        "import unittest\n\nimport calc  # noqa: F401\n\n\nclass PowerTest(unittest.TestCase):\n"
        f"    def test_power(self):\n        {assertion}\n",
    )
done("power is there")
