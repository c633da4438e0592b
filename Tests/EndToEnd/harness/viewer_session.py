"""A viewer who is signed in as a browser is, over plain HTTP."""

import contextlib
import http.client
import json


class ViewerSession:
    """The cookie and the proof of a session that a viewer began with name and PIN."""

    def __init__(self, vault, name, pin):
        self._listen, self._fields = vault.listen, {}
        status, answer, fields = self._ask("POST", "sessions", {"name": name, "pin": pin})
        if status not in (200, 201):
            raise AssertionError(f"{name} is not signed in: {status} {answer}")
        self._fields = {"Cookie": fields["set-cookie"].partition(";")[0], "X-Session-Proof": answer["proof"]}

    def _ask(self, method, target, document=None):
        body = None if document is None else json.dumps(document)
        with self.open(method, f"/api/v1/{target}", body) as answer:
            told = json.loads(answer.read() or b"null")
            return answer.status, told, {name.lower(): value for name, value in answer.getheaders()}

    @contextlib.contextmanager
    def open(self, method, path, body=None, **fields):
        """Requests any path, and yields the answer while it arrives."""
        connection = http.client.HTTPConnection(*self._listen.split(":"), timeout=60)
        try:
            connection.request(method, path, body, {
                "Origin": f"http://{self._listen}", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json",
                **self._fields, **fields})
            yield connection.getresponse()
        finally:
            connection.close()

    def ask(self, method, target, document=None):
        """Returns the status and the document of an answer."""
        return self._ask(method, target, document)[:2]

    def link(self, title):
        """Returns an address under which the viewer's player finds a title."""
        status, answer = self.ask("POST", "links", {"id": title})
        if status != 200:
            raise AssertionError(f"there is no link for a viewer: {status} {answer}")
        return f"http://{self._listen}{answer['path']}"

    def titles(self):
        """Returns the ids of the titles that the viewer sees."""
        _, answer = self.ask("GET", "resources")
        return {item["id"] for item in answer["resources"]}
