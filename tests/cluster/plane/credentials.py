"""Keys and kubeconfigs of a control plane that lives for one test run on the loopback interface."""

import datetime as dt
import ipaddress
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

ADMIN = "admin"
USERS = (ADMIN, "reader", "fixer", "nobody")
"""Who can sign in: the first may do anything, the others what a test binds to them."""


def write_certificate(folder: Path) -> None:
    """Write ``tls.crt`` and ``tls.key``, signed by itself, for every server of the plane and for service accounts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "oomedic-test-plane")])
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    (folder / "tls.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "tls.key").touch(mode=0o600)
    (folder / "tls.key").write_bytes(private)


def write_tokens(folder: Path) -> None:
    """Write ``tokens.csv``: one token a user, which is the user's name."""
    groups = {ADMIN: ',"system:masters"'}
    lines = [f"{user}-token,{user},{user}{groups.get(user, '')}\n" for user in USERS]
    (folder / "tokens.csv").write_text("".join(lines), encoding="utf-8")


def write_kubeconfig(path: Path, server: str, authority: Path, token: str, namespace: str = "default") -> Path:
    """Write a kubeconfig (JSON is YAML) with one context, and return its path."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "plane", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "plane", "context": {"cluster": "plane", "user": "user", "namespace": namespace}}],
        "current-context": "plane",
    }
    path.write_text(json.dumps(config), encoding="utf-8")
    return path
