"""The worker protocol by hand: protobuf without a library, and a worker that does nothing but poll."""

import time


def varint(number):
    number &= 2**64 - 1
    out = b""
    while number >= 128:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a protobuf message: a number, bytes, or what is written as eight bytes (fixed)."""
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def fixed(number, value):
    return varint(number << 3 | 1) + value.to_bytes(8, "little")


def read(message):
    """The fields of a message: {number: [value, …]}."""
    out, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = number()
        if key & 7 == 0:
            value = number()
        else:
            size = 8 if key & 7 == 1 else number()
            value = message[at:at + size]
            at += size
        out.setdefault(key >> 3, []).append(value)
    return out


def time_polls(connect, key, seconds, name="watched"):
    """How long each poll of a worker took that has nothing to wait for, in seconds, the shortest first. `connect` opens a connection to the
    server; `key` is a worker's or an admin's."""
    connection = connect()

    def say(call, body):
        connection.request("POST", f"/worker/v1/{call}", body, {"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 200, (response.status, answer)
        return answer

    number = read(say("register", field(1, 1) + field(2, name.encode()) + fixed(3, 7) + field(5, 4000)))[2][0]
    who = field(1, number) + fixed(2, 7)
    took, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        say("poll", field(1, who) + field(2, len(took) + 1) + field(4, 0) + field(5, 0))
        took.append(time.monotonic() - began)
    connection.close()
    return sorted(took)
