"""Makes the certificates that tests of TLS need, with the openssl of the system."""

import pathlib
import subprocess


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    """Somebody who vouches for others."""

    def __init__(self, folder: pathlib.Path, name: str):
        self.folder = folder
        self.certificate, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        _openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-subj", f"/CN={name}", "-addext", "keyUsage=keyCertSign",
                 "-keyout", str(self.key), "-out", str(self.certificate))

    def issue(self, name: str, names: str = "IP:127.0.0.1") -> tuple:
        """A certificate of `names` and its key, as two files."""
        certificate = self.folder / f"{name}.pem"
        key = self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        extension = self.folder / f"{name}.ext"
        # Python 3.13 asks for what RFC 5280 does.
        extension.write_text(f"subjectAltName={names}\n"
                             "authorityKeyIdentifier=keyid\n")
        _openssl("req", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                 f"/CN={name}", "-keyout", str(key), "-out", str(request))
        _openssl("x509", "-req", "-in", str(request), "-CA",
                 str(self.certificate), "-CAkey", str(self.key),
                 "-CAcreateserial", "-days", "2", "-extfile", str(extension),
                 "-out", str(certificate))
        return certificate, key
