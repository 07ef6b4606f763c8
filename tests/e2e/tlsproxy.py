"""A proxy that signs every connection anew, as companies have them: TLS by its own authority in, TLS out."""

from __future__ import annotations

import datetime as dt
import socket
import socketserver
import ssl
import threading
from contextlib import ExitStack, suppress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class TlsProxy(socketserver.ThreadingTCPServer):
    """Listens on loopback; its clients must trust `authority`, and have asked for `hosts`."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.folder, self.hosts, self._lock = folder, [], threading.Lock()
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A company's proxy")])
        self.authority = folder / "authority.pem"
        self.authority.write_bytes(_pem(self._certificate("A company's proxy", self._key, authority=True)))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def context_for(self, host: str) -> ssl.SSLContext:
        """What the client meets: a certificate of this host, made here."""
        with self._lock:
            self.hosts.append(host)
            path = self.folder / f"{host}.pem"
            if not path.exists():
                key = ec.generate_private_key(ec.SECP256R1())
                form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8)
                secret = key.private_bytes(*form, serialization.NoEncryption())
                path.write_bytes(_pem(self._certificate(host, key)) + secret)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _certificate(
        self, name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool = False
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=30))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if not authority:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        return made.sign(self._key, hashes.SHA256())


class _Connection(socketserver.StreamRequestHandler):
    server: TlsProxy

    def handle(self) -> None:
        host, _, port = self.rfile.readline().decode().split()[1].rpartition(":")
        while self.rfile.readline().strip():
            pass
        self.wfile.write(b"HTTP/1.1 200 connected\r\n\r\n")
        with suppress(OSError), ExitStack() as stack:  # who does not trust the authority hangs up
            inner = self.server.context_for(host).wrap_socket(self.request, server_side=True)
            stack.enter_context(inner)
            plain = stack.enter_context(socket.create_connection((host, int(port)), timeout=60))
            outer = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
            stack.enter_context(outer)
            back = threading.Thread(target=_copy, args=(outer, inner), daemon=True)
            back.start()
            _copy(inner, outer)
            back.join()


def _copy(source: ssl.SSLSocket, target: ssl.SSLSocket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _pem(made: x509.Certificate) -> bytes:
    return made.public_bytes(serialization.Encoding.PEM)
