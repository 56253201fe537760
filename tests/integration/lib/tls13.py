# SPDX-License-Identifier: GPL-2.0-only
"""Decrypts records of TLS 1.3 (RFC 8446) with the secrets of a file as SSLKEYLOGFILE names
it.
"""

import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

HEADER = 5
HANDSHAKE, APPLICATION = 22, 23
CLIENT_HELLO, SERVER_HELLO, FINISHED, KEY_UPDATE = 1, 2, 20, 24
# Appendix B.4.
SUITES = {
    0x1301: (AESGCM, 16, hashes.SHA256),
    0x1302: (AESGCM, 32, hashes.SHA384),
    0x1303: (ChaCha20Poly1305, 32, hashes.SHA256),
}


def read_secrets(path):
    """{(label, client random): secret}."""
    secrets = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            if not line.startswith("#"):
                label, random, secret = line.split()
                secrets[label, bytes.fromhex(random)] = bytes.fromhex(secret)
    return secrets


def hello(stream, kind):
    """The first message of a direction, which is not encrypted, without its header."""
    if stream[0] != HANDSHAKE or stream[HEADER] != kind:
        raise ValueError(f"the stream does not begin with message {kind}")
    return stream[HEADER + 4:]


def client_random(stream):
    return hello(stream, CLIENT_HELLO)[2:34]


def suite_of(stream):
    """The cipher suite that a server has chosen."""
    body = hello(stream, SERVER_HELLO)
    at = 35 + body[34]
    return SUITES[struct.unpack(">H", body[at:at + 2])[0]]


@dataclass
class Suite:
    """Section 7: what is derived from a secret."""

    cipher: type
    key_size: int
    algorithm: type

    def expand(self, secret, label, size):
        name = b"tls13 " + label
        info = struct.pack(">HB", size, len(name)) + name + b"\0"
        return HKDFExpand(self.algorithm(), size, info).derive(secret)

    def next_secret(self, secret):
        return self.expand(secret, b"traffic upd", self.algorithm.digest_size)


class Opener:
    """The records of one direction."""

    def __init__(self, suite, handshake, application):
        self.suite, self.application = suite, application
        self.use(handshake)
        self.messages = b""
        self.updates = 0

    def use(self, secret):
        self.secret, self.sequence = secret, 0
        self.cipher = self.suite.cipher(self.suite.expand(secret, b"key",
                                                          self.suite.key_size))
        self.iv = int.from_bytes(self.suite.expand(secret, b"iv", 12), "big")

    def open(self, record):
        """The application's bytes in a record."""
        if record[0] != APPLICATION:
            return b""
        nonce = (self.iv ^ self.sequence).to_bytes(12, "big")
        self.sequence += 1
        try:
            inner = self.cipher.decrypt(nonce, record[HEADER:], record[:HEADER])
        except InvalidTag as wrong:
            raise ValueError(f"record {self.sequence} cannot be decrypted") from wrong
        inner = inner.rstrip(b"\0")
        kind, content = inner[-1], inner[:-1]
        if kind == HANDSHAKE:
            self.handshake(content)
        return content if kind == APPLICATION else b""

    def handshake(self, content):
        self.messages += content
        while len(self.messages) >= 4:
            kind, size = self.messages[0], int.from_bytes(self.messages[1:4], "big")
            if len(self.messages) < 4 + size:
                return
            self.messages = self.messages[4 + size:]
            if kind == FINISHED:
                self.use(self.application)
            elif kind == KEY_UPDATE:
                self.use(self.suite.next_secret(self.secret))
                self.updates += 1


def openers(secrets, client, server):
    """Openers of both directions, whose streams of records these are."""
    random, suite = client_random(client), Suite(*suite_of(server))
    return [Opener(suite, secrets[f"{end}_HANDSHAKE_TRAFFIC_SECRET", random],
                   secrets[f"{end}_TRAFFIC_SECRET_0", random])
            for end in ("CLIENT", "SERVER")]
