"""Gates besides the proof: a test module that was red before, and a user's configuration."""

PROOF = "python3 -m unittest test_calc"
OLD = (
    "import unittest\n\nimport calc\n\n\nclass OldTest(unittest.TestCase):\n"
    "    def test_broken(self):\n        self.assertEqual(1, 2)\n\n"
    "    def test_fine(self):\n        self.assertEqual(calc.sub(3, 1), 2)\n"
)


def configure(place, text):
    (place.config / "ralph" / "config.toml").write_text(text)
