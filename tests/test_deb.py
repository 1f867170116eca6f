"""The Debian package of `make deb`, made of what was built: what is in it, its units, and its life in a Debian of its own."""

import gzip
import io
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tarfile

import pytest

from debian_root import BootedDebian, DebianRoot, debootstrapped
from drover import BINARY, SOAK, wait_until

SOURCE = pathlib.Path(__file__).resolve().parents[1]
BUILD = pathlib.Path(BINARY).parents[1]
GOLDEN = SOURCE / "tests/golden/schema-2.sql"
# systemd's measure of what a service could do, from 0 to 100.
MOST_EXPOSED = 15
# What dpkg and useradd keep for themselves, and what the fixture put there.
OWN_TRACES = ("/var/lib/dpkg", "/var/log", "/var/cache", "/etc/.pwd.lock", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-",
              "/etc/subuid-", "/etc/subgid-", "/usr/local/bin/systemctl")


def dpkg_deb(*words):
    return subprocess.run(["dpkg-deb", *map(str, words)], check=True, capture_output=True, text=True).stdout


def fields(package):
    return dict(re.findall(r"^(\S+): (.*)$", dpkg_deb("--field", package), re.MULTILINE))


def needs_of(package):
    return [re.match(r"\S+", need)[0] for need in fields(package)["Depends"].split(", ")]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    made = subprocess.run(["cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder], capture_output=True, text=True, cwd=BUILD)
    assert made.returncode == 0, (made.stdout, made.stderr)
    path, = folder.glob("*.deb")
    return path


@pytest.fixture(scope="module")
def older(package, tmp_path_factory):
    """The same program under an older number, with other words in the settings that it brings."""
    folder = tmp_path_factory.mktemp("older")
    tree = folder / "tree"
    dpkg_deb("--raw-extract", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", "Version: 0.0.9", control.read_text(), flags=re.MULTILINE))
    for name in ("server.toml", "worker.toml"):
        (tree / "etc/drover" / name).write_text("# As 0.0.9 had it.\n")
    dpkg_deb("--build", "--root-owner-group", "-Zgzip", "-z1", tree, folder / "older.deb")
    return folder / "older.deb"


@pytest.fixture(scope="module")
def unpacked(package, tmp_path_factory):
    folder = tmp_path_factory.mktemp("unpacked")
    dpkg_deb("--raw-extract", package, folder / "tree")
    return folder / "tree"


# Long tests also take a small one of debootstrap, which has nothing but what the package asks for.
@pytest.fixture(params=["this machine's root", "debootstrap"] if SOAK else ["this machine's root"])
def debian(request, package, tmp_path):
    lower = "/" if request.param == "this machine's root" else debootstrapped(BUILD, package)
    with DebianRoot(tmp_path / "debian", lower) as root:
        # One that has drover for good is as good as one that never had it.
        root("dpkg", "--purge", "drover")
        if request.param == "debootstrap":
            root("apt-get", "install", "-qq", "-y", *needs_of(package), seconds=300)
        yield root


def install(root, package):
    shutil.copy(package, root.share)
    # Asked about a file that both changed, somebody answers: keep mine.
    return root("dpkg", "--force-confold", "--install", f"/mnt/{package.name}")


def version(root):
    return root("dpkg-query", "--show", "--showformat=${Status} ${Version}", "drover")


class Service:
    """A unit's program, started as the unit says."""

    def __init__(self, root, name):
        self.root, self.name = root, name
        root("systemctl", "start", name)

    def alive(self):
        return self.root.try_out("systemctl", "is-active", self.name).returncode == 0

    def log(self):
        return self.root.read(f"/run/{self.name}.log")

    def stop(self):
        self.root("systemctl", "stop", self.name)


def serve(root):
    address = root.path / "var/lib/drover/server/address"
    address.unlink(missing_ok=True)
    server = Service(root, "drover-server")
    wait_until(lambda: (address.exists() and address.read_text().endswith("\n")) or not server.alive(), "the server to listen")
    assert server.alive(), server.log()
    return server


def drover(root, *words):
    address = root.read("/var/lib/drover/server/address").strip()
    return root("drover", *words, env={"DROVER_DATA": "/var/lib/drover", "DROVER_SERVER": address})


def job_of(root, name):
    return json.loads(drover(root, "status", name, "--json").splitlines()[-1])


# --- what is in it


def test_it_says_what_it_is(package):
    said = fields(package)
    assert said["Package"] == "drover" and said["Section"] == "admin" and said["Priority"] == "optional"
    assert said["Version"] == re.search(r"project\(drover VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
    assert said["Architecture"] == subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True).stdout.strip()
    assert package.name == f"drover_{said['Version']}_{said['Architecture']}.deb"
    assert not said["Description"].lower().startswith(("a ", "the ", "drover")) and len(said["Description"]) < 80
    described = dpkg_deb("--field", package, "Description").splitlines()[1:]
    assert described and all(line.startswith(" ") and len(line) <= 80 for line in described), described
    needs = set(needs_of(package))
    assert {"passwd", "libc6", "libsqlite3-0", "libssl3", "libcurl4", "libseccomp2", "libarchive13"} <= needs, needs
    assert said["Recommends"] == "crun | runc, skopeo"
    assert not [need for need in needs if need.endswith("-dev")]
    assert re.fullmatch(r".+ <\S+@\S+>", said["Maintainer"])


def test_its_files_are_roots_and_where_they_belong(package):
    names = set()
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as files:
        for file in files:
            name = file.name.removeprefix(".")
            names.add(name)
            assert (file.uid, file.gid) == (0, 0), name
            assert file.isdir() or file.isfile() or file.issym(), name
            right = 0o755 if file.isdir() or name.startswith("/usr/bin/") else 0o644
            assert file.issym() or file.mode == right, (name, oct(file.mode))
    for name in ("/usr/bin/drover", "/usr/bin/drover-runtime", "/usr/bin/drover-hook", "/usr/lib/systemd/system/drover-server.service", "/usr/lib/systemd/system/drover-worker.service",
                 "/etc/drover/server.toml", "/etc/drover/worker.toml", "/usr/share/doc/drover/copyright", "/usr/share/doc/drover/changelog.gz",
                 "/usr/share/doc/drover/docs/quick-start.md", "/usr/share/doc/drover/docs/operations.md"):
        assert name in names
    strange = [name for name in names if not re.match(r"/?$|/etc(/drover.*)?$|/usr(/bin(/drover(-runtime|-hook)?)?|/lib(/systemd.*)?|/share(/(doc|man|bash-completion|"
                                                      r"zsh|fish)(/.*)?)?)?$", name)]
    assert strange == []


def test_its_program_is_stripped_and_its_papers_are_in_order(unpacked):
    assert ".symtab" not in subprocess.run(["readelf", "--sections", unpacked / "usr/bin/drover"], check=True, capture_output=True, text=True).stdout
    assert (unpacked / "usr/share/doc/drover/copyright").read_text().startswith("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/")
    changes = subprocess.run(["dpkg-parsechangelog", "--file", "-"], input=gzip.open(unpacked / "usr/share/doc/drover/changelog.gz", "rb").read(),
                             capture_output=True)
    assert changes.returncode == 0 and changes.stderr == b"" and b"Version: " in changes.stdout, changes
    assert (unpacked / "usr/share/doc/drover/CHANGELOG.md").read_text() == (SOURCE / "CHANGELOG.md").read_text()
    sums = subprocess.run(["md5sum", "--check", "--quiet", "DEBIAN/md5sums"], cwd=unpacked, capture_output=True, text=True)
    assert sums.returncode == 0, sums
    config = {f"/{path.relative_to(unpacked)}" for path in (unpacked / "etc").rglob("*") if path.is_file()}
    assert set((unpacked / "DEBIAN/conffiles").read_text().split()) == config
    for script in ("postinst", "prerm", "postrm"):
        path = unpacked / "DEBIAN" / script
        assert path.stat().st_mode & 0o777 == 0o755 and path.read_text().startswith("#!/bin/sh\nset -e\n")
        subprocess.run(["sh", "-n", path], check=True)
    for link in re.findall(r"^Documentation=file://(\S+)$", "".join(unit.read_text() for unit in unpacked.rglob("*.service")), re.MULTILINE):
        assert (unpacked / link.lstrip("/")).exists(), link


def test_links_between_its_pages_lead_somewhere(unpacked):
    pages = unpacked / "usr/share/doc/drover"
    for page in (pages / "docs").glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists() or link.startswith(("../src/", "../deploy/", "pictures/")), (page.name, link)


def test_it_brings_what_the_program_says_of_itself(unpacked):
    """Completions and manual pages, where the program can write them."""
    share = unpacked / "usr/share"
    knows = subprocess.run([BINARY, "--help"], check=True, capture_output=True, text=True).stdout
    for shell, place in (("bash", "bash-completion/completions/drover"), ("zsh", "zsh/vendor-completions/_drover"),
                         ("fish", "fish/vendor_completions.d/drover.fish")):
        assert (share / place).exists() == ("\n  completion " in knows), place
        if (share / place).exists():
            said = subprocess.run([BINARY, "completion", shell], check=True, capture_output=True, text=True).stdout
            assert (share / place).read_text() == said and "drover" in said
    assert (share / "man/man1/drover.1.gz").exists() == ("\n  man " in knows)
    for page in share.glob("man/**/*"):
        assert page.is_dir() or gzip.open(page, "rt").read().startswith(".TH"), page


# --- its units


def settings(root, unit):
    return re.findall(r"^(\w+)=(.*)$", root.read(f"/usr/lib/systemd/system/{unit}.service"), re.MULTILINE)


def test_systemd_finds_no_fault_in_its_units(debian, package):
    install(debian, package)
    for unit in ("drover-server", "drover-worker"):
        done = debian.try_out("systemd-analyze", "verify", "--man=no", f"/usr/lib/systemd/system/{unit}.service")
        ours = [line for line in done.stderr.splitlines() if "drover" in line]
        assert done.returncode == 0 and ours == [], done
    done = debian.try_out("systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={MOST_EXPOSED}",
                          "/usr/lib/systemd/system/drover-server.service")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def test_a_worker_may_make_cgroups_and_drains_when_it_is_stopped(debian, package):
    install(debian, package)
    said = dict(settings(debian, "drover-worker"))
    assert (said["Delegate"], said["KillMode"]) == ("yes", "mixed")
    assert (said["Restart"], said["RestartPreventExitStatus"]) == ("on-failure", "2"), "a key that was refused is refused again"
    hours = re.fullmatch(r"(\d+)h", said["TimeoutStopSec"])
    assert hours and int(hours[1]) >= 1
    assert said["User"] == "drover-worker" and dict(settings(debian, "drover-server"))["User"] == "drover"


# --- its life


def test_it_is_installed_upgraded_removed_installed_again_and_purged(debian, package, older):
    before = set(debian.changed())
    debian.plays_systemd()

    install(debian, older)
    assert version(debian) == "install ok installed 0.0.9"
    assert not [call for call in debian.systemctl_calls() if "start" in call], "a first installation starts nothing"
    for user in ("drover", "drover-worker"):
        assert debian("getent", "passwd", user).strip().endswith(f":/var/lib/{user}:/usr/sbin/nologin")
    assert debian("stat", "--format=%U:%G %a", "/etc/drover/worker.toml") == "root:drover-worker 640\n"

    # Somebody changes a setting, and has a ledger of an older Drover.
    debian.write("/etc/drover/server.toml", 'listen = ["127.0.0.1:0"]\n')
    ledger = debian.share / "drover.db"
    connection = sqlite3.connect(ledger)
    connection.executescript(GOLDEN.read_text())
    connection.close()
    debian("install", "-d", "-o", "drover", "-g", "drover", "-m", "0700", "/var/lib/drover", "/var/lib/drover/server")
    debian("install", "-o", "drover", "-g", "drover", "-m", "0600", "/mnt/drover.db", "/var/lib/drover/server/drover.db")

    install(debian, package)
    assert version(debian) == f"install ok installed {fields(package)['Version']}"
    assert debian.read("/etc/drover/server.toml") == 'listen = ["127.0.0.1:0"]\n', "what somebody changed is theirs"
    assert debian.read("/etc/drover/worker.toml") == (SOURCE / "deploy/deb/worker.toml").read_text(), "what nobody changed is new"
    assert debian("stat", "--format=%U:%G %a", "/etc/drover/worker.toml") == "root:drover-worker 640\n"
    calls = debian.systemctl_calls()
    assert "daemon-reload" in calls and "try-restart drover-server.service" in calls
    assert not [call for call in calls if "drover-worker" in call], "a worker has items: nobody stops it for an upgrade"

    server = serve(debian)
    assert job_of(debian, "old")["counts"]["succeeded"] == 5
    schema = json.loads(debian("drover", "version", "--json"))["schema"]
    assert debian("stat", "--format=%U %a", "/var/lib/drover", "/var/lib/drover/server/keys.json") == "drover 700\ndrover 600\n"

    token = drover(debian, "key", "join", "--quiet").strip()
    debian("sh", "-c", f"echo 'join = \"{token}\"' >>/etc/drover/worker.toml")
    worker = Service(debian, "drover-worker")
    drover(debian, "submit", "--name", "job", "--range", "1-20", "--", "sh", "-c", "echo item $1 by $(id -un)", "sh", "{}")
    wait_until(lambda: not worker.alive() or job_of(debian, "job")["state"] == "succeeded", "the job to end")
    assert worker.alive(), worker.log()
    assert drover(debian, "logs", "job:6") == "item 7 by drover-worker\n"

    # The next upgrade comes while both run: the server is the new one, and the worker goes on.
    install(debian, package)
    wait_until(server.alive, "the server to run again")
    assert worker.alive()
    assert sorted(debian("find", "/var/lib/drover", "/var/lib/drover-worker", "-user", "root").split()) == []

    debian("dpkg", "--remove", "drover")
    assert not server.alive() and not worker.alive()
    assert not debian.exists("/usr/bin/drover") and version(debian).startswith("deinstall ok config-files")
    assert token in debian.read("/etc/drover/worker.toml") and debian.exists("/var/lib/drover/server/drover.db")
    debian("sh", "-c", "cp /var/lib/drover/server/drover.db* /mnt/")
    connection = sqlite3.connect(ledger)
    assert connection.execute("SELECT version FROM schema_version").fetchall() == [(schema,)]
    connection.close()

    install(debian, package)
    server = serve(debian)
    assert [job_of(debian, name)["counts"]["succeeded"] for name in ("old", "job")] == [5, 20]

    debian("dpkg", "--purge", "drover")
    assert not server.alive()
    assert debian.try_out("dpkg-query", "--show", "drover").returncode != 0
    left = [path for path in debian.changed() if path not in before and not path.startswith(OWN_TRACES) and debian.differs(path)]
    assert left == []
    for folder in ("/etc/drover", "/var/lib/drover", "/var/lib/drover-worker", "/usr/share/doc/drover"):
        assert not debian.exists(folder)


def test_a_settings_file_that_somebody_removed_stays_away(debian, package, older):
    install(debian, older)
    (debian.path / "etc/drover/worker.toml").unlink()
    install(debian, package)
    assert not debian.exists("/etc/drover/worker.toml")
    assert version(debian) == f"install ok installed {fields(package)['Version']}"


def test_a_program_that_will_not_go_does_not_stand_in_the_way_of_a_purge(debian, package):
    """What is left of a worker's items may still run as its user."""
    install(debian, package)
    left = subprocess.Popen(debian.words(["setpriv", "--reuid=drover-worker", "--clear-groups", "sh", "-c", "touch /tmp/runs; exec sleep 1000"]))
    wait_until(lambda: debian.exists("/tmp/runs"), "the program to run")
    debian("dpkg", "--purge", "drover")
    left.kill()
    left.wait()
    assert not debian.exists("/var/lib/drover")


if SOAK:

    @pytest.fixture
    def booted(package, tmp_path):
        with BootedDebian(tmp_path / "booted", debootstrapped(BUILD, package)) as root:
            shutil.copy(package, root.share)
            root("apt-get", "install", "-qq", "-y", f"/mnt/{package.name}", seconds=300)
            yield root

    def test_systemd_drains_a_worker_and_brings_a_server_back(booted):
        booted("systemctl", "enable", "--now", "drover-server")
        token = drover(booted, "key", "join", "--quiet").strip()
        booted("sh", "-c", f"echo 'join = \"{token}\"' >>/etc/drover/worker.toml")
        booted("systemctl", "enable", "--now", "drover-worker")
        drover(booted, "submit", "--name", "slow", "--range", "1-2", "--workdir", "/tmp", "--", "sleep", "3")
        wait_until(lambda: job_of(booted, "slow")["counts"]["running"] > 0, "the items to run")

        first = booted("systemctl", "show", "--value", "--property=MainPID", "drover-server").strip()
        booted("systemctl", "kill", "--signal=KILL", "drover-server")
        wait_until(lambda: booted("systemctl", "show", "--value", "--property=MainPID", "drover-server").strip() not in (first, "0"),
                   "systemd to start the server again")
        wait_until(lambda: booted.try_out("systemctl", "is-active", "drover-server").returncode == 0, "the server to be up")

        running = job_of(booted, "slow")["counts"]["running"]
        booted("systemctl", "stop", "drover-worker")
        job = job_of(booted, "slow")
        assert job["counts"]["succeeded"] >= running and job["counts"]["running"] == 0, job
        said = [json.loads(line) for line in drover(booted, "items", "slow", "--json").splitlines()]
        assert [item["attempts"] for item in said if item["state"] == "succeeded"] == [1] * job["counts"]["succeeded"], "nothing was killed"
        assert booted("systemctl", "show", "--value", "--property=Result", "drover-worker") == "success\n"
