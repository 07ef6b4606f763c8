"""How a program that is not installed is installed: one table for every screen that names one. Data only."""

from __future__ import annotations


def _rows(line: str, names: str) -> dict[str, str]:
    return {name: line.replace("{}", name) for name in names.split()}


INSTALL_LINES: dict[str, str] = {
    **_rows(
        "python -m pip install {}",
        "pytest ruff mypy tox nox coverage flake8 pylint black isort pyright basedpyright bandit pip-audit "
        "semgrep hatch pdm pipenv pre-commit mkdocs uv behave yamllint vulture codespell",
    ),
    **_rows("npm install -g {}", "pnpm yarn bun turbo nx"),
    **_rows(
        "npm install --save-dev {}",
        "jest vitest mocha ava tap tape jasmine karma eslint prettier oxlint xo standard "
        "stylelint c8 nyc tsd "
        "uvu solhint hardhat truffle cypress",
    ),
    **_rows(
        "apt install {}",
        "npm cargo make git python3 maven gradle cmake elixir composer ruby php bats shellcheck cppcheck "
        "clang-tidy clang-format ninja-build meson just",
    ),
    **_rows("gem install {}", "rspec rubocop rake standardrb cucumber"),
    "node": "apt install nodejs",
    "npx": "apt install npm",
    "tsc": "npm install --save-dev typescript",
    "biome": "npm install --save-dev @biomejs/biome",
    "playwright": "npm install --save-dev @playwright/test",
    "go": "apt install golang",
    "gofmt": "apt install golang",
    "mvn": "apt install maven",
    "java": "apt install default-jdk",
    "ctest": "apt install cmake",
    "cc": "apt install build-essential",
    "gcc": "apt install build-essential",
    "mix": "apt install elixir",
    "bundle": "apt install ruby-bundler",
    "phpunit": "composer require --dev phpunit/phpunit",
    "pest": "composer require --dev pestphp/pest",
    "phpstan": "composer require --dev phpstan/phpstan",
    "phpcs": "composer require --dev squizlabs/php_codesniffer",
    "dotnet": "apt install dotnet-sdk-8.0",
    "forge": "curl -L https://foundry.paradigm.xyz | bash && foundryup",
    "rustup": "curl -sSf https://sh.rustup.rs | sh",
    "cargo-clippy": "rustup component add clippy",
    "cargo-fmt": "rustup component add rustfmt",
    "cargo-nextest": "cargo install cargo-nextest",
    "cargo-audit": "cargo install cargo-audit",
    "golangci-lint": "go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",
    "govulncheck": "go install golang.org/x/vuln/cmd/govulncheck@latest",
    "gitleaks": "https://github.com/gitleaks/gitleaks/releases",
    "swift": "https://www.swift.org/install",
    "deno": "npm install -g deno",
    "bwrap": "apt install bubblewrap",
    "python": "apt install python-is-python3",
    "poetry": "pipx install poetry",
    "claude": "npm install -g @anthropic-ai/claude-code",
    "codex": "npm install -g @openai/codex",
    "gemini": "npm install -g @google/gemini-cli",
    "opencode": "npm install -g opencode-ai",
}
