"""Builds wheels and source packages (PEP 517), with nothing but Python 3.11 and Go. A wheel has the static command of a platform.

Environment: LARGEMVC_TARGET is a GOOS/GOARCH (default: this machine), LARGEMVC_BINARY a command that is already built (default:
go build), LARGEMVC_LICENSES a file with the licences of the modules in the command.
"""

import base64
import hashlib
import io
import os
import subprocess
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GO = HERE.parent if (HERE.parent / "go.mod").exists() else HERE / "go"  # a source package has the code of Go in go
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PLATFORMS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    # The oldest macOS of the Go that builds releases. Go 1.27 requires macOS 13: tools/release refuses it until these two say so.
    "darwin/amd64": "macosx_12_0_x86_64", "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64", "windows/arm64": "win_arm64",
}


def output(*command, **environment):
    """Run a command at the root of the code of Go and return its output."""
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=GO, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def version():
    """Return the version: of a source package its own, else the last tag, with the commits since."""
    if (HERE / "PKG-INFO").exists():
        return (HERE / "PKG-INFO").read_text(encoding="utf-8").split("\nVersion: ")[1].split("\n")[0]
    tag, _, rest = output("git", "describe", "--tags", "--long", "--always", "--match", "v*").rpartition("-g")
    if not tag:
        return f"0.0.0.post{output('git', 'rev-list', '--count', 'HEAD')}+g{rest}"
    tag, after = tag.removeprefix("v").rsplit("-", 1)
    return tag if after == "0" else f"{tag}.post{after}+g{rest}"


def metadata():
    """Return the text of METADATA and PKG-INFO."""
    lines = ["Metadata-Version: 2.1", f"Name: {PROJECT['name']}", f"Version: {version()}", f"Summary: {PROJECT['description']}",
             f"License: {PROJECT['license']}", f"Requires-Python: {PROJECT['requires-python']}"]
    lines += [f"Requires-Dist: {x}" for x in PROJECT["dependencies"]]
    return "\n".join([*lines, *(f"Project-URL: {k}, {v}" for k, v in PROJECT["urls"].items()), ""])


def build_wheel(directory, config_settings=None, metadata_directory=None):
    """Write a wheel into a folder and return its name. The same commit and command give the same bytes."""
    target = os.environ.get("LARGEMVC_TARGET") or "/".join(output("go", "env", "GOOS", "GOARCH").split())
    system, processor = target.split("/")
    command = "largemvc/bin/largemvc" + (".exe" if system == "windows" else "")
    info = f"largemvc-{version()}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in PLATFORMS[target].split("."))
    files = {f"largemvc/{path.name}": path.read_bytes() for path in sorted((HERE / "largemvc").glob("*.py"))}
    with tempfile.TemporaryDirectory() as folder:
        binary = os.environ.get("LARGEMVC_BINARY") or str(Path(folder, "largemvc"))
        if "LARGEMVC_BINARY" not in os.environ:
            output("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", binary, "./cmd/largemvc", CGO_ENABLED="0",
                   GOOS=system, GOARCH=processor)
        files[command] = Path(binary).read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: largemvc\nRoot-Is-Purelib: false\n{tags}".encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\nlargemvc = largemvc.__main__:main\n"
    files[f"{info}/licenses/LICENSE"] = (GO / "LICENSE").read_bytes()
    if path := os.environ.get("LARGEMVC_LICENSES"):
        files[f"{info}/licenses/LICENSES.txt"] = Path(path).read_bytes()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = f"largemvc-{version()}-py3-none-{PLATFORMS[target]}.whl"
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]
    with zipfile.ZipFile(Path(directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100755 if name == command else 0o100644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    return wheel


def build_sdist(directory, config_settings=None):
    """Write a source package, with the code of Go, into a folder and return its name."""
    root = f"largemvc-{version()}"
    others = (".", "docs/", "examples/", "python/", "studies/", "testdata/", "tools/")
    code = [name for name in output("git", "ls-files").splitlines()
            if not name.startswith(others) and not name.endswith("_test.go") and "/testdata/" not in name]
    files = {f"go/{name}": (GO / name).read_bytes() for name in code}
    files |= {str(path.relative_to(HERE)): path.read_bytes() for path in sorted(HERE.rglob("*.py")) if "tests" not in path.parts}
    files |= {"pyproject.toml": (HERE / "pyproject.toml").read_bytes(), "PKG-INFO": metadata().encode()}
    with tarfile.open(Path(directory, f"{root}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{root}/{name}")
            entry.size, entry.mtime = len(data), int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
            archive.addfile(entry, io.BytesIO(data))
    return f"{root}.tar.gz"
