"""The built book in a real browser, with every other host out of reach.

The book is built once, and only when one of its sources changed; one browser serves all pages. Cost: about two seconds
a page.
"""

import itertools
import json
import os
import shutil
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from iclr26lib import chapters
from tools import build_book, pages, serve

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
PAGE_LIMIT = 2_000_000
STATE = "application/vnd.jupyter.widget-state+json"


def sources():
    """Every page of the table of contents, as its source's path relative to the root."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def sliders(source):
    """Number of values of each slider that the notebook's stored widgets have."""
    if not source.endswith(".ipynb"):
        return []
    stored = json.loads((ROOT / source).read_text(encoding="utf-8"))["metadata"].get("widgets", {})
    models = stored.get(STATE, {}).get("state", {}).values()
    return [len(m["state"]["_options_labels"]) for m in models if m["model_name"] == "SelectionSliderModel"]


def address(source):
    return str(Path(source).with_suffix(".html"))


def chromium():
    """Where Chromium is: $CHROMIUM, or on the path."""
    named = [os.environ.get("CHROMIUM"), *map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))]
    return next((path for path in named if path and Path(path).exists()), None)


@pytest.fixture(scope="session")
def html():
    """Folder of the built book."""
    return build_book.ensure(ROOT)


@pytest.fixture(scope="session")
def site(html):
    """Address of a local server of the book."""
    with serve.server(html, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all pages."""
    path = chromium()
    if path is None:
        pytest.fail("Chromium is missing: install it (Debian: apt-get install chromium) or name it in $CHROMIUM")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as player:
        running = player.chromium.launch(executable_path=path, args=FLAGS)
        yield running
        running.close()


class Visit:
    """A page with its troubles: requests to other hosts (blocked), failed requests, errors of scripts; its weight."""

    def __init__(self, browser, site):
        self.site, self.troubles, self.weight = site, [], 0
        self.context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
        self.context.route("**/*", self._guard)
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.page.on("response", self._weigh)
        self.page.on("requestfailed", lambda r: self.troubles.append(f"request failed: {r.url}"))
        self.page.on("pageerror", lambda e: self.troubles.append(f"script error: {e}"))
        self.page.on("console", lambda m: m.type == "error" and self.troubles.append(f"console error: {m.text}"))

    def _guard(self, route):
        if route.request.url.startswith((self.site, "data:", "blob:")):
            route.continue_()
        else:
            self.troubles.append(f"asks another host: {route.request.url}")
            route.abort()

    def _weigh(self, response):
        if response.status >= 400:
            self.troubles.append(f"status {response.status}: {response.url}")
        elif response.url.startswith(self.site) and "/_static/" not in response.url:
            self.weight += int(response.headers.get("content-length", 0))

    def open(self, path):
        self.page.goto(self.site + path, wait_until="load")
        self.page.evaluate("window.MathJax && MathJax.startup ? MathJax.startup.promise : null")
        return self.page


@pytest.fixture
def visit(browser, site):
    made = Visit(browser, site)
    yield made
    made.context.close()


@pytest.mark.parametrize("source", sources())
def test_page_is_whole(visit, source):
    page = visit.open(address(source))
    if sliders(source):
        page.wait_for_function(f"document.querySelectorAll('.noUi-handle').length >= {len(sliders(source))}")
    without = page.eval_on_selector_all("img", "found => found.filter(i => !i.alt.trim()).map(i => i.src.slice(0, 80))")
    bare = page.eval_on_selector_all(
        ".math.notranslate", "found => found.filter(m => !m.querySelector('mjx-container')).map(m => m.textContent)"
    )
    wrong = page.eval_on_selector_all(  # MathJax sets an unknown command in red letters
        "mjx-merror, [data-mjx-error], mjx-mtext[style*='color: red']",
        "found => found.map(m => m.closest('mjx-container').textContent)",
    )
    page.set_viewport_size({"width": 375, "height": 800})
    wide = page.evaluate(
        "[...document.querySelectorAll('.bd-article *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
        " && !e.closest('pre, .pst-scrollable-table-container, .table-wrap, .output, .math, mjx-container'))"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    width = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    assert visit.troubles == []
    assert without == [], "pictures without alt text"
    assert bare == [], "formulas that are not typeset"
    assert wrong == [], "formulas that MathJax cannot read"
    assert wide == [], "parts wider than a phone"
    assert width <= 375, "the page scrolls sideways on a phone"
    assert 0 < visit.weight <= PAGE_LIMIT


SHOWN = """box => {
  const seen = [...box.querySelectorAll('img')].filter(i => i.checkVisibility());
  return seen.map(i => ({alt: i.alt, src: i.src, ready: i.complete && i.naturalWidth > 0}));
}"""


def shown(box):
    """The one picture that an interactive figure shows."""
    seen = box.evaluate(SHOWN)
    assert len(seen) == 1, f"{len(seen)} pictures are visible at once"
    assert seen[0]["ready"]
    return seen[0]["alt"], seen[0]["src"]


def stops(handle):
    return round(float(handle.get_attribute("aria-valuemax"))) + 1


def walk(page, box, handles):
    """Move through every combination of the sliders with the keyboard; return the pictures in the order seen."""
    if not handles:
        return [shown(box)]
    first, *rest = handles
    first.focus()
    page.keyboard.press("Home")
    seen = []
    for step in range(stops(first)):
        if step:
            first.focus()
            page.keyboard.press("ArrowRight")
        seen += walk(page, box, rest)
    return seen


@pytest.mark.parametrize("source", [source for source in sources() if sliders(source)])
def test_every_slider_moves_the_picture_by_keyboard(visit, source):
    page = visit.open(address(source))
    wanted = sliders(source)
    page.wait_for_function(f"document.querySelectorAll('.noUi-handle').length >= {len(wanted)}")
    moved = []
    for box in page.query_selector_all(".iclr26-interactive"):
        handles = box.query_selector_all(".noUi-handle")
        counts = [stops(handle) for handle in handles]
        moved += counts
        seen = walk(page, box, handles)
        alts, pictures = zip(*seen, strict=True)
        assert all(handle.get_attribute("aria-label").strip() for handle in handles)
        page.wait_for_function("([box, text]) => box.nextElementSibling.textContent === text", arg=[box, alts[-1]])
        total = counts[0] * (counts[1] if len(counts) == 2 else 1)
        assert len(seen) == total
        assert all(alt.strip() for alt in alts), "a frame has no alt text"
        assert len(set(alts)) == total, "a slider moved and the alt text stayed"
        assert all(one != next_ for one, next_ in itertools.pairwise(pictures)), "the picture stayed"
    assert sorted(moved) == sorted(wanted), "a slider of the notebook is not on the page"
    assert visit.troubles == []


def test_every_idea_notebook_has_an_interactive_figure():
    ideas = [source for source in sources() if source.endswith("idea.ipynb")]
    assert [source for source in ideas if not sliders(source)] == []


def test_table_of_contents_holds_every_chapter_there_is():
    stored = {path.relative_to(ROOT).as_posix() for slug in chapters.present() for path in pages.notebooks(slug)}
    assert {source for source in sources() if source.endswith(".ipynb")} == stored


@pytest.mark.parametrize(("word", "page_found"), [("contradicted", "how_to_read.html"), ("fashion", "data.html")])
def test_search_finds_a_word(visit, word, page_found):
    page = visit.open(f"search.html?q={word}")
    page.wait_for_selector("#search-results ul.search li a")
    found = page.eval_on_selector_all("#search-results ul.search li a", "links => links.map(l => l.href)")
    assert any(page_found in link for link in found)
    assert visit.troubles == []


def brightness(page, what):
    """Mean of red, green and blue of the body's `what`, 0 to 255."""
    colour = page.evaluate(f"getComputedStyle(document.body).{what}")
    return sum(map(float, colour[colour.index("(") + 1 :].rstrip(")").split(",")[:3])) / 3


def test_dark_mode_toggles(visit):
    page = visit.open("book/index.html")
    assert brightness(page, "backgroundColor") > 200 > 100 > brightness(page, "color")
    for _ in range(3):
        if page.get_attribute("html", "data-theme") != "dark":
            page.click(".bd-header-article .theme-switch-button")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert brightness(page, "backgroundColor") < 60 < 150 < brightness(page, "color")
    assert visit.troubles == []


def test_landing_page_has_a_card_for_each_chapter_and_no_dead_link(visit):
    page = visit.open("book/index.html")
    there = set(chapters.present())
    cards = page.eval_on_selector_all(
        ".chapter-card", "all => all.map(c => [c.classList.contains('planned'), c.querySelectorAll('a[href]').length])"
    )
    assert len(cards) == len(chapters.slugs())
    assert [links for planned, links in cards if planned] == [0] * (len(cards) - len(there))
    assert all(links >= 1 for planned, links in cards if not planned)


def test_the_root_leads_to_the_landing_page(visit):
    visit.page.goto(visit.site, wait_until="commit")
    visit.page.wait_for_url(visit.site + "book/index.html")
    assert visit.troubles == []


class Links(HTMLParser):
    """Targets and anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.anchors = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        self.targets |= {found[key] for key in ("href", "src") if found.get(key)}


def test_internal_links_lead_somewhere(html):
    parsed = {path: Links(path) for path in [*build_book.pages(ROOT), html / "search.html"]}
    dead = []
    for path, links in parsed.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = parsed[there].anchors if there in parsed else None
            if not there.exists() or (anchor and known is not None and anchor not in known):
                dead.append(f"{path.relative_to(html)} -> {target}")
    assert dead == []


def test_notebook_pages_open_their_own_file_in_colab(html):
    for source in [source for source in sources() if source.endswith(".ipynb")]:
        wanted = pages.repository().replace("https://github.com/", "https://colab.research.google.com/github/")
        links = Links(html / address(source)).targets
        assert f"{wanted}/blob/main/{source}" in links


def test_pages_name_no_other_host_for_scripts_and_styles(html):
    for path in build_book.pages(ROOT):
        text = path.read_text(encoding="utf-8")
        assert "unpkg.com" not in text
        assert "cdn." not in text


@pytest.fixture
def copy(tmp_path):
    """A copy of the sources, to break."""
    skipped = shutil.ignore_patterns("__pycache__", "_generated", "vendor", "*.ipynb", "files")
    for name in ("book", "iclr26lib", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def test_malformed_claims_end_the_build_with_one_line(copy):
    (copy / "book" / "bep").mkdir(exist_ok=True)
    (copy / "book" / "bep" / "claims.yaml").write_text("chapter: bep\nclaims: 3\n")
    status, said = build_book.build(copy)
    assert status != 0
    assert [line for line in build_book.complaints(said) if "bep/claims.yaml: expected" in line] != []
    assert len(build_book.complaints(said)) == 1
    assert not (copy / "_build").exists()


def test_a_warning_fails_the_build_every_time(copy):
    (copy / "_toc.yml").write_text("format: jb-book\nroot: book/equations.md\n")
    (copy / "book" / "equations.md").write_text("# Title\n\n[dead](nowhere.md)\n")
    manifest = Path("book/_static/vendor/manifest.json")
    (copy / manifest).parent.mkdir()
    shutil.copy(ROOT / manifest, copy / manifest)
    for claims in (copy / "book").glob("*/claims.yaml"):
        claims.unlink()
    for _ in range(2):
        status, said = build_book.build(copy)
        assert status != 0
        assert any("nowhere.md" in line for line in build_book.complaints(said))
