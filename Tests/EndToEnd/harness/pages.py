"""Web pages of other sites: a server of one page, and a browser that visits it."""

import http.server
import json
import os
import subprocess
import threading


class PageServer:
    """Serves one page at every path and under any host name: an empty page by default. `kind` is its Content-Type."""

    def __init__(self, page="<!doctype html><title>page</title><body></body>", kind="text/html"):
        self.asked = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(page.encode())

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def origin(self, host):
        return f"http://{host}:{self.port}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Browser:
    """A browser for which the given host names resolve to this machine."""

    def __init__(self, python, *names):
        script = os.path.join(os.path.dirname(__file__), "page_session.py")
        self._process = subprocess.Popen(
            [python, script, *names], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def visit(self, page, script=None, **arguments):
        """Returns the status of the page and the result of the script."""
        request = {"page": page, "script": script, "arguments": arguments}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline() or '{"error": "the browser has ended"}')
        if "error" in told:
            raise AssertionError(f"Chromium: {told['error']}")
        return told["status"], told["result"]

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
