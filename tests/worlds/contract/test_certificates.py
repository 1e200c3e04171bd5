"""Certificates that other programs can read, with the period of their contract."""

from __future__ import annotations

import base64
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from worlds.contract.certificates import certificate, field, pem
from worlds.core.chance import Stream

START = datetime(2034, 5, 6, 7, 8, 9, tzinfo=UTC)


def made(seed: int = 0, **options: int) -> bytes:
    """A certificate for 45 seconds."""
    return certificate(Stream("k", "t", seed, "cert"), "client-1", start=START, life=timedelta(seconds=45), **options)


@pytest.mark.parametrize("key_bytes", [16, 64, 256, 1024])
def test_openssl_reads_it(key_bytes: int, tmp_path: Path) -> None:
    """The TLS library loads it and prints names and dates; the last second counts, so it is one before the end."""
    path = tmp_path / "cert.pem"
    path.write_text(pem(made(key_bytes=key_bytes)), encoding="ascii")

    read = ssl._ssl._test_decode_cert(str(path))

    assert ((("commonName", "client-1"),),) == read["subject"]
    assert ("May  6 07:08:09 2034 GMT", "May  6 07:08:53 2034 GMT") == (read["notBefore"], read["notAfter"])


def test_seeds_differ() -> None:
    """Serial, key and signature are drawn; the same stream gives the same bytes."""
    assert made(0) == made(0)
    assert made(0) != made(1)


def test_key_has_a_least_length() -> None:
    """A key that is too short for its form is refused."""
    with pytest.raises(ValueError, match=r"^key_bytes must be >= 16, not 15$"):
        made(key_bytes=15)


def test_keys_are_odd_and_of_full_length() -> None:
    """A modulus has 256 bytes unless told otherwise, its highest bit and its lowest; the others are drawn."""
    # the modulus stands right before the exponent 65537, with a zero byte because of its highest bit
    ders = [made(seed) for seed in range(20)]
    keys = [der[: der.index(bytes.fromhex("0203010001"))][-257:] for der in ders]

    assert {(0, True, True) for _ in keys} == {(key[0], key[1] >= 0x80, key[-1] % 2 == 1) for key in keys}
    assert {0, 1} == {key[1] % 2 for key in keys}
    assert {0, 1} == {key[-1] // 2 % 2 for key in keys}


def test_forms() -> None:
    """Wrapped lines in one form, one line between colons in the other, the same DER in both."""
    der = made()
    lines = pem(der).split("\n")

    assert ("-----BEGIN CERTIFICATE-----", ["-----END CERTIFICATE-----", ""]) == (lines[0], lines[-2:])
    assert {64} == {len(line) for line in lines[1:-3]}
    assert f":{''.join(lines[1:-2])}:" == field(der)
    assert der == base64.b64decode(field(der).strip(":"), validate=True) == ssl.PEM_cert_to_DER_cert(pem(der))
