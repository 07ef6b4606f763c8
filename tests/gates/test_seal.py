"""Sealing: text in, argv, reader, reporter and own files out."""

import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.errors import UserError
from ralph.gates.command import needs_shell
from ralph.gates.seal import exec_argv, seal

NONE: frozenset[str] = frozenset()


def made(run, *, files=NONE, **fields):
    return seal("g", run, tree_paths=frozenset(files), **fields)


@pytest.mark.parametrize(
    ("run", "read"),
    [
        ("pytest -q", "pytest"),
        ("py.test", "pytest"),
        (".venv/bin/pytest tests", "pytest"),
        ("/usr/bin/python3.12 -m pytest -q", "pytest"),
        ("python -X dev -W error -m pytest", "pytest"),
        ("python3 -m coverage run --source src -m pytest -q", "pytest"),
        ("coverage run -m unittest", "unittest"),
        ("uv run pytest", "pytest"),
        ("uv run --with x --python 3.12 -- pytest -q", "pytest"),
        ("uv run -m pytest", "pytest"),
        ("poetry run python -m pytest", "pytest"),
        ("pdm run pytest", "pytest"),
        ("hatch run pytest", "pytest"),
        ("pipenv run pytest", "pytest"),
        ("env A=1 pytest", "pytest"),
        ("python -m unittest discover -s tests", "unittest"),
        ("node --test", "node"),
        ("node --import tsx --test src", "node"),
        ("npx ruff check .", "ruff"),
        ("ruff check --output-format json src", "ruff"),
        ("mypy src", "mypy"),
        ("python -m mypy src", "mypy"),
        ("ruff check --output-format=github", "exit"),
        ("ruff check --fix", "exit"),
        ("ruff format --check", "exit"),
        ("mypy --output json src", "exit"),
        ("node app.js --test", "exit"),
        ("node -r ./hook.js app.js --test", "exit"),
        ("python -c 'import pytest'", "exit"),
        ("python tool.py -m pytest", "exit"),
        ("make test", "exit"),
        ("npm test", "exit"),
        ("pytest -q | tee log", "exit"),
        ("echo pytest", "exit"),
    ],
)
def test_runners_are_recognised(run, read):
    """A known runner is seen through launchers and paths, and nothing else is taken for one."""
    assert made(run).read == read


@pytest.mark.parametrize(
    ("run", "shell"),
    [
        ("pytest -q", False),
        ("pytest 'a b' \"c d\"", False),
        ("grep -q 'a|b' f", False),
        ('echo "a;b"', False),
        ("echo a\\;b", False),
        ("tool --out {report}", False),
        ("a && b", True),
        ("a; b", True),
        ("a | b", True),
        ("a > f", True),
        ("a &", True),
        ("echo $HOME", True),
        ('echo "$HOME"', True),
        ("echo `x`", True),
        ("ls *.py", True),
        ("ls ~/x", True),
        ("A=1 pytest", True),
        ("cd x", True),
        ("! grep x f", True),
        ("exit 1", True),
        ("a\nb", True),
        ("echo # x", True),
        ("echo a#b", False),
        ("echo {a,b}", True),
    ],
)
def test_shell_syntax(run, shell):
    """Only text that means something to a shell goes through one."""
    assert needs_shell(run) is shell
    assert made(run).argv == (("/bin/sh", "-c", run) if shell else tuple(shlex.split(run)))


@given(st.lists(st.text(alphabet="ab $`'\"\\|&;<>*?~#!=\n{}[]()", min_size=1), min_size=1, max_size=4))
def test_quoted_words_survive(words):
    """Words quoted for a shell come out as they went in, with and without one."""
    run = "printf '%s\\0' " + shlex.join(words)
    argv = made(run).argv
    if argv[0] == "/bin/sh":
        done = subprocess.run(argv, capture_output=True, check=True)
        assert done.stdout.decode().split("\0")[:-1] == words
    else:
        assert list(argv[2:]) == words


@pytest.mark.parametrize(
    ("run", "end"),
    [
        ("pytest -q", ("-q", "--junitxml=R", "-o", "junit_family=xunit1", "-o", "cache_dir=R.cache")),
        ("pytest -q -- a.py", ("-o", "cache_dir=R.cache", "--", "a.py")),
        (
            "uv run -- pytest a.py",
            ("pytest", "a.py", "--junitxml=R", "-o", "junit_family=xunit1", "-o", "cache_dir=R.cache"),
        ),
        ("python -m unittest discover tests", ("unittest", "discover", "tests", "-v")),
        ("python -m unittest --verbose", ("unittest", "--verbose")),
        ("ruff check .", ("check", ".", "--output-format=json", "--output-file=R")),
        ("ruff check --output-format=json", ("--output-format=json", "--output-file=R")),
        (
            "node --test a.mjs",
            (
                "--test",
                "--test-reporter=spec",
                "--test-reporter-destination=stdout",
                "--test-reporter=junit",
                "--test-reporter-destination=R",
                "a.mjs",
            ),
        ),
    ],
)
def test_reporter_stands_where_it_works(run, end):
    """The reporter's arguments come last, but before `--`; node's come right after --test."""
    argv = exec_argv(made(run), "R")
    assert argv[-len(end) :] == end


def test_own_junitxml_does_not_win():
    """A report file of the user's is overridden by ours, which stands later."""
    argv = exec_argv(made("pytest --junitxml=mine.xml"), "R")
    assert argv.index("--junitxml=R") > argv.index("--junitxml=mine.xml")


@pytest.mark.parametrize(
    "script", ["echo {report} && true", "echo '{report}' && true", 'echo "{report}" && true']
)
@pytest.mark.parametrize(
    "path", ["/tmp/plain", "/tmp/a b", "/tmp/it's", '/tmp/q"$HOME`id`\\x', "/tmp/$(id);x"]
)
def test_report_is_quoted_for_its_place(script, path):
    """In a shell text the report's path is one word with no meaning, whatever quotes surround it."""
    argv = exec_argv(made(script), path)
    done = subprocess.run(argv, capture_output=True, check=True, text=True)
    assert done.stdout == path + "\n"


@pytest.mark.parametrize(
    ("run", "cwd", "files", "own"),
    [
        ("./check.sh", ".", {"check.sh"}, ("check.sh",)),
        ("./check.sh", "sub", {"check.sh", "sub/check.sh"}, ("sub/check.sh",)),
        ("bash run.sh && sh b.sh", ".", {"run.sh", "b.sh"}, ("b.sh", "run.sh")),
        ("cd web && ./go", ".", {"web/go", "go"}, ("web/go",)),
        ("python scripts/verify.py", ".", {"scripts/verify.py"}, ("scripts/verify.py",)),
        ("python main.py", ".", {"main.py"}, ()),
        ("python main.py | grep -q 42", ".", {"main.py"}, ()),
        ("pytest -c cfg/p.ini tests/test_a.py", ".", {"cfg/p.ini", "tests/test_a.py"}, ("cfg/p.ini",)),
        ("mypy --config-file=my.ini app.py", ".", {"my.ini", "app.py"}, ("my.ini",)),
        ("ruff check app.py", ".", {"app.py"}, ()),
        ("make test", ".", {"Makefile"}, ("Makefile",)),
        ("make -C sub test", ".", {"Makefile", "sub/Makefile"}, ("sub/Makefile",)),
        ("npm test", "web", {"web/package.json"}, ("web/package.json",)),
        ("tox -e py", ".", {"tox.ini"}, ("tox.ini",)),
        ("nox", ".", {"noxfile.py"}, ("noxfile.py",)),
        ("just test", ".", {"justfile"}, ("justfile",)),
        ("make test", ".", set(), ()),
        ("grep -q done notes.txt", ".", {"notes.txt"}, ()),
    ],
)
def test_own_files(run, cwd, files, own):
    """Scripts, configs and task files of a command are its own; what it only looks at is not."""
    assert made(run, files=files, cwd=cwd).own_files == own


def test_tree_paths_may_be_a_function():
    """The base tree can be asked through a function instead of a set."""
    assert seal("g", "./x", tree_paths=lambda path: path == "x").own_files == ("x",)


@pytest.mark.parametrize(
    ("run", "read", "code"),
    [
        ("", "auto", "E-GATE-EMPTY"),
        ("   ", "auto", "E-GATE-EMPTY"),
        ("pytest 'a", "auto", "E-GATE-SYNTAX"),
        ("pytest", "magic", "E-GATE-READ"),
        ("go test", "junit", "E-GATE-REPORT"),
        ("cov", "coverage", "E-GATE-REPORT"),
        ("scan", "sarif", "E-GATE-REPORT"),
    ],
)
def test_bad_gates_are_refused(run, read, code):
    """A gate that could never be judged is refused when it is sealed, with a next step."""
    with pytest.raises(UserError) as caught:
        made(run, read=read)
    assert caught.value.code == code
    assert caught.value.next.startswith("ralph ")


def test_explicit_reader_wins():
    """read = "exit" asks for no reporter; read = "junit" without {report} uses the runner's own."""
    plain = made("pytest -q", read="exit")
    assert (plain.read, plain.reporter) == ("exit", ())
    assert made("pytest -q", read="junit").read == "pytest"
    own = made("go-junit --out {report}", read="junit")
    assert (own.read, exec_argv(own, "/r/x")) == ("junit", ("go-junit", "--out", "/r/x"))


def test_sealing_is_repeatable():
    """The same text seals to the same gate, so that a resumed loop judges by the same command."""
    run = f"{sys.executable} -m pytest -q"
    assert made(run) == made(run)
