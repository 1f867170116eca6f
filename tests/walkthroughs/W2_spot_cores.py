"""W2: thousands of spot cores. One job over a long list of items: submitted, watched, searched, cancelled; then the same through AWS Batch's API, a
Pub/Sub subscription, Kubernetes and the SDK."""

import http.server
import json
import subprocess
import threading

import images
import pytest

from clients import REGION, ROOT, Missing, http_json, missing, part, program, within
from drover import Gate, wait_until
from test_server import worker

MANY = 250_000


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logic") / "box"
    images.Image([images.busybox_layer()], Env=["PATH=/bin"]).write_layout(folder)
    return f"oci:{folder}"


def submit(world, name, *words, **options):
    done = world.server.cli("submit", "--json", "--name", name, *words, **options)
    assert done.status == 0, done
    return done.json_lines[0]


def items(world, name, *words):
    done = world.server.cli("items", name, "--json", *words)
    assert done.status == 0, done
    return done.json_lines


def test_01_a_container_whose_exit_code_decides(world, image):
    submit(world, "logic", "--image", image, "--", "sh", "-c", "echo looked at {}; exit {}", ":::", "0", "3", "0", "7")
    job = world.server.ends("logic")
    assert (job["state"], job["counts"]["succeeded"], job["counts"]["failed"]) == ("failed", 2, 2)
    assert [item["last"]["exit_code"] for item in items(world, "logic")] == [0, 3, 0, 7]


def test_02_cpu_and_memory_per_item(world, image):
    submit(world, "sized", "--image", image, "--cpus", "0.5", "--memory", "96MiB", "--", "sh", "-c", "{}", ":::",
           "true", "a=x; while :; do a=$a$a$a$a; done")
    world.server.ends("sized")
    small, large = items(world, "sized")
    assert small["state"] == "succeeded"
    assert large["state"] == "failed" and large["last"]["reason"].startswith("out of memory"), large
    # More than any machine has: it waits, and says for what.
    submit(world, "huge", "--cpus", "1000", "--", "true", ":::", "a")
    assert "1000" in world.server.cli("why", "huge").out
    assert world.server.cli("cancel", "huge").status == 0


def test_03_a_shared_file_system_to_read_and_write(world, image):
    shared = world.folder / "shared"
    (shared / "in").mkdir(parents=True)
    (shared / "out").mkdir()
    for name in ("a", "b"):
        (shared / "in" / name).write_text(f"{name} was read\n")
    submit(world, "shared", "--image", image, "--mount", f"{shared}/in:/in:ro", "--mount", f"{shared}/out:/out", "--", "sh", "-c", "cat /in/{} >/out/{}",
           ":::", "a", "b")
    assert world.server.ends("shared")["state"] == "succeeded"
    assert [(shared / "out" / name).read_text() for name in ("a", "b")] == ["a was read\n", "b was read\n"]


def test_03_a_bucket_prefix_to_read_and_write(world, aws, image):
    aws("s3", "mb", "s3://walkthrough-items")
    for name in ("a", "b"):
        (world.folder / name).write_text(f"{name} was read\n")
        aws("s3", "cp", world.folder / name, f"s3://walkthrough-items/in/{name}")
    submit(world, "staged", "--items", "s3://walkthrough-items/in/", "--output", "s3://walkthrough-items/out/", "--image", image, "--", "sh", "-c",
           "tr a-z A-Z <{} >$DROVER_OUTPUT_DIR/{/}.txt")
    assert world.server.ends("staged")["state"] == "succeeded"
    assert aws("s3", "cp", "s3://walkthrough-items/out/b.txt", "-") == "B WAS READ\n"


def test_04_submit_250_000_items_with_metadata_in_one_call(world):
    path = world.folder / "list.jsonl"
    path.write_text("".join(json.dumps({"uri": f"s3://photos/{number:06}.jpg", "label": f"class-{number % 10}"}) + "\n" for number in range(MANY)))
    job = submit(world, "many", "--jsonl", path, "--", "sh", "-c", "echo {uri} {label}; sleep 0.2")
    assert job["total"] == MANY
    wait_until(lambda: world.server.job("many")["counts"]["succeeded"] >= 4, "some of them to end")
    status, answer = world.server.ask("GET", f"/api/v1/jobs/many/items?from={MANY - 1}")
    last, = answer["items"]
    assert status == 200 and json.loads(last["item"]) == {"uri": "s3://photos/249999.jpg", "label": "class-9"}


def test_04_local_paths_become_bucket_paths(world):
    folder = world.folder / "photos"
    folder.mkdir()
    for name in ("a.jpg", "b.jpg"):
        (folder / name).touch()
    submit(world, "mapped", "--dir", folder, "--map", f"{folder}=s3://photos/in", "--", "echo", "{}")
    assert sorted(item["item"] for item in items(world, "mapped")) == ["s3://photos/in/a.jpg", "s3://photos/in/b.jpg"]


def test_05_cancel(world):
    assert world.server.job("many")["state"] == "running"
    assert world.server.cli("cancel", "many").status == 0
    job = wait_until(lambda: (it := world.server.job("many"))["state"] == "cancelled" and not it["counts"]["running"] and it, "the job to be cancelled")
    assert job["counts"]["succeeded"] >= 4 and job["counts"]["cancelled"] == MANY - job["counts"]["succeeded"] - job["counts"]["failed"]


def test_06_counts_of_succeeded_remaining_and_failed(world):
    gate = Gate(world.folder / "gate")
    lines = f"test $0 != 3 || exit 1; test $0 -lt 5 || {gate.word}"
    submit(world, "counted", "--max-running", 1, "--", "sh", "-c", lines, "{}", ":::", *range(10))
    job = wait_until(lambda: (it := world.server.job("counted"))["counts"]["running"] == 1 and it["counts"]["succeeded"] == 4 and it, "five of them to end")
    assert (job["counts"]["failed"], job["counts"]["pending"]) == (1, 4)
    shown = world.server.cli("status", "counted").out
    assert "4 succeeded" in shown and "1 failed" in shown, shown
    gate.open()
    counts = world.server.ends("counted")["counts"]
    assert (counts["succeeded"], counts["failed"]) == (9, 1)


def test_07_cpu_and_memory_use(world):
    job = submit(world, "uses", "--", "python3", "-c", "b = bytearray(50 << 20)\nfor i in range(10**6): i * i", ":::", "a")
    world.server.ends("uses")
    last = items(world, "uses")[0]["last"]
    assert last["cpu_ms"] > 0 and last["peak_memory_kib"] > 50 << 10, last
    used, = [row for row in world.server.ask("GET", "/api/v1/usage?by=job")[1]["usage"] if job["id"] in json.dumps(row)]
    assert used["used_cpu_ms"] > 0, used


def test_08_a_log_per_item_and_a_search_over_all(world):
    assert world.server.cli("logs", "logic:1").out == "looked at 3\n"
    found = world.server.cli("logs", "logic", "--grep", "at [37]", "--json").json_lines
    assert [hit["item"] for hit in found] == [1, 3]


def test_09_a_lost_machines_items_run_again_without_penalty(world):
    third = worker(world.server, "--label", "zone=spot", name="spot")
    submit(world, "lost", "--require", "zone=spot", "--retries", 0, "--", "sh", "-c", f"test -e {world.folder}/again || sleep 600", ":::", "a", "b")
    wait_until(lambda: world.server.job("lost")["counts"]["running"] == 2, "both items to run")
    (world.folder / "again").touch()
    third.kill()
    worker(world.server, "--label", "zone=spot", name="spot")
    assert world.server.ends("lost")["state"] == "succeeded"
    assert [(item["attempts"], item["state"]) for item in items(world, "lost")] == [(2, "succeeded"), (2, "succeeded")]


def test_09_as_many_machines_as_there_is_work(world):
    for path, body in (("fleets/elastic", {"provider": "local", "most": 2, "shapes": ["small"], "idle_s": 0}), ("queues/elastic", {"fleets": ["elastic"]})):
        status, answer = world.server.ask("PUT", f"/api/v1/{path}", body)
        assert status == 200, answer
    submit(world, "elastic", "--queue", "elastic", "--cpus", 1, "--require", "fleet=elastic", "--", "true", ":::", *range(4))
    before = {"w1", "w2", "spot"}
    try:
        within(lambda: {it["name"] for it in world.server.ask("GET", "/api/v1/workers")[1]["workers"]} - before, "a machine of the fleet to join")
        world.server.ends("elastic")
        within(lambda: not {it["name"] for it in world.server.ask("GET", "/api/v1/workers")[1]["workers"] if it["state"] == "alive"} - before,
               "the machines to be gone", 120)
    finally:
        world.server.cli("cancel", "elastic")


def test_10_the_same_on_aws_batch(aws, busybox):
    part(aws("batch", "create-compute-environment", "--compute-environment-name", "here", "--type", "UNMANAGED"), "computeEnvironmentArn")
    part(aws("batch", "create-job-queue", "--job-queue-name", "batch", "--priority", 1, "--compute-environment-order", "order=1,computeEnvironment=here"), "jobQueueArn")
    container = json.dumps({"image": f"docker-archive:{busybox}", "command": ["true"], "vcpus": 1, "memory": 64})
    part(aws("batch", "register-job-definition", "--job-definition-name", "array", "--type", "container", "--container-properties", container), "revision")
    job = part(aws("batch", "submit-job", "--job-name", "array", "--job-queue", "batch", "--job-definition", "array", "--array-properties", "size=100"), "jobId")

    def succeeded():
        shown = part(aws("batch", "describe-jobs", "--jobs", job), "jobs", 0)
        return shown["status"] == "SUCCEEDED" and shown["arrayProperties"]["statusSummary"]["SUCCEEDED"] == 100

    wait_until(succeeded, "the array to succeed")
    assert part(aws("batch", "list-jobs", "--job-queue", "batch", "--job-status", "SUCCEEDED"), "jobSummaryList")


@missing("the dashboard: the server has no page that shows queues by state")
def test_10_a_dashboard_of_queues_by_state(world):
    connection = world.server.connection()
    connection.request("GET", "/", headers={"Accept": "text/html"})
    response = connection.getresponse()
    page = response.read().decode()
    connection.close()
    assert response.status == 200
    if "text/html" not in response.headers["Content-Type"]:
        raise Missing(f"/ is {response.headers['Content-Type']}")
    assert "Queues" in page


@missing("Pub/Sub: the API is not there")
def test_11_a_looping_container_over_a_pubsub_subscription(world):
    base, key = f"{world.server.address}/v1/projects/walkthrough", {"Authorization": f"Bearer {world.server.key}"}
    http_json("PUT", f"{base}/topics/items", {}, key)
    http_json("PUT", f"{base}/subscriptions/items", {"topic": "projects/walkthrough/topics/items", "ackDeadlineSeconds": 60}, key)
    http_json("POST", f"{base}/topics/items:publish", {"messages": [{"data": "aXRlbQ=="}]}, key)
    received = part(http_json("POST", f"{base}/subscriptions/items:pull", {"maxMessages": 10}, key), "receivedMessages")
    assert received[0]["message"]["data"] == "aXRlbQ=="
    http_json("POST", f"{base}/subscriptions/items:acknowledge", {"ackIds": [received[0]["ackId"]]}, key)


@missing("instance groups: no machine is started from a template for messages that wait")
def test_11_preemptible_machines_from_an_instance_template(world):
    base, key = f"{world.server.address}/compute/v1/projects/walkthrough", {"Authorization": f"Bearer {world.server.key}"}
    template = {"name": "loop", "properties": {"machineType": "n1-standard-1", "scheduling": {"preemptible": True}, "metadata": {"items": [
        {"key": "gce-container-declaration", "value": "spec:\n  containers:\n  - image: drover.test/base:1\n    args: [sh, -c, 'loop']\n"}]}}}
    http_json("POST", f"{base}/global/instanceTemplates", template, key)
    http_json("POST", f"{base}/zones/{REGION}-a/instanceGroupManagers", {"name": "loop", "instanceTemplate": "loop", "targetSize": 0}, key)
    part(http_json("GET", f"{base}/zones/{REGION}-a/instanceGroupManagers/loop", None, key), "name")


@missing("Kubernetes: no provider starts pods for what waits in a queue")
def test_12_kubernetes_with_a_queue_driven_autoscaler(world):
    """A server that answers as a Kubernetes API server does, and keeps what it was asked to create."""
    created = []

    class Api(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.reply({"kind": "List", "apiVersion": "v1", "items": []})

        def do_POST(self):
            created.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply(created[-1])

        def reply(self, value):
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(value).encode())

        def log_message(self, *_):
            pass

    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=api.serve_forever, daemon=True).start()
    try:
        fleet = {"provider": "kubernetes", "most": 3, "shapes": ["pod"], "labels": {"api": f"http://127.0.0.1:{api.server_address[1]}"}}
        status, answer = world.server.ask("PUT", "/api/v1/fleets/pods", fleet)
        if status != 200:
            raise Missing(f"the fleet is refused: {answer}")
        submit(world, "pods", "--require", "fleet=pods", "--", "true", ":::", "a")
        within(lambda: any(one.get("kind") in ("Pod", "Job") for one in created), "a pod for what waits")
    finally:
        world.server.cli("cancel", "pods")
        api.shutdown()
        api.server_close()


@missing("the SDK: there is no Python package")
def test_13_an_sdk_call_submits_and_shows_progress(world):
    code = """
import drover
job = drover.submit("from-sdk", queue="default", template="word", uris=["a", "b", "c"])
job.wait()
print(job.progress().succeeded)
"""
    status, answer = world.server.ask("POST", "/api/v1/definitions", {"name": "word", "command": ["echo", "{}"]})
    assert status == 201, answer
    done = subprocess.run([program("python3"), "-P", "-c", code], capture_output=True, text=True, timeout=60, cwd=world.folder,
                          env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "sdk/python"), "DROVER_SERVER": world.server.address, "DROVER_KEY": world.server.key})
    if "No module named 'drover'" in done.stderr:
        raise Missing(done.stderr.strip())
    assert (done.returncode, done.stdout) == (0, "3\n"), done
