"""A line to a server that brings only so much a second, each way."""

import socket
import threading
import time


class SlowLine:
    def __init__(self, address, up=None, down=None):
        host, port = address.split("://")[1].rsplit(":", 1)
        self.target, self.up, self.down = (host, int(port)), up, down
        self.brought_up = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        # All connections share the line, in the order in which they want it.
        self.lock = threading.Lock()
        self.free_at = {"up": 0.0, "down": 0.0}
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def _accept(self):
        while True:
            try:
                here, _ = self.listener.accept()
            except OSError:
                return
            try:
                there = socket.create_connection(self.target)
            except OSError:
                here.close()
                continue
            threading.Thread(target=self._bring, args=(here, there, "up"), daemon=True).start()
            threading.Thread(target=self._bring, args=(there, here, "down"), daemon=True).start()

    def _bring(self, source, target, way):
        rate = getattr(self, way)
        try:
            while piece := source.recv(16_384):
                if rate:
                    with self.lock:
                        done = self.free_at[way] = max(self.free_at[way], time.monotonic()) + len(piece) / rate
                    time.sleep(max(0.0, done - time.monotonic()))
                if way == "up":
                    self.brought_up += len(piece)
                target.sendall(piece)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
