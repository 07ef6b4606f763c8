"""Small projects of five languages, shaped after real ones, each with slips that one of its tests shows.

None of them is known to the demo agent. Debian packages: nodejs, golang-go, cargo, maven,
default-jdk-headless, libsurefire-java, libmaven-compiler-plugin-java, libmaven-resources-plugin-java, junit4.
"""

from __future__ import annotations

import msgspec


class Kind(msgspec.Struct, frozen=True):
    files: dict[str, str]
    tests: tuple[int, int]  # failed, passed at the base
    run: str
    read: str
    tool: str
    mended: dict[str, str]  # file -> a line that only the repaired source has
    needs: tuple[str, ...] = ()


PYTHON = {
    "pyproject.toml": '[project]\nname = "pricing"\nversion = "0.3.0"\nrequires-python = ">=3.11"\n\n'
    '[dependency-groups]\ndev = ["pytest>=8"]\n\n'
    '[tool.pytest.ini_options]\ntestpaths = ["tests"]\npythonpath = ["src"]\n',
    "README.md": "# pricing\n\nPrices of a cart.\n\n## Development\n\n```sh\npytest -q\n```\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    "src/pricing/__init__.py": '"""Prices of a cart, in cents."""\n\nfrom pricing.cart import total\n\n'
    '__all__ = ["total"]\n',
    "src/pricing/cart.py": '"""The cart."""\n\nfrom pricing.rules import discount, shipping\n\n\n'
    "def subtotal(lines):\n"
    "    return sum(price * count for price, count in lines)\n\n\n"
    "def total(lines):\n"
    '    """What the customer pays: goods, less the discount, plus shipping."""\n'
    "    goods = subtotal(lines)\n"
    "    return goods - discount(goods) - shipping(goods)\n",
    "src/pricing/rules.py": '"""The shop\'s rules."""\n\nFREE_FROM = 5000\n\n\n'
    "def discount(goods):\n"
    '    """Ten percent from a hundred euros on."""\n'
    "    return goods // 10 if goods > 10000 else 0\n\n\n"
    "def shipping(goods):\n    return 0 if goods >= FREE_FROM else 490\n",
    "tests/test_cart.py": "from pricing import total\nfrom pricing.cart import subtotal\n\n\n"
    "def test_subtotal_counts_every_piece():\n    assert subtotal([(250, 2), (100, 1)]) == 600\n\n\n"
    "def test_small_orders_pay_shipping():\n    assert total([(1000, 1)]) == 1490\n\n\n"
    "def test_an_empty_cart_pays_shipping_only():\n    assert total([]) == 490\n\n\n"
    "def test_orders_from_fifty_euros_ship_free():\n    assert total([(5000, 1)]) == 5000\n",
    "tests/test_rules.py": "import pytest\n\nfrom pricing.rules import discount\n\n\n"
    '@pytest.mark.parametrize(("goods", "off"), [(9999, 0), (10000, 1000), (20000, 2000)])\n'
    "def test_discount(goods, off):\n    assert discount(goods) == off\n",
}
NODE = {
    "package.json": '{\n  "name": "slots",\n  "version": "1.2.0",\n  "type": "module",\n'
    '  "exports": "./lib/index.js",\n  "scripts": {\n    "test": "node --test"\n  }\n}\n',
    ".github/workflows/ci.yml": "on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
    "      - uses: actions/checkout@v4\n      - run: npm test\n",
    "lib/index.js": "export { overlap, free } from './slots.js';\n",
    "lib/slots.js": "/** Minutes that two slots of a day share. */\n"
    "export function overlap(a, b) {\n"
    "  const start = Math.max(a.start, b.start);\n"
    "  const end = Math.max(a.end, b.end);\n"
    "  return end > start ? end - start : 0;\n}\n\n"
    "/** Slots that touch none of the taken ones. */\n"
    "export function free(slots, taken) {\n"
    "  return slots.filter((slot) => taken.every((other) => overlap(slot, other) === 0));\n}\n",
    "test/slots.test.js": "import assert from 'node:assert/strict';\n"
    "import { describe, it } from 'node:test';\n"
    "import { free, overlap } from '../lib/index.js';\n\n"
    "const slot = (start, end) => ({ start, end });\n\n"
    "describe('overlap', () => {\n"
    "  it('counts the minutes in common', () => {\n"
    "    assert.equal(overlap(slot(540, 600), slot(570, 660)), 30);\n  });\n"
    "  it('is the whole of one that equals the other', () => {\n"
    "    assert.equal(overlap(slot(540, 600), slot(540, 600)), 60);\n  });\n});\n\n"
    "describe('free', () => {\n"
    "  it('leaves out what is taken', () => {\n"
    "    const day = [slot(540, 600), slot(600, 660)];\n"
    "    assert.deepEqual(free(day, [slot(550, 560)]), [slot(600, 660)]);\n  });\n});\n",
}
GO = {
    "go.mod": "module example.com/ranges\n\ngo 1.19\n",
    ".github/workflows/go.yml": "on: [push]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n"
    "      - uses: actions/setup-go@v5\n      - run: go test ./...\n",
    "ranges.go": "// Package ranges works on half-open ranges of numbers.\npackage ranges\n\n"
    "// Range holds the numbers from Low up to, but not including, High.\n"
    "type Range struct {\n\tLow, High int\n}\n\n"
    "// Len is how many numbers a range holds.\nfunc (r Range) Len() int {\n\treturn r.High - r.Low\n}\n\n"
    "// Holds tells whether a number is in the range.\nfunc (r Range) Holds(n int) bool {\n"
    "\treturn n >= r.Low && n <= r.High\n}\n",
    "ranges_test.go": 'package ranges\n\nimport "testing"\n\n'
    "func TestLen(t *testing.T) {\n\tif got := (Range{3, 7}).Len(); got != 4 {\n"
    '\t\tt.Errorf("Len() = %d, want 4", got)\n\t}\n}\n\n'
    "func TestHolds(t *testing.T) {\n\tcases := []struct {\n\t\tn    int\n\t\twant bool\n"
    "\t}{{2, false}, {3, true}, {6, true}, {7, false}}\n\tfor _, c := range cases {\n"
    "\t\tif got := (Range{3, 7}).Holds(c.n); got != c.want {\n"
    '\t\t\tt.Errorf("Holds(%d) = %v, want %v", c.n, got, c.want)\n\t\t}\n\t}\n}\n',
}
RUST = {
    "Cargo.toml": '[package]\nname = "ticks"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n',
    "Cargo.lock": "# This file is automatically @generated by Cargo.\nversion = 3\n\n"
    '[[package]]\nname = "ticks"\n'
    'version = "0.1.0"\n',
    ".gitignore": "/target\n",
    "README.md": "# ticks\n\n```\ncargo test\n```\n",
    "src/lib.rs": "//! Ticks of a clock as hours and minutes.\n\n"
    "/// The hand of a clock, 0 to 59.\npub fn hand(minutes: u32) -> u32 {\n    minutes % 59\n}\n\n"
    "/// Minutes since midnight, of a day that never ends.\n"
    "pub fn minutes(hours: u32, minutes: u32) -> u32 {\n    hours * 60 + minutes\n}\n\n"
    "#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn an_hour_has_sixty() {\n"
    "        assert_eq!(minutes(2, 5), 125);\n    }\n}\n",
    "tests/clock.rs": "use ticks::{hand, minutes};\n\n#[test]\nfn the_hand_turns() {\n"
    "    assert_eq!(hand(minutes(1, 15)), 15);\n}\n",
}
POM = """<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>com.example</groupId>
  <artifactId>roman</artifactId>
  <version>1.0-SNAPSHOT</version>
  <properties>
    <maven.compiler.source>11</maven.compiler.source>
    <maven.compiler.target>11</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>
      <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
      <plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>
    </plugins>
  </build>
</project>
"""
JAVA = {
    "pom.xml": POM,
    # Debian's repository in place of a download; one JVM, quickly started, in place of three.
    ".mvn/maven.config": "-Dmaven.repo.local=/usr/share/maven-repo\n-o\n-DforkCount=0\n",
    ".mvn/jvm.config": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n",
    ".gitignore": "target/\n",
    "README.md": "# roman\n\n```\nmvn -B test\n```\n",
    "src/main/java/com/example/Roman.java": "package com.example;\n\n/** Roman numerals. */\n"
    "public final class Roman {\n"
    "  private static final int[] VALUES = {10, 9, 5, 4, 1};\n"
    '  private static final String[] SIGNS = {"X", "IX", "V", "IV", "I"};\n\n'
    "  private Roman() {}\n\n"
    "  public static String of(int number) {\n"
    "    StringBuilder text = new StringBuilder();\n"
    "    for (int i = 0; i < VALUES.length; i++) {\n"
    "      while (number > VALUES[i]) {\n"
    "        text.append(SIGNS[i]);\n        number -= VALUES[i];\n      }\n    }\n"
    "    return text.toString();\n  }\n}\n",
    "src/test/java/com/example/RomanTest.java": "package com.example;\n\n"
    "import static org.junit.Assert.assertEquals;\n\nimport org.junit.Test;\n\n"
    "public class RomanTest {\n"
    '  @Test\n  public void nothingIsWrittenForZero() {\n    assertEquals("", Roman.of(0));\n  }\n\n'
    '  @Test\n  public void fourIsOneBeforeFive() {\n    assertEquals("XIV", Roman.of(14));\n  }\n}\n',
}
SUREFIRE = "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin/2.22.3"
KINDS = {
    "python": Kind(
        PYTHON,
        (3, 4),
        "pytest -q",
        "pytest",
        "pytest",
        {"src/pricing/cart.py": "+ shipping(goods)", "src/pricing/rules.py": "goods >= 10000"},
    ),
    "node": Kind(NODE, (2, 1), "node --test", "node", "node", {"lib/slots.js": "Math.min(a.end, b.end)"}),
    "go": Kind(GO, (1, 1), "go test ./...", "go", "go", {"ranges.go": "n < r.High"}),
    "rust": Kind(RUST, (1, 1), "cargo test", "cargo", "cargo", {"src/lib.rs": "minutes % 60"}),
    "java": Kind(
        JAVA,
        (1, 1),
        "mvn -B test",
        "maven",
        "mvn",
        {"src/main/java/com/example/Roman.java": "number >= VALUES[i]"},
        (SUREFIRE,),
    ),
}
