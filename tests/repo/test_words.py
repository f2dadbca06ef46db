"""What no tracked file may contain: paths of one machine, private package hosts, secrets, leftovers."""

import re
from functools import cache

import pytest

from tests.repo.checkout import ROOT, tracked

# Written in pieces, so that this file does not trip over itself.
FORBIDDEN = {
    "a path of somebody's machine": re.compile(
        r"/(?:wo" r"rk/main|wo" r"rk/shared|tmp/c" r"g\b|home/[a-z]+/|Users/[A-Za-z]+/)"
    ),
    "a folder that no checkout has": re.compile(
        r"(?<![\w/])\.lib" r"rary/|(?<![\w-])\.\./sha" r"red/|\bsha" r"red/(?:design|spec|style|facts|cases|data)\b"
    ),
    "an unfinished thought": re.compile(r"\b(?:FIX" r"ME|X" r"XX|TO" r"DO)\b:?(?!\s*[|`'\"=)\],])"),
    "a long-lived AWS key": re.compile(r"\bAK" r"IA(?!IOSFODNN7)[0-9A-Z]{16}\b"),
    "an Alibaba Cloud key": re.compile(r"\bLT" r"AI(?!\w*EXAMPLE)[0-9A-Za-z]{16,}\b"),
    "a Slack token": re.compile(r"\bxo" r"x[baprs]-(?!1111)\d{9,}-\d{9,}-[0-9A-Za-z]{16,}"),
    "a private key": re.compile(r"-----BEGIN (?:RSA |EC |OPENSSH )?PRIVATE" r" KEY-----"),
}
PUBLIC_INDEXES = {
    "pypi.org",
    "files.pythonhosted.org",
    "pypi.tuna.tsinghua.edu.cn",
    "mirrors.aliyun.com",
    "registry.npmmirror.com",
}
INDEX_URL = re.compile(
    r"(?:index[-_]url|default-index|extra-index-url|DEFAULT_INDEX|INDEX_URL|registry)\W{1,6}(?:set\s+registry\s+)?https?://([^/\s\"']+)",
    re.I,
)
BINARY = {".png", ".ico", ".woff2", ".gz", ".parquet", ".svg"}


@cache
def _texts() -> list[tuple[str, str]]:
    pairs = []
    for path in tracked():
        vendored = "vendor" in path.parts or path.name.endswith((".min.js", ".min.css"))
        if path.suffix not in BINARY and path.name not in {"uv.lock", "LICENSE"} and not vendored:
            pairs.append((str(path), (ROOT / path).read_text("utf-8")))
    return pairs


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_contains(what: str) -> None:
    found = []
    for path, text in _texts():
        for number, line in enumerate(text.splitlines(), 1):
            if FORBIDDEN[what].search(line):
                found.append(f"{path}:{number}: {line.strip()[:120]}")
    assert found == []


def test_no_file_names_a_private_package_index() -> None:
    hosts = {(path, host) for path, text in _texts() for host in INDEX_URL.findall(text)}
    assert {(path, host) for path, host in hosts if host not in PUBLIC_INDEXES} == set()


def test_the_lock_names_the_public_index_only() -> None:
    hosts = set(re.findall(r"https?://([^/\"]+)", (ROOT / "uv.lock").read_text("utf-8")))
    assert hosts == {"pypi.org", "files.pythonhosted.org"}
