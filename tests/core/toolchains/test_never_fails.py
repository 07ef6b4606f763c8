"""What cannot fail, or judges nothing, is never a check: one table for all runners and shells."""

import pytest

from ralph.core.toolchains.classify_command import sort_command
from ralph.core.toolchains.never_fails import why_degenerate

NEVER = """
pytest || true
pytest || :
pytest || echo failed
pytest || exit 0
pytest || /bin/true
pytest; true
pytest; exit 0
pytest; echo done
pytest ; :
pytest &
./vendor/bin/http_test_server &
pytest | tee out.txt
go test ./... | cat
(pytest || true)
{ pytest || true; }
pytest && ruff check . || true
set +e; pytest; echo $?
sh -c 'pytest || true'
bash -c "pytest; true"
true
:
exit 0
echo ok
echo "Error: no test specified" && exit 1
echo "no tests yet" && exit 0
printf 'todo'
ls tests
cat test.log
which pytest
cd api
pytest --collect-only
pytest --co -q
pytest --version
python -m pytest --help
pytest --fixtures
pytest --setup-plan
pytest -k ''
pytest -k none
pytest --snapshot-update
pytest --force-regen
pytest --inline-snapshot=fix
PYTEST_ADDOPTS=--collect-only pytest
UPDATE_SNAPSHOTS=1 pytest
env UPDATE_GOLDEN=1 pytest
SKIP_TESTS=1 make test
DRY_RUN=1 make test
tox --notest
tox -l
tox list
nox --list
nox --install-only
jest --passWithNoTests
jest --listTests
jest -u
npx jest --updateSnapshot
jest --watch
npm test -- -u
npm test -- --passWithNoTests
npm run test --if-present
yarn test --watchAll
pnpm test --dry-run
vitest -u
vitest list
vitest run --passWithNoTests
vitest --watch
npx ava --update-snapshots
ava -u
mocha --dry-run
tap --snapshot
playwright test --list
playwright test -u
cross-env CI_UPDATE=1 mocha
cargo test --no-run
cargo test --workspace --no-run
cargo test -- --list
cargo nextest list
cargo nextest run --no-tests=pass
INSTA_FORCE_PASS=1 cargo test
INSTA_UPDATE=always cargo test
UPDATE_EXPECT=1 cargo test
TRYBUILD=overwrite cargo test
BLESS=1 cargo test
cargo insta test --accept
go test -c ./...
go test -run ^$ ./...
go test -run=NONE -bench=. ./...
go test -list . ./...
go test ./... -update
go version
mvn test -DskipTests
mvn -B verify -Dmaven.test.skip=true
mvn test -Dmaven.test.failure.ignore=true
mvn -fn test
./mvnw -DskipTests verify
gradle check -x test
./gradlew test --dry-run
gradle -m test
ctest -N
ctest --show-only
rspec --dry-run
bundle exec rspec --dry-run
rake -n test
phpunit --list-tests
vendor/bin/phpunit --generate-baseline
vendor/bin/pest --update-snapshots
dotnet test --list-tests
dotnet test -t
mix test --dry-run
forge test --list
bats --count test
prove -D t
make -n test
make -i test
make --dry-run check
make --ignore-errors test
just --dry-run test
ruff check --exit-zero .
ruff check --fix .
flake8 --exit-zero
pylint --exit-zero src
eslint --fix .
rubocop -A
golangci-lint run --issues-exit-code=0
golangci-lint run --fix
black --diff .
gofmt -l .
clang-format --dry-run src/a.c
semgrep scan --config auto
bandit -r . --exit-zero
mypy --version
npx tsc --showConfig
timeout 60 pytest --co
uv run pytest --collect-only
""".strip().splitlines()

CAN = """
pytest
pytest -v
pytest -n 4
pytest -k "not slow"
pytest && echo done
echo start; pytest
mkdir -p out; pytest
pytest || exit 1
pytest || (echo failed && exit 1)
pytest || { echo failed; exit 1; }
set -e; pytest; echo done
set -euo pipefail; pytest | tee out.txt
pytest > out.txt 2>&1
(cd api && pytest)
sh -c 'pytest -q'
ls dist || pytest
go test -json ./... | tparse
INSTA_UPDATE=no cargo test
INSTA_FORCE_PASS=0 cargo test
cargo nextest run --no-tests=fail
CI=1 npm test
NODE_ENV=test npx mocha
npm test --workspaces --if-present
pnpm -r --if-present test
npm test -- --coverage
cargo test --no-fail-fast
cargo test --doc
go test -race ./...
go test -count=1 -run TestX ./...
mvn -B verify
./gradlew check -x spotbugsMain
ctest --output-on-failure
rspec --format documentation
jest --ci
vitest run
make test
make -j4 check
make -k test
tox -e py311
black --check --diff .
isort --check --diff .
php-cs-fixer fix --dry-run
clang-format --dry-run --Werror src/a.c
semgrep scan --error --config p/ci
semgrep ci
pytest tests/test_update.py
test -s docs/guide.md
grep -q done notes.txt
if make test; then echo ok; fi
""".strip().splitlines()


@pytest.mark.parametrize("command", NEVER)
def test_what_cannot_fail_is_no_check(command):
    """It is said why, and no layer of inference can take it for a check."""
    assert why_degenerate(command), command
    assert not sort_command(command).kind


@pytest.mark.parametrize("command", CAN)
def test_what_can_fail_is_left_alone(command):
    """Words that only sound like it, and guards around other parts, are no ground to drop a check."""
    assert why_degenerate(command) == ""


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("pytest --collect-only && ruff check .", "lint"),
        ("npm run build --if-present && npm test", "test"),
        ("pytest || true; mypy .", "types"),
        ("cargo test --no-run && cargo test", "test"),
    ],
)
def test_the_kind_is_that_of_the_part_that_counts(command, kind):
    """A compound is what its judging part is, not what another part only pretends to be."""
    assert sort_command(command).kind == kind
