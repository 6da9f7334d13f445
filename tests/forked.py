"""`python -m MODULE` in a fork of the process of the tests: one of its own would import for five seconds."""

import logging
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn, Optional, Union


class Forked:
    """What tests use of `subprocess.Popen`, for a module that is run as the main one. Standard input is empty."""

    def __init__(self, module: str, *arguments: str, cwd: Union[str, Path]) -> None:
        self.returncode: Optional[int] = None
        self._told = [tempfile.TemporaryFile() for _ in range(2)]
        self.pid = os.fork()
        if self.pid == 0:
            self._run(module, *arguments, cwd=cwd)

    def _run(self, module: str, *arguments: str, cwd: Union[str, Path]) -> NoReturn:
        status = 1
        try:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, file in enumerate(self._told, start=1):
                os.dup2(file.fileno(), number)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=1), open(2, "w", buffering=1)
            sys.argv, sys.excepthook = [module, *arguments], sys.__excepthook__
            logging.getLogger().handlers.clear()
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.chdir(cwd)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            status = 0
        except SystemExit as ended:
            if isinstance(ended.code, str):
                print(ended.code, file=sys.stderr)
            status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def poll(self) -> Optional[int]:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float = 300) -> list[str]:
        """Waits for its end, and gives what it has written to standard output and to standard error."""
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                self.send_signal(signal.SIGKILL)
            time.sleep(0.01)
        for file in self._told:
            file.seek(0)
        return [file.read().decode() for file in self._told]


def run(command: list[str], *, cwd: Union[str, Path], capture_output: bool = False, **_) -> subprocess.CompletedProcess:
    """Stands for `subprocess.run` where a script starts `python -m MODULE ARGUMENTS`, with text as output."""
    python, option, module, *arguments = command
    assert (python, option) == (sys.executable, "-m")
    process = Forked(module, *arguments, cwd=cwd)
    out, told = process.communicate()
    if not capture_output:
        print(out, end="")
        print(told, end="", file=sys.stderr)
    return subprocess.CompletedProcess(command, process.returncode, stdout=out, stderr=told)
