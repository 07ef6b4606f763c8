"""The recorded streams of the real agent CLIs: complete, small, and free of the machine they came from."""

import json
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "agents" / "recorded"
INDEX = json.loads((RECORDED / "index.json").read_text())


def test_every_stream_has_its_row_and_every_row_its_stream():
    """The index tells the exit code of each stream; none of either stands alone."""
    streams = {(path.parent.name, path.name.split(".")[0]) for path in RECORDED.glob("*/*")}
    assert streams == {(name, case) for name, rows in INDEX.items() for case in rows}


def test_the_main_four_have_every_situation():
    """Adapters can be tested on each fault without the program."""
    wanted = {"success", "429-short", "429-long", "401", "529", "500", "refused", "cut", "stall", "denied"}
    for name in ("claude", "codex", "goose", "gemini"):
        assert wanted <= set(INDEX[name]), name
        assert INDEX[name]["success"]["exit"] == [0]
        assert INDEX[name]["success"]["files"] == ["calc.py", "done.txt"]


def test_nothing_of_the_machine_is_in_them():
    """Paths are those of the box, hosts are loopback; keys are the dummies of the table."""
    for path in RECORDED.rglob("*"):
        text = path.read_text(errors="replace") if path.is_file() else ""
        for word in ("root/", "work/", "tmp/drive-", "tmp/ag/"):
            assert f"/{word}" not in text, (path, word)


def test_they_stay_small():
    """A megabyte in all: fixtures are read in every run of the tests."""
    assert sum(path.stat().st_size for path in RECORDED.rglob("*") if path.is_file()) < 1_100_000
