#!/usr/bin/python3
"""S3 over HTTP: objects put and got, and lists of many keys.

8 keep-alive connections, every request signed, the body's SHA-256 among what is signed. One load generator, on the same cores as the
server, for

  bare server   a thread for each connection, which checks nothing, computes MD5 and SHA-256, writes a file and syncs it: the limit of a PUT
  drover        every answer is durable
  MinIO         one folder on the same disk, with O_SYNC writes (MINIO_FS_OSYNC) where the version has them
  nginx         a GET of the same bytes as a static file: the limit of a GET

Then lists of many keys, page by page, and the memory of the server.
"""

import contextlib
import json
import os
import subprocess
import sys
import time

import aws_requests
import harness
import peer_servers
import served

CONNECTIONS = 8
SIZES = {4 << 10: 2000, 1 << 20: 200, 64 << 20: 8}  # bytes: keys that are put in turn
BARE, DROVER, MINIO, NGINX = "bare server", "drover", "MinIO", "nginx"
BUCKET = "bench"
ANY_KEY = "key.secret"
MINIO_KEY = "minioadmin.minioadmin"
MINIO_MODULE = "github.com/minio/minio"


def name_of(size):
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def load(flags, port, key, bucket, *words):
    return [flags.build / "bench/s3_load", "127.0.0.1", port, key, bucket, *words]


def create_bucket(port, key):
    channel = aws_requests.Channel(port)
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    request = aws_requests.signed(key, f"127.0.0.1:{port}", "s3", f"/{BUCKET}", {"x-amz-content-sha256": digest}, b"", "PUT")
    channel.ask(request)


def measure(flags, contender, port, key, pid, seconds, phases):
    """[{contender, phase, size, per_second, mib_per_second, cpu_us}]"""
    out = []
    for size, objects in SIZES.items():
        for phase in phases:
            harness.progress(f"{contender}: {phase} of {name_of(size)}")
            one, cpu = harness.measured_with(load(flags, port, key, BUCKET, phase, size, CONNECTIONS, seconds, objects), lambda: served.cpu_seconds(pid))
            out.append({"contender": contender, "phase": "get" if phase == "plain" else phase, "size": size,
                        "per_second": one["requests"] / one["seconds"], "mib_per_second": one["bytes"] / one["seconds"] / 2**20,
                        "server_cpu_us": cpu * 1e6 / max(one["requests"], 1)})
    return out


def measure_list(flags, contender, port, key, pid, seconds, keys):
    harness.progress(f"{contender}: lists of {keys:,} keys")
    harness.measured(load(flags, port, key, BUCKET, "fill", 4 * CONNECTIONS, keys))
    one, cpu = harness.measured_with(load(flags, port, key, BUCKET, "list", CONNECTIONS, seconds), lambda: served.cpu_seconds(pid))
    return {"contender": contender, "phase": "list", "size": keys, "per_second": one["keys"] / one["seconds"],
            "server_cpu_us": cpu * 1e6 / max(one["keys"], 1), "mib": served.memory_mib(pid, "VmHWM")}


def measure_bare(flags, work, seconds):
    with harness.fresh_folder(work / "bare") as folder:
        with subprocess.Popen([flags.build / "bench/s3_bare", folder], stdout=subprocess.PIPE, text=True) as process:
            try:
                port = json.loads(process.stdout.readline())["port"]
                return measure(flags, BARE, port, ANY_KEY, process.pid, seconds, ["put"])
            finally:
                process.kill()


def measure_drover(flags, work, seconds, keys):
    with harness.fresh_folder(work / "server") as data, served.serve(flags, data) as server:
        create_bucket(server.port, server.key)
        results = measure(flags, DROVER, server.port, server.key, server.process.pid, seconds, ["put", "get"])
        return results + [measure_list(flags, DROVER, server.port, server.key, server.process.pid, seconds, keys)]


def minio_program(flags):
    """Built from its source, in the build folder; one that is there already is not built again."""
    folder = flags.build / "bench/minio"
    if not (folder / "minio").exists():
        harness.progress("building MinIO")
        folder.mkdir(exist_ok=True)
        for name in ("go.mod", "go.sum"):
            (folder / name).write_bytes((harness.REPOSITORY / "bench/peers/minio" / name).read_bytes())
        subprocess.run([peer_servers.program("go"), "build", "-mod=mod", "-o", "minio", MINIO_MODULE], cwd=folder, check=True)
    return folder / "minio"


@contextlib.contextmanager
def minio(program, folder):
    port = peer_servers.free_port()
    options = {"MINIO_ROOT_USER": "minioadmin", "MINIO_ROOT_PASSWORD": "minioadmin", "MINIO_FS_OSYNC": "on", "MINIO_BROWSER": "off",
               "MINIO_CALLHOME_ENABLE": "off", "HOME": str(folder)}
    os.environ.update(options)
    command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", folder / "data"]
    with peer_servers.running(command, folder, lambda: peer_servers.listens(port)) as process:
        yield process, port


def measure_minio(flags, work, seconds, keys):
    with harness.fresh_folder(work / "peer") as folder, minio(minio_program(flags), folder) as (process, port):
        wait_for_minio(port)
        results = measure(flags, MINIO, port, MINIO_KEY, process.pid, seconds, ["put", "get"])
        return results + [measure_list(flags, MINIO, port, MINIO_KEY, process.pid, seconds, keys)]


def wait_for_minio(port):
    """It listens before it serves."""
    until = time.monotonic() + 30
    while True:
        try:
            return create_bucket(port, MINIO_KEY)
        except (SystemExit, OSError):
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def measure_nginx(flags, work, seconds):
    with harness.fresh_folder(work / "peer") as folder:
        (folder / BUCKET).mkdir()
        for size, objects in SIZES.items():
            body = os.urandom(1 << 12) * (size >> 12)
            for number in range(objects):
                (folder / BUCKET / f"{size}-{number}").write_bytes(body)
        port = peer_servers.free_port()
        (folder / "nginx.conf").write_text(f"""
            daemon off; worker_processes 2; pid {folder}/pid; error_log {folder}/errors; user root;
            events {{ worker_connections 256; }}
            http {{ access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}
            """)
        command = [peer_servers.program("nginx"), "-c", folder / "nginx.conf", "-p", folder]
        with peer_servers.running(command, folder, lambda: peer_servers.listens(port)) as process:
            return measure(flags, NGINX, port, "-", process.pid, seconds, ["plain"])


def medians(results):
    """{(contender, phase, size): figures}"""
    groups = {}
    for one in results:
        groups.setdefault((one["contender"], one["phase"], one["size"]), []).append(one)
    numbers = ["per_second", "server_cpu_us"]
    return {key: {**group[0], **{name: harness.median(one[name] for one in group) for name in numbers}, "rounds": len(group)}
            for key, group in groups.items()}


def print_rates(rates, keys):
    contenders = list(dict.fromkeys(contender for contender, _, _ in rates))
    for phase in ("put", "get"):
        rows = []
        for contender in contenders:
            found = [rates.get((contender, phase, size)) for size in SIZES]
            if any(found):
                rows.append([contender, *(f"{one['per_second']:,.1f}" if one else "–" for one in found),
                             *(f"{one['server_cpu_us']:,.0f}" if one else "–" for one in found)])
        harness.print_table(f"{phase}: objects/s, and CPU µs of the server for one; {CONNECTIONS} connections on {len(os.sched_getaffinity(0))} cores",
                            ["", *map(name_of, SIZES), *(f"CPU: {name_of(size)}" for size in SIZES)], rows)
    rows = [[contender, f"{one['per_second']:,.0f}", f"{one['server_cpu_us']:.2f}", f"{one['mib']:.0f}"]
            for contender in contenders if (one := rates.get((contender, "list", keys)))]
    harness.print_table(f"lists of {keys:,} keys: keys/s, CPU µs for one, and the server's most memory of all", ["", "keys/s", "CPU µs", "MiB"], rows)


def judge(targets, rates, keys, with_peers):
    def rate(contender, phase, size):
        return rates[contender, phase, size]["per_second"]

    small, middle, large = SIZES
    for size in SIZES:
        targets.at_least(f"put of {name_of(size)} / the bare server", rate(DROVER, "put", size) / rate(BARE, "put", size), 0.8)
    if not with_peers:
        return
    for size, least in ((small, 1.5), (middle, 1), (large, 1)):
        targets.at_least(f"put of {name_of(size)} / MinIO", rate(DROVER, "put", size) / rate(MINIO, "put", size), least)
    targets.at_least(f"get of {name_of(small)} / MinIO", rate(DROVER, "get", small) / rate(MINIO, "get", small), 1.5)
    targets.at_least(f"get of {name_of(large)} / nginx", rate(DROVER, "get", large) / rate(NGINX, "get", large), 0.9)
    targets.at_least(f"list of {keys:,} keys / MinIO", rate(DROVER, "list", keys) / rate(MINIO, "list", keys), 3)


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, metavar="S", help="for each phase; default: 5")
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="of each contender; default: 3")
    parser.add_argument("--peers", choices=["yes", "no"], help="whether MinIO and nginx are measured too; default: yes, but not with --tiny")
    flags = parser.parse_args()
    seconds, rounds = flags.seconds or (0.1 if flags.tiny else 5), flags.rounds or (1 if flags.tiny else 3)
    keys = 1_000 if flags.tiny else 100_000
    with_peers = flags.peers == "yes" if flags.peers else not flags.tiny
    if with_peers and not (peer_servers.program("nginx") and peer_servers.program("go")):
        sys.exit("bench: nginx or Go missing: ./tools/setup bench installs what is needed (or leave them out: --peers no)")
    if flags.tiny:
        SIZES.pop(64 << 20)
        SIZES[2 << 20] = 4
    results = []
    with harness.work_folder(flags) as work:
        for _ in range(rounds):
            results += measure_bare(flags, work, seconds) + measure_drover(flags, work, seconds, keys)
            if with_peers:
                results += measure_minio(flags, work, seconds, keys) + measure_nginx(flags, work, seconds)
    rates = medians(results)
    print_rates(rates, keys)
    figures = {"seconds": seconds, "rates": list(rates.values())}
    targets = harness.Targets()
    judge(targets, rates, keys, with_peers)
    return harness.finish(flags, "s3", figures, targets)


if __name__ == "__main__":
    sys.exit(main())
