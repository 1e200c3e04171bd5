"""X.509 certificates that tools can read (RFC 5280, hand-written DER), with names, dates and a key, but no real signature.

Key and signature are random bytes of the right form, so every certificate is unique and `openssl x509` still prints it. The
validity period is that of the contract: notAfter is the last valid whole second, since RFC 5280 section 4.1.2.5 includes it.
`pem` wraps lines at 64 characters (RFC 7468). `field` is the value of a Client-Cert header (RFC 9440 section 2.1): the DER as
a Byte Sequence, which is base64 between colons on one line (RFC 9651 section 3.3.5).
"""

from __future__ import annotations

import base64
from datetime import datetime, timedelta

from worlds.core.chance import Stream

_RSA = bytes.fromhex("06092a864886f70d010101") + b"\x05\x00"
_SHA256_RSA = bytes.fromhex("06092a864886f70d01010b") + b"\x05\x00"
_COMMON_NAME = bytes.fromhex("0603550403")
_EXPONENT = 65537


def certificate(stream: Stream, subject: str, *, start: datetime, life: timedelta, key_bytes: int = 256) -> bytes:
    """Return a DER certificate with an RSA key for `subject` (ASCII), valid for `life` from `start` (UTC, before 2050).

    Key and signature have `key_bytes` bytes each; raises ValueError below 16.
    """
    if key_bytes < 16:
        raise ValueError(f"key_bytes must be >= 16, not {key_bytes}")
    # an odd modulus with its highest bit set, as any RSA modulus of this length
    drawn = stream.bytes(key_bytes)
    modulus = bytes([drawn[0] | 0x80]) + drawn[1:-1] + bytes([drawn[-1] | 1])
    key = _sequence(_integer(modulus), _integer(_EXPONENT.to_bytes(3, "big")))
    signed = _sequence(
        _tagged(0xA0, _integer(b"\x02")),
        _integer(b"\x01" + stream.bytes(15)),
        _sequence(_SHA256_RSA),
        _name("Parley CA"),
        _sequence(_time(start), _time(start + life - timedelta(seconds=1))),
        _name(subject),
        _sequence(_sequence(_RSA), _bits(key)),
    )
    return _sequence(signed, _sequence(_SHA256_RSA), _bits(stream.bytes(key_bytes)))


def pem(der: bytes) -> str:
    """Return the certificate as PEM text in lines of 64 characters, with a final newline."""
    text = base64.b64encode(der).decode()
    lines = [text[start : start + 64] for start in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])


def field(der: bytes) -> str:
    """Return the certificate as the value of a Client-Cert header."""
    return f":{base64.b64encode(der).decode()}:"


def _tagged(tag: int, *parts: bytes) -> bytes:
    """Encode one DER element (X.690 section 8.1)."""
    content = b"".join(parts)
    length = len(content)
    if length < 0x80:
        return bytes([tag, length]) + content
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(octets)]) + octets + content


def _sequence(*parts: bytes) -> bytes:
    return _tagged(0x30, *parts)


def _integer(number: bytes) -> bytes:
    """Encode a positive number without leading zero bytes; a zero byte is added if the sign bit would be set."""
    return _tagged(0x02, b"\x00" if number[0] & 0x80 else b"", number)


def _bits(content: bytes) -> bytes:
    return _tagged(0x03, b"\x00", content)


def _name(common_name: str) -> bytes:
    return _sequence(_tagged(0x31, _sequence(_COMMON_NAME, _tagged(0x0C, common_name.encode("ascii")))))


def _time(at: datetime) -> bytes:
    return _tagged(0x17, at.strftime("%y%m%d%H%M%SZ").encode())
