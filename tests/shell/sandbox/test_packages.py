"""Downloaded packages: which folders below the home a check sees, and that none holds more than packages."""

import os

from ralph.shell.sandbox.own_env import VARIABLES, gate_env, package_folders, toolchain_folders

KEPT = (".rustup", "go/pkg/mod", ".cargo/registry", ".cargo/git", ".m2/repository", ".nuget/packages")


def test_only_folders_of_packages_are_seen(tmp_path):
    """What stands beside them (credentials, settings, binaries) is not; what is not there is left out."""
    for name in (*KEPT, ".cargo/bin", "go/bin", ".ssh", ".m2/settings"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".cargo" / "credentials.toml").write_text("token")
    home = os.fspath(tmp_path)
    assert set(package_folders({}, home)) == {os.path.join(home, name) for name in KEPT}
    assert toolchain_folders({}, home) == (os.path.join(home, ".rustup"),)


def test_another_home_is_told_where_tool_chains_are(tmp_path):
    """Where HOME is another one, links of rustup find the user's tool chains; a variable of theirs stays."""
    (tmp_path / ".rustup").mkdir()
    user = {"HOME": os.fspath(tmp_path), "PATH": "/usr/bin"}
    assert gate_env(user, "/tmp/home", {})["RUSTUP_HOME"] == f"{tmp_path}/.rustup"
    assert gate_env({**user, "RUSTUP_HOME": "/opt/r"}, "/tmp/home", {})["RUSTUP_HOME"] == "/opt/r"
    assert "RUSTUP_HOME" not in gate_env(user, user["HOME"], {})


def test_a_variable_moves_them(tmp_path):
    """What the user's own environment says is where they are; it cannot open the home or everything."""
    home, away = os.fspath(tmp_path / "home"), os.fspath(tmp_path / "away")
    for path in (home, f"{away}/registry", f"{home}/.cargo/registry"):
        os.makedirs(path, exist_ok=True)
    assert package_folders({"CARGO_HOME": away}, home) == (f"{away}/registry",)
    for name in VARIABLES:
        assert not {home, "/"} & set(package_folders({name: home}, home))
        assert not {os.path.dirname(home), "/"} & set(package_folders({name: os.path.dirname(home)}, home))
        assert "/" not in package_folders({name: "/"}, home)
