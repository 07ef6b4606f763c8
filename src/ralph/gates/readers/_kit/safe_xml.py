"""XML from outside: parsed only after it is known to carry no document type, hence no entities."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET
from xml.parsers import expat

MAX_DEPTH = 200


class BadXml(Exception):  # noqa: N818 (a value of this package: readers turn it into a Reading)
    """Not well formed, or not safe to parse; the text says which."""


def parse(data: bytes) -> ET.Element:
    def refuse(*_: object) -> None:
        raise BadXml("the report declares a document type, which Ralph does not read")

    scout = expat.ParserCreate()
    scout.StartDoctypeDeclHandler = refuse
    try:
        scout.Parse(data, True)
        return ET.fromstring(data)  # noqa: S314 (no document type, so no entities)
    except (expat.ExpatError, ET.ParseError, ValueError, LookupError, RecursionError, MemoryError) as error:
        raise BadXml(f"the report is torn ({error})") from error


def walk(root: ET.Element) -> Iterator[tuple[ET.Element, tuple[str, ...]]]:
    """Every test case with the names of the suites around it, in document order, without recursion."""
    stack: list[tuple[ET.Element, tuple[str, ...]]] = [(root, ())]
    while stack:
        element, suites = stack.pop()
        tag = element.tag.rsplit("}", 1)[-1]
        if tag == "testcase":
            yield element, suites
            continue
        if len(suites) > MAX_DEPTH:
            raise BadXml("the report is nested too deeply")
        inner = (*suites, element.get("name", "")) if tag == "testsuite" else suites
        stack.extend((child, inner) for child in reversed(element))
