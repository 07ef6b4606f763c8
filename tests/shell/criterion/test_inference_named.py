"""The tool or language that a task names decides: no other tool's green proves it; what is missing is said.

Rows are `task -> commands`, joined by " & ", a folder before ": ", or `task -> refused words`. `UNTIL task |
criterion` is a stated criterion.
"""

import pytest
from infer_projects import make

from ralph.shell.criterion import propose

pytestmark = pytest.mark.slow

PYTHON = {
    "pyproject.toml": '[project]\nname = "x"\n'
    '[dependency-groups]\ndev = ["pytest", "ruff", "mypy", "black"]\n',
    "tests/test_a.py": "import pytest\ndef test_a(): pass\n",
    "src/x/node.py": "",
}
NODE = {
    "package.json": '{"name": "x", "scripts": {"test": "jest", "lint": "eslint .", "build": "vite build"},\n'
    '"devDependencies": {"jest": "1", "eslint": "1", "typescript": "5", "vite": "1"}}',
    "tsconfig.json": "{}",
    "src/a.ts": "",
    "src/a.test.ts": "",
}
MIXED = {**PYTHON, **NODE, "Makefile": "test:\n\tpytest\n\tnpm test\nlint:\n\truff check .\n\tmypy .\n"}
GO = {"go.mod": "module x\n", "a.go": "package x\n", "a_test.go": "package x\n"}
RUST = {"Cargo.toml": '[package]\nname = "x"\n', "src/lib.rs": ""}
APART = {
    **{f"api/{path}": text for path, text in GO.items()},
    **{f"web/{path}": text for path, text in NODE.items()},
    **{f"core/{path}": text for path, text in RUST.items()},
    "tools/setup.py": "",
    "tools/test_b.py": "import unittest\n",
}
JAVA = {"pom.xml": "<project/>", "src/main/java/A.java": "", "src/test/java/ATest.java": ""}
TABLE = {
    "python": (
        PYTHON,
        """
        fix all TypeScript errors -> refused TypeScript, and no command that runs tsc
        make ESLint happy -> refused ESLint
        get the jest suite green -> refused Jest
        cargo build succeeds -> refused cargo build
        the Go tests pass -> refused Go code
        make the JavaScript tests pass -> refused JavaScript
        fix the Rust tests -> refused Rust
        make pyright happy -> refused pyright
        fix the flake8 warnings -> refused flake8
        make the unittest suite pass -> refused unittest
        migrate from pytest to unittest -> refused unittest
        add eslint -> refused ESLint
        make tox pass -> refused tox
        fix all TypeScript tests -> refused TypeScript
        make phpunit pass -> refused PHPUnit
        the .NET build must succeed -> refused C#
        get golangci-lint clean -> refused golangci-lint
        fix the go vet findings -> refused go vet
        make Biome happy -> refused Biome
        raise the vitest coverage above 80% -> refused Vitest
        make the Go tests pass -> refused Go code
        fix the ESLint errors -> refused ESLint
        fix the lint errors that ESLint flags -> refused ESLint
        fix the TypeScript compiler errors -> refused TypeScript
        fix the Rust tests of the Rust parser -> refused Rust
        Fix the failing Ruby highlighter test -> pytest
        Fix the failing tests for the TypeScript parser -> pytest
        Make the Java highlighter tests green -> pytest
        Fix the failing tests for the Cypress exporter -> pytest
        Make the tests pass, then update the ESLint plugin docs -> pytest
        fix the type errors in the TypeScript parser -> mypy .
        UNTIL fix it | the tests of the Ruby lexer pass -> pytest
        UNTIL fix it | the ESLint config passes -> refused ESLint
        no mypy errors -> mypy .
        fix all Python type errors -> mypy .
        fix the ruff findings -> ruff check .
        make black happy -> black --check .
        make ruff format pass -> ruff format --check .
        replace flake8 by ruff -> ruff check . & pytest
        get the pytest suite green -> pytest
        make the Python tests pass -> pytest
        make the tests and mypy pass -> mypy . & pytest
        fix the mypy and ruff errors -> mypy . & ruff check .
        make the tests pass without touching mypy config -> pytest
        make the tests pass, but don't change the eslint setup -> pytest
        go through the tests and fix them -> pytest
        Go over everything and make the tests pass -> pytest
        fix the rust-coloured theme tests -> pytest
        I say it in jest: make the tests pass -> pytest
        make the output prettier and the tests pass -> pytest
        fix the tree node tests -> pytest
        make the Node tests pass -> pytest
        fix the swift reply tests -> pytest
        make the tests for the black pixels pass -> pytest
        fix the "ESLint" label in the tests -> pytest
        fix the crash in the biome generator -> pytest
        make the tests in tests/test_a.py pass -> pytest tests/test_a.py & pytest
        add an ESLint plugin page -> pytest
        highlight Rust code -> pytest ! nothing was found here that checks Rust
        implement a Go client -> pytest ! nothing was found here that checks Go
        UNTIL fix it | npm test passes -> npm test
        UNTIL fix it | `npx tsc --noEmit` passes -> npx tsc --noEmit
        UNTIL make the tests pass | cargo build succeeds -> cargo build
        UNTIL fix it | eslint is clean -> refused ESLint
        UNTIL fix it | no mypy errors and tests pass -> mypy . & pytest
        UNTIL fix it | black is happy -> black --check .
        UNTIL fix the TypeScript code | no type errors -> mypy .
        """,
    ),
    "node": (
        NODE,
        """
        fix all TypeScript errors -> tsc --noEmit
        fix the TS errors -> tsc --noEmit
        make ESLint happy -> eslint .
        get the jest suite green -> jest
        fix ESLint and TypeScript errors -> eslint . & tsc --noEmit
        migrate from jest to vitest -> refused Vitest
        make the mocha tests pass -> refused Mocha
        fix the mypy errors -> refused mypy
        make pytest pass -> refused pytest
        make the Python tests pass -> refused Python
        fix npm test -> jest
        fix the prettier errors -> refused Prettier
        fix the TypeScript compile errors -> tsc --noEmit
        make the typescript build pass -> npm run build
        make "eslint" pass -> eslint .
        fix the type errors that tsc reports, not mypy -> tsc --noEmit
        raise the jest coverage above 80% -> jest --coverage …
        """,
    ),
    "mixed": (
        MIXED,
        """
        make the Python tests pass -> pytest
        make the TypeScript tests pass -> jest
        make the JavaScript tests pass -> jest
        fix the failing Jest tests -> jest
        get pytest green -> pytest
        fix all TypeScript errors -> tsc --noEmit
        no mypy errors -> mypy .
        fix all Python type errors -> mypy .
        fix the ESLint warnings -> eslint .
        make the Python and JavaScript tests pass -> pytest & jest
        make the TypeScript parser tests pass -> jest
        fix the type errors in the TypeScript parser -> tsc --noEmit
        make the tests for the Ruby lexer pass -> make test
        make the tests pass -> make test
        make the tests and ESLint pass -> eslint . & jest
        make the node tests pass -> jest
        make the Django tests pass -> pytest
        fix the type errors pyright reports -> refused pyright
        fix tests/test_a.py -> pytest tests/test_a.py & pytest
        fix the Python crash on empty input -> pytest
        the Go tests pass -> refused Go
        UNTIL fix it | the jest suite passes -> jest
        UNTIL fix the Python code | tests pass -> pytest
        UNTIL make the Python tests pass | npm test passes -> npm test
        """,
    ),
    "apart": (
        APART,
        """
        the Go tests pass -> api: go test ./...
        make go test pass -> api: go test ./...
        cargo build succeeds -> core: cargo build
        get clippy clean -> core: cargo clippy --all-targets -- -D warnings
        make the Rust tests pass -> core: cargo test
        fix the TypeScript errors -> web: tsc --noEmit
        fix go tests -> api: go test ./...
        make the Go and Rust tests pass -> api: go test ./... & core: cargo test
        make the Python tests pass -> tools: python3 -m unittest
        make the Java tests pass -> refused Java
        rewrite the Go service in Rust -> core: cargo test …
        """,
    ),
    "java": (
        JAVA,
        """
        make the JUnit tests pass -> mvn -B -o test
        fix the maven build -> mvn -B -o -DskipTests package
        make the Java tests pass -> mvn -B -o test
        make the Kotlin tests pass -> refused Kotlin
        make the JavaScript tests pass -> refused JavaScript
        fix the gradle build -> refused Gradle
        """,
    ),
}
ROWS = {name: [row.strip() for row in rows.strip().splitlines()] for name, (_, rows) in TABLE.items()}


def test_the_table_is_large_enough():
    """Sixty sentences and more stand behind it."""
    assert sum(len(rows) for rows in ROWS.values()) >= 60


@pytest.mark.parametrize("name", TABLE)
def test_what_is_named_decides(name, tmp_path, machine):
    """Only a command by the named tool, or for the named language, is ever proposed."""
    folder, mark = machine
    repo = make(tmp_path, TABLE[name][0])
    env = {"PATH": str(folder), "HOME": str(tmp_path)}
    wrong = []
    for row in ROWS[name]:
        task, _, expected = row.partition(" -> ")
        until = ""
        if task.startswith("UNTIL "):
            task, _, until = task.removeprefix("UNTIL ").partition(" | ")
        made = propose(task, cwd=str(repo), until=until, env=env)
        said = f"refused {made.refused}" if made.refused else commands(made)
        words, _, note = expected.partition(" ! ")
        if words.startswith("refused "):
            right = bool(made.refused) and words.removeprefix("refused ") in said
        else:
            right = said.startswith(words[:-2]) if words.endswith("…") else said == words
        if note:  # somebody is asked
            right = right and any(note in one for one in made.warnings) and made.reachable == "low"
        if not right:
            wrong.append(f"{row}\n      got {said}")
        if made.refused and "refused" in expected:
            assert made.examples
    assert not wrong, "\n".join(wrong)
    assert not mark.exists(), "something was executed"


def commands(made):
    return " & ".join(one.run if one.cwd == "." else f"{one.cwd}: {one.run}" for one in made.checks)


ITEM = '{"items": [{"id": "AUTH-1", "verification": %s}]}'


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ('["pytest -q"]', "pytest -q"),
        ('["pytest -q", "./verify.sh", "mypy ."]', "pytest -q & ./verify.sh & mypy ."),
        ('["pytest -q", "node scripts/look.js"]', "pytest -q & node scripts/look.js"),
        (
            '["pytest a", "pytest b", "pytest c", "pytest d", "pytest e", "pytest f", "pytest g"]',
            " & ".join(f"pytest {one}" for one in "abcdefg"),
        ),
        ('["pytest -q", "curl http://localhost"]', "refused curl http://localhost"),
        ('["pytest -q", "true"]', "refused `true`"),
        ('["pytest -q", "npm ci"]', "refused npm ci"),
        ('["pytest -q || true"]', "refused whatever happens"),
        ('[{"run": "pytest -q"}]', "refused could not be read"),
        ('"pytest -q"', "pytest -q"),
    ],
)
def test_an_items_commands_are_all_kept_or_all_refused(listed, expected, tmp_path, machine):
    """No verification command of an item is dropped in silence: all of them prove it, or none is used."""
    files = {**PYTHON, "feature_list.json": ITEM % listed, "verify.sh": "#!/bin/sh\nexit 1\n"}
    env = {"PATH": str(machine[0]), "HOME": str(tmp_path)}
    made = propose("implement AUTH-1", cwd=str(make(tmp_path, files)), env=env)
    said = f"refused {made.refused}" if made.refused else commands(made)
    assert expected.removeprefix("refused ") in said if "refused" in expected else said == expected


def test_a_use_case_says_how_it_is_verified(tmp_path, machine):
    """In a document, what stands under its verification counts, all of it."""
    text = "# UC-12\nUse `npm start`.\n\n## Verification\n`pytest -q` and `./verify.sh --all` (`Cart`).\n"
    files = {**PYTHON, "docs/use-cases/UC-12.md": text, "verify.sh": "#!/bin/sh\nexit 1\n"}
    env = {"PATH": str(machine[0]), "HOME": str(tmp_path)}
    made = propose("implement UC-12", cwd=str(make(tmp_path, files)), env=env)
    assert commands(made) == "pytest -q & ./verify.sh --all"
