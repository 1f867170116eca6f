"""--disk: what an item may write into its root. It is held by quotas, which not every kernel has: `make soak` tries it under Debian's own, in an emulator."""

import shutil

import emulated
import images

from drover import BINARY, SOAK

WRITE = "dd if=/dev/zero of=/big bs=1M count={} 2>&1; echo $?"


def test_it_is_held_or_refused(drover, tmp_path):
    images.plain("gzip").write_layout(tmp_path / "box")
    done = drover("run", "--name", "x", "--image", f"oci:{tmp_path}/box", "--user", "0", "--entrypoint", "", "--disk", "4MiB", "--", "sh", "-c", "{}", ":::",
                  WRITE.format(2), WRITE.format(8))
    if "cannot be enforced on this machine" in done.err:
        done.refuses("--disk cannot be enforced on this machine", "has no project quotas", "prjquota")
        assert drover.rows_if_any("x", "select * from attempts") == []
    else:
        assert done.status == 0 and drover("logs", "x:1").out.splitlines()[-1] == "1"


def script():
    lines = ["losetup /dev/loop0 /root/disk && mount -o prjquota /dev/loop0 /mnt"]
    for name, flags in {"crun": "--runtime crun", "runc": "--runtime runc", "warm": "--reuse"}.items():
        items = " ".join(f"'{WRITE.format(size)}'" for size in (10, 40, 15, 15))
        lines.append(f"drover run --data /mnt/data --quiet -j1 --name {name} --image oci:/root/box --user 0 --entrypoint '' {flags} --disk 20MiB -- sh -c '{{}}' ::: {items}")
        lines += [f"echo {name} {item} $(drover logs --data /mnt/data {name}:{item} | grep -v records | tr '\\n' ' ')" for item in range(4)]
    return "\n".join([*lines, "echo left: $(ls /mnt/data/containers)"])


if SOAK:

    def test_it_is_held_by_quotas(tmp_path):
        images.plain("gzip").write_layout(tmp_path / "box")
        disk = emulated.make_disk(tmp_path / "disk")
        said = emulated.run(tmp_path, [BINARY, shutil.which("crun"), shutil.which("runc")], [disk, tmp_path / "box"], script()).splitlines()
        for name in ("crun", "runc", "warm"):
            assert f"{name} 0 0" in said and f"{name} 2 0" in said and f"{name} 3 0" in said, said
            assert f"{name} 1 dd: error writing '/big': Disk quota exceeded 1" in said, said
        assert "left:" in said
