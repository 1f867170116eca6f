"""Tasks of a Celery worker whose broker is SQS, for a test that runs it with the Python of a virtual environment: `python -m celery -A sqs_tasks
worker`, and `python sqs_tasks.py COUNT` to ask for so many tasks."""

import os
import sys

import celery

app = celery.Celery("tasks", broker=os.environ["BROKER"])
app.conf.update(task_default_queue="tasks", task_acks_late=True, broker_connection_retry_on_startup=True,
                broker_transport_options={"region": "us-east-1", "is_secure": False, "visibility_timeout": 20, "wait_time_seconds": 2, "polling_interval": 0.1})


@app.task(name="double")
def double(number):
    with open(os.environ["RESULTS"], "a") as results:
        results.write(f"{2 * number}\n")


if __name__ == "__main__":
    for asked in range(int(sys.argv[1])):
        double.delay(asked)
