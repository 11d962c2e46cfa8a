"""Builds the wheel, installs it into a fresh environment without network, and runs the first lines of docs/python.md there."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run(*command, folder=ROOT, **environment):
    kept = {k: v for k, v in os.environ.items() if k not in ("LARGEMVC_COMMAND", "PYTHONPATH")}
    done = subprocess.run([str(x) for x in command], cwd=folder, env={**kept, **OFFLINE, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}")
    return done.stdout.strip()


class Wheel(unittest.TestCase):
    def test_wheel_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            dist, venv = Path(folder, "dist"), Path(folder, "venv")
            built = {"LARGEMVC_BINARY": os.environ["LARGEMVC_COMMAND"]} if "LARGEMVC_COMMAND" in os.environ else {}
            run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", dist, ROOT / "python", **built)
            again = Path(folder, "again")
            run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", again, ROOT / "python", **built)
            wheel, = dist.iterdir()
            self.assertEqual(wheel.read_bytes(), (again / wheel.name).read_bytes())
            # NumPy comes from the system.
            run(sys.executable, "-m", "venv", "--system-site-packages", venv)
            run(venv / "bin/pip", "install", "--no-deps", wheel)
            self.assertRegex(run(venv / "bin/largemvc", "version", folder=folder), "^largemvc ")
            lines = re.search(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(encoding="utf-8"), re.S)[1]
            self.assertLessEqual(len(lines.splitlines()), 10)
            out = run(venv / "bin/python", "-W", "error", "-c", lines, folder=folder)
            self.assertEqual(out.splitlines()[0], run("go", "run", "./examples/readme/matrices"))
            self.assertTrue(Path(folder, "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>"))

    def test_source_package(self):
        with tempfile.TemporaryDirectory() as folder:
            run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, ROOT / "python")
            package, = Path(folder).iterdir()
            run("tar", "xzf", package, folder=folder)
            source = Path(folder, package.name.removesuffix(".tar.gz"))
            run("go", "vet", "./cmd/largemvc", folder=source / "go")
            self.assertEqual(run(sys.executable, "-c", "import backend; print(backend.version())", folder=source),
                             run(sys.executable, "-c", "import backend; print(backend.version())", folder=ROOT / "python"))


if __name__ == "__main__":
    unittest.main()
