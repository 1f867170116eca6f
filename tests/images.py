"""Container images for tests, made here of busybox-static: OCI layouts, docker-archives, single hostile layers; and registries to fetch them
from, real ones, and ones that hang, lie or break off.

As a program, for tests that are not in Python:
    images.py make FOLDER          writes every image of CATALOGUE into FOLDER
    images.py registry [login]     serves until its standard input ends; says its address first
    images.py proxy MODE ADDRESS   stands before a registry, and does what MODE says
    images.py docker               a Docker daemon of one's own; its address is that of its socket
"""

import contextlib
import ctypes
import gzip
import hashlib
import http.client
import http.server
import io
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import zlib

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
OTHER_ARCHITECTURE = "arm64" if ARCHITECTURE == "amd64" else "amd64"
MTIME = 1_600_000_000

OCI = "application/vnd.oci.image."
LAYER_TYPES = {"": "layer.v1.tar", "gzip": "layer.v1.tar+gzip", "zstd": "layer.v1.tar+zstd"}


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


# Layers

class Tar:
    """A tar, entry by entry, in any order and as wrong as one likes."""

    def __init__(self, format=tarfile.PAX_FORMAT):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=format)

    def add(self, name, data=b"", type=tarfile.REGTYPE, mode=0o644, **more):
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.mtime, info.size = type, mode, MTIME, len(data)
        for key, value in more.items():
            setattr(info, key, value)
        self.tar.addfile(info, io.BytesIO(data))
        return self

    def folder(self, name, mode=0o755, **more):
        return self.add(name, type=tarfile.DIRTYPE, mode=mode, **more)

    def link(self, name, target):
        return self.add(name, type=tarfile.SYMTYPE, mode=0o777, linkname=target)

    def hard_link(self, name, target):
        return self.add(name, type=tarfile.LNKTYPE, linkname=target)

    def bytes(self):
        self.tar.close()
        return self.buffer.getvalue()


def pax_record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    size = len(body)
    while len(str(size)) + len(body) != size:
        size = len(str(size)) + len(body)
    return str(size).encode() + body


def pax_file(records, data=b"x"):
    """One file whose pax header says just this, without Python's help."""
    head = b"".join(pax_record(key, value) for key, value in records)
    extended = tarfile.TarInfo("PaxHeaders/x")
    extended.type, extended.size = b"x", len(head)
    plain = tarfile.TarInfo("plain")
    plain.size, plain.mtime = len(data), MTIME
    padded = [block + bytes(-len(block) % 512) for block in (head, data)]
    return extended.tobuf(tarfile.USTAR_FORMAT) + padded[0] + plain.tobuf(tarfile.USTAR_FORMAT) + padded[1] + bytes(1024)


def busybox_layer():
    tar = Tar()
    for name in ("bin", "etc", "etc/old", "proc", "dev", "sys", "tmp", "root"):
        tar.folder(name, mode=0o1777 if name == "tmp" else 0o755)
    tar.add("bin/busybox", pathlib.Path("/bin/busybox").read_bytes(), mode=0o755)
    for name in ("sh", "echo", "cat", "ls", "sleep", "true", "false", "id", "env", "pwd", "touch", "dd", "wc", "seq", "kill", "test",
                 "hostname", "mount", "ps", "stat", "readlink", "rm", "mkdir", "head", "printf", "tr", "yes", "sync", "grep", "sha256sum"):
        tar.link(f"bin/{name}", "busybox")
    tar.add("etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/tmp:/bin/sh\n")
    tar.add("etc/group", b"root:x:0:\nuser:x:1000:\n")
    tar.add("etc/gone", b"hidden by the next layer\n")
    tar.add("etc/old/gone", b"hidden with its folder\n")
    return tar.bytes()


def upper_layer():
    tar = Tar()
    tar.folder("etc").add("etc/.wh.gone").folder("etc/old").add("etc/old/.wh..wh..opq").add("etc/old/new", b"new\n")
    tar.add("hello", b"hello from the image\n", mode=0o640, uid=1000, gid=1000)
    return tar.bytes()


def sparse_tar(size, data=b"end"):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "sparse")
        with file.open("wb") as out:
            out.seek(size - len(data))
            out.write(data)
        return subprocess.run(["tar", "--sparse", "--format=pax", "-C", folder, "-cf", "-", "sparse"], check=True, capture_output=True).stdout


def bomb(size, inside=True):
    """A file of zeros, a thousand times as large as its gzip; or as many zeros behind the tar's end. Never whole in memory."""
    info = tarfile.TarInfo("zeros")
    info.size = size if inside else 0
    packer = zlib.compressobj(9, wbits=31)
    whole = hashlib.sha256()
    out = []
    pieces = [info.tobuf(tarfile.GNU_FORMAT)] + [bytes(1 << 20)] * (size >> 20) + [bytes(1024)]
    for piece in pieces:
        whole.update(piece)
        out.append(packer.compress(piece))
    return b"".join(out) + packer.flush(), "sha256:" + whole.hexdigest()


def many_xattrs(count):
    """One file with so many attributes that an image may not set, each of another name."""
    return pax_file([(b"SCHILY.xattr.trusted.%d" % at, b"") for at in range(count)])


def long_sparse_map(count):
    """A file without a byte of data, and a list of that many holes: GNU's sparse format 1.0, whose list is in the file's data."""
    holes = b"%d\n" % count + b"0\n0\n" * count
    holes += bytes(-len(holes) % 512)
    return pax_file([(b"GNU.sparse.major", b"1"), (b"GNU.sparse.minor", b"0"), (b"GNU.sparse.name", b"sparse"), (b"GNU.sparse.realsize", b"4096")], holes)


def deep_tar():
    """Deeper than a path can be long, by way of links."""
    tar = Tar()
    stretch = "/".join(["d"] * 1000)
    tar.folder(stretch).link("l0", stretch)
    for at in range(2):
        tar.folder(f"l{at}/{stretch}").link(f"l{at + 1}", f"l{at}/{stretch}")
    return tar.add("l2/bottom", b"x").bytes()


def hostile_layers():
    """{name: the tar}. What becomes of each is for the tests to say."""
    outside = "/tmp/drover-images-outside"
    up = "../" * 30
    layers = {
        "dotdot": Tar().add("../../escaped", b"x"),
        "absolute": Tar().add("/abs/file", b"x").add("//etc//two", b"y"),
        "link-parent": Tar().link("out", outside).add("out/owned", b"x").link("up", f"{up}tmp").add("up/drover-images-owned", b"x")
                            .link("loop", "loop").add("loop/inside", b"x"),
        "link-file": Tar().link("file", "/etc/drover-images-owned").add("file", b"x"),
        "link-folder": Tar().link("f", "/etc").folder("f", mode=0o700).add("f/inside", b"x"),
        "hard-link-absolute": Tar().hard_link("shadow", "/etc/shadow"),
        "hard-link-up": Tar().hard_link("shadow", f"{up}etc/shadow"),
        "hard-link-by-link": Tar().link("e", "/etc").hard_link("shadow", "e/shadow"),
        "hard-link-itself": Tar().add("a", b"kept").hard_link("a", "a").hard_link("b", "./a"),
        "whiteout-dot": Tar().folder("a").add("a/.wh.."),
        "whiteout-dotdot": Tar().folder("a").add("a/.wh..."),
        "whiteout-nothing": Tar().add(".wh."),
        "whiteout-by-link": Tar().link("out", "/tmp").add("out/.wh.drover-images-victim"),
        "whiteout-own": Tar().add("kept", b"kept").add(".wh.kept").add(".wh.d").folder("d").add("d/x", b"x").folder("e").add(".wh.e"),
        "opaque-root": Tar().add(".wh..wh..opq").add("alone", b"x"),
        "devices": Tar().add("null", type=tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666).add("disk", type=tarfile.BLKTYPE, devmajor=8)
                        .add("pipe", type=tarfile.FIFOTYPE),
        "setuid": Tar().add("su", b"x", mode=0o4755).add("sg", b"x", mode=0o2755, gid=7).folder("sticky", mode=0o1777),
        "late-parent": Tar().add("a/b/c", b"x").folder("a/b", mode=0o711).folder("a", mode=0o500).add("a/d", b"y"),
        "twice": Tar().add("f", b"one").add("f", b"two").add("g", b"file").folder("g").add("g/x", b"x").folder("h").add("h/x", b"x").add("h", b"file")
                      .add("i", b"file").add("i/x", b"x").folder("j").add("j/x", b"x").link("j", "g").add("j/y", b"y"),
        "xattrs": Tar().add("ping", b"x", mode=0o755, pax_headers={
            "SCHILY.xattr.user.note": "kept", "SCHILY.xattr.trusted.overlay.redirect": "/etc", "SCHILY.xattr.user.overlay.opaque": "y"})
            .add("capable", b"x", mode=0o755, pax_headers={
                "SCHILY.xattr.security.capability": b"\1\0\0\2\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0".decode("latin-1")}),
        "long-names": Tar().add("n" * 255, b"x").add("/".join(["p" * 100] * 30), b"deep"),
        "long-names-gnu": Tar(tarfile.GNU_FORMAT).add("n" * 255, b"x").add("/".join(["p" * 100] * 30), b"deep"),
        "name-too-long": Tar().add("n" * 300, b"x"),
        "path-too-long": Tar().add("/".join(["p" * 100] * 60), b"x"),
        "names": Tar().add("grüße", b"x").add("\udcff\udcfe", b"y"),
        "names-gnu": Tar(tarfile.GNU_FORMAT).add("grüße", b"x").add("\udcff\udcfe", b"y"),
        "owner": Tar().add("huge", b"x", uid=1 << 40),
    }
    layers = {name: tar.bytes() for name, tar in layers.items()}
    layers["names-raw-pax"] = pax_file([(b"path", b"\xff\xfe")])
    layers["utf8-pax"] = pax_file([(b"path", "grüße".encode())])
    layers["deep"] = deep_tar()
    layers["sparse"] = sparse_tar(8 << 20)
    layers["sparse-huge"] = sparse_tar(1 << 40)
    layers["many-xattrs"] = many_xattrs(5_000)
    layers["sparse-map"] = long_sparse_map(1 << 21)
    layers["sparse-map-short"] = long_sparse_map(1 << 10)
    layers["not-a-tar"] = b"this is no tar\n" * 100
    layers["empty"] = bytes(1024)
    layers["nothing"] = b""
    many = Tar(tarfile.USTAR_FORMAT)
    for at in range(30_000):
        many.add(f"many/{at % 100}/{at}")
    layers["many"] = many.bytes()
    layers["cut"] = busybox_layer()[: 300_000]
    return layers


# Images

class Image:
    """Layers are tars; `packed` says how each is compressed."""

    def __init__(self, layers, packed="gzip", architecture=ARCHITECTURE, diff_ids=None, **config):
        self.blobs = {}
        self.layers = []
        self.tars = layers
        for layer in layers:
            self.layers.append(self._blob(LAYER_TYPES[packed], pack(layer, packed)))
        self.config = {"architecture": architecture, "os": "linux", "config": config,
                       "rootfs": {"type": "layers", "diff_ids": diff_ids or [digest(layer) for layer in layers]}}

    def _blob(self, type, data):
        self.blobs[digest(data)] = data
        return {"mediaType": OCI + type, "digest": digest(data), "size": len(data)}

    def manifest(self):
        """Its descriptor; its bytes are among the blobs then."""
        config = self._blob("config.v1+json", json.dumps(self.config).encode())
        text = json.dumps({"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "config": config, "layers": self.layers})
        return self._blob("manifest.v1+json", text.encode())

    def write_layout(self, folder, tag="latest"):
        """An OCI layout; the digest of the manifest."""
        entry = self.manifest()
        write_layout(folder, [dict(entry, annotations={"org.opencontainers.image.ref.name": tag})], self.blobs)
        return entry["digest"]

    def write_docker_archive(self, file, name="drover.test/image:latest"):
        write_docker_archive(file, {name: self})


def write_docker_archive(file, images):
    """What docker save writes of images by their names."""
    members, manifest = {}, []
    for name, image in images.items():
        config = json.dumps(image.config).encode()
        members[digest(config)[7:] + ".json"] = config
        members |= {f"{digest(layer)[7:]}/layer.tar": layer for layer in image.tars}
        manifest.append({"Config": digest(config)[7:] + ".json", "RepoTags": [name],
                         "Layers": [f"{digest(layer)[7:]}/layer.tar" for layer in image.tars]})
    members["manifest.json"] = json.dumps(manifest).encode()
    with tarfile.open(file, "w") as tar:
        for member, data in members.items():
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def pack(layer, packed):
    if packed == "gzip":
        return gzip.compress(layer, 1, mtime=0)
    if packed == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=layer, check=True, capture_output=True).stdout
    return layer


def write_layout(folder, entries, blobs):
    folder = pathlib.Path(folder)
    (folder / "blobs/sha256").mkdir(parents=True)
    for name, data in blobs.items():
        (folder / "blobs/sha256" / name[7:]).write_bytes(data)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": entries}))


def write_odd_indexes(folder):
    """Layouts whose indexes are right, and as hardly anybody writes them."""
    image = plain()
    entry = image.manifest()
    builder = dict(Image([Tar().add("made", b"so").bytes()]).manifest(), platform={"architecture": "unknown", "os": "unknown"})
    whole = {"org.opencontainers.image.ref.name": "docker.io/library/x:1.0"}
    write_layout(folder / "whole-name", [dict(entry, annotations=whole), dict(plain().manifest(), annotations={
        "org.opencontainers.image.ref.name": "docker.io/library/x:2.0"})], image.blobs)
    write_layout(folder / "beside-attestation", [entry, builder], image.blobs)
    for name, entries in {"index-empty": [], "index-attestation": [builder], "index-without-platform": [entry, builder]}.items():
        text = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": entries}).encode()
        within = {"mediaType": OCI + "index.v1+json", "digest": digest(text), "size": len(text)}
        write_layout(folder / name, [within], image.blobs | {digest(text): text})
        around = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": [within]}).encode()
        write_layout(folder / f"{name}-nested", [dict(within, digest=digest(around), size=len(around))],
                     image.blobs | {digest(text): text, digest(around): around})


def write_index(folder, images, tag="latest"):
    """A layout with one image for several architectures; the digest of its index."""
    blobs, entries = {}, []
    for image in images:
        entry = image.manifest()
        entries.append(dict(entry, platform={"architecture": image.config["architecture"], "os": "linux"}))
        blobs |= image.blobs
    text = json.dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json", "manifests": entries}).encode()
    blobs[digest(text)] = text
    write_layout(folder, [{"mediaType": OCI + "index.v1+json", "digest": digest(text), "size": len(text),
                           "annotations": {"org.opencontainers.image.ref.name": tag}}], blobs)
    return digest(text)


CONFIG = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["cat /hello"], "Env": ["PATH=/bin", "GREETING=hello there"], "User": "user:user",
          "WorkingDir": "/tmp", "ExposedPorts": {"80/tcp": {}}, "Labels": {"made.by": "a test"}, "StopSignal": "SIGINT"}


def plain(packed="gzip", more=(), **config):
    return Image([busybox_layer(), upper_layer(), *more], packed, **(config or CONFIG))


def make_all(folder):
    """The catalogue: every image that the unit tests look at."""
    folder = pathlib.Path(folder)
    for packed in LAYER_TYPES:
        plain(packed).write_layout(folder / ("plain" + ("-" + packed if packed else "-tar")))
    plain("").write_docker_archive(folder / "plain.tar")
    plain(more=[Tar().add("third", b"3").bytes()]).write_layout(folder / "shared-base")
    Image([busybox_layer(), upper_layer(), Tar().add("hello", b"another\n").bytes(), upper_layer(), upper_layer()]).write_layout(folder / "same-layer")
    other = Image([busybox_layer()], architecture=OTHER_ARCHITECTURE)
    other.write_layout(folder / "other-architecture")
    write_index(folder / "index", [other, plain()])
    write_index(folder / "index-other", [other])
    write_odd_indexes(folder)
    write_docker_archive(folder / "two.tar", {"drover.test/image:1": plain(""), "drover.test/image:2": Image([busybox_layer()], "")})
    for name, layer in hostile_layers().items():
        Image([layer], "" if name in ("many", "nothing") else "gzip").write_layout(folder / f"hostile-{name}")
    Image([busybox_layer(), Tar().add(".wh..wh..opq").add("alone", b"x").bytes()]).write_layout(folder / "opaque-root")
    members = Image([], diff_ids=[digest(upper_layer())])
    half = len(upper_layer()) // 2
    in_two = gzip.compress(upper_layer()[:half], mtime=0) + gzip.compress(upper_layer()[half:], mtime=0)
    members.layers.append(members._blob("layer.v1.tar+gzip", in_two))
    members.write_layout(folder / "gzip-members")
    for name, inside in {"bomb": True, "bomb-behind": False}.items():
        packed, diff_id = bomb(128 << 20, inside)
        large = Image([], diff_ids=[diff_id])
        large.layers.append(large._blob("layer.v1.tar+gzip", packed))
        large.write_layout(folder / name)
    Image([upper_layer()], diff_ids=[digest(b"something else")]).write_layout(folder / "wrong-diff-id")
    for name, change in {"wrong-digest": lambda data: data[:-9] + b"\0" + data[-8:], "cut-gzip": lambda data: data[: len(data) // 2]}.items():
        image = plain()
        image.write_layout(folder / name)
        blob = folder / name / "blobs/sha256" / image.layers[0]["digest"][7:]
        blob.write_bytes(change(blob.read_bytes()))
    chart = Image([upper_layer()])
    entry = chart.manifest()
    text = chart.blobs[entry["digest"]].replace(b"vnd.oci.image.config.v1+json", b"vnd.cncf.helm.config.v1+json")
    write_layout(folder / "no-image", [dict(entry, digest=digest(text), size=len(text))], chart.blobs | {digest(text): text})


# Registries

USER, PASSWORD = "shepherd", "sesame"
PASSWORD_HASH = "$2b$05$abcdefghijklmnopqrstuuKcS.CYWVYVaLiiCKrrc0A5s3mGesJ9O"


_held_ports = []


def free_port():
    """One that nobody listens at, and that nobody is given by chance as long as this process lives: whoever names it, and sets SO_REUSEADDR as
    servers do, can listen there."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held_ports.append(holder)
    return holder.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Registry:
    """Debian's docker-registry on loopback, with a folder of its own."""

    def __init__(self, login=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="drover-registry-"))
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        config = {"version": 0.1, "log": {"level": "error", "accesslog": {"disabled": True}},
                  "storage": {"filesystem": {"rootdirectory": str(self.folder / "data")}}, "http": {"addr": self.host}}
        if login:
            (self.folder / "htpasswd").write_text(f"{USER}:{PASSWORD_HASH}\n")
            config["auth"] = {"htpasswd": {"realm": "drover", "path": str(self.folder / "htpasswd")}}
        (self.folder / "config.yml").write_text(json.dumps(config))
        self.process = subprocess.Popen(["docker-registry", "serve", self.folder / "config.yml"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=(self.folder / "log").open("w"), preexec_fn=die_with_parent)
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.02)

    def push(self, source, name, *options):
        """`source` in skopeo's words, as `name`: PATH:TAG."""
        push(source, f"{self.host}/{name}", *options)

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)


class Docker:
    """dockerd with folders of its own, and no network: images can be loaded into it, and containers run on the machine's network or none.
    `config` is what its daemon.json says; `path` is a folder in which it finds programs first."""

    def __init__(self, config=None, path=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="drover-docker-"))
        (self.folder / "daemon.json").write_text(json.dumps(config or {}))
        self.socket = self.folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self.process = subprocess.Popen(
            ["dockerd", "--data-root", self.folder / "data", "--exec-root", self.folder / "exec", "--pidfile", self.folder / "pid", "--host", self.host,
             "--config-file", self.folder / "daemon.json", "--bridge=none", "--iptables=false", "--ip-masq=false"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=(self.folder / "log").open("w"), preexec_fn=die_with_parent,
            env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else None)
        until = time.monotonic() + 90
        while True:
            with contextlib.suppress(OSError):
                if self.request("GET", "/_ping") == b"OK":
                    return
            assert self.process.poll() is None and time.monotonic() < until, (self.folder / "log").read_text()
            time.sleep(0.02)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("localhost", timeout=60)
        connection.sock = socket.socket(socket.AF_UNIX)
        with contextlib.closing(connection.sock):
            connection.sock.connect(str(self.socket))
            connection.request(method, path, body)
            reply = connection.getresponse()
            data = reply.read()
            assert reply.status < 300, data
            return data

    def load(self, archive):
        """What docker save wrote, or write_docker_archive()."""
        self.request("POST", "/images/load?quiet=1", pathlib.Path(archive).read_bytes())

    def close(self):
        self.process.terminate()
        self.process.wait()
        # What a daemon mounts in namespaces of its own it leaves.
        below = [line.split()[1] for line in pathlib.Path("/proc/mounts").read_text().splitlines() if line.split()[1].startswith(f"{self.folder}/")]
        for place in sorted(below, reverse=True):
            subprocess.run(["umount", "-l", place], capture_output=True)
        shutil.rmtree(self.folder)


def push(source, target, *options):
    subprocess.run(["skopeo", "--insecure-policy", "copy", "--quiet", "--dest-tls-verify=false", *options, source, f"docker://{target}"],
                   check=True, timeout=60)


def auth_file(path, host, user=USER, password=PASSWORD):
    """A config.json as docker login writes it."""
    import base64
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    pathlib.Path(path).write_text(json.dumps({"auths": {host: {"auth": token}}}))


class Proxy:
    """Stands before a registry. Modes: `pass`, and counts; `hang`, accepts and says nothing; `hang-blobs`, stops in the middle of a large
    blob; `slow`, stops there until go() is called; `corrupt`, changes a byte of it; `break`, hangs up in the middle of it; `endless`, never stops sending it; `busy`, answers 503; `limited`, answers 429. The
    mode may be changed at any time."""

    LARGE = 20_000

    def __init__(self, mode, upstream):
        self.blobs, self.refused = [], 0
        proxy, self.stopped, self.goes_on = self, threading.Event(), threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                with contextlib.suppress(ConnectionError):  # whoever asked may have given up
                    proxy.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.mode, self.upstream = mode, upstream
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, request):
        if self.mode == "hang":
            self.stopped.wait(120)
            return
        if self.mode in ("busy", "limited"):
            self.refused += 1
            request.send_response(503 if self.mode == "busy" else 429)
            request.send_header("Retry-After", "0")
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        there = http.client.HTTPConnection(self.upstream, timeout=60)
        there.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
        for key, value in request.headers.items():  # some come more than once
            there.putheader(key, self.upstream if key.lower() == "host" else value)
        there.endheaders()
        reply = there.getresponse()
        data = reply.read()
        large = "/blobs/" in request.path and len(data) > self.LARGE
        if "/blobs/" in request.path and request.command == "GET":
            self.blobs.append(request.path.rsplit("/", 1)[1])
        if large and self.mode == "corrupt":
            data = data[:-5000] + bytes([data[-5000] ^ 1]) + data[-4999:]
        request.send_response(reply.status)
        for key, value in reply.getheaders():
            if key.lower() not in ("transfer-encoding", "connection") and not (large and self.mode == "endless" and key.lower() == "content-length"):
                request.send_header(key, value)
        request.end_headers()
        if large and self.mode == "endless":
            request.close_connection = True
            with contextlib.suppress(OSError):
                while not self.stopped.is_set():
                    request.wfile.write(bytes(1 << 20))
                    time.sleep(0.002)
            return
        if large and self.mode in ("hang-blobs", "break"):
            request.wfile.write(data[: self.LARGE])
            request.wfile.flush()
            if self.mode == "hang-blobs":
                self.stopped.wait(120)
            request.close_connection = True
            return
        if large and self.mode == "slow":
            request.wfile.write(data[: self.LARGE])
            request.wfile.flush()
            self.goes_on.wait(120)
            data = data[self.LARGE:]
        request.wfile.write(data)

    def go(self):
        self.goes_on.set()

    def close(self):
        self.stopped.set()
        self.goes_on.set()
        self.server.shutdown()
        self.server.server_close()


def serve(server):
    """Says where, and stays until nobody holds its standard input."""
    print(server.host, flush=True)
    for line in sys.stdin:
        if line.strip() == "blobs":
            print(" ".join(server.blobs), flush=True)
        elif line.strip() == "go":
            server.go()
            print("goes", flush=True)
        elif line.startswith("load "):
            server.load(line.split()[1])
            print("loaded", flush=True)
        else:
            source, name, *options = line.split()
            server.push(source, name, *options)
            print("pushed", flush=True)
    server.close()


if __name__ == "__main__":
    os.umask(0o022)
    match sys.argv[1:]:
        case ["make", folder]:
            make_all(folder)
        case ["registry", *login]:
            serve(Registry(login=bool(login)))
        case ["proxy", mode, address]:
            serve(Proxy(mode, address))
        case ["docker"]:
            serve(Docker())
        case _:
            sys.exit(__doc__)
