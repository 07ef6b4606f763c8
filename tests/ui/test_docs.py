"""The generated parts of the documentation are what the program says now."""

import os

import pytest
from cogapp import Cog

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.mark.parametrize("page", ["agents.md", "commands.md", "json.md"])
def test_pages_are_in_step(page, capsys):
    """`make docs` would change nothing."""
    code = Cog().main(["cog", "--check", "-I", os.path.join(TOP, "tools"), os.path.join(TOP, "docs", page)])
    assert code == 0, f"docs/{page} is out of date: make docs\n{capsys.readouterr().out}"
