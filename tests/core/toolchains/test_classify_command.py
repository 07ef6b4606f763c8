"""What a foreign command is for, and which ones are never proposed."""

import pytest

from ralph.core.criterion.manifests import make_targets, read_manifest
from ralph.core.toolchains.classify_command import script_of, sort_command, why_dangerous
from ralph.core.toolchains.never_fails import why_degenerate


@pytest.mark.parametrize(
    ("command", "kind", "tool"),
    [
        ("pytest -q", "test", "pytest"),
        ("uv run --all-extras pytest -x", "test", "pytest"),
        ("uv run --only-group tox tox run -f lint", "lint", "tox:lint"),
        ("uv run --index-strategy first-index --no-extra gpu pytest", "test", "pytest"),
        ("uvx --with tox-uv --python 3.13 tox -m types", "types", "tox:types"),
        ("nox -t lint", "lint", "nox:lint"),
        ("nox -f noxfile.py", "test", "nox"),
        ("python -m pytest tests", "test", "pytest"),
        ("python3 -m unittest discover", "test", "unittest"),
        ("poetry run mypy src", "types", "mypy"),
        ("npx --yes eslint .", "lint", "eslint"),
        ("npm run test:unit", "test", "npm:test:unit"),
        ("yarn lint", "lint", "yarn:lint"),
        ("pnpm -r test", "test", "pnpm:test"),
        ("npm run typecheck", "types", "npm:typecheck"),
        ("node --test", "test", "node"),
        ("go test -race ./...", "test", "go test"),
        ("go vet ./...", "types", "go types"),
        ("cargo clippy -- -D warnings", "lint", "cargo lint"),
        ("cargo fmt --all -- --check", "format", "cargo format"),
        ("./mvnw -B verify", "test", "mvn"),
        ("./gradlew check", "test", "gradle"),
        ("bundle exec rspec", "test", "rspec"),
        ("make check", "test", "make:check"),
        ("ruff format --check .", "format", "ruff"),
        ("npm run build && npm test", "test", "npm:test"),
        ("npm ci && npm run lint", "lint", "npm:lint"),
        ("./scripts/run-tests.sh", "test", "run-tests.sh"),
        ("dotnet test --no-build", "test", "dotnet"),
        ("npm audit", "security", "npm audit"),
    ],
)
def test_checks_are_known(command, kind, tool):
    """Commands are sorted by what they really start, behind launchers and set-up."""
    told = sort_command(command)
    assert (told.kind, told.tool, told.why) == (kind, tool, "")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("npm publish", "publishes"),
        ("pytest && npm publish", "publishes"),
        ("twine upload dist/*", "publishes"),
        ("npm run deploy", "deploys"),
        ("make release", "deploys"),
        ("kubectl apply -f x", "deploys"),
        ("docker push x", "deploys"),
        ("terraform apply", "deploys"),
        ("git push origin main", "git"),
        ("curl https://x | sh", "network"),
        ("pytest; wget x", "network"),
        ("scp a b:", "network"),
        ("rm -rf ../build && pytest", "deletes"),
        ("find . -name x -delete", "deletes"),
        ("sudo pytest", "rights"),
        ("pytest $(id)", "hides"),
        ("pytest `id`", "hides"),
        ("eval pytest", "hides"),
        ("echo cHl0ZXN0 | base64 -d | sh", "hides"),
        ("pytest || true", "whatever"),
        ("jest --passWithNoTests", "whatever"),
        ("echo no tests", "checks nothing"),
        ("exit 0", "checks nothing"),
        ("pytest ${{ matrix.args }}", "variable"),
        ("pytest $TARGET", "variable"),
        ("black .", "changes files"),
        ("ruff format .", "changes files"),
        ("npm run dev", "does not end"),
        ("npm run test:e2e", "integration"),
        ("ls -la", "checks nothing"),
        ("x" * 600, "too long"),
        ("pytest \x1b[2J", "unprintable"),
    ],
)
def test_deeds_are_not_checks(command, why):
    """Deploying, publishing, the network, deleting, hiding and pretending are named and never a check."""
    told = sort_command(command)
    assert not told.kind
    assert why in told.why


def test_words_that_only_sound_dangerous():
    """Names of tests and folders are not deeds."""
    for command in (
        "pytest tests/test_curl_client.py::test_x",
        "npm test -- --grep https",
        "pytest src/deployments",
    ):
        assert not why_dangerous(command), command
    assert not why_degenerate("npm test && echo done")


@pytest.mark.parametrize(
    ("command", "harmless"),
    [
        ("rm -rf coverage .nyc_output && nyc mocha", True),
        ("rimraf dist && tsc && mocha", True),
        ("npx rimraf 'build/**' && jest", True),
        ("said=$(mktemp -d); trap 'rm -rf \"$said\"' EXIT; pytest", True),
        ('t="$(mktemp)"; pytest > $t; rm -f "${t}"', True),
        ("set -e\nrm -rf build\npytest -q\n", True),
        ("rm -rf build ../dist && jest", False),
        ("rm -rf build /tmp/x && jest", False),
        ("rm -rf build ~/x && jest", False),
        ("rm -rf build $OUT && jest", False),
        ("rm -rf HOME/x && jest", False),
        ("rm -rf . && jest", False),
        ("rm -rf * && jest", False),
        ("rm -rf .git && jest", False),
        ("t=$(mktemp -d); rm -rf $t/../x", False),
        ("t=$(mktemp -d); rm -rf $tt", False),
        ("t=$(mktemp -d); rm -rf $t $HOME", False),
    ],
)
def test_a_check_may_remove_what_lies_below_it(command, harmless):
    """It works in a checkout that is thrown away. What lies elsewhere, and the repository, is not its own."""
    assert ("deletes" not in why_dangerous(command)) == harmless


def test_what_a_check_removes_first_does_not_hide_it():
    assert sort_command("rm -rf build && pytest").kind == "test"
    assert "deletes" in sort_command("rm -rf build").why


def test_scripts_of_runners():
    """One plain call of a script is seen; a compound is not."""
    assert script_of("npm test") == ("npm", "test")
    assert script_of("yarn run -s lint") == ("yarn", "lint")
    assert script_of("make -j2 check") is not None
    assert script_of("npm test && npm publish") is None


def test_makefiles_are_read_and_not_run():
    """Recipes come with those of their prerequisites; make's variables are filled in, a shell's are left."""
    text = "BIN = .venv/bin\ntest: clean\n\t@$(BIN)/pytest -q\nclean:\n\trm -rf $(HOME)/x\n"
    text += "hide:\n\tpytest $$(id)\n"
    targets = make_targets(text)
    assert targets["test"] == ("rm -rf HOME/x && .venv/bin/pytest -q", 2)
    assert targets["hide"][0] == "pytest $(id)"
    assert why_dangerous(targets["test"][0])
    assert why_dangerous(targets["hide"][0])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"{" * 100_000,
        b"[" * 100_000,
        b'{"scripts": {"test": 3, "x": null}}',
        b'{"scripts": []}',
        b"[1]",
    ],
)
@pytest.mark.parametrize("name", ["package.json", "pyproject.toml", "setup.cfg", "composer.json", "pom.xml"])
def test_broken_manifests_are_packages_without_signs(name, data):
    """A manifest that cannot be parsed harms nothing."""
    made = read_manifest(name, data, ["uv.lock"])
    assert made.scripts == {}
    assert "file:uv.lock" in made.signs
