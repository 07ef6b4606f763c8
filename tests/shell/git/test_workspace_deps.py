"""Which dependency folders may be shared, and when."""

from __future__ import annotations

from gitkit import begin, commit_on_top, make_repo, write

from ralph.shell.dependencies.shared import lockfiles_changed, shareable_folders
from ralph.shell.git.trees import tree_of

FILES = {
    "pyproject.toml": '[project]\nname = "x"\ndependencies = ["click"]\n[tool.ruff]\nline-length = 1\n',
    "package.json": '{"name": "x", "scripts": {"a": "b"}, "dependencies": {"l": "1"}}',
    "uv.lock": "1\n",
    "web/package.json": "{}",
    ".gitignore": "node_modules/\n/.venv\n",
}


def test_only_folders_that_exist_are_shared(tmp_path):
    """Dependency folders of the project and its packages are found; tracked ones and links are not."""
    top = make_repo(tmp_path / "repo", FILES | {"lib/package.json": "{}"})
    write(
        top,
        {
            ".venv/bin/python": "",
            "node_modules/a": "",
            "web/node_modules/b": "",
            "data/c": "",
            "web/x.py": "",
        },
    )
    loop = begin(top, tmp_path / "state")
    found = shareable_folders(
        loop.store, loop.start.base_tree, ["data", "../outside", "web", ".git", "missing", "web/x.py"]
    )
    wanted = [".venv", "node_modules", "web/node_modules", "data", "web/x.py"]
    assert [share.path for share in found] == wanted


def test_an_environment_that_is_not_ignored_is_shared(tmp_path):
    """Whoever forgot to ignore it has it in no commit all the same."""
    top = make_repo(tmp_path / "repo", FILES)
    write(top, {"venv/bin/python": ""})
    loop = begin(top, tmp_path / "state")
    assert [share.path for share in shareable_folders(loop.store, loop.start.base_tree)] == ["venv"]


def test_a_lockfile_is_changed_when_what_is_installed_changes(tmp_path):
    """Dependency tables and lockfiles count; other edits of the same files do not."""
    loop = begin(make_repo(tmp_path / "repo", FILES), tmp_path / "state")
    base = loop.start.base_tree

    def changed(files):
        from ralph.shell.git.snapshot import take_snapshot

        write(loop.ws, FILES | files)
        return lockfiles_changed(
            loop.store, base, take_snapshot(loop.store, str(loop.ws), loop.workspace.index, base).tree
        )

    assert (
        changed({"pyproject.toml": FILES["pyproject.toml"].replace("line-length = 1", "line-length = 2")})
        == []
    )
    assert changed({"pyproject.toml": FILES["pyproject.toml"].replace("click", "rich")}) == ["pyproject.toml"]
    assert changed({"pyproject.toml": "not = [toml"}) == ["pyproject.toml"]
    assert changed({"package.json": '{"name": "x", "scripts": {"a": "c"}, "dependencies": {"l": "1"}}'}) == []
    assert changed({"package.json": '{"name": "x", "dependencies": {"l": "2"}}'}) == ["package.json"]
    assert changed({"uv.lock": "2\n"}) == ["uv.lock"]
    assert changed({"requirements-dev.txt": "x\n"}) == ["requirements-dev.txt"]
    commit = commit_on_top(loop, {"uv.lock": None})
    assert "uv.lock" in lockfiles_changed(loop.store, base, tree_of(loop.store, commit))
