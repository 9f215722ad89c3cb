"""A server that answers as vLLM does, for tests in which kwok plays the kubelet."""

import http.server
import json


class FakeEngine(http.server.BaseHTTPRequestHandler):
    """Answers as vLLM does; a real one answers in the stories of the real engine."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        models = json.dumps({"data": [{"id": "qwen"}]})
        metrics = (
            'vllm:num_preemptions_total{model_name="qwen"} 0.0\nvllm:kv_cache_usage_perc{model_name="qwen"} 0.25\n'
        )
        self._send({"/v1/models": models, "/metrics": metrics}.get(self.path))

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self._send(json.dumps({"choices": [{"text": "hi"}]}) if self.path == "/v1/chat/completions" else None)

    def _send(self, body):
        sent = (body or "{}").encode()
        self.send_response(200 if body else 404)
        # kwok's port-forward does not hand on that a server has closed its side
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_):
        pass
