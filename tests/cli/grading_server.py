"""A small service that speaks the OpenAI protocol, for commands that have a model grade."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, dict[str, str], bytes]
Responder = Callable[[str, int], Answer]
"""Makes an answer of a prompt and of how many prompts came before it."""


def said(text: str) -> Answer:
    """An answer of a model."""
    body = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


def failed(status: int, body: bytes = b'{"error": {"message": "no"}}', **headers: str) -> Answer:
    """An answer of a service that does not work."""
    return status, {"Content-Type": "application/json", **headers}, body


class GradingServer:
    """What it was asked, and where it is."""

    def __init__(self, respond: Responder, message: int = 0) -> None:
        self.respond = respond
        self.requests: list[dict[str, Any]] = []
        self._message = message
        self.prompts: list[str] = []
        self.keys: list[str | None] = []
        self.most_at_once = 0
        self.url = ""
        self._open = 0
        self._lock = threading.Lock()

    def take(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers["Content-Length"])
        request: dict[str, Any] = json.loads(handler.rfile.read(length))
        prompt = request["messages"][self._message]["content"]
        with self._lock:
            self.requests.append(request)
            before = len(self.prompts)
            self.prompts.append(prompt)
            self.keys.append(handler.headers.get("Authorization"))
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
        try:
            status, headers, body = self.respond(prompt, before)
        finally:
            with self._lock:
                self._open -= 1
        if not status:  # nothing at all
            handler.close_connection = True
            return
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)


@contextmanager
def grading_server(respond: Responder, message: int = 0) -> Iterator[GradingServer]:
    """A service on a free port of this machine, which answers one message of each request."""
    state = GradingServer(respond, message)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            try:
                state.take(self)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128  # with the usual 5, connections made at once are broken

        def handle_error(self, *_: Any) -> None:
            pass  # a client that is done leaves; a traceback would stand among what it says

    server = Server(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
