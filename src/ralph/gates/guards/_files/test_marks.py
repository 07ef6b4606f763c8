"""What a file that holds tests looks like, language by language; and which libraries only tests use. Pure.

A row is (endings, what it imports, what it then does): both must be there. An import alone proves nothing: a
product may help others to test.
"""

from __future__ import annotations

import re

from msgspec import Struct

_JS = ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue", "svelte")
_QUOTED = r"""(?:from|require\(|import\(?)\s*["'](?:"""
_JS_LIBRARY = (
    r"node:test|@jest/globals|jest|vitest|mocha|ava|tape|tap|t[ae]p[et]?-[\w-]+|uvu|bun:test|@playwright/test|qunit"
    r"|jasmine|@hapi/lab|lab|brittle|zora|@japa/runner|(?:jsr:)?@std/(?:testing|assert|expect)|(?:@open-wc|@web)/"
    r"test[\w-]*|@testing-library|supertest|sinon|should|expect|chai|@cucumber/cucumber|test"
)
_JS_ASSERTS = r"(?:node:)?assert|power-assert"
_IS = re.MULTILINE


class MarkOfTests(Struct, frozen=True):
    endings: tuple[str, ...]
    imports: re.Pattern[str] | None
    does: re.Pattern[str]


def _mark(endings: tuple[str, ...], imports: str, does: str) -> MarkOfTests:
    return MarkOfTests(endings, re.compile(imports, _IS) if imports else None, re.compile(does, _IS))


_CALL = r"^\s*(?:await\s+)?(?:\w+\.)?(?:test|it|describe|suite|specify|context)(?:\.\w+)*\s*\("
MARKS: tuple[MarkOfTests, ...] = (
    _mark(_JS, _QUOTED + _JS_LIBRARY + r")(?:/[\w/-]+)?[\"']", _CALL + r"|\btest\s*\("),
    # Globals of jest, mocha and jasmine.
    _mark(_JS, r"\bexpect\s*\(|\bassert\b", r"^\s*(?:describe|it|test)(?:\.\w+)*\s*\(\s*[\"'`]"),
    _mark(_JS, "", r"\b(?:Deno\.test|QUnit\.(?:test|module))\s*\(|\bimport\.meta\.vitest\b"),
    _mark(("py",), "", r"^class\s+\w+\([^)]*TestCase[^)]*\)\s*:(?:.|\n)*?^\s+(?:async\s+)?def\s+test"),
    _mark(("py",), r"^\s*(?:import|from)\s+(?:pytest|unittest|hypothesis|nose2?|behave|ward|testtools)\b",
          r"^(?:async\s+)?def\s+test\w*\s*\(|^class\s+Test\w*\b(?:.|\n)*?^\s+(?:async\s+)?def\s+test"),
    _mark(("rs",), "", r"#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck)\b"
          r"|#\[\s*cfg\s*\(\s*(?:all|any)?\s*\(?\s*test\b|\bproptest!\s*\{"),
    _mark(("java", "kt", "kts", "scala", "groovy"),
          r"^\s*import\s+(?:static\s+)?(?:org\.(?:junit|testng|scalatest|spockframework|specs2)|spock\.|munit|utest|"
          r"io\.kotest|kotlin\.test|junit\.framework)",
          r"@(?:\w*Test|Theory|RepeatedTest)\b|"
          r"extends\s+\w*(?:TestCase|Suite|Spec\w*)\b|:\s*\w*Spec\s*\(|\btest\("),
    _mark(("cs", "fs", "vb"),
          r"\b(?:using|open|Imports)\s+(?:Xunit|NUnit|Microsoft\.VisualStudio\.TestTools|Expecto)",
          r"\[\s*<?\s*(?:Fact|Theory|Test\w*|SetUp)\b|<(?:Fact|Test\w*)"),
    _mark(("rb",),
          r"^\s*require(?:_relative)?\s*\(?\s*[\"'](?:minitest|test/unit|rspec|\w*(?:spec|test)_helper)",
          r"<\s*\w*(?:::)?\w*(?:::)?Test(?:Case)?\b|\bdescribe\b|^\s*(?:test|it)\s+[\"']|^\s*def\s+test_"),
    _mark(("php",), "", r"\bextends\s+\\?(?:\w+\\)*\w*TestCase\b|^\s*(?:it|test)\(\s*[\"']"),
    _mark(("t", "pl", "pm"), r"^\s*use\s+Test(?:2)?::\w+",
          r"^(?!\s*package\s+Test)(?:.|\n)*\b(?:ok|is|is_deeply|like|"
          r"isnt|cmp_ok|subtest|done_testing|plan|pass|fail|throws_ok|dies_ok)\b"),
    _mark(("swift",),
          r"^\s*(?:@testable\s+)?import\s+(?:XCTest|Testing|Quick)\b", r"XCTestCase|@Test\b|QuickSpec"),
    _mark(("c", "cc", "cpp", "cxx", "m", "mm"),
          r"#\s*include\s*[<\"][^>\"]*(?:gtest|gmock|catch2?|boost/test|CppUTest|criterion|cmocka|check\.h|unity|cppunit"
          r"|cxxtest|munit|greatest|utest|acutest|XCTest)[^>\"]*[>\"]",
          r"\b(?:TEST\w*|SCENARIO|BOOST_\w*TEST\w*|Test|START_TEST|cmocka_unit_test|RUN_TEST|UTEST\w*)\s*\("),
    _mark(("ex", "exs"), "", r"^\s*use\s+ExUnit\.Case"),
    _mark(("hs",), r"^import\s+(?:qualified\s+)?Test\.",
          r"\b(?:describe|it|testCase|testGroup|prop\w*|hspec)\b"),
    _mark(("ml",), r"\b(?:Alcotest|OUnit2?|QCheck)\b", r"\b(?:test_case|test_list|>::|Test\.make)"),
    _mark(("clj", "cljs", "cljc"), r"clojure\.test|cljs\.test|midje", r"\(\s*(?:deftest|facts?)\b"),
    _mark(("lua",), r"require\s*\(?\s*[\"'](?:busted|luaunit|telescope)",
          r"\b(?:describe|it|test\w*)\s*\(|function\s+test"),
    _mark(("r", "R"), "", r"\btest_that\s*\("),
    _mark(("jl",), r"^\s*(?:using|import)\s+.*\bTest\b", r"@test\w*\b"),
    _mark(("dart",), r"package:(?:test|flutter_test)/", r"\b(?:test|testWidgets|group)\s*\("),
    _mark(("sh", "bash", "zsh", "bats"), "", r"^\s*@test\s|\bshunit2\b"),
    _mark(("nim",), r"\bimport\s+.*\bunittest\b", r"^\s*(?:suite|test)\s+\""),
    _mark(("sol",), r"forge-std/|ds-test/", r"\bfunction\s+test"),
    _mark(("zig",), "", r"^\s*test\b[^\n;]*\{"),
    _mark(("d",), "", r"^\s*(?:@\S+\s+)*unittest\s*\{"),
)  # fmt: skip
# Imported by files that help tests, and by products that help others to test: who uses the file decides.
LIBRARIES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (_JS, re.compile(_QUOTED + _JS_LIBRARY + "|" + _JS_ASSERTS + r")(?:/[\w/-]+)?[\"']")),
    (
        ("py",),
        re.compile(r"^\s*(?:import|from)\s+(?:pytest|unittest|hypothesis|nose2?|behave|testtools)\b", _IS),
    ),
    (("go",), re.compile(r"\*testing\.[TBFM]\b|\btesting\.TB\b")),
    (("rb",), re.compile(r"^\s*require\s*\(?\s*[\"'](?:minitest|test/unit|rspec)", _IS)),
)


def defines_tests(path: str, text: str) -> bool:
    ending = path.rsplit(".", 1)[-1]
    return any(
        ending in mark.endings
        and (mark.imports is None or mark.imports.search(text))
        and mark.does.search(text)
        for mark in MARKS
    )


def imports_library(path: str, text: str) -> str:
    """What it imports of a test library, as it stands there; "" = nothing."""
    ending = path.rsplit(".", 1)[-1]
    for endings, library in LIBRARIES:
        if ending in endings and (match := library.search(text)):
            return match.group(0)
    return ""
