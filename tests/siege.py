"""Everything that one key without many rights can do to a server, at once: slow readers of searches, expensive SQL, more connections and
followed logs than there may be, and requests without end.

    siege.py HOST PORT KEY JOB SECONDS

Needs nothing but the standard library, and no rights: tests run it as another user. Prints how the requests were answered, as JSON.
"""

import collections
import json
import socket
import sys
import threading
import time

SQL = """with recursive n(x) as (select 1 union all select x + 1 from n)
         select max(instr(printf('%.*c', 30000, 'a'), printf('%.*c', 15000, 'a') || x)) from n"""


class Siege:
    def __init__(self, host, port, key, job, seconds):
        self.place, self.key, self.job = (host, port), key, job
        self.end = time.monotonic() + seconds
        self.answers = collections.defaultdict(collections.Counter)
        self.lock = threading.Lock()
        self.held = []

    def count(self, kind, answer):
        with self.lock:
            self.answers[kind][answer] += 1

    def connect(self, buffer=None):
        peer = socket.socket()
        if buffer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        peer.settimeout(60)
        peer.connect(self.place)
        return peer

    def ask(self, peer, method, path, body=b""):
        peer.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    def status(self, peer):
        """Of the answer whose head comes next. Its body is left unread."""
        head = b""
        while b"\r\n" not in head:
            more = peer.recv(256)
            if not more:
                return "closed"
            head += more
        return head.split()[1].decode()

    def hold(self, kind, method, path, buffer=None):
        """Asks, and keeps the connection without reading on."""
        try:
            peer = self.connect(buffer)
            self.ask(peer, method, path)
            self.count(kind, self.status(peer))
            self.held.append(peer)
        except OSError as error:
            self.count(kind, type(error).__name__)

    def hold_many(self, times, *what, **how):
        """All of them, however long a busy machine takes: the last ones are what the limits are for."""
        for _ in range(times):
            self.hold(*what, **how)

    def repeat(self, kind, method, path, body=b""):
        while time.monotonic() < self.end:
            try:
                with self.connect() as peer:
                    self.ask(peer, method, path, body)
                    self.count(kind, self.status(peer))
            except OSError as error:
                self.count(kind, type(error).__name__)

    def run(self):
        job = f"/api/v1/jobs/{self.job}"
        threads = [threading.Thread(target=target, args=arguments, kwargs=more) for target, arguments, more in (
            (self.hold_many, (12, "search", "GET", f"{job}/search?grep=1&limit=1000000"), {"buffer": 4096}),
            (self.hold_many, (150, "follow", "GET", f"{job}/items/0/log?follow=true"), {"buffer": 4096}),
            (self.hold_many, (600, "connection", "GET", "/api/v1/self"), {}),
            (self.repeat, ("sql", "POST", "/api/v1/sql", json.dumps({"query": SQL}).encode()), {}),
            (self.repeat, ("sql", "POST", "/api/v1/sql", json.dumps({"query": SQL}).encode()), {}),
            (self.repeat, ("items", "GET", f"{job}/items?limit=1000"), {}),
            (self.repeat, ("log", "GET", f"{job}/items/0/log"), {}),
        )]
        for thread in threads:
            thread.start()
        time.sleep(max(0.0, self.end - time.monotonic()))
        for thread in threads:
            thread.join()
        return {kind: dict(answers) for kind, answers in self.answers.items()}


if __name__ == "__main__":
    host, port, key, job, seconds = sys.argv[1:]
    print(json.dumps(Siege(host, int(port), key, job, float(seconds)).run()))
