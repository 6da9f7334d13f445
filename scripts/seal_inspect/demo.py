"""The sub-command `demo`: serves a page in the browser to try a model."""

import argparse
import json
import logging
import os
import re
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional

from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu

from seal.allennlp.safe_archives import open_archive
from seal.common.setting_checks import check_range, whole_number
from seal.files.names import check_text
from seal.files.runs import ARCHIVE
from seal_inspect.demo_answers import Answers, answers_of
from seal_inspect.label_colours import colours_of
from seal_inspect.runs import names_of

logger = logging.getLogger(__name__)

# The server is that of the standard library: Gradio needs a newer huggingface_hub than transformers takes here, and a
# dozen further packages.
_PAGE = Path(__file__).with_name("demo_page.html")
_ADDRESS = "127.0.0.1"
#: The most bytes of a request: a photograph.
_MOST_BYTES = 20 * 2**20
#: The page may only run its own script and send requests to this server.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@Subcommand.register("demo")
class DemoCommand(Subcommand):
    """
    Serves a page to try models, to this machine only and without a network. The page shows frames, entities or tags as
    coloured spans, labels as bars with their thresholds, and masks over the image. It also shows the other candidates:
    the task-net's best outputs with their log-probability, and the energy of each with its terms. Several models of one
    task answer side by side. Control-C ends it.
    """

    def add_subparser(self, parser: Any) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Try a model, or several side by side, on a page in the browser.",
            help="Try a model on a page in the browser.",
        )
        subparser.add_argument(
            "models",
            nargs="+",
            metavar="MODEL",
            help="a trained model: its name, archive or folder; several of one task",
        )
        subparser.add_argument("--port", type=int, default=8000, help="of the page's address; 0: any that is free")
        subparser.add_argument("--cuda-device", type=int, default=-1, help="id of the GPU to use, if any")
        subparser.add_argument(
            "--predicates-from", metavar="TAGGER", help="of roles: a tagging model, whose verbs are predicates, too"
        )
        subparser.set_defaults(func=demo_from_args)
        return subparser


def demo_from_args(args: argparse.Namespace) -> None:
    """Serves until Control-C."""
    check_range("--port", args.port, least=0, most=65535)
    check_for_gpu(args.cuda_device)
    # A taken port is reported before the models are loaded, which takes a while.
    server = DemoServer(args.port)
    with server:
        server.answers = _load(args.models, args.cuda_device, args.predicates_from)
        print(f"Open {server.address} in a browser; Control-C ends this.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("closed", flush=True)
    # A thread of an answer may still be in torch, which aborts the process where Python ends such a thread.
    os._exit(0)


def _load(models: list[str], cuda_device: int, predicates_from: Optional[str] = None) -> list[Answers]:
    paths = [os.path.join(model, ARCHIVE) if os.path.isdir(model) else model for model in models]
    names = names_of(paths)
    answers = [answers_of(name, open_archive(path, cuda_device), predicates_from) for name, path in zip(names, paths)]
    for other in answers[1:]:
        if other.task != answers[0].task:
            raise ConfigurationError(
                f"{other.name} predicts {other.task}, and {answers[0].name} {answers[0].task}; name models of one task."
            )
    colours = colours_of(label for one in answers for label in one.labels())
    for one in answers:
        one.colours = colours
    return answers


class DemoServer(ThreadingHTTPServer):
    """
    Serves the page and the answers of models, to this machine only.

    # Parameters

    port : `int`
        0: any free port.

    # Raises

    `ConfigurationError` if the port is taken.
    """

    daemon_threads = True

    def __init__(self, port: int) -> None:
        try:
            super().__init__((_ADDRESS, port), _Handler)
        except OSError as error:
            raise ConfigurationError(
                f"--port: {port} cannot be used ({error.strerror}); name another, or 0 for any that is free."
            ) from error
        self.answers: list[Answers] = []
        #: Only one thread at a time uses the models.
        self.one_at_a_time = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://{_ADDRESS}:{self.server_address[1]}/"


class _RefusedError(Exception):
    """A request that is refused."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: DemoServer
    #: The seconds after which an incomplete request ends.
    timeout = 60

    def do_GET(self) -> None:
        if not self._is_for_us():
            return
        if self.path == "/":
            self._send(HTTPStatus.OK, _PAGE.read_bytes(), "text/html; charset=utf-8")
        elif self.path == "/models":
            with self.server.one_at_a_time:
                models = [answers.about() for answers in self.server.answers]
            self._send_json(HTTPStatus.OK, {"models": models, "colours": self.server.answers[0].colours})
        else:
            self._send_json(HTTPStatus.NOT_FOUND, {"error": f"there is no page {self.path}."})

    def do_POST(self) -> None:
        if not self._is_for_us():
            return
        try:
            answers, given = self._asked()
        except _RefusedError as error:
            self._send_json(error.status, {"error": str(error)})
            return
        try:
            self._send_head(HTTPStatus.OK, "application/x-ndjson")
            for line in self._lines(answers, given):
                self.wfile.write(json.dumps(line, allow_nan=False).encode() + b"\n")
                self.wfile.flush()
        except ConnectionError:
            pass  # The client has left, so nothing more is predicted.

    def _is_for_us(self) -> bool:
        """
        Whether the request names this server. The request of a foreign page whose host name resolves to this machine
        does not.
        """
        port = self.server.server_address[1]
        if self.headers.get("Host") in (f"{_ADDRESS}:{port}", f"localhost:{port}"):
            return True
        self._send_json(HTTPStatus.FORBIDDEN, {"error": "this server answers to 127.0.0.1 alone."})
        return False

    def _lines(self, answers: Answers, given: str) -> Iterator[Any]:
        """Yields the answer, a line for each sentence as soon as it is predicted. Other requests run in between."""
        try:
            # JSON is decoded already: a surrogate does not stand for a byte, as it may in a line of a file.
            check_text(given, "the input")
            lines = answers.answer(given)
            while True:
                with self.server.one_at_a_time:
                    line = next(lines, None)
                if line is None:
                    return
                yield line
        except ConfigurationError as error:
            yield {"error": str(error)}
        except Exception as error:  # The page stays up.
            logger.exception("the model failed")
            yield {"error": f"the model failed: {type(error).__name__}: {error}"}

    def _asked(self) -> tuple[Answers, str]:
        """The requested model and its input. Raises `_RefusedError` if the request is malformed."""
        if self.path != "/predict":
            raise _RefusedError(HTTPStatus.NOT_FOUND, f"there is no page {self.path}.")
        # A foreign page needs a permission to send JSON, which this server does not give.
        if self.headers.get_content_type() != "application/json":
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send JSON.")
        lengths = self.headers.get_all("Content-Length", [])
        if len(lengths) != 1 or re.fullmatch("[0-9]+", lengths[0]) is None:
            # The rest is not read, so this connection cannot be reused.
            self.close_connection = True
            status = HTTPStatus.BAD_REQUEST if lengths else HTTPStatus.LENGTH_REQUIRED
            raise _RefusedError(status, "send one Content-Length, the number of bytes.")
        length = whole_number(lengths[0])
        if length is None or length > _MOST_BYTES:
            self.close_connection = True
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {_MOST_BYTES // 2**20} MB can be sent.")
        try:
            asked = json.loads(self.rfile.read(length))
            place, given = asked["model"], asked["input"]
            answers = self.server.answers[place]
            if not isinstance(given, str) or place < 0:
                raise TypeError
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            message = "send an object with 'model', the number of a model, and 'input', a string."
            raise _RefusedError(HTTPStatus.BAD_REQUEST, message) from error
        return answers, given

    def _send_json(self, status: HTTPStatus, value: Any) -> None:
        self._send(status, json.dumps(value, allow_nan=False).encode(), "application/json")

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self._send_head(status, kind, len(content))
        self.wfile.write(content)

    def _send_head(self, status: HTTPStatus, kind: str, length: Optional[int] = None) -> None:
        """Sends the header. Without a length, the end of the connection ends the content."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Logs nothing, to keep inputs private."""
