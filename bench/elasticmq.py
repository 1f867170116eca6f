"""ElasticMQ, an SQS in memory: its jars from Maven Central, and a server of them."""

import contextlib
import hashlib
import pathlib
import sys
import urllib.error
import urllib.request

import harness
import peer_servers

REGISTRY = "https://repo1.maven.org/maven2"
# All that it needs to run, each with its SHA-256: what Maven finds for org.elasticmq:elasticmq-server_3.
JARS = harness.REPOSITORY / "bench/peers/elasticmq.sha256"


def version():
    return next(f"ElasticMQ {path.split('/')[-2]}" for path in wanted() if "/elasticmq-server" in path)


def wanted():
    """{path in the registry: SHA-256}"""
    return {path: digest for digest, path in (line.split() for line in JARS.read_text().splitlines())}


def fetch(flags):
    """The jars, in the build folder; those that are there already are not fetched again."""
    folder = flags.build / "bench/elasticmq"
    folder.mkdir(exist_ok=True)
    for path, digest in wanted().items():
        jar = folder / pathlib.PurePosixPath(path).name
        if jar.exists():
            continue
        harness.progress(f"fetching {jar.name}")
        try:
            with urllib.request.urlopen(f"{REGISTRY}/{path}", timeout=60) as answer:
                content = answer.read()
        except (urllib.error.URLError, TimeoutError) as error:
            sys.exit(f"bench: cannot fetch {jar.name} from Maven Central: {error} (or leave the peers out: --peers no)")
        if hashlib.sha256(content).hexdigest() != digest:
            sys.exit(f"bench: {jar.name} from Maven Central is not the file that bench/peers/elasticmq.sha256 names")
        incomplete = jar.with_suffix(".part")
        incomplete.write_bytes(content)
        incomplete.rename(jar)
    return folder


@contextlib.contextmanager
def serve(jars, folder):
    """Its process and its port. Messages are in memory alone."""
    port = peer_servers.free_port()
    (folder / "server.conf").write_text(f"""
        include classpath("application.conf")
        node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
        rest-sqs {{ enabled = true, bind-hostname = "127.0.0.1", bind-port = {port}, sqs-limits = relaxed }}
        rest-stats.enabled = false
        """)
    command = [peer_servers.program("java"), f"-Dconfig.file={folder}/server.conf", "-cp", f"{jars}/*", "org.elasticmq.server.Main"]
    with peer_servers.running(command, folder, lambda: peer_servers.listens(port)) as process:
        yield process, port
