"""An OpenAI-compatible endpoint in the fewest words: put a model of your own behind `answer`.

    python examples/endpoint.py 8000 &
    PYTHONPATH=examples benchflow run examples/hello --agent forty:Forty --model http://127.0.0.1:8000/v1#mine

benchflow needs one call, POST /v1/chat/completions, and of its answer `choices` and `usage`: tokens
are counted from `usage`, and an answer without it is a turn that nobody could count.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(messages, tools):
    """What the model says next. This one types one command and then is content."""
    if messages[-1]["role"] == "tool" or not tools:
        return {"role": "assistant", "content": "Done."}
    typed = json.dumps({"command": "echo hello > /app/hello.txt"})
    call = {"id": "1", "type": "function", "function": {"name": "bash", "arguments": typed}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


class Endpoint(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = answer(asked["messages"], asked.get("tools"))
        words = sum(len(str(each.get("content")).split()) for each in asked["messages"])
        said = {
            "id": "1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": asked["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": words, "completion_tokens": 5, "total_tokens": words + 5},
        }
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint).serve_forever()
