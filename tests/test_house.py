"""The house rules a program can check: who may include whom, and what the pure modules may not touch."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
SOURCES = ROOT / "src"
MAP = SOURCES / "README.md"

# The most that the design allows. The map may say less, and is what the sources are held against.
DESIGN = """
core → base
agent → base
wire → core, agent, base
ports → core, agent, base
engine → core, ports, base
sqlite → wire, base
store, logs, net, run, accel, objects, provide → ports, wire, base
store, objects → sqlite
keys → wire, base
notices → base
host → ports, base
run, provide → host
screen → base
page → base, core, ports, screen
run → accel
api → wire, core, ports, keys, base
server, worker, cli → everything
fleets → core, wire, ports, base
sim → base, core, agent, engine, wire, ports, api, store, fleets
runtime → accel, wire, base
"""

PURE_ROOMS = {"core", "agent"}
PURE_BANS = {
    "a clock": r"\b(system_clock|steady_clock|high_resolution_clock|clock_gettime|gettimeofday|localtime|gmtime)\b"
               r"|(?<![\w.>:])(std::)?time\(|#include <(chrono|ctime|time\.h|sys/time\.h)>",
    "a thread": r"\bstd::(thread|jthread|mutex|shared_mutex|atomic|condition_variable|async|future|promise)\b|\bthread_local\b"
                r"|\bpthread_|#include <(thread|mutex|shared_mutex|atomic|condition_variable|future|semaphore|latch"
                r"|barrier|stop_token|pthread\.h)>",
    "a file": r"\b(fopen|[io]?fstream|std::filesystem|std::(cout|cerr|clog|cin)|printf|fprintf|puts)\b|(?<![\w.>])::open\("
              r"|#include <(fstream|filesystem|iostream|cstdio|stdio\.h|fcntl\.h|unistd\.h|sys/[\w/]+\.h)>",
    "the environment": r"\b(secure_)?getenv\b|\benviron\b",
    "chance": r"\brandom_device\b|\bgetrandom\b|(?<![\w:.>])s?rand\(|#include <random>",
    "a library": r"#include <(boost|fmt|spdlog|CLI|google|zstd|sqlite3|curl|openssl)\b",
}

# Made by the build, in no module.
GENERATED = {"build_info.h", "worker.pb.h", "message.pb.h"}

# Libraries that only these modules may see.
LIBRARY_ROOMS = {
    r"sqlite3(ext)?\.h": {"sqlite"},
    r"CLI/.*": {"cli"},
    r"yaml-cpp/.*": {"wire"},
    r"boost/(asio|beast)[/.].*": {"net"},
    r"spdlog/.*": {"notices"},
}


def table_text():
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", MAP.read_text(), re.S | re.M)
    with_arrows = [block for block in blocks if re.search(r"^\s*core\s*→", block, re.M)]
    assert with_arrows, f"{MAP} has no block that says who may include whom, beginning 'core → base'"
    return with_arrows[0]


def allowed_modules(text, all_modules):
    """{module: the modules it may include}, from lines such as "store, run → ports, wire, base"."""
    table = {}
    for line in text.splitlines():
        if "→" not in line:
            continue
        left, right = line.split("#")[0].split("→")
        named = set(re.findall(r"[a-z]+", right))
        for module in re.findall(r"[a-z]+", left):
            table.setdefault(module, set()).update(all_modules if "everything" in named else named)
    table.setdefault("base", set())
    return table


def source_files(root):
    return [path for path in sorted(root.rglob("*")) if path.suffix in (".cc", ".h", ".S", ".c")]


def is_test(path):
    return path.stem.endswith(("_test", "_fixture"))


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def includes(path):
    return re.findall(r'^\s*#\s*include\s+([<"][^>"]+[>"])', path.read_text(), re.M)


def wrong_includes(root, text):
    """Every include that goes where the table does not."""
    modules = {path.name for path in root.iterdir() if path.is_dir()}
    table = allowed_modules(text, modules)
    found = []
    for path in source_files(root):
        module = path.relative_to(root).parts[0]
        if is_test(path):
            continue
        for include in includes(path):
            name = include[1:-1]
            target = name.split("/")[0]
            where = f"{path.relative_to(root)}: {include}"
            if include.startswith('"') and target != module and name not in GENERATED:
                if target not in table.get(module, set()):
                    found.append(where)
            if include.startswith("<"):
                if module == "base" and not re.fullmatch(r"[a-z_]+", name):
                    found.append(where)
                if any(re.fullmatch(pattern, name) and module not in homes for pattern, homes in LIBRARY_ROOMS.items()):
                    found.append(where)
    return found


def impurities(root):
    """Every place where a pure module touches the outside."""
    found = []
    for path in source_files(root):
        if path.relative_to(root).parts[0] not in PURE_ROOMS or is_test(path):
            continue
        text = without_comments(path.read_text())
        for what, pattern in PURE_BANS.items():
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{path.relative_to(root)}:{line}: {what}: {match.group(0)}")
    return found


def test_every_module_has_a_line_in_the_table():
    modules = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    assert modules - set(allowed_modules(table_text(), modules)) == set()


def test_the_map_allows_no_more_than_the_design():
    modules = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    said, designed = allowed_modules(table_text(), modules), allowed_modules(DESIGN, modules)
    assert {module: said[module] - designed[module] for module in said if said[module] - designed[module]} == {}


def test_the_simulator_sees_no_store_but_the_twin_in_memory():
    seen = {include for path in source_files(SOURCES / "sim") for include in includes(path) if include.startswith('"store/')}
    assert seen == {'"store/memory_store.h"'}


def test_includes_go_only_where_the_table_lets_them():
    assert wrong_includes(SOURCES, table_text()) == []


def test_core_and_agent_touch_nothing_outside_themselves():
    assert impurities(SOURCES) == []


def test_the_build_gives_each_module_only_the_modules_of_the_table():
    modules = {path.name for path in SOURCES.iterdir() if path.is_dir()}
    table = allowed_modules(table_text(), modules)
    built = dict(re.findall(r"^drover_module\((\w+)(.*?)\)", (ROOT / "CMakeLists.txt").read_text(), re.M | re.S))
    assert modules <= set(built)
    for module, rest in built.items():
        given = re.search(r"\bROOMS ([a-z ]+)", rest)
        beyond = set(given.group(1).split() if given else ()) - table[module]
        assert beyond == set(), f"CMakeLists.txt gives {module} more than the table does"


@pytest.mark.parametrize("module, line", [
    ("core", '#include "sqlite/database.h"'),
    ("core", '#include "agent/agent.h"'),
    ("store", '#include "run/descriptor.h"'),
    ("store", '#include "core/state.h"'),
    ("store", '  # include "engine/engine.h"'),
    ("engine", '#include "wire/cells.h"'),
    ("base", '#include "core/state.h"'),
    ("base", "#include <unistd.h>"),
    ("base", "#include <boost/json.hpp>"),
    ("run", "#include <sqlite3.h>"),
    ("worker", "#include <CLI/CLI.hpp>"),
    ("worker", "#include <yaml-cpp/yaml.h>"),
    ("store", "#include <boost/asio/io_context.hpp>"),
])
def test_an_injected_wrong_include_is_caught(tmp_path, module, line):
    for name in ("base", "core", "agent", "store", "run", "engine", "wire", "worker"):
        (tmp_path / name).mkdir()
    injected = tmp_path / module / "injected.cc"
    injected.write_text(f'#include <vector>\n#include "{module}/injected.h"\n')
    assert wrong_includes(tmp_path, table_text()) == []
    injected.write_text(f"#include <vector>\n{line}\n")
    assert len(wrong_includes(tmp_path, table_text())) == 1


@pytest.mark.parametrize("line", [
    "auto now = std::chrono::steady_clock::now();",
    "auto now = time(nullptr);",
    "std::mutex mutex_;",
    "std::thread worker(run);",
    'std::ofstream file("x");',
    "const char* home = std::getenv(\"HOME\");",
    "std::random_device device;",
    "#include <fmt/format.h>",
    "#include <boost/json.hpp>",
])
@pytest.mark.parametrize("module", sorted(PURE_ROOMS))
def test_an_injected_look_outside_is_caught(tmp_path, module, line):
    (tmp_path / module).mkdir()
    injected = tmp_path / module / "injected.cc"
    injected.write_text("int lifetime(int time_ms);  // not std::chrono::steady_clock, not time(nullptr)\n")
    assert impurities(tmp_path) == []
    injected.write_text(f"{line}\n")
    assert len(impurities(tmp_path)) >= 1


def test_every_file_of_tests_is_run():
    registered = re.sub(r"#.*", "", (ROOT / "tests/CMakeLists.txt").read_text())
    names = {path.stem.removeprefix("test_") for path in (ROOT / "tests").glob("test_*.py")} | {path.stem for path in (ROOT / "tests/walkthroughs").glob("W*.py")}
    assert names <= set(re.findall(r"\w+", registered)), "tests/CMakeLists.txt does not register them"
