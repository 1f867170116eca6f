#!/usr/bin/python3
"""Containers per second on this machine: drover run --image against bare crun and runc, docker run and docker exec.

An item is busybox's `true` in an image of busybox alone; output captured and every attempt durable, in a fresh folder on disk.

  drover fresh           a container for each item, by the runtime it is held against
  drover warm, none      one container a slot, as the item before left it
  drover warm, overlay   the same, with the image's file system anew for each item
  bare run               the runtime's own `run`, started by a loop that does nothing else; the root a plain folder
  bare create            create, start and delete, likewise
  docker run, exec       a daemon of its own, without a network

The bare runtime gets the very spec that drover gives it, so both make the same namespaces, mounts, cgroups and filter. A round runs every
contender once, in an order that moves by one from round to round; ratios are taken within a round.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import harness

BUSYBOX = "/bin/busybox"
UNIFIED = pathlib.Path("/sys/fs/cgroup/unified")


def make_root(folder):
    for name in ("bin", "tmp", "etc", "proc", "sys", "dev"):
        (folder / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, folder / "bin/busybox")
    return folder


def drover_command(flags, work, items, at_a_time, *more):
    return [flags.build / "bin/drover", "run", "--data", work / "data", "--quiet", "-j", at_a_time, "--image", f"rootfs:{work / 'root'}",
            "--range", f"1-{items}", *more, "--", "/bin/busybox", "true"]


def spec_of_drover(flags, work, runtime):
    """What drover tells this runtime, taken from a container while it runs."""
    command = [flags.build / "bin/drover", "run", "--data", work / "data", "--quiet", "-j1", "--image", f"rootfs:{work / 'root'}",
               "--runtime", runtime, "--", "/bin/busybox", "sleep", "5", ":::", "x"]
    with subprocess.Popen([str(word) for word in command], env=harness.environment()) as process:
        try:
            deadline = time.monotonic() + 30
            while not (found := list((work / "data/containers").glob("*/1/config.json"))) or not found[0].stat().st_size:
                if time.monotonic() > deadline:
                    sys.exit("bench: drover made no container")
                time.sleep(0.02)
            spec = json.loads(found[0].read_text())
            etc = found[0].parent / "etc"
            shutil.copytree(etc, work / "etc", dirs_exist_ok=True)
        finally:
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            process.wait()
    spec["process"]["args"] = ["/bin/busybox", "true"]
    spec["mounts"] = [mount for mount in spec["mounts"] if not mount["destination"].endswith("drover-init")]
    for mount in spec["mounts"]:
        if mount["destination"].startswith("/etc/"):
            mount["source"] = str(work / "etc" / pathlib.Path(mount["source"]).name)
    return spec


class Contender:
    def __init__(self, name, items, at_a_time):
        self.name, self.items, self.at_a_time = name, items, at_a_time

    def timed(self, work):
        raise NotImplementedError


class Drover(Contender):
    def __init__(self, flags, name, items, at_a_time, *more):
        super().__init__(name, items, at_a_time)
        self.flags, self.more = flags, more

    def timed(self, work):
        shutil.rmtree(work / "data", ignore_errors=True)
        command = drover_command(self.flags, work, self.items, self.at_a_time, "--name", "bench", *self.more)
        start = time.perf_counter()
        done = subprocess.run([str(word) for word in command], env=harness.environment())
        seconds = time.perf_counter() - start
        with sqlite3.connect(work / "data/runs/bench/drover.db") as ledger:
            succeeded = ledger.execute("SELECT count(*) FROM items WHERE state = 'succeeded'").fetchone()[0]
        ledger.close()
        if done.returncode != 0 or succeeded != self.items:
            sys.exit(f"bench: {self.name}: the ledger has {succeeded} succeeded items of {self.items}")
        return self.items / seconds


class Bare(Contender):
    """The runtime itself."""

    def __init__(self, flags, runtime, way, items, at_a_time, spec):
        super().__init__(f"bare {runtime} {way}", items, at_a_time)
        self.flags, self.runtime, self.way, self.spec = flags, shutil.which(runtime), way, spec

    def timed(self, work):
        bundle = work / "bundle"
        shutil.rmtree(bundle, ignore_errors=True)
        bundle.mkdir()
        state = bundle / "state"
        # Two at a time may not share a cgroup.
        for slot in range(self.at_a_time):
            folder = bundle / str(slot)
            folder.mkdir()
            spec = dict(self.spec, root={"path": str(work / "root")}, linux=dict(self.spec["linux"], cgroupsPath=f"{self.spec['linux']['cgroupsPath']}-bare-{slot}"))
            (folder / "config.json").write_text(json.dumps(spec))
        run = f"{self.runtime} --root {state} "
        script = f"{run} run --bundle {bundle}/SLOT cSLOT.{{}}"
        if self.way == "create":
            script = (f"{run} create --bundle {bundle}/SLOT cSLOT.{{}} && {run} start cSLOT.{{}} && "
                      f"{run} delete --force cSLOT.{{}}")
        loops = []
        enter = []
        if "crun" in self.runtime and UNIFIED.is_mount():  # crun refuses both versions of cgroups side by side
            enter = ["unshare", "-m", "--propagation", "private", "sh", "-c", f"umount {UNIFIED}; exec \"$@\"", "sh"]
        start = time.perf_counter()
        for slot in range(self.at_a_time):
            words = script.replace("SLOT", str(slot))
            one = ["/bin/sh", "-c", words] if self.way == "create" else words.split()
            loops.append(subprocess.Popen([*enter, str(self.flags.build / "bench/spawn_loop"), str(self.items // self.at_a_time), "1", *one],
                                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
        if any([loop.wait() for loop in loops]):
            sys.exit(f"bench: {self.name} failed")
        return self.items / (time.perf_counter() - start)


class Docker(Contender):
    def __init__(self, flags, daemon, way, items, at_a_time):
        super().__init__(f"docker {way}", items, at_a_time)
        self.flags, self.daemon, self.way = flags, daemon, way

    def timed(self, work):
        if self.way == "exec":
            name = self.daemon.docker("run", "-d", "--network", "none", "bench", "/bin/busybox", "sleep", "1000").strip()
            words = ["exec", name, "/bin/busybox", "true"]
        else:
            words = ["run", "--rm", "--network", "none", "bench", "/bin/busybox", "true"]
        command = [str(self.flags.build / "bench/spawn_loop"), str(self.items), str(self.at_a_time), *self.daemon.command(), *words]
        start = time.perf_counter()
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        if self.way == "exec":
            self.daemon.docker("rm", "-f", name)
        if done.returncode != 0:
            sys.exit(f"bench: {self.name} failed")
        return self.items / seconds


class Daemon:
    """A Docker daemon with folders and a socket of its own."""

    def __init__(self, work):
        self.work = work / "docker"
        self.work.mkdir()
        self.socket = f"/tmp/drover-bench-{os.getpid()}.sock"
        self.log = open(self.work / "log", "wb")
        self.process = subprocess.Popen(
            ["dockerd", "--data-root", self.work / "data", "--exec-root", self.work / "exec", "--pidfile", self.work / "pid",
             "--host", f"unix://{self.socket}", "--bridge=none", "--iptables=false", "--ip6tables=false"],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, start_new_session=True)
        deadline = time.monotonic() + 60
        while subprocess.run([*self.command(), "version"], capture_output=True).returncode != 0:
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.stop()
                sys.exit(f"bench: dockerd does not come up: {(self.work / 'log').read_text()[-2000:]}")
            time.sleep(0.2)
        tar = subprocess.run(["tar", "-C", work / "root", "-c", "."], capture_output=True, check=True).stdout
        subprocess.run([*self.command(), "import", "-", "bench"], input=tar, check=True, capture_output=True)

    def command(self):
        return [shutil.which("docker"), "--host", f"unix://{self.socket}"]

    def docker(self, *words):
        return subprocess.run([*self.command(), *words], check=True, capture_output=True, text=True).stdout

    def stop(self):
        self.process.terminate()
        self.process.wait()
        for mount in reversed(re.findall(rf" ({re.escape(str(self.work))}\S*) ", pathlib.Path("/proc/self/mountinfo").read_text())):
            subprocess.run(["umount", "-l", mount], capture_output=True)


def measure(work, contenders, rounds):
    rates = {one.name: [] for one in contenders}
    for number in range(rounds):
        harness.progress(f"{contenders[0].at_a_time} at a time: round {number + 1} of {rounds}")
        at = number % len(contenders)
        for one in contenders[at:] + contenders[:at]:
            rates[one.name].append(round(one.timed(work), 1))
    return rates


def worker_memory(flags, work, items):
    """Peak memory of drover itself over many containers, early and at the end: whether it grows."""
    shutil.rmtree(work / "data", ignore_errors=True)
    command = drover_command(flags, work, items, 2, "--name", "bench")
    samples = []
    with subprocess.Popen([str(word) for word in command], env=harness.environment()) as process:
        while process.poll() is None:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            try:
                found = re.search(r"VmRSS:\s+(\d+)", status.read_text())
            except OSError:
                found = None
            if found:
                samples.append(int(found.group(1)))
            time.sleep(0.1)
    if process.returncode != 0:
        sys.exit("bench: the long run failed")
    third = max(1, len(samples) // 3)
    return harness.median(samples[third // 2:third] or samples), harness.median(samples[-third:])


def main():
    parser = harness.options(__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=0, metavar="N", help="default: 3")
    parser.add_argument("--docker", choices=["yes", "no"], default="yes", help="whether to start a Docker daemon beside (default: yes)")
    flags = parser.parse_args()
    rounds = flags.rounds or (1 if flags.tiny else 3)
    fresh, warm, slow = (6, 30, 2) if flags.tiny else (400, 3000, 20)
    with_docker = flags.docker == "yes" and not flags.tiny
    results, targets = [], harness.Targets()
    with harness.work_folder(flags) as work:
        make_root(work / "root")
        specs = {runtime: spec_of_drover(flags, work, runtime) for runtime in ("crun", "runc")}
        daemon = Daemon(work) if with_docker else None
        try:
            for at_a_time in (1, 2):
                contenders = []
                for runtime in ("crun", "runc"):
                    contenders.append(Drover(flags, f"drover fresh, {runtime}", fresh, at_a_time, "--runtime", runtime))
                    for way in ("run", "create"):
                        contenders.append(Bare(flags, runtime, way, fresh, at_a_time, specs[runtime]))
                for reset in ("none", "overlay"):
                    contenders.append(Drover(flags, f"drover warm, {reset}", warm, at_a_time, "--reuse", "--reset", reset))
                if daemon:
                    contenders += [Docker(flags, daemon, way, slow, at_a_time) for way in ("run", "exec")]
                rates = measure(work, contenders, rounds)
                harness.print_table(f"Containers per second, {at_a_time} at a time, median of {rounds}", ["contender", "items", "items/s"],
                                    [[one.name, f"{one.items:,}", f"{harness.median(rates[one.name]):,.1f}"] for one in contenders])
                held = {}
                for runtime in ("crun", "runc"):
                    held[runtime] = harness.median(ours / max(run, create) for ours, run, create in zip(
                        rates[f"drover fresh, {runtime}"], rates[f"bare {runtime} run"], rates[f"bare {runtime} create"]))
                    targets.at_least(f"fresh, {at_a_time} at a time: drover / bare {runtime}", held[runtime], 0.8)
                results.append({"at_a_time": at_a_time, "items_per_second": rates, "fresh_to_bare": held})
        finally:
            if daemon:
                daemon.stop()
        targets.at_least("warm, reset none, two at a time, items/s", harness.median(rates["drover warm, none"]), 400)
        targets.at_least("warm, reset overlay, two at a time, items/s", harness.median(rates["drover warm, overlay"]), 200)
        early, late = worker_memory(flags, work, 60 if flags.tiny else 10_000)
        print(f"\n  memory of drover over {60 if flags.tiny else 10_000:,} containers: {early / 1024:.1f} MiB early, {late / 1024:.1f} MiB late")
        targets.below("memory late / early", late / early, 1.15)
    return harness.finish(flags, "containers", {"rounds": rounds, "results": results, "memory_kib": [early, late]}, targets)


if __name__ == "__main__":
    sys.exit(main())
