"""Models on this machine that answer by fixed rules: judges, graders and a decision model."""

from __future__ import annotations

import json
import re
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PROMPT = re.compile(r"<<<prompt (\w+)>>>\n(.*)\n<<<end \1>>>", re.DOTALL)
_DEFINITION = re.compile(r"^Definition: (.*)$", re.MULTILINE)
_WORDING = "Advice on a person's own taxes: what to deduct, declare or pay"
_EXAMPLES = ["Can I deduct my home office on my return?", "Do I have to declare a gift?"]
_WORDS = re.compile(r"tax|deduct|refund|declare|return|irs", re.IGNORECASE)


def _share(*texts: str) -> float:
    """Return a number from 0 to 1 that depends on the texts alone."""
    return zlib.crc32("\n".join(texts).encode("utf-8", "surrogatepass")) / 2**32


def probability(model: str, text: str, instructions: str) -> float:
    """Return how probable it is that the text belongs to a topic of tax.

    Models differ, and so do definitions; other words of the instructions change nothing.
    """
    definition = _DEFINITION.search(instructions)
    base = 0.65 if _WORDS.search(text) else 0.35
    of_definition = _share(definition[1] if definition else "") - 0.5
    return round(base + 0.5 * (_share(model, text) - 0.5) + 0.2 * of_definition, 6)


def _chat(request: dict[str, Any]) -> dict[str, Any]:
    """Answer as a writer if proposals are asked for, as a judge of a marked prompt, or a grader."""
    model, message = request["model"], request["messages"][-1]["content"]
    judged = _PROMPT.search(message)
    if any('"proposals"' in message["content"] for message in request["messages"]):
        wording = {"description": _WORDING, "examples": _EXAMPLES, "why": "It is shorter."}
        answer = json.dumps({"proposals": [wording]})
    elif judged is None:
        answer = f"Compared.\nGRADE: {'C' if _share(model, message) < 0.7 else 'I'}"
    else:
        belongs = probability(model, judged[2], message[: judged.start()]) >= 0.5
        answer = f"By its words.\nANSWER: {'yes' if belongs else 'no'}"
    return {
        "choices": [{"message": {"role": "assistant", "content": answer}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 20},
    }


def _decide(request: dict[str, Any]) -> dict[str, Any]:
    model, text = request["model"], request["input"]
    answers = [
        {
            "name": question["name"],
            "type": "predicate",
            "probability": probability(model, text, question["instructions"]),
        }
        for question in request["questions"]
    ]
    return {
        "model": model,
        "answers": answers,
        "usage": {"input_tokens": 100, "output_tokens": len(answers)},
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = _decide(request) if self.path.endswith("/decisions") else _chat(request)
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # with the usual 5, connections made at once are broken


@contextmanager
def model_service() -> Iterator[str]:
    """Serve the models on a free port while the context lasts; yields the URL."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
