"""RQ's queues, jobs and workers in the administration: behind its login, confirmed, and logged."""

from __future__ import annotations

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from redis import Redis
from rq import Queue, Worker

from plays import queues
from tests.integration.admin_world import signed_in

HOME = "/admin/django_rq/dashboard/"


@pytest.fixture
def client(db: None) -> Client:
    return signed_in(User.objects.create_superuser("olivia"))


@pytest.fixture
def queue(valkey: Redis) -> Queue:
    """The queue of runs, as RQ has it: a job is in it at once, not when a transaction commits."""
    runs = queues.runs_queue()
    return Queue(runs.name, connection=runs.connection)


def page(name: str, *values: object) -> str:
    return reverse(f"admin:django_rq_{name}", args=values)


def number_of(queue: Queue) -> int:
    """Give the queue's number in the administration's addresses."""
    from django_rq.settings import get_queues_list

    return [config["name"] for config in get_queues_list()].index(queue.name)


def add_job(queue: Queue) -> str:
    return str(queue.enqueue("plays.jobs.execute_run", "a-run", job_id="run-1").id)


def logged() -> list[tuple[str, str]]:
    entries = LogEntry.objects.order_by("pk")
    return [(entry.object_repr, entry.get_change_message()) for entry in entries]


def test_the_index_leads_to_the_queues(client: Client) -> None:
    index = client.get(reverse("admin:index")).text
    assert f'href="{HOME}"' in index
    assert "Queues, jobs and workers" in index


def test_the_queues_and_their_jobs_are_shown(client: Client, queue: Queue) -> None:
    job = add_job(queue)
    number = number_of(queue)
    assert "runs" in client.get(HOME).text
    assert job in client.get(page("jobs", number)).text
    for name in ("queue_details", "finished_jobs", "failed_jobs", "started_jobs", "workers"):
        assert client.get(page(name, number)).status_code == 200
    assert client.get(page("job_detail", number, job)).status_code == 200
    assert client.get(page("home_json")).json()["queues"]


@pytest.mark.parametrize("name", ["jobs", "finished_jobs", "failed_jobs", "workers"])
def test_lists_of_jobs_hold_no_script_that_the_policy_refuses(
    client: Client, queue: Queue, name: str
) -> None:
    add_job(queue)
    html = client.get(page(name, number_of(queue))).text
    assert not re.search(r"<script(?![^>]*\ssrc=)[^>]*>", html)


def test_all_jobs_of_a_list_can_be_chosen(client: Client, queue: Queue) -> None:
    add_job(queue)
    html = client.get(page("jobs", number_of(queue))).text
    assert "admin/js/actions.js" in html
    assert 'class="action-counter" data-actions-icnt="1"' in html


def test_a_worker_is_shown(client: Client, queue: Queue) -> None:
    worker = Worker([queue], connection=queue.connection)
    worker.register_birth()
    number = number_of(queue)
    assert worker.name in client.get(page("workers", number)).text
    assert client.get(page("worker_details", number, worker.key)).status_code == 200


def test_the_password_of_the_server_is_not_shown(client: Client, queue: Queue) -> None:
    password = queue.connection.connection_pool.connection_kwargs.get("password")
    for address in (HOME, page("queue_details", number_of(queue)), page("home_json")):
        assert not password or password not in client.get(address).text


def test_emptying_a_queue_is_confirmed_and_logged(client: Client, queue: Queue) -> None:
    add_job(queue)
    where = page("clear", number_of(queue))
    assert client.get(where).status_code == 200
    assert len(queue) == 1
    client.post(where)
    assert len(queue) == 0
    assert logged() == [("queue runs", "Clear.")]


def test_jobs_are_deleted_once_it_is_confirmed(client: Client, queue: Queue) -> None:
    job = add_job(queue)
    number = number_of(queue)
    chosen = {"action": "delete", "_selected_action": [job]}
    assert job in client.post(page("confirm_action", number), chosen).text
    assert (len(queue), logged()) == (1, [])
    client.post(page("actions", number), {"action": "delete", "job_ids": [job]})
    assert (len(queue), logged()) == (0, [("queue runs", "Delete: run-1.")])


@pytest.mark.parametrize("name", ["requeue_job", "enqueue_job", "stop_job"])
def test_a_button_that_acts_at_once_asks_first(client: Client, queue: Queue, name: str) -> None:
    job = add_job(queue)
    answer = client.post(page(name, number_of(queue), job))
    assert "No, go back" in answer.text
    assert "Job run-1 of runs." in answer.text
    assert logged() == []


def test_a_deferred_job_is_queued_once_it_is_confirmed(client: Client, queue: Queue) -> None:
    job = add_job(queue)
    queue.remove(job)
    client.post(page("enqueue_job", number_of(queue), job), {"confirmed": "yes"})
    assert queue.job_ids == [job]
    assert logged() == [("job run-1 of runs", "Enqueue job.")]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("job_detail", (0, "no-such-job")),
        ("delete_job", (0, "no-such-job")),
        ("worker_details", (0, "rq:worker:nobody")),
        ("queue_details", (9,)),
    ],
)
def test_what_is_gone_is_not_found(
    client: Client, queue: Queue, name: str, values: tuple[object, ...]
) -> None:
    assert client.get(page(name, *values)).status_code == 404


def test_whoever_is_not_staff_gets_the_login(db: None, queue: Queue) -> None:
    add_job(queue)
    for client in (Client(), signed_in(User.objects.create_user("charlie"))):
        for address in (HOME, page("clear", number_of(queue)), page("home_json")):
            assert client.post(address)["Location"].startswith("/admin/login/")
    assert len(queue) == 1


def test_staff_without_the_permission_see_and_empty_nothing(db: None, queue: Queue) -> None:
    add_job(queue)
    person = User.objects.create_user("dana", is_staff=True)
    client = signed_in(person)
    assert client.get(HOME).status_code == 403
    assert client.post(page("clear", number_of(queue))).status_code == 403
    assert len(queue) == 1
    person.user_permissions.add(Permission.objects.get(codename="admin"))
    assert client.get(HOME).status_code == 200


def test_a_server_out_of_reach_is_told(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from django_rq.settings import get_queues_list

    for config in get_queues_list():
        monkeypatch.setitem(config["connection_config"], "URL", "redis://127.0.0.1:1/0")
    answer = client.get(HOME, follow=True)
    assert "Valkey is out of reach, so its queues cannot be shown." in answer.text
