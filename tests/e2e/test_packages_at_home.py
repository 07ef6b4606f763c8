"""What a language downloads into the home is there for checks too: they have no network."""

import os
import shutil
import subprocess
import zipfile

import pytest
from gatekit import configure
from shapekit import Shape, write_all

pytestmark = pytest.mark.soak

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


@pytest.fixture
def shape(tmp_path, home):
    """With a home of its own: what stands in it is what these tests are about."""
    own = tmp_path / "home"
    own.mkdir()
    made = Shape(tmp_path / "w", own, seen=home.parent / "protection.json")
    yield made
    made.kill_all()


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (Debian: golang-go)")
@pytest.mark.parametrize("moved", [False, True])
def test_a_go_project_with_dependencies_is_verified(shape, tmp_path, moved):
    """Its modules stand in the home, or where the user's variable says, and no check reaches a network."""
    cache = tmp_path / "modules" if moved else shape.home / "go" / "pkg" / "mod"
    env = {
        **os.environ,
        "HOME": os.fspath(shape.home),
        "GOFLAGS": "-mod=mod -modcacherw",
        "GONOSUMDB": "*",
        "GOPROXY": proxy(tmp_path),
        "GOMODCACHE": os.fspath(cache),
    }
    before = tmp_path / "before"
    write_all(before, FILES)
    for words in (["download", "all"], ["tidy"]):
        subprocess.run(["go", "mod", *words], cwd=before, env=env, check=True)
    sums = {name: (before / name).read_text() for name in ("go.mod", "go.sum")}
    shape.project(shape.top / "proj", FILES | sums, {})
    words = shape.loop_words(shape.mends("words.go", ' + "s"', ""), check="go test ./...")
    done = shape.ralph(*words, env={"GOMODCACHE": os.fspath(cache)} if moved else {})
    assert done.code == 0, done.text
    assert "1 failed, 1 passed" in done.text


TWO = "pub fn two() -> i32 {{ {value} }}\n#[test]\nfn is_two() {{ assert_eq!(two(), 2); }}\n"
TRIES = 'import subprocess; subprocess.run(["cargo", "test", "--offline"], check=True)'


@pytest.mark.skipif(shutil.which("rustup") is None, reason="rustup is not installed: its links are not tried")
def test_cargo_of_rustup_finds_its_tool_chain(shape):
    """`cargo` on PATH is a link of rustup, which looks for the real one below the home; the agent's too."""
    chains = os.environ.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    files = {
        "Cargo.toml": '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": TWO.format(value="1"),
        "Cargo.lock": 'version = 3\n\n[[package]]\nname = "two"\nversion = "0.1.0"\n',
        ".gitignore": "target/\n",
    }
    shape.project(shape.top / "proj", files, {})
    mends = shape.mends("src/lib.rs", "{ 1 }", "{ 2 }", TRIES)
    words = shape.loop_words(mends, check="cargo test --offline")
    path = os.path.dirname(shutil.which("rustup")) + os.pathsep + shape.env()["PATH"]
    done = shape.ralph(*words, env={"PATH": path, "RUSTUP_HOME": chains})
    assert done.code == 0, done.text
    assert "it 1  exited 0" in done.text, "the agent found no cargo"


GO_TEST = (
    'package {package}\n\nimport "testing"\n\n'
    'func TestIt(t *testing.T) {{\n\tif {call} {{\n\t\tt.Fatal("no")\n\t}}\n}}\n'
)
LOOK = 'cd "$HOME/.cache/go-build" && ls 00 planted; cd - && go test ./...'
PLANTED = """package shop

import "os"

func init() { os.Create(os.Getenv("HOME") + "/.cache/go-build/planted") }
"""


@pytest.mark.skipif(shutil.which("go") is None, reason="go is not installed (Debian: golang-go)")
def test_what_go_compiled_on_the_base_is_not_compiled_again(shape):
    """Every call after the base's finds Go's build cache; none finds in it what a result left there,
    or that a test passed."""
    files = {
        "go.mod": "module example.invalid/shop\n\ngo 1.19\n",
        "shop.go": "package shop\n\nfunc Total() int { return 1 }\n",
        "shop_test.go": GO_TEST.format(package="shop", call="Total() != 2"),
        "kept/kept.go": "package kept\n\nfunc Kept() int { return 3 }\n",
        "kept/kept_test.go": GO_TEST.format(package="kept", call="Kept() != 3"),
    }
    shape.project(shape.top / "proj", files, {})
    plant = f"open('plant.go', 'w').write({PLANTED!r})"
    done = shape.ralph(*shape.loop_words(shape.mends("shop.go", "1", "2", plant), check=LOOK))
    assert done.code == 0, done.text
    proof = done.loop.proof
    assert "00:" not in shape.output_of(proof.baseline["check"].evidence)
    outputs = [shape.output_of(one) for guard in proof.guards for one in guard.evidence]
    assert len(outputs) > 2
    for output in outputs:
        assert "00:" in output
        assert "(cached)" not in output
    once = [one for guard in proof.guards if guard.guard != "repeat" for one in guard.evidence]
    assert once
    assert not any("planted\n" in shape.output_of(one) for one in once)
    shape.same_user()


VENDORED = {
    "Cargo.toml": (
        '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\ndep = "1.0.0"\n'
    ),
    "Cargo.lock": (
        'version = 3\n\n[[package]]\nname = "dep"\nversion = "1.0.0"\n'
        'source = "registry+https://github.com/rust-lang/crates.io-index"\n\n'
        '[[package]]\nname = "two"\nversion = "0.1.0"\ndependencies = [\n "dep",\n]\n'
    ),
    ".cargo/config.toml": (
        '[source.crates-io]\nreplace-with = "vendored"\n\n[source.vendored]\ndirectory = "vendor"\n'
    ),
    "vendor/dep/Cargo.toml": '[package]\nname = "dep"\nversion = "1.0.0"\nedition = "2021"\n',
    "vendor/dep/src/lib.rs": "pub fn one() -> i32 { 1 }\n",
    "vendor/dep/.cargo-checksum.json": '{"files": {}, "package": null}\n',
    "src/lib.rs": TWO.format(value="dep::one()"),
    ".gitignore": "target/\n",
}


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed (Debian: cargo)")
def test_crates_are_compiled_once_where_the_documented_setup_says_so(shape):
    """What docs/config.md proposes for Rust: no check compiles the dependencies, not even the baseline's."""
    shape.project(shape.top / "proj", VENDORED, {})
    configure(shape, 'setup = "cargo test --no-run --offline"\nshare = ["target"]\n')
    env = {} if shutil.which("rustup") is None else {"RUSTUP_HOME": os.path.expanduser("~/.rustup")}
    words = shape.loop_words(shape.mends("src/lib.rs", "dep::one()", "2"), check="cargo test --offline")
    done = shape.ralph(*words, env=env)
    assert done.code == 0, done.text
    proof = done.loop.proof
    evidence = [proof.baseline["check"].evidence, *(one for guard in proof.guards for one in guard.evidence)]
    outputs = [shape.output_of(one) for one in evidence]
    assert sum("Compiling two" in output for output in outputs) > 3
    assert not any("Compiling dep" in output for output in outputs)
