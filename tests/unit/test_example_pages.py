"""The README and the pages of examples do what they say: commands, Python and shown files."""

from __future__ import annotations

import doctest
import gzip
import json
import re
import shlex
import sys
from collections import Counter
from operator import itemgetter
from pathlib import Path

import pytest

import elsinore
from elsinore.cli.main import run_command
from elsinore.settings import PREFIX, Settings
from tests.page_examples import (
    PROGRAM,
    ROOT,
    Block,
    is_part_of_an_example,
    page_blocks,
    printed_by,
    run_python_blocks,
    shown_commands,
    without_trailing_blanks,
)
from tests.prose.read_prose import Kind, count_words, page_texts

README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs" / "example"

#: Pages whose commands run one after another, with the output that they show.
OF_COMMANDS = (
    "docs/get-started/command-line.md",
    "docs/get-started/pipeline.md",
    "docs/how-to/compare-results.md",
    "docs/how-to/test-queries.md",
    "docs/reference/output-formats.md",
)
OF_PYTHON = ("README.md", "docs/get-started/first-query.md", "docs/get-started/python.md")
#: Pages that show schemas, queries or cases of `docs/example`.
OF_FILES = (
    "README.md",
    "docs/get-started/command-line.md",
    "docs/get-started/python.md",
    "docs/how-to/test-queries.md",
)
PAGES = sorted({
    *OF_COMMANDS, *OF_PYTHON[1:], "docs/index.md", "docs/get-started/install.md",
    "docs/concepts/event-trends.md", "docs/concepts/when-to-use.md",
    "docs/concepts/windows-and-time.md", "docs/how-to/connect-files.md", "docs/how-to/recipes.md",
    "docs/how-to/use-from-python.md", "docs/how-to/write-a-schema.md", "docs/reference/glossary.md",
    "docs/reference/schema.md",
})  # fmt: skip


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory with the examples, in which commands may write."""
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [PROGRAM])
    return tmp_path


# ---- README
def test_readme_is_short_and_names_the_version_and_the_set_up() -> None:
    assert len(README.splitlines()) <= 120
    assert f"Version {elsinore.__version__} " in README
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    verbs = set(re.findall(r"`make ([a-z]+)`", README))
    assert verbs == {"run", "setup", "test"}
    assert all(re.search(rf"^{verb}:", makefile, re.MULTILINE) for verb in verbs)


@pytest.mark.parametrize(
    ("number", "executor"),
    [(0, "auto"), (0, "greta"), *((1, e) for e in ("auto", "greta", "twostep"))],
)
def test_the_commands_of_the_readme_print_their_results(
    number: int, executor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    commands = shown_commands("README.md")
    assert len(commands) == 2
    arguments, result = commands[number]
    code, printed = printed_by(run_command, [*arguments, "--executor", executor])
    assert (code, printed) == (0, without_trailing_blanks(result))


def test_the_shop_of_the_readme_has_the_numbers_of_its_text() -> None:
    """Counted with plain Python: events, users, buyers, revenue and matches."""
    lines = gzip.decompress((EXAMPLE / "visits.jsonl.gz").read_bytes()).splitlines()
    events = sorted(map(json.loads, lines), key=itemgetter("time"))
    views, paid, matches = Counter[str](), dict[str, int](), 0
    for event in events:
        if event["type"] == "View":
            views[event["user"]] += 1
        elif views[event["user"]]:
            paid[event["user"]] = paid.get(event["user"], 0) + event["price"]
            matches += 2 ** views[event["user"]] - 1
    assert (len(events), len({event["user"] for event in events})) == (19_810, 2_000)
    assert (len(paid), sum(paid.values()), matches) == (106, 1_060, 10_995_116_405_692)
    assert max(views[user] for user in paid) == 40


def test_files_that_the_readme_names_exist() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README) + re.findall(r'src="([^"]+)"', README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


# ---- pages of examples
@pytest.mark.parametrize("page", OF_COMMANDS)
def test_commands_print_what_their_page_shows(
    page: str, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = page_blocks(page)
    for block in blocks:
        if block.language == "sh" and block.text.startswith("export "):
            for pair in shlex.split(block.text)[1:]:
                monkeypatch.setenv(*pair.split("="))
    commands = shown_commands(page)
    assert commands
    for arguments, shown in commands:
        code, printed = printed_by(run_command, arguments)
        assert code == 0
        # The pages show an absolute path as that of a user's checkout.
        lines = [line.replace(str(checkout), "/home/you/elsinore") for line in printed]
        assert lines == without_trailing_blanks(shown), " ".join(arguments)


def test_the_pipeline_page_replays_what_ingest_prints() -> None:
    blocks = page_blocks("docs/get-started/pipeline.md")
    replay = next(b.text for b in blocks if b.language == "sh" and " replay " in b.text)
    ingested = next(b.text for b in blocks if b.language == "text" and "events of" in b.text)
    assert ingested.splitlines()[-1] == replay.strip()
    (variables,) = [b.text for b in blocks if b.text.startswith("export ")]
    known = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"(\w+)=", variables)) <= known


@pytest.mark.parametrize("page", OF_PYTHON)
def test_python_prints_what_its_page_shows(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert "elsinore" in run_python_blocks(page)


@pytest.mark.parametrize("page", OF_FILES)
def test_files_that_a_page_shows_are_those_of_the_example(page: str) -> None:
    shown = [block for block in page_blocks(page) if block.language in ("sase", "yaml")]
    assert shown
    for block in shown:
        assert is_part_of_an_example(Block(*block), f".{block.language}")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_and_at_most_1200_words(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = page_texts(text)
    assert text.startswith("# ")
    assert sum(t.kind is Kind.HEADING and f"# {t.words}" in text[: len(t.words) + 2] for t in prose)
    assert len(re.findall(r"^# ", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)) == 1
    assert sum(count_words(t.words) for t in prose) <= 1200


# ---- the library
def test_examples_of_the_library_give_what_their_page_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(ROOT / "docs" / "how-to" / "use-from-python.md"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS,
        encoding="utf-8",
    )
    assert (done.failed, done.attempted > 15) == (0, True)


def test_the_notebook_runs_and_its_last_cell_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code in one namespace, as a kernel runs it; what it shows can be shown."""
    monkeypatch.chdir(ROOT / "docs" / "how-to")
    notebook = Path("use-from-python.ipynb").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    shown = 0
    for number, cell in enumerate(json.loads(notebook)["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not committed"
        *lines, last = "".join(cell["source"]).rstrip().splitlines()
        exec(compile("\n".join(lines), f"cell {number}", "exec"), names)
        try:
            found = eval(compile(last, f"cell {number}", "eval"), names)
        except SyntaxError:
            exec(compile(last, f"cell {number}", "exec"), names)
            continue
        shown += hasattr(found, "_repr_html_") and bool(found._repr_html_())
    assert shown >= 5
    assert names["total"] == 11
