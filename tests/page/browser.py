"""A headless Chromium that opens one page, driven over its DevTools pipe with nothing but the standard library."""

import base64
import json
import os
import pathlib
import select
import subprocess
import time

PROGRAM = "chromium"
PATIENCE_S = 60


class Chromium:
    """Messages go in through descriptor 3 and come out of 4, each ended by a NUL."""

    def __init__(self, folder):
        self.complaints = []  # whatever the page or the browser had to say about it
        self.requests = []  # every address it asked for
        self.last_id = 0
        self.unread = b""
        self.loaded = False
        to_browser, self.send_end = os.pipe()
        self.receive_end, from_browser = os.pipe()
        words = [PROGRAM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]

        def place_descriptors():
            for descriptor, place in ((to_browser, 3), (from_browser, 4)):
                os.dup2(descriptor, place)
                os.set_inheritable(place, True)

        # Every other descriptor of ours closes by itself.
        self.process = subprocess.Popen(words, close_fds=False, preexec_fn=place_descriptors,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        target = self.ask("Target.createTarget", url="about:blank", session=None)["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True, session=None)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def close(self):
        os.close(self.send_end)  # the browser ends with its pipe
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.receive_end)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- messages

    def receive(self, deadline):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.receive_end], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"{PROGRAM} was silent for too long"
            more = os.read(self.receive_end, 1 << 20)
            assert more, f"{PROGRAM} ended"
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.complaints.append((about["type"], [argument.get("value") for argument in about["args"]]))
        elif method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(("exception", details.get("exception", {}).get("description", details["text"])))
        elif method == "Log.entryAdded":
            self.complaints.append((about["entry"]["level"], about["entry"]["text"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def ask(self, method, session="own", **parameters):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": parameters}
        if session == "own":
            message["sessionId"] = self.session
        os.write(self.send_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.last_id:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.note(answer)

    # --- what a person does

    def open(self, path, width=1280, height=900, dark=False, scripts=True):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.ask("Emulation.setEmulatedMedia",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.ask("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.loaded = False
        self.ask("Page.navigate", url=pathlib.Path(path).absolute().as_uri())
        deadline = time.monotonic() + PATIENCE_S
        while not self.loaded:
            self.note(self.receive(deadline))

    def value(self, expression):
        """What a JavaScript expression comes to, in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def point_at(self, x, y):
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=True):
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        printed = self.ask("Page.printToPDF", printBackground=False)
        pathlib.Path(path).write_bytes(base64.b64decode(printed["data"]))
