"""W1: a ready GPU environment. A machine from EC2's API or Terraform, a conda environment on it, and the same environment in a container."""

import json
import subprocess

import pytest

from clients import SEARCH, Missing, missing, part, program, within

GROUP, KEY, SHAPE, IMAGE = "gpu-access", "walkthrough", "g4dn.2xlarge", "ami-0123456789abcdef0"
ENVIRONMENT = """name: gpu
channels: [conda-forge]
dependencies: [python=3.11, pytorch, numpy, pandas, jupyterlab]
"""
TEST_PROGRAM = """import torch
print("CUDA is available:", torch.cuda.is_available())
for number in range(torch.cuda.device_count()):
    print(number, torch.cuda.get_device_name(number))
"""
MAIN_TF = """
variable "image" {}
variable "shape" {}
provider "aws" {}
resource "aws_instance" "gpu" {
  ami           = var.image
  instance_type = var.shape
}
output "address" { value = aws_instance.gpu.public_ip }
"""
DOCKERFILE = """FROM drover.test/base:1
COPY environment.yml /opt/environment.yml
COPY packages.txt /opt/packages.txt
RUN mkdir -p /opt/environment && cp /opt/environment.yml /opt/environment/base.yml
WORKDIR /project
"""
MAKEFILE = """PORT ?= 8888
docker_run = docker run --rm --gpus all --network none -v $(CURDIR):/project
init:
\tdocker build --network none --tag gpucontainer .
run_module:
\t$(docker_run) gpucontainer $(module)
bash_docker:
\t$(docker_run) -i gpucontainer sh
jupyter:
\t$(docker_run) gpucontainer sh -c 'echo listening on $(PORT)'
"""


def instance(aws):
    reservations = part(aws("ec2", "describe-instances", "--filters", f"Name=instance-type,Values={SHAPE}", "Name=instance-state-name,Values=pending,running"),
                        "Reservations")
    return part(reservations, 0, "Instances", 0)


def on_machine(world, aws, *words):
    """What a command prints on the machine of step 2."""
    done = world.server.cli("shell", instance(aws)["InstanceId"], "--", *words)
    if done.status != 0:
        raise Missing(f"drover shell: {done.err}")
    return done.out


def test_01_a_security_group_that_lets_ssh_in(aws):
    made = part(aws("ec2", "create-security-group", "--group-name", GROUP, "--description", "ssh"), "GroupId")
    aws("ec2", "authorize-security-group-ingress", "--group-name", GROUP, "--protocol", "tcp", "--port", 22, "--cidr", "0.0.0.0/0")
    shown, = part(aws("ec2", "describe-security-groups", "--group-names", GROUP), "SecurityGroups")
    assert (shown["GroupId"], shown["IpPermissions"][0]["FromPort"]) == (made, 22)


@missing("EC2: there is no provider behind run-instances")
def test_02_run_an_instance_of_a_shape(aws):
    made = part(aws("ec2", "run-instances", "--image-id", IMAGE, "--count", 1, "--instance-type", SHAPE, "--key-name", KEY, "--security-groups", GROUP),
                "Instances", 0)
    assert made["InstanceType"] == SHAPE
    within(lambda: instance(aws)["State"]["Name"] == "running", "the machine to run", 60)


@missing("drover shell reaches items, not machines")
def test_03_a_shell_on_it(world, aws):
    assert on_machine(world, aws, "echo", "here") == "here\n"


@missing("machines: there is none to make an environment on")
def test_04_a_conda_environment_on_it(world, aws):
    on_machine(world, aws, "sh", "-c", f"printf %s '{ENVIRONMENT}' >environment.yml && micromamba create --yes --file environment.yml")
    assert "pytorch" in on_machine(world, aws, "micromamba", "list", "--name", "gpu")


@missing("machines: there is none to run a program on")
def test_05_a_program_says_which_gpus_there_are(world, aws):
    assert "CUDA is available:" in on_machine(world, aws, "micromamba", "run", "--name", "gpu", "python", "-c", TEST_PROGRAM)


@missing("EC2 and STS: Terraform's first questions are not answered")
def test_06_terraform_makes_the_machine_and_prints_its_address(world, aws):
    # What its provider asks before anything else.
    part(aws("sts", "get-caller-identity"), "Account")
    part(aws("ec2", "describe-images", "--image-ids", IMAGE), "Images")
    folder = world.folder / "terraform"
    folder.mkdir()
    (folder / "main.tf").write_text(MAIN_TF)
    (folder / "terraform.tfvars").write_text(f'image = "{IMAGE}"\nshape = "{SHAPE}"\n')
    for words in (["init", "-input=false"], ["apply", "-auto-approve", "-input=false"]):
        subprocess.run([program("terraform"), *words], cwd=folder, check=True, timeout=300, env={**aws.environment(), "AWS_ENDPOINT_URL": aws.endpoint})
    shown = subprocess.run([program("terraform"), "output", "-json"], cwd=folder, check=True, timeout=60, capture_output=True, text=True)
    assert json.loads(shown.stdout)["address"]["value"]


@pytest.fixture(scope="module")
def project(docker):
    """The folder in which the user works, with the Makefile of the walkthrough."""
    folder = docker.folder / "gpucontainer"
    folder.mkdir(exist_ok=True)
    (folder / "environment.yml").write_text(ENVIRONMENT)
    (folder / "packages.txt").write_text("git\nlibgl1\n")
    (folder / "Makefile").write_text(MAKEFILE)

    class Project:
        path = folder

        def make(self, *words, input=""):
            environment = {"PATH": SEARCH, "HOME": str(docker.folder), "DOCKER_HOST": docker.daemon.host, "DOCKER_BUILDKIT": "0"}
            return subprocess.run([program("make"), *words], cwd=folder, env=environment, input=input, capture_output=True, text=True, timeout=120)

        def make_with_gpus(self, *words, input=""):
            done = self.make(*words, input=input)
            assert done.returncode == 0, done
            return done.stdout

    return Project()


def test_07_a_dockerfile_puts_the_environment_into_the_base(project, docker):
    (project.path / "Dockerfile").write_text(DOCKERFILE)
    docker("build", "--network", "none", "--tag", "environment-alone", project.path)
    shown = docker("run", "--rm", "--network", "none", "environment-alone", "cat", "/opt/environment/base.yml", "/opt/packages.txt")
    assert shown == ENVIRONMENT + "git\nlibgl1\n"


def test_08_make_init_builds_the_image(project, docker):
    done = project.make("init")
    assert done.returncode == 0, done
    assert docker("images", "--quiet", "gpucontainer")


def test_09_make_run_module_with_gpus(project):
    (project.path / "test.py").write_text(TEST_PROGRAM)
    assert "NVIDIA-SMI" in project.make_with_gpus("run_module", "module=nvidia-smi")
    assert "GPU 1:" in project.make_with_gpus("run_module", "module=sh -c 'nvidia-smi && test -e /project/test.py'")


def test_10_make_bash_docker(project):
    assert "NVIDIA-SMI" in project.make_with_gpus("bash_docker", input="nvidia-smi\nexit\n")


@pytest.mark.parametrize("words, port", [([], "8888"), (["-e", "PORT=8886"], "8886")])
def test_11_make_jupyter(project, words, port):
    assert f"listening on {port}" in project.make_with_gpus("jupyter", *words)
