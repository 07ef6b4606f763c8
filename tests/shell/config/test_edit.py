"""`ralph config set`: what is written is what Ralph reads, and nothing else changes."""

import os
import tomllib

import pytest

from ralph.errors import UserError
from ralph.shell.config.edit import FILE, set_values

OWN = """# mine
model = "big"  # the large one
[judge]
enabled = true
[[judge.dimensions]]
name = "tests"
weight = 1
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / FILE).write_text(OWN)
    return str(tmp_path)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("approve", "start", ["start"]),
        ("notify.on", "end:blocked", ["end", "blocked"]),
        ("limits.iterations", "7", 7),
        ("limits.time", "15m", "15m"),
        ("model", "4", "4"),
        ("judge.timeout", "5m", "5m"),
    ],
)
def test_each_kind_is_written_as_a_file_has_it(folder, key, text, value):
    """A list becomes a list, a number a number, and a name that looks like a number stays a name."""
    with open(set_values(folder, {key: text}), encoding="utf-8") as file:
        written = file.read()
    found = tomllib.loads(written)
    for part in key.split("."):
        found = found[part]
    assert found == value
    assert "# mine" in written
    assert tomllib.loads(written)["judge"]["dimensions"] == [{"name": "tests", "weight": 1}]


def test_a_linked_file_stays_linked(folder, tmp_path):
    """Who keeps settings elsewhere finds the change there."""
    os.rename(os.path.join(folder, FILE), tmp_path / "dotfile")
    os.symlink(tmp_path / "dotfile", os.path.join(folder, FILE))
    set_values(folder, {"memory": "off"})
    assert os.path.islink(os.path.join(folder, FILE))
    assert 'memory = "off"' in (tmp_path / "dotfile").read_text()


def test_what_cannot_be_changed_line_by_line_is_left_alone(folder):
    """A key in an inline table is for an editor."""
    path = os.path.join(folder, FILE)
    with open(path, "w", encoding="utf-8") as file:
        file.write('limits = { time = "1h", iterations = 3 }\n')
    with pytest.raises(UserError, match="line by line"):
        set_values(folder, {"limits.iterations": "7"})
    with open(path, encoding="utf-8") as file:
        assert file.read() == 'limits = { time = "1h", iterations = 3 }\n'
