"""What a language downloads into the home is there for checks too: they have no network."""

import os
import shutil
import subprocess
import zipfile

import pytest
from shapekit import Shape, write_all

pytestmark = pytest.mark.slow

MODULE = "example.invalid/words"
FILES = {
    "go.mod": f"module example.invalid/shop\n\ngo 1.19\n\nrequire {MODULE} v1.0.0\n",
    "shop.go": "package shop\n\nfunc Total() string { return words() }\n",
    "words.go": f'package shop\n\nimport "{MODULE}"\n\nfunc words() string {{ return dep.Word + "s" }}\n',
    "shop_test.go": (
        'package shop\n\nimport "testing"\n\n'
        'func TestTotal(t *testing.T) {\n\tif Total() != "word" {\n\t\tt.Fatal(Total())\n\t}\n}\n\n'
        'func TestWord(t *testing.T) {\n\tif Total() == "" {\n\t\tt.Fatal("nothing")\n\t}\n}\n'
    ),
}


def proxy(top):
    """A module proxy in a folder, which holds one module."""
    at = top / "proxy" / MODULE / "@v"
    at.mkdir(parents=True)
    (at / "list").write_text("v1.0.0\n")
    (at / "v1.0.0.info").write_text('{"Version": "v1.0.0"}')
    (at / "v1.0.0.mod").write_text(f"module {MODULE}\n")
    with zipfile.ZipFile(at / "v1.0.0.zip", "w") as made:
        made.writestr(f"{MODULE}@v1.0.0/go.mod", f"module {MODULE}\n")
        made.writestr(f"{MODULE}@v1.0.0/dep.go", 'package dep\n\nconst Word = "word"\n')
    return f"file://{top}/proxy"


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (Debian: golang-go)")
@pytest.mark.parametrize("moved", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_go_project_with_dependencies_is_verified(tmp_path, home, moved):
    """Its modules stand in the home, or where the user's variable says, and no check reaches a network."""
    own = tmp_path / "home"
    own.mkdir()
    shape = Shape(tmp_path / "w", own, seen=home.parent / "protection.json")
    cache = tmp_path / "modules" if moved else shape.home / "go" / "pkg" / "mod"
    env = {
        "GOFLAGS": "-mod=mod -modcacherw",
        "GONOSUMDB": "*",
        "GONOSUMCHECK": "1",
        "GOPROXY": proxy(tmp_path),
    }
    env |= {"GOMODCACHE": os.fspath(cache)}
    write_all(shape.top / "proj", FILES)
    call = {**os.environ, "HOME": os.fspath(shape.home), **env}
    subprocess.run(["go", "mod", "download", "all"], cwd=shape.top / "proj", env=call, check=True)
    subprocess.run(["go", "mod", "tidy"], cwd=shape.top / "proj", env=call, check=True)
    sums = {name: (shape.top / "proj" / name).read_text() for name in ("go.mod", "go.sum")}
    shutil.rmtree(shape.top / "proj")
    try:
        shape.project(shape.top / "proj", FILES | sums, {})
        told = {"GOMODCACHE": os.fspath(cache)} if moved else {}
        words = shape.loop_words(shape.mends("words.go", ' + "s"', ""), check="go test ./...")
        done = shape.ralph(*words, env=told)
        assert done.code == 0, done.text
        assert "1 failed, 1 passed" in done.text
    finally:
        shape.kill_all()


@pytest.mark.skipif(shutil.which("rustup") is None, reason="rustup is not installed: its links are not tried")
def test_cargo_of_rustup_finds_its_tool_chain(tmp_path, home):
    """`cargo` on PATH is a link of rustup, which looks for the real one below the home."""
    shape = Shape(tmp_path / "w", home, seen=home.parent / "protection.json")
    tools = os.path.dirname(shutil.which("rustup"))
    chains = os.environ.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    text = "pub fn two() -> i32 {{ {value} }}\n#[test]\nfn is_two() {{ assert_eq!(two(), 2); }}\n"
    try:
        shape.project(
            shape.top / "proj",
            {
                "Cargo.toml": '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n',
                "src/lib.rs": text.format(value="1"),
                "Cargo.lock": 'version = 3\n\n[[package]]\nname = "two"\nversion = "0.1.0"\n',
                ".gitignore": "target/\n",
            },
            {},
        )
        words = shape.loop_words(shape.mends("src/lib.rs", "{ 1 }", "{ 2 }"), check="cargo test --offline")
        path = tools + os.pathsep + shape.env()["PATH"]
        done = shape.ralph(*words, env={"PATH": path, "RUSTUP_HOME": chains})
        assert done.code == 0, done.text
    finally:
        shape.kill_all()
