"""Runs the command as a child process, which ends and removes its files when this process does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable


class LargeMVCWarning(UserWarning):
    """Something about the data or the result that may be wrong."""


def binary() -> str:
    """Return the path of the command: the one in the package, or LARGEMVC_COMMAND if that is set."""
    if path := os.environ.get("LARGEMVC_COMMAND"):
        return path
    path = Path(__file__).parent / "bin" / ("largemvc.exe" if os.name == "nt" else "largemvc")
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such command; install a wheel for this platform, or set LARGEMVC_COMMAND")
    return str(path)


@dataclass
class Answer:
    """What the command answered."""

    status: int
    error: str
    output: Any
    cancelled: bool


class Process(AbstractContextManager):
    """A process 'largemvc serve', which ends when this process does."""

    def __init__(self) -> None:
        self.lock = threading.RLock()  # to hold from the first file of a request to the last file of its answer
        self._open = False  # whether a request has no answer yet
        self._start()

    def _start(self) -> None:
        """Start the command."""
        self.folder = ""  # for files; the process deletes it when it ends
        self._buffer, self._owner = bytearray(), os.getpid()
        # Ctrl-C in a terminal must reach this process alone, which then asks the command to stop.
        apart = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}
        self._child = subprocess.Popen([binary(), "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, bufsize=0, **apart)
        try:
            self.folder = self._event()["folder"]
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def restart(self, fill: Callable[[], object]) -> None:
        """Start the command again if an exception has ended it. fill writes the files that stay in the folder."""
        if self._open:
            self.close()
            self._start()
            fill()
            self._open = False

    def run(self, args: list[str], verbose: bool | None) -> Answer:
        """Run a command of these arguments. The first Ctrl-C interrupts it.

        The second Ctrl-C kills the process, and so does any other exception: the answer to this request would be taken for
        the answer to the next one.
        """
        if self._open:
            raise RuntimeError("an exception during the last request has ended the command; start another one")
        self._open = True
        try:
            answer = self._answer(args, verbose)
        except BaseException:
            self._child.kill()
            raise
        self._open = False
        return answer

    def _answer(self, args: list[str], verbose: bool | None) -> Answer:
        """Send a request and wait for its answer."""
        cancelled, show = False, Progress(verbose)
        self._send({"run": args})
        while True:
            try:
                event = self._event()
                if "answer" in event:
                    show.close()
                    event["answer"]["status"] |= cancelled  # a command may have finished before the interrupt
                    return Answer(**event["answer"], cancelled=cancelled)
                show.event(event)
            except KeyboardInterrupt:
                if cancelled:
                    raise
                cancelled = True
                self._send({"cancel": True})

    def close(self) -> None:
        """End the process and remove its folder."""
        self._child.stdin.close()
        if os.getpid() != self._owner:
            return  # the copy that os.fork has made
        try:
            self._child.wait(timeout=10)
        except BaseException as err:
            self._child.kill()
            self._child.wait()
            if not isinstance(err, subprocess.TimeoutExpired):
                raise
        finally:
            self._child.stdout.close()
            if self.folder:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _send(self, request: dict) -> None:
        data = memoryview((json.dumps(request) + "\n").encode())
        try:
            while data:
                data = data[self._child.stdin.write(data):]
        except (BrokenPipeError, ValueError):
            raise self._died("") from None

    def _event(self) -> dict:
        """Wait for a line and return its object."""
        text, seen = [], 0
        while True:
            end = self._buffer.find(b"\n", seen)
            if end < 0:
                seen = len(self._buffer)
                data = os.read(self._child.stdout.fileno(), 1 << 18)
                if not data:
                    raise self._died("\n".join([*text, self._buffer.decode(errors="replace")]))
                self._buffer += data
                continue
            line, seen = bytes(self._buffer[:end]), 0
            del self._buffer[:end + 1]
            if line.startswith(b"{"):
                return json.loads(line)
            text.append(line.decode(errors="replace"))  # what Go says of a crash

    def _died(self, text: str) -> RuntimeError:
        status = self._child.wait()
        why = f"exit status {status}" if status >= 0 else f"signal {-status}; with 9 the machine may be short of memory"
        return RuntimeError(f"the command ended without an answer ({why})" + (f":\n{text.strip()}" if text.strip() else ""))


class Progress:
    """Shows how far the command is, after a second: with tqdm where it is installed, else on one line.

    verbose None shows progress in terminals and notebooks.
    """

    def __init__(self, verbose: bool | None) -> None:
        self.on = verbose if verbose is not None else sys.stderr.isatty() or "ipykernel" in sys.modules
        self._began, self._bar, self._phase, self._open = time.monotonic(), None, "", False

    def event(self, event: dict) -> None:
        """Show an event of the command."""
        if not self.on or time.monotonic() - self._began < 1:
            return
        if "progress" not in event:
            if not event.get("line", "").startswith("largemvc: warning: "):
                self.close()
                print(event.get("line", ""), file=sys.stderr)
            return
        step = event["progress"]
        note = f"{step['left']:.0f} s left" if step["left"] else ""
        if step["loss"] is not None:
            note += f"  loss {step['loss']:.4g}"
        try:
            from tqdm.auto import tqdm
        except ImportError:
            text = f"{step['phase']} {step['done']}/{step['total']}  {note}"
            print(f"\r{text:<78.78}", end="", file=sys.stderr, flush=True)
            self._open = True
            return
        if self._bar is None or step["phase"] != self._phase or step["done"] < self._bar.n:
            self.close()
            self._bar, self._phase = tqdm(total=step["total"], desc=step["phase"], leave=False), step["phase"]
        self._bar.set_postfix_str(note.strip(), refresh=False)
        self._bar.update(step["done"] - self._bar.n)

    def close(self) -> None:
        """End the bar, or the line."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        if self._open:
            print(file=sys.stderr)
            self._open = False
