"""`drover report`: the page works in a real browser, from a file, without a complaint, and says what the ledger says."""


import pytest

from drover import wait_until
from page.browser import Chromium

WIDE, NARROW = 1280, 400
HOSTILE = b"</script><script>document.title='broken'</script><img src=x onerror=alert(1)>\x1b[31m \xff\xfe"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Chromium(tmp_path_factory.mktemp("chromium")) as one:
        yield one


@pytest.fixture
def report(drover, tmp_path):
    """Makes the page of a run: report("name") is its path."""

    def make(name):
        path = tmp_path / f"{name}.html"
        made = drover("report", name, "--out", path)
        assert made.status == 0, made
        return path

    return make


@pytest.fixture
def failing_run(drover):
    """Forty items on two slots; every tenth fails for good with a line of its own, every ninth at first."""
    program = ('n=$1; [ $((n % 10)) -ne 0 ] || { echo "cannot read item $n" >&2; exit 3; }; '
               '[ $((n % 9)) -ne 0 ] || [ "$DROVER_ATTEMPT" != 1 ] || exit 7; echo fine')
    ended = drover.run("--name", "r", "--jobs", 2, "--retries", 1, "--range", "1-40", "--", "sh", "-c", program, "sh", "{}")
    assert ended.status == 1, ended
    return "r"


def open_quietly(browser, path, **options):
    """Opens the page; it must have nothing to complain about, fetch nothing, and fit its window."""
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(path, **options)
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []
    shown, there = browser.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert shown <= there, f"{shown} px of page in {there} px of window"


def text_of(browser, selector):
    return browser.value(f"document.querySelector({selector!r}).textContent")


def count_of(browser, selector):
    return browser.value(f"document.querySelectorAll({selector!r}).length")


@pytest.mark.parametrize("width", [WIDE, NARROW])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_is_whole_and_quiet(browser, report, failing_run, width, dark):
    open_quietly(browser, report(failing_run), width=width, dark=dark)
    for chart in ("timeline", "duration", "memory"):
        assert count_of(browser, f"#{chart}-chart svg path") > 2, f"nothing is drawn in {chart}"
    assert text_of(browser, "h1") == failing_run
    assert count_of(browser, ".tile") == 8
    assert count_of(browser, "#slowest tbody tr") == 20
    assert count_of(browser, "#largest tbody tr") == 20


def test_the_numbers_are_those_of_the_ledger(browser, report, drover, failing_run):
    open_quietly(browser, report(failing_run))
    (succeeded, failed, total), = drover.rows(failing_run, "SELECT succeeded, failed, total FROM jobs")
    shown = {name: text_of(browser, f"[data-count={name}]") for name in ("succeeded", "failed", "total")}
    assert shown == {"succeeded": str(succeeded), "failed": str(failed), "total": str(total)}
    (attempts,), = drover.rows(failing_run, "SELECT count(*) FROM attempts")
    assert browser.value("data.bars.length") == attempts
    tiles = browser.value("[...document.querySelectorAll('.tile')].map((it) => [...it.children].map((line) => line.textContent))")
    assert ["Attempts", str(attempts), "8 retries, 0 lost"] in tiles
    (slowest,), = drover.rows(failing_run, "SELECT max(wall_us) FROM attempts")
    assert browser.value("document.querySelector('#slowest td.main').dataset.value") == str(slowest)


def test_failures_come_in_groups_with_the_way_to_their_logs(browser, report, drover, failing_run):
    open_quietly(browser, report(failing_run))
    groups = browser.value("[...document.querySelectorAll('.failure')].map((it) => it.textContent)")
    assert len(groups) == 2, groups
    assert groups[0].startswith("4 items") and "exit code 3" in groups[0] and "cannot read item" in groups[0]
    assert groups[1].startswith("4 attempts, retried") and "exit code 7" in groups[1]
    command = text_of(browser, ".failure .copy").split()
    assert command[:2] == ["drover", "logs"]
    logs = drover(*command[1:])
    assert logs.status == 0 and "cannot read item" in logs.out, logs


def test_pointing_at_a_bar_tells_what_it_was(browser, report, failing_run):
    open_quietly(browser, report(failing_run))
    x, y = browser.value("""(() => {
        const [row, , start, length] = data.bars.find((bar) => bar[4] === 2);  // a failed one
        const chart = document.querySelector("#timeline-chart svg").getBoundingClientRect();
        const scale = timeScale(44, chart.width - 46);
        return [chart.left + scale.x(start + length / 2), chart.top + lanesTop + (row + 0.5) * heightOfRows(data.rows.length)];
    })()""")
    browser.point_at(x, y)
    assert "exit code" in text_of(browser, "#tip")
    assert not browser.value("document.getElementById('tip').hidden")
    browser.point_at(1, 1)
    assert browser.value("document.getElementById('tip').hidden")


def test_a_click_sorts_a_table(browser, report, failing_run):
    open_quietly(browser, report(failing_run))
    column = """(() => {
        document.querySelector("#slowest th.item").click();
        return [...document.querySelectorAll("#slowest td.item")].map((it) => Number(it.dataset.value));
    })()"""
    falling = browser.value(column)
    assert falling == sorted(falling, reverse=True)
    assert browser.value(column) == sorted(falling)
    assert browser.complaints == []


def test_it_reads_without_scripts(browser, report, failing_run):
    browser.complaints.clear()
    browser.open(report(failing_run), scripts=False)
    assert text_of(browser, "[data-count=failed]") == "4"
    assert count_of(browser, ".failure") == 2
    assert count_of(browser, "#slowest tbody tr") == 20
    assert browser.complaints == []


def test_hostile_items_stay_text(browser, report, drover, tmp_path):
    (tmp_path / "list").write_bytes(HOSTILE + b"\n" + b"x" * 100_000 + b"\n")
    ended = drover.run("--name", "r", "--items", tmp_path / "list", "--", "sh", "-c", 'printf "%.200s" "$1" >&2; exit 1', "sh", "{}")
    assert ended.status == 1, ended
    for width in (WIDE, NARROW):
        open_quietly(browser, report("r"), width=width)
        assert browser.value("document.title").startswith("r ")
        assert count_of(browser, "img") == 0
        assert "</script><script>" in text_of(browser, "#slowest")


def test_a_run_of_one_item_has_a_page(browser, report, drover):
    assert drover.run("--name", "r", "--", "true", ":::", "a").status == 0
    open_quietly(browser, report("r"))
    assert text_of(browser, ".state") == "succeeded"
    assert count_of(browser, "#slowest tbody tr") == 1


def test_a_run_that_has_not_ended_has_a_page(browser, report, drover, gate):
    running = drover.start("run", "--name", "r", "--jobs", 1, "--", "sh", "-c", gate.word, ":::", "a", "b")
    wait_until(lambda: drover.rows_if_any("r", "SELECT 1 FROM jobs"), "the run to begin")
    open_quietly(browser, report("r"))
    assert (text_of(browser, ".state"), text_of(browser, "[data-count=left]")) == ("running", "2")
    assert not browser.value("document.getElementById('timeline').checkVisibility()")
    running.kill()
    open_quietly(browser, report("r"))
    assert (text_of(browser, ".state"), text_of(browser, "[data-count=left]")) == ("stopped", "2")


def test_more_attempts_than_bars_become_a_grid(browser, report, drover):
    ended = drover.run("--name", "r", "--jobs", 4, "--range", "1-5500", "--", "/bin/true")
    assert ended.status == 0, ended
    for width in (WIDE, NARROW):
        open_quietly(browser, report("r"), width=width)
        assert browser.value("data.bars === undefined && data.cells.length === 4")
        assert browser.value("data.cells.flatMap((row) => row.ended).reduce((a, b) => a + b)") == 5500


@pytest.mark.parametrize("fault", [
    "<script>console.warn('x')</script>", "<script>throw new Error('x')</script>", "<img src='http://localhost:1/x.png'>",
    "<div style='width: 3000px'>x</div>",
])
def test_an_injected_fault_is_noticed(browser, report, failing_run, fault):
    path = report(failing_run)
    page = path.read_text()
    path.write_text(page.replace("</main>", f"{fault}</main>"))
    with pytest.raises(AssertionError):
        open_quietly(browser, path)
    path.write_text(page)
    open_quietly(browser, path)


def test_what_cannot_be_written_is_refused_with_its_name(drover, tmp_path):
    assert drover.run("--name", "r", "--", "true", ":::", "a").status == 0
    refused = drover("report", "r", "--out", tmp_path / "missing/page.html")
    assert refused.status != 0
    assert "missing/page.html" in refused.err and "next:" in refused.err, refused
