import argparse
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from allennlp.common.checks import ConfigurationError

from seal_inspect import demo
from seal_inspect.demo import DemoServer, _load


class Told:
    """Answers without a model."""

    asks = task = "text"

    def __init__(self, name):
        self.name = name
        self.colours = {"ARG0": "#eeeeee"}
        self.paused, self.yielded = threading.Event(), []

    def about(self):
        return {"name": self.name, "asks": self.asks, "hint": "Each line is an input.", "examples": ["a <b> c"]}

    def labels(self):
        return ["ARG0", "V"]

    def answer(self, given):
        if given == "wrong":
            raise ConfigurationError("'words' is empty; a sentence needs at least one word.")
        if given == "broken":
            raise ZeroDivisionError("division by zero")
        words = given.split()
        for done, word in enumerate(words, 1):
            if word == "pause":
                self.paused.wait(30)
            yield {"blocks": [{"kind": "text", "text": f"{self.name}: {word}"}], "done": done, "of": len(words)}
            self.yielded.append(word)


@pytest.fixture
def served():
    """A server with two models, and a function that sends it a request: `(status, headers, content)`."""
    with DemoServer(0) as server:
        server.answers = [Told("one"), Told("two")]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def send(method, path, body=None, **headers):
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=30)
            connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            reply = connection.getresponse()
            content = reply.read().decode()
            connection.close()
            return reply.status, dict(reply.headers), content

        yield send
        server.shutdown()
        thread.join()


def ask(send, value):
    """The status, and the last object of the answer."""
    status, _, content = send("POST", "/predict", json.dumps(value), Content_Type="application/json")
    return status, json.loads(content.splitlines()[-1])


def test_the_page_needs_nothing_from_elsewhere(served):
    status, headers, page = served("GET", "/")
    assert status == 200 and headers["Content-Type"].startswith("text/html")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert not re.findall(r"https?://", page) and 'src="' not in page and "innerHTML" not in page
    # It asks for what the server has.
    assert set(re.findall(r'fetch\("([^"]+)"', page)) == {"/models", "/predict"}


def test_models_are_named_and_answer(served):
    status, _, content = served("GET", "/models")
    assert status == 200 and [model["name"] for model in json.loads(content)["models"]] == ["one", "two"]
    assert set(json.loads(content)["colours"]) == {"ARG0"}
    _, _, content = served(
        "POST", "/predict", json.dumps({"model": 1, "input": "good day"}), Content_Type="application/json"
    )
    assert [json.loads(line) for line in content.splitlines()] == [
        {"blocks": [{"kind": "text", "text": f"two: {word}"}], "done": done, "of": 2}
        for done, word in ((1, "good"), (2, "day"))
    ]


def test_a_question_is_answered_while_another_one_is_under_way_and_work_ends_when_who_asked_has_left():
    with DemoServer(0) as server:
        slow, quick = Told("slow"), Told("quick")
        server.answers = [slow, quick]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            body = json.dumps({"model": 0, "input": "a " + "b pause " * 500}).encode()
            head = (
                f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            with socket.create_connection(server.server_address, timeout=30) as connection:
                connection.sendall(head.encode() + body)
                while b"slow: a" not in connection.recv(4096):
                    pass
            slow.paused.set()
            connection = http.client.HTTPConnection(*server.server_address, timeout=30)
            question = json.dumps({"model": 1, "input": "now"})
            connection.request("POST", "/predict", question, {"Content-Type": "application/json"})
            assert b"quick: now" in connection.getresponse().read()
        finally:
            server.shutdown()
            thread.join()
            server.server_close()  # Waits for no thread: they are daemons.
        for _ in range(300):
            if not any("process_request" in one.name for one in threading.enumerate()):
                break
            time.sleep(0.05)
        assert len(slow.yielded) < 1001


def test_a_wrong_input_shows_its_sentence_and_the_page_stays_up(served):
    assert ask(served, {"model": 0, "input": "wrong"})[1] == {
        "error": "'words' is empty; a sentence needs at least one word."
    }
    _, told = ask(served, {"model": 0, "input": "broken"})
    assert "ZeroDivisionError" in told["error"]
    assert ask(served, {"model": 0, "input": "fine"})[0] == 200


@pytest.mark.parametrize("half", ["\ud800", "\udc00", "\udc80", "\udfff"])
def test_half_a_pair_is_no_byte_of_a_file(half, served):
    status, told = ask(served, {"model": 0, "input": f"a{half}"})
    assert status == 200 and ascii(half)[1:-1] in told["error"]


@pytest.mark.parametrize("value", [*({"model": model, "input": "a"} for model in (7, -1, "0")), {"model": 0}, [], 3])
def test_a_question_of_another_form_is_refused(value, served):
    status, told = ask(served, value)
    assert status == 400 and "'model'" in told["error"]


def test_a_page_of_elsewhere_cannot_ask(served):
    question = json.dumps({"model": 0, "input": "a"})
    # By a form, by a name of its own for this machine, or with more than fits.
    assert served("POST", "/predict", question, Content_Type="text/plain")[0] == 415
    assert served("POST", "/predict", question, Content_Type="application/json", Host="evil.example")[0] == 403
    assert served("GET", "/", Host="evil.example:80")[0] == 403
    assert served("POST", "/predict", "", Content_Type="application/json", Content_Length="999999999")[0] == 413
    assert served("GET", "/etc/passwd")[0] == 404 and served("POST", "/other", question)[0] == 404
    _, headers, _ = served("GET", "/models")
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize(
    "lengths, status",
    [
        (["\u00b2"], 400),
        (["9" * 5000], 413),
        (["-1"], 400),
        ([""], 400),
        (["5", "6"], 400),
        ([], 411),
        (["20971521"], 413),
        (["0"], 400),
    ],
)
def test_a_length_that_is_none_gets_an_answer(lengths, status, capsys):
    """What `str.isdigit` takes is not all a number to `int`."""
    more = "".join(f"Content-Length: {length}\r\n" for length in lengths)
    with DemoServer(0) as server:
        server.answers = [Told("one")]
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        port = server.server_address[1]
        head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n{more}\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(head.encode("latin-1"))
            reply = b""
            while part := connection.recv(4096):
                reply += part
        thread.join()
    assert reply.startswith(f"HTTP/1.0 {status} ".encode()) and b'{"error": "' in reply
    assert "Traceback" not in capsys.readouterr().err


def test_it_listens_to_this_machine_alone(small_run):
    parser = argparse.ArgumentParser()
    demo.DemoCommand().add_subparser(parser.add_subparsers())
    given = parser.parse_args(["demo", str(small_run("nce")), "--port", "70000"])
    with DemoServer(0) as server:
        assert server.server_address[0] == "127.0.0.1"
        for start in (lambda: DemoServer(server.server_address[1]), lambda: given.func(given)):
            with pytest.raises(ConfigurationError, match="--port"):
                start()


def test_models_of_several_tasks_are_refused(monkeypatch):
    def answers_of(name, archive, predicates_from):
        told = Told(name)
        told.task = {"a": "roles", "b": "tags"}[name]
        return told

    monkeypatch.setattr(demo, "open_archive", lambda path, cuda_device: None)
    monkeypatch.setattr(demo, "answers_of", answers_of)
    with pytest.raises(ConfigurationError, match="b .*tags.*roles"):
        _load(["x/a", "x/b"], -1)


@pytest.mark.slow
def test_control_c_ends_it(small_run, tmp_path):
    command = [sys.executable, "-m", "seal", "demo", str(small_run("nce")), "--port", "0"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # A process group of its own: a shell's background processes ignore Control-C, and so do their children.
    started = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        address = re.match(r"Open http://127.0.0.1:(\d+)/ in a browser", started.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=60)
        body = json.dumps({"model": 0, "input": "The boy broke the vase ."})
        connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
        assert "blocks" in json.loads(connection.getresponse().read().splitlines()[0])
        connection.close()
        started.send_signal(signal.SIGINT)
        told, noise = started.communicate(timeout=60)
        assert (started.returncode, told, noise) == (0, "closed\n", "")
    finally:
        started.kill()
