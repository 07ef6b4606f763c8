"""Installing agents: whole or not at all, once, and exactly what is pinned."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools" / "agents"
sys.path.insert(0, str(TOOLS))

import install  # noqa: E402

pytestmark = pytest.mark.slow


def wheel(folder, version="1.2.3", says=None):
    """A wheel that carries a program, as some vendors publish theirs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"fakeagent-{version}-py3-none-any.whl"
    about = f"fakeagent-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        program = zipfile.ZipInfo("fakeagent/bin/fake")
        program.external_attr = 0o755 << 16
        file.writestr(program, f"#!/bin/sh\necho fake {says or version}\n")
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: fakeagent\nVersion: {version}\n")
        file.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{about}/RECORD", "")
    return {"version": version, "wheel": str(path), "program": "fakeagent/bin/fake"}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("RALPH_AGENTS_CACHE", str(folder))
    return folder


def visible(cache):
    return sorted(path.name for path in cache.iterdir() if not path.name.endswith(".lock"))


def test_an_agent_is_installed_once_and_found_again(tmp_path, cache):
    """The second call touches nothing and answers the same path."""
    pin = wheel(tmp_path)
    path = install.ensure("fake", pin)
    stamp = os.stat(path).st_ctime_ns
    os.unlink(pin["wheel"])
    assert install.ensure("fake", pin) == path
    assert os.stat(path).st_ctime_ns == stamp
    assert subprocess.run([path], capture_output=True, text=True, check=True).stdout == "fake 1.2.3\n"
    assert os.listdir(os.path.dirname(path)) == ["fake"]


def test_an_installation_can_be_moved_with_its_cache(tmp_path, cache):
    """Boxes show the cache elsewhere: nothing in it may hold its own path."""
    path = install.ensure("fake", wheel(tmp_path))
    moved = tmp_path / "elsewhere"
    os.rename(cache, moved)
    made = subprocess.run([moved / os.path.relpath(path, cache)], capture_output=True, text=True, check=True)
    assert made.stdout == "fake 1.2.3\n"


def test_another_version_than_the_pinned_one_is_refused_and_leaves_nothing(tmp_path, cache):
    """A registry that hands out something else must not go unnoticed."""
    with pytest.raises(install.InstallError, match=r"1\.2\.3 is pinned, the program says 'fake 0\.9'"):
        install.ensure("fake", wheel(tmp_path, says="0.9"))
    assert visible(cache) == []


def test_what_does_not_exist_is_an_error_that_leaves_nothing(tmp_path, cache):
    """A failed download is told with its reason; the next attempt starts clean."""
    pin = wheel(tmp_path)
    os.unlink(pin["wheel"])
    with pytest.raises(install.InstallError, match="fake: exit"):
        install.ensure("fake", pin)
    assert visible(cache) == []


@pytest.mark.slow
def test_two_installers_at_once_make_one_installation(tmp_path, cache):
    """The second waits for the first and uses its result."""
    pin = wheel(tmp_path)
    code = (
        f"import sys; sys.path[:0] = [{str(TOOLS)!r}]; import install; print(install.ensure('fake', {pin!r}))"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    paths = {process.communicate()[0].strip() for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert paths == {install.program("fake", pin)}
    assert visible(cache) == [os.path.basename(install.folder("fake", pin))]


@pytest.mark.slow
def test_a_changed_pin_is_another_installation(tmp_path, cache):
    """Nothing is ever upgraded in place under a loop that uses it."""
    first = install.ensure("fake", wheel(tmp_path))
    second = install.ensure("fake", wheel(tmp_path, "1.2.4"))
    assert first != second
    assert os.path.exists(first)


def test_every_pin_is_exact_and_names_no_host():
    """Versions stand in one file, exactly; where packages come from is the machine's affair."""
    text = (TOOLS / "versions.toml").read_text()
    assert "://" not in text
    known = install.pins()
    assert {"claude", "codex", "goose", "gemini"} == {name for name, pin in known.items() if pin.get("main")}
    for name, pin in known.items():
        [kind] = {"wheel", "npm", "python"} & set(pin)
        for source in [pin[kind]] if isinstance(pin[kind], str) else pin[kind]:
            assert "==" in source or source.rindex("@") > 0, name


def test_unknown_names_are_refused(cache):
    """A typo is said, with the names that exist."""
    program = [sys.executable, TOOLS / "install.py", "cluade"]
    made = subprocess.run(program, capture_output=True, text=True, check=False)
    assert made.returncode == 1
    assert "unknown agent 'cluade'; known are node, claude" in made.stderr
