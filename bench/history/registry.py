"""Releases as the package registries have them, unpacked once into a cache outside of the repository.

The user's index is asked where one is set (`PIP_INDEX_URL`, `NPM_CONFIG_REGISTRY`), as pip and npm do.
Nothing that is downloaded is ever executed here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import urllib.request
import zipfile
from pathlib import Path
from urllib.parse import urljoin

SECONDS = 60.0
_LINK = re.compile(r'href="([^"#]+)[^"]*"[^>]*>([^<]+)</a>')
# What packing adds to a source release; no repository has it.
_PACKED = re.compile(r"(^|/)(PKG-INFO|[^/]+\.egg-info(/.*)?|\.git|\.git/.*)$")

_PACKED_CONFIG = b"[egg_info]tag_build=tag_date=0"


def unpacked(cache: Path, registry: str, name: str, version: str) -> Path:
    """The folder of one release; downloaded and unpacked on first use."""
    place = cache / "releases" / registry / name.replace("/", "+") / version
    if place.is_dir():
        return place
    archive = place.with_name(f"{version}.archive")
    if not archive.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        _download(_address(registry, name, version), archive)
    fresh = place.with_name(f"{version}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    _unpack(archive, fresh)
    fresh.rename(place)
    return place


def versions(registry: str, name: str) -> list[str]:
    """Those that have a source release, in the index's order."""
    return list(_pypi(name) if registry == "pypi" else _npm(name))


def _address(registry: str, name: str, version: str) -> str:
    known = _pypi(name) if registry == "pypi" else _npm(name)
    if version not in known:
        raise SystemExit(f"bench/history: {registry} has no source release {name} {version}")
    return known[version]


def _pypi(name: str) -> dict[str, str]:
    index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + f"/{name}/"
    text = _read(index).decode("utf-8", "replace")
    stem = re.compile(re.sub(r"[-_.]+", "[-_.]+", re.escape(name).replace(r"\-", "-")), re.IGNORECASE)
    found: dict[str, str] = {}
    for link, label in _LINK.findall(text):
        file = label.strip()
        for end in (".tar.gz", ".zip"):
            if (
                file.endswith(end)
                and (match := stem.match(file))
                and file[match.end() : match.end() + 1] == "-"
            ):
                found.setdefault(file[match.end() + 1 : -len(end)], urljoin(index, link))
    return found


def _npm(name: str) -> dict[str, str]:
    index = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/") + f"/{name}"
    return {version: one["dist"]["tarball"] for version, one in json.loads(_read(index))["versions"].items()}


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:
        return bytes(answer.read())


def _download(address: str, to: Path) -> None:
    half = to.with_name(f"{to.name}.half")
    half.write_bytes(_read(address))
    half.rename(to)


def _unpack(archive: Path, to: Path) -> None:
    """Regular files below the one folder that every archive has at its top, less what packing added."""
    to.mkdir(parents=True)
    for path, content, mode in _members(archive):
        _, _, inside = path.partition("/")
        if not inside or _PACKED.search(inside) or ".." in inside.split("/"):
            continue
        if inside == "setup.cfg" and b"".join(content.split()) == _PACKED_CONFIG:
            continue
        file = to / inside
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755 if mode & 0o100 else 0o644)


def _members(archive: Path) -> list[tuple[str, bytes, int]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            return [(one.filename, packed.read(one), 0o644) for one in packed.infolist() if not one.is_dir()]
    with tarfile.open(archive) as tar:
        files = [one for one in tar.getmembers() if one.isfile()]
        return [(one.name, taken.read(), one.mode) for one in files if (taken := tar.extractfile(one))]
