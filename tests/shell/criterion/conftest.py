"""A machine on which every tool exists."""

import pytest

TOOLS = """
pytest ruff mypy flake8 tox nox pyright python python3 node npm npx pnpm yarn jest vitest mocha
eslint tsc biome cargo go gofmt golangci-lint mvn bundle composer dotnet cmake ctest mix forge make
just uv poetry nyc black test
"""


@pytest.fixture(scope="session")
def machine(tmp_path_factory):
    """A PATH on which every tool exists, and a file that grows when one of them is executed."""
    folder = tmp_path_factory.mktemp("bin")
    mark = folder / "executed"
    for name in TOOLS.split():
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {mark}\n")
        (folder / name).chmod(0o755)
    return folder, mark
