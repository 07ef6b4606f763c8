"""Commands beside a runner decide by their exit codes: the gate says so, and its grade is B at most."""

import json

import pytest

from ralph.gates.seal import seal


def sealed(script, run="npm test", cwd=".", **scripts):
    text = json.dumps({"scripts": {"test": script, **scripts}}).encode()
    paths = frozenset({f"{cwd}/package.json".removeprefix("./")})
    return seal("x", run, cwd=cwd, tree_paths=paths, content=lambda path: text if path in paths else None)


@pytest.mark.parametrize(
    ("script", "partly"),
    [
        ("ava", False),
        ("ava && tsd", True),
        ("xo && ava", True),
        ("cd . && ava", False),
        ("npm run lint && ava", True),
        ("tape test/*.js | tap-spec", False),
    ],
)
def test_parts_that_are_read_by_exit_code_only(script, partly):
    """Also where the runner comes last; what only prepares is none."""
    gate = sealed(script, lint="eslint .")
    assert gate.read in ("ava", "tape", "tap")
    assert gate.exit_parts is partly


def test_commands_of_a_workspace_may_be_hoisted():
    """Each folder up to the top of the repository is looked into, as npm does."""
    gate = sealed("ava && tsd", cwd="packages/a")
    assert (
        "$PWD/node_modules/.bin:$PWD/../node_modules/.bin:$PWD/../../node_modules/.bin:" in gate.reporter[-1]
    )
    assert "../" not in sealed("ava && tsd").reporter[-1].partition("export")[0]
