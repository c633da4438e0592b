"""The API: it conforms to its description, reports live events and metrics, and discloses nothing private."""

import json
import os
import re
import subprocess

from harness import client, control
from harness.case import NIGHT, SEED, Settings, VaultCase
from harness.waiting import eventually

NAME, FILM = "tone.mp3", "moov-first.mp4"
# By day without the phase that tries each bound of each member of the description, in thousands of requests.
PHASES, EXAMPLES = ("examples,coverage,fuzzing,stateful", 40) if "api" in NIGHT else ("examples,fuzzing,stateful", 20)
patience = 1800  # by night, one check makes many thousands of requests
HARNESS = os.path.join(os.path.dirname(__file__), "harness")


class API(VaultCase):
    @classmethod
    def prepare(cls):
        cls.origin = cls.new_origin()

    def ask(self, vault, target):
        """Returns the answer to a request over TCP with the token."""
        token = vault.token()
        return client.get(f"http://{vault.listen}{target}", headers={"Authorization": f"Bearer {token}"})

    def test_schemathesis(self):
        """The API answers random requests as its description states"""
        vault = self.new_vault()
        vault.result("fetch", self.origin.url(NAME))
        vault.serve("--offline")
        token = vault.token()
        # The event stream never ends; revocations, locking and a new root key invalidate the token; the other excluded
        # routes depend on the state of the keyring, or require a proof that random input does not contain; files are
        # imported through the control socket alone, and a synchronization asks hosts that are not there.
        done = subprocess.run(
            [Settings.schemathesis, "--config-file", os.path.join(HARNESS, "schemathesis.toml"), "run",
             f"http://{vault.listen}/api/v1/openapi.json", "--header", f"Authorization: Bearer {token}",
             "--seed", str(SEED), "--phases", PHASES, "--max-examples", str(EXAMPLES), "--checks", "all",
             "--exclude-checks", "missing_required_header", "--exclude-path", "/api/v1/events",
             *(word for route in ("revocations", "tokens", "locks", "rotations", "destructions", "keyring", "retirements",
                             "imports", "syncs")
               for word in ("--exclude-path", f"/api/v1/{route}")),
             "--continue-on-failure"],
            env={**os.environ, "SCHEMATHESIS_HOOKS": os.path.join(HARNESS, "schemathesis_hooks.py")},
            capture_output=True, text=True, timeout=600, cwd=self.scratch)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-1000:])
        cases = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
        self.assertIsNotNone(cases, done.stdout[-2000:])
        self.figure("requests that schemathesis made", int(cases[1]), "all as described")

    def test_metrics(self):
        """Prometheus' own parser accepts the metrics, and they count the bytes fetched and served"""
        vault = self.served_vault()
        self.assert_whole(vault.address(self.origin.url(NAME)), NAME)
        answer = self.ask(vault, "/metrics")
        self.assertEqual(answer.status, 200)
        families = self.in_test_tools(
            "from prometheus_client.parser import text_string_to_metric_families as read\n"
            "print(json.dumps([[f.name, f.type, f.documentation, [[s.name, s.labels, s.value] for s in f.samples]] "
            "for f in read(sys.stdin.read())]))", answer.body)
        for name, kind, documentation, samples in families:
            self.assertTrue(kind in ("counter", "gauge", "histogram") and documentation and samples, name)
        figures = {sample: value for *_, samples in families for sample, labels, value in samples if not labels}
        size = self.media.size(NAME)
        self.assertEqual(figures["mediavault_fetched_bytes_total"], size)
        self.assertEqual(figures["mediavault_sealed_bytes_total"], size)
        self.assertGreaterEqual(figures["mediavault_served_bytes_total"], size)
        self.assertEqual(figures["mediavault_damage_total"], 0)

    def in_test_tools(self, program, input):
        """Runs a Python program with the packages of the test tools, and returns the JSON that it prints."""
        python = os.path.join(os.path.dirname(Settings.schemathesis), "python")
        told = subprocess.run(
            [python, "-c", "import json, sys\n" + program], input=input, capture_output=True, timeout=60, check=True)
        return json.loads(told.stdout)

    def test_monitoring(self):
        """The alert rules are well-formed YAML, the dashboard JSON, and each alert says what happened and what to do"""
        folder = os.path.join(os.path.dirname(__file__), "../../Scripts/monitoring")
        with open(os.path.join(folder, "alerts.yml"), "rb") as file:
            groups = self.in_test_tools(
                "import yaml\nprint(json.dumps(yaml.safe_load(sys.stdin.read())))", file.read())["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertGreaterEqual(len(rules), 7)
        self.assertEqual(len({rule["alert"] for rule in rules}), len(rules))
        for rule in rules:
            self.assertLessEqual(set(rule), {"alert", "expr", "for", "labels", "annotations"}, rule)
            self.assertRegex(rule.get("for", "1m"), r"^\d+[mhd]$")
            self.assertIn(rule["labels"]["severity"], ("critical", "warning"))
            self.assertEqual(set(rule["annotations"]), {"summary", "description"})
            self.assertEqual([rule["expr"].count(mark) for mark in "([{"], [rule["expr"].count(mark) for mark in ")]}"])
        with open(os.path.join(folder, "grafana-dashboard.json"), encoding="utf-8") as file:
            panels = json.load(file)["panels"]
        self.assertEqual(sorted(panel["id"] for panel in panels), list(range(1, len(panels) + 1)))
        for panel in panels:
            self.assertTrue(panel["title"] and all(target["expr"] for target in panel["targets"]), panel["id"])

    def test_events(self):
        """curl follows a download live in the event stream, from its start to its last byte"""
        vault, url = self.served_vault(), self.origin.url(FILM)
        follower = subprocess.Popen(
            ["curl", "-sN", "--unix-socket", control.path(vault), "http://localhost/api/v1/events"],
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait, 10)
        self.addCleanup(follower.kill)
        self.assertEqual(follower.stdout.readline(), ":\n")
        begun = control.ask(vault, "POST", "downloads", {"url": url, "detached": True, "limitRate": 8_000_000})
        self.assertEqual(begun[0], 202)
        states, held, name = [], [], None
        while "done" not in states or not held or held[-1] != self.media.size(FILM):
            line = follower.stdout.readline()
            self.assertTrue(line, "the stream ended")
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: ") and name == "download":
                states.append(json.loads(line[6:])["state"])
            elif line.startswith("data: ") and name == "resource":
                held.append(json.loads(line[6:])["resource"]["bytes"])
        self.assertIn(states[0], ("waiting", "running"))
        self.assertEqual(held, sorted(held))

    def test_explain(self):
        """explain reports which bytes came from the origin and which from the vault"""
        vault, url = self.served_vault(), self.origin.url(FILM)
        address = vault.address(url)
        self.assert_range(address, FILM, 0, 100_000)
        self.assert_eventually(lambda: vault.info(url)["bytes"], 100_000)
        self.assert_range(address, FILM, 0, 200_000)
        document = json.loads(vault.result("explain", url, "--json"))
        runs = [[run["first"], run["end"], run["source"]] for run in document["answers"][0]["runs"]]
        self.assertEqual(runs, [[0, 100_000, "vault"], [100_000, 200_000, "origin"]])
        text = vault.result("explain", url).decode()
        self.assertIn("0-99999  from the vault", text)
        vault.stop()
        self.assertIn("no answers", vault.result("explain", url).decode())
        self.assertEqual(vault.run("explain", url + "-unknown").returncode, 6)

    def test_log(self):
        """The log has one JSON line for each answer, with the request id of that answer and nothing private"""
        vault = self.served_vault("--log-level", "info", "--log-format", "json")
        url = self.origin.url(NAME) + "?token=hunter2"
        address = vault.address(url)
        names = []
        for target in (address, f"http://{vault.listen}/healthz", f"http://{vault.listen}/hunter2"):
            answer = client.get(target)
            names.append(answer.headers["x-request-id"])
        told = eventually(
            lambda: [json.loads(line) for line in vault.service.log().splitlines() if line.startswith("{")],
            lambda lines: {line.get("request") for line in lines} >= set(names))
        lines = {line["request"]: line for line in told if "request" in line}
        self.assertEqual([lines[name]["status"] for name in names], [200, 200, 404])
        self.assertEqual([lines[name]["route"] for name in names], ["media", "healthz", "none"])
        self.assertEqual(lines[names[0]]["bytes"], self.media.size(NAME))
        capability = address.split("/")[4]
        for secret in ("hunter2", capability, NAME):
            self.assertNotIn(secret, vault.service.log())
