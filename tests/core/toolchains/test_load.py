"""The files of the toolchains: read when asked, whole, and refused where they are wrong."""

import os
import re
import subprocess
import sys

import pytest

from ralph.core.toolchains.load import _read, toolchains


@pytest.mark.parametrize("words", [("--help",), ("status",)])
def test_quick_commands_read_no_toolchain(words, tmp_path):
    """`ralph --help` and `ralph status` answer before any file of tools is read."""
    env = {**os.environ, "RALPH_STATE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    argv = [sys.executable, "-X", "importtime", "-m", "ralph", *words]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout
    assert "ralph.core.toolchains" not in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[tool.x]\nkind = "tests"', "kind"),
        ('[tool.x]\nkinds = "test"', "kinds"),
        ('[tool.x]\nchecks = [{kind = "test"}]', "run"),
        ("[tool.x", "end of document"),
    ],
)
def test_a_wrong_row_is_refused(text, says):
    """A word that no row knows, a missing one or a torn file names the file and the place."""
    with pytest.raises(ValueError, match=rf"toy\.toml: .*{says}"):
        _read("toy.toml", text)


def test_every_row_can_be_used():
    """Patterns compile; kinds, readers and names that rows speak of are there; a tool has one language."""
    known = toolchains()
    for name in (*known.named_tools, *known.named_languages):
        re.compile(name.words)
        assert name.near
        assert name.kind or name.endings, name.says
    for language in known.languages.values():
        re.compile(language.tests)
        assert language.marks
    for runner in known.runners.values():
        assert not runner.row.told.keys() - set(runner.row.report), runner.name
        assert runner.canary is None or runner.canary.holds or known.runner_parts[runner.family]
    assert known.family_of("cargo coverage") == "rust"
    assert known.family_of("tox:lint") == "python"
    assert known.family_of("no-such-tool") == ""
