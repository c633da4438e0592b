"""Ways to measure an address: a whole stream, the first byte, random ranges by many clients; and fair pairs of
these."""

import re
import socket
import statistics
import subprocess
import time

from harness import client

RANGE, SHORT_RANGE = 256 << 10, 64 << 10

_RANDOM_RANGES = """
math.randomseed(7)
request = function()
  local first = math.random(0, {size} - {range})
  return wrk.format("GET", nil, {{ Range = "bytes=" .. first .. "-" .. (first + {range} - 1) }})
end
"""


def pairs(count, vault, other):
    """Measures both sides in turn, swapping the order in every other pair; returns the two lists of values."""
    values = ([], [])
    for number in range(count):
        for side in ((0, 1), (1, 0))[number % 2]:
            values[side].append((vault, other)[side]())
    return values


def median_ratio(vault, other):
    """Returns the median of the pairs' ratios: a slow moment of the machine affects both sides of a pair, or only one
    pair."""
    return statistics.median(own / others for own, others in zip(vault, other))


def stream_rate(address, size):
    """Returns the bytes per second of one whole answer, measured by curl."""
    told = subprocess.run(
        ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{time_total}", address],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600).stdout
    code, received, seconds = told.split()
    if code != "200" or int(received) != size:
        raise RuntimeError(f"a whole answer of {size} bytes was asked for and {received} came, with status {code}")
    return size / float(seconds)


def first_byte_seconds(address):
    """Returns the time from connecting to the first byte of the body; also reads the rest, so that no transfer
    continues."""
    host, port, target = client.split(address)
    request = f"GET {target} HTTP/1.1\r\nHost: {host}:{port}\r\nRange: bytes=0-\r\nConnection: close\r\n\r\n".encode()
    started = time.perf_counter()
    with socket.create_connection((host, port), timeout=60) as connection:
        connection.sendall(request)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0 or len(received) == end + 4:
            part = connection.recv(65_536)
            if not part:
                raise RuntimeError("the connection was closed before the first byte")
            received += part
        seconds = time.perf_counter() - started
        while connection.recv(1 << 20):
            pass
    if not received.startswith(b"HTTP/1.1 206"):
        raise RuntimeError(f"a range was asked for and answered: {received[:40]!r}")
    return seconds


def first_picture_seconds(address):
    """Returns how long ffmpeg takes from its start to the first decoded picture of an HLS title."""
    started = time.perf_counter()
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-nostdin", "-i", address, "-frames:v", "1", "-f", "framemd5", "-"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    seconds = time.perf_counter() - started
    if done.returncode != 0 or not re.search(r"^0,", done.stdout, re.MULTILINE):
        raise RuntimeError(f"ffmpeg shows no picture: {done.stderr[-400:]}")
    return seconds


def random_ranges(address, size, script, seconds, clients=8):
    """Returns how many random ranges per second the clients get together, measured by wrk."""
    return float(_wrk(address, size, script, seconds, clients, RANGE, r"Requests/sec:\s+([\d.]+)")[1])


def range_latency(address, size, script, seconds):
    """Returns the median time in which one client gets a random short range, in seconds, measured by wrk."""
    found = _wrk(address, size, script, seconds, 1, SHORT_RANGE, r"50%\s+([\d.]+)(us|ms|s)")
    return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[found[2]]


def _wrk(address, size, script, seconds, clients, length, pattern):
    with open(script, "w", encoding="ascii") as file:
        file.write(_RANDOM_RANGES.format(size=size, range=length))
    told = subprocess.run(
        ["wrk", "--latency", "-t1", f"-c{clients}", f"-d{seconds}", "-s", script, address],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60).stdout
    found, refused = re.search(pattern, told), re.search(r"Non-2xx.*|Socket errors.*", told)
    if not found or refused:
        raise RuntimeError(f"wrk: {refused[0] if refused else told[-200:]}")
    return found
