"""Which files a gate's processes read, and whose code asked for them: seen from inside and from outside."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ralph.gates.reads import hooks, notes
from ralph.shell.files.opened_files import OpenedFiles
from ralph.shell.gate_run.watch_call import reads_env

PYTHON = {
    "shop/__init__.py": "",
    "shop/prices.py": "import json\nfrom pathlib import Path\n"
    "RATES = json.loads((Path(__file__).parent / 'rates.json').read_text())\n\n\n"
    "def total(x):\n    return sum(x)\n",
    "shop/rates.json": "{}",
    "shop/agree.py": "def agree(a, b):\n    assert a == b\n",
    "wanted/sums.txt": "3",
    "check.py": "import shop.agree\nfrom shop import prices\n"
    "shop.agree.agree(prices.total([1, 2]), int(open('wanted/sums.txt').read()))\n"
    "try:\n    open('wanted/local.txt')\nexcept OSError:\n    pass\n",
}
NODE = {
    "package.json": '{"type": "module"}',
    "lib/prices.js": "import { readFileSync } from 'node:fs';\n"
    "readFileSync(new URL('./rates.json', import.meta.url));\nexport const total = (x) => x.length;\n",
    "lib/rates.json": "{}",
    "lib/old.cjs": "exports.agree = (a, b) => { if (a !== b) throw new Error('no'); };\n",
    "wanted/sums.json": "2",
    "check.js": "import fs from 'node:fs';\nimport { createRequire } from 'node:module';\n"
    "import { total } from './lib/prices.js';\n"
    "const { agree } = createRequire(import.meta.url)('./lib/old.cjs');\n"
    "agree(total([1, 2]), JSON.parse(fs.readFileSync('wanted/sums.json', 'utf8')));\n",
}


def reads_of(folder, files, argv):
    tree, own = folder / "tree", folder / "own"
    own.mkdir()
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    env = reads_env(str(own), str(own), str(tree), {"PATH": os.environ["PATH"]})
    opened = OpenedFiles(str(tree))
    subprocess.run(argv, cwd=tree, env=env, check=True, timeout=60)
    seen = opened.stop()
    return notes.read_notes(
        (own / "reads").read_bytes() if (own / "reads").exists() else b"", seen, list(files), opened.lost
    )


def test_python_tells_who_reads_what(tmp_path):
    """Data belongs to the code that opens it, a module to who imports it, also one that is not there."""
    seen = reads_of(tmp_path, PYTHON, [sys.executable, "-B", "check.py"])
    assert seen.by["wanted/sums.txt"] == ("check.py",)
    assert seen.by["shop/rates.json"] == ("shop/prices.py",)
    assert seen.by["shop/agree.py"] == ("check.py",)
    assert seen.missed["wanted/local.txt"] == ("check.py",)
    assert "json" in seen.outside
    assert seen.roots == (".",)
    assert set(seen.opened) == set(PYTHON)
    assert seen.lost == ""


def test_node_tells_who_reads_what(tmp_path):
    """Both kinds of modules, and files by `fs`."""
    seen = reads_of(tmp_path, NODE, ["node", "check.js"])
    assert seen.by["wanted/sums.json"] == ("check.js",)
    assert seen.by["lib/rates.json"] == ("lib/prices.js",)
    assert "check.js" in seen.by["lib/prices.js"]
    assert "check.js" in seen.by["lib/old.cjs"]
    assert not any(reader.startswith("node:") for readers in seen.by.values() for reader in readers)


def test_other_programs_are_seen_from_outside(tmp_path):
    """What a shell and its programs open is known, though nobody tells who asked."""
    files = {"check.sh": "cat wanted/sums > /dev/null\n", "wanted/sums": "3\n", "other": ""}
    seen = reads_of(tmp_path, files, ["sh", "check.sh"])
    assert seen.opened == ("check.sh", "wanted/sums")
    assert seen.by == {}


def test_a_folder_that_cannot_be_watched_is_said(tmp_path, monkeypatch):
    """Without inotify, or with more folders than can be watched, nothing is claimed."""
    (tmp_path / "a").mkdir()
    monkeypatch.setattr("ralph.shell.files.opened_files.MAX_FOLDERS", 1)
    opened = OpenedFiles(str(tmp_path))
    assert opened.stop() == frozenset()
    assert "more folders" in opened.lost


WATCHES = """
import sys
from ralph.shell.files.opened_files import OpenedFiles
opened = OpenedFiles(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
seen = opened.stop()
print(opened.lost)
"""


def test_more_than_the_kernel_keeps_count_of_is_said(tmp_path):
    """A queue that is full, since nobody empties it: its own event says so."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 200_000:
        pytest.skip(f"the kernel's queue holds {most} events")
    for name in ("a", "b"):
        (tmp_path / name).touch()
    argv = [sys.executable, "-c", WATCHES, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as watcher:
        assert watcher.stdout.readline() == "ready\n"
        watcher.send_signal(signal.SIGSTOP)
        os.waitpid(watcher.pid, os.WUNTRACED)
        for turn in range(most + 100):  # by turns: the kernel makes one of equal neighbours
            os.close(os.open(tmp_path / "ab"[turn % 2], os.O_RDONLY))
        watcher.send_signal(signal.SIGCONT)
        said, _ = watcher.communicate("stop\n", timeout=60)
    assert said == "more files were opened at once than the kernel keeps count of\n"


@pytest.mark.parametrize("torn", [b"", b"read", b"read\tx", b"\xff\t\t\t\nread\tnone\tx\n", b"root\t\n" * 3])
def test_notes_that_judged_code_may_have_written(torn):
    """Whatever stands in the notes: no crash, and nothing of files that the tree does not have."""
    seen = notes.read_notes(torn, ["a", "../b"], ["a"], "")
    assert seen.opened == ("a",)
    assert seen.by == {}


def test_hooks_name_their_places():
    """Both hooks know where the tree stands and where notes go."""
    for hook in (hooks.python_hook, hooks.node_hook):
        text = hook("/tree", "/out/reads")
        assert "/out/reads" in text
        assert "WATCHED" not in text
