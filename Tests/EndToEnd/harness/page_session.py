"""Opens web pages of any host name in a real Chromium, headless, and runs scripts in them. Reads one JSON request per
line, prints one JSON answer per line. Run by pages.Browser with a Python that has playwright. The arguments are the
host names that resolve to this machine.

    {"page": "http://evil.test:8000/", "script": "async arguments => …", "arguments": {…}}
"""

import json
import sys

from playwright.sync_api import Error, sync_playwright

ANSWER_WITHIN = 30_000  # milliseconds


def answer(browser, request):
    context = browser.new_context()
    try:
        page = context.new_page()
        page.set_default_timeout(ANSWER_WITHIN)
        response = page.goto(request["page"])
        status = response.status if response else None
        result = page.evaluate(request["script"], request["arguments"]) if request["script"] else None
        return {"status": status, "result": result}
    except Error as error:
        return {"error": error.message}
    finally:
        context.close()


with sync_playwright() as playwright:
    rules = ", ".join(f"MAP {name} 127.0.0.1" for name in sys.argv[1:])
    browser = playwright.chromium.launch(
        executable_path="/usr/bin/chromium",
        args=["--no-sandbox", "--autoplay-policy=no-user-gesture-required", f"--host-resolver-rules={rules}"])
    for line in sys.stdin:
        print(json.dumps(answer(browser, json.loads(line))), flush=True)
    browser.close()
