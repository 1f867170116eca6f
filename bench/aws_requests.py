"""Requests to AWS services with signatures of version 4, and connections that they are sent over."""

import datetime
import hashlib
import hmac
import socket
import sys
import time

REGION = "us-east-1"


def signed(key, host, service, path, headers, body, method="POST"):
    """All of a request. The headers' names are in small letters; the key is ID.SECRET."""
    access_key, secret = key.split(".")
    at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    headers = dict(sorted({**headers, "host": host, "x-amz-date": at}.items()))
    names, scope = ";".join(headers), f"{at[:8]}/{REGION}/{service}/aws4_request"
    canonical = "\n".join([method, path, "", *(f"{name}:{text}" for name, text in headers.items()), "", names, hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    derived = b"AWS4" + secret.encode()
    for word in scope.split("/"):
        derived = hmac.digest(derived, word.encode(), "sha256")
    signature = hmac.digest(derived, text.encode(), "sha256").hex()
    headers["authorization"] = f"AWS4-HMAC-SHA256 Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    headers["content-length"] = str(len(body))
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body


class Channel:
    """A keep-alive connection, a request at a time."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def send(self, request):
        self.sent_ns = time.monotonic_ns()
        self.socket.sendall(request)

    def receive(self):
        """To be called when there is something to read: the answer's body, once all of it is there."""
        piece = self.socket.recv(1 << 20)
        if not piece:
            sys.exit("bench: the server closed a connection")
        self.received += piece
        head, found, body = self.received.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]):
            return None
        if not head.startswith(b"HTTP/1.1 20"):
            sys.exit(f"bench: the server answered {self.received[:1000]}")
        self.took_ms = (time.monotonic_ns() - self.sent_ns) / 1e6
        self.received = b""
        return body

    def ask(self, request):
        self.send(request)
        while (body := self.receive()) is None:
            pass
        return body
