"""A real headless browser, driven over two pipes with the Chrome DevTools Protocol; needs only the standard library."""

import base64
import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--no-first-run --disable-default-apps --disable-extensions --disable-sync --mute-audio --disable-dev-shm-usage "
    "--remote-debugging-pipe --hide-scrollbars --font-render-hinting=none"
).split()

_BECOME = """
import fcntl, os, sys
reader, writer, *command = sys.argv[1:]
ours = [fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in (reader, writer)]
os.dup2(ours[0], 3)
os.dup2(ours[1], 4)
os.execv(command[0], command)
"""


def find_browser() -> str | None:
    """Return the path of a Chromium or Chrome on this machine, None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class BrowserFailed(Exception):
    """The browser refused a command, or a script in the page raised an error."""


class Browser:
    """One page at a time. Its console messages, requests, dialogs and uncaught errors are recorded."""

    def __init__(self, path: str, *, timeout_s: float = 30) -> None:
        self._timeout_s = timeout_s
        self._home = tempfile.mkdtemp(prefix="clio-browser-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = _start(path, self._home, to_read, to_write)
        os.close(to_read)
        os.close(to_write)
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self._number = 0
        self._page = ""
        self.events: list[dict[str, Any]] = []
        self._page = self._attach()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and all its processes, and delete its profile."""
        with contextlib.suppress(BrowserFailed, OSError):
            self.call("Browser.close", on_page=False)
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._write)
        shutil.rmtree(self._home, ignore_errors=True)

    def open(
        self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False, script: bool = True, at: str = ""
    ) -> None:
        """Load a local file and wait for its layout; records of the page before are discarded."""
        self.look(width, height, dark=dark)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        for url in ("about:blank", path.as_uri() + at):
            self.events.clear()
            self.call("Page.navigate", url=url)
            self.wait_for(lambda: any(event["method"] == "Page.loadEventFired" for event in self.events))

    def look(self, width: int, height: int, *, dark: bool = False, media: str = "screen") -> None:
        """Set the size of the window in CSS pixels, the colour scheme the user prefers, and screen or print."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def run(self, script: str) -> Any:
        """Return the value of a JavaScript expression, after awaiting it. Raises BrowserFailed if it throws."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True
        )
        if "exceptionDetails" in answer:
            raise BrowserFailed(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait_until(self, script: str) -> None:
        """Wait until a JavaScript expression is true."""
        self.wait_for(lambda: bool(self.run(script)))

    def wait_for(self, done: Any) -> None:
        """Wait until `done()` is true. Raises BrowserFailed when it takes too long."""
        end = time.monotonic() + self._timeout_s
        while not done():
            if time.monotonic() > end:
                raise BrowserFailed("what was waited for did not come")
            time.sleep(0.01)  # the poll interval
            self.call("Browser.getVersion", on_page=False)  # while waiting for the reply, events are read too

    def press(self, key: str, *, modifiers: int = 0) -> None:
        """Press a key, such as "Enter" or "/"; modifiers: 1 Alt, 2 Ctrl, 4 Meta, 8 Shift."""
        code = {"Enter": 13, "Escape": 27}.get(key, ord(key[0].upper()))
        text = {"Enter": "\r", "Escape": ""}.get(key, key)
        key_of = {"key": key, "modifiers": modifiers, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **key_of)
        self.call("Input.dispatchKeyEvent", type="keyUp", **key_of)

    def type(self, text: str) -> None:
        """Type text into the focused element."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Return a PNG of the visible part, or of the whole page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def complaints(self) -> list[str]:
        """Return console messages, blocked resources, uncaught errors and dialogs since the page was opened."""
        kinds = (
            "Log.entryAdded",
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Page.javascriptDialogOpening",
        )
        return [json.dumps(event) for event in self.events if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Return every URL that the page requested, its own first."""
        sent = [event["params"] for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    def call(self, method: str, *, on_page: bool = True, **params: Any) -> dict[str, Any]:
        """Send one command and return its result. Raises BrowserFailed for an error or after a timeout."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if on_page and self._page:
            message["sessionId"] = self._page
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            try:
                reply = self._messages.get(timeout=self._timeout_s)
            except queue.Empty:
                raise BrowserFailed(f"no answer to {method}") from None
            if reply is None:
                raise BrowserFailed(f"the browser ended during {method}")
            if reply.get("id") == self._number:
                if "error" in reply:
                    raise BrowserFailed(f"{method}: {reply['error']}")
                return reply["result"]
            if "method" in reply:
                self.events.append(reply)
                if reply["method"] == "Page.javascriptDialogOpening":
                    raise BrowserFailed(f"the page opened a dialog: {reply['params']}")

    def _attach(self) -> str:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._page = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        return page

    def _listen(self) -> None:
        rest = b""
        while data := os.read(self._read, 1 << 16):
            *messages, rest = (rest + data).split(b"\0")
            for message in messages:
                self._messages.put(json.loads(message))
        os.close(self._read)
        self._messages.put(None)


def _start(path: str, home: str, to_read: int, to_write: int) -> "subprocess.Popen[bytes]":
    """Start the browser in its own process group, with our pipes as its file descriptors 3 and 4."""
    flags = [*_FLAGS, f"--user-data-dir={home}", "about:blank"]
    return subprocess.Popen(
        [sys.executable, "-S", "-c", _BECOME, str(to_read), str(to_write), path, *flags],
        pass_fds=(to_read, to_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home, "LANG": "C.UTF-8"},
    )
