"""Every text is translated, none is fuzzy or unused, placeholders agree; and the tools that see to it."""

import ast
import json
import re
import subprocess
import sys
from gettext import c2py
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.plurals import get_plural

from oomedic.sources.index import read_part

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src/oomedic"
LANGUAGES = sorted(path.parent.parent.name for path in SOURCE.glob("locale/*/LC_MESSAGES/oomedic.po"))


@pytest.fixture(scope="module", autouse=True)
def _tools_can_be_imported():
    sys.path.insert(0, str(ROOT / "tools"))
    yield
    sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def catalogues():
    import catalogues

    return catalogues


@pytest.fixture(scope="module")
def translations():
    import translations

    return translations


@pytest.fixture(scope="module")
def problems():
    from catalogue_checks import problems

    return problems


@pytest.fixture(scope="module")
def texts(catalogues):
    return catalogues.sources()


class TestEveryLanguage:
    """What holds for each catalogue that is there."""

    def test_polish_is_there(self):
        assert "pl" in LANGUAGES

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_everything_is_translated_with_the_same_placeholders(
        self, language, catalogues, translations, problems, texts
    ):
        found = problems(translations.read(catalogues.path_of(language)), texts)
        assert not found, "\n".join(found)

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_the_compiled_texts_are_those_of_the_catalogue(self, language, catalogues, translations, texts):
        said = translations.translated(translations.read(catalogues.path_of(language)), texts)
        messages = json.loads(read_part(f"messages.{language}.json"))
        assert messages
        assert {name: said[name] for name in messages} == messages

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_forms_beside_numbers_are_those_of_the_languages_rule(self, language):
        from oomedic.reports.numbers import numbers_of

        rule = c2py(get_plural(language).plural_expr)
        forms = [str(place) for place in range(get_plural(language).num_plurals)]
        numbers = numbers_of(json.loads(read_part("languages.json"))[language])
        assert all(numbers.form(number, forms) == forms[rule(number)] for number in range(3000))

    def test_catalogues_and_pages_are_up_to_date(self):
        for tool in ("catalogues.py", "build_docs.py"):
            ran = subprocess.run(
                [sys.executable, ROOT / "tools" / tool, "--check"], capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_cause_and_remedy_has_its_page(self, language):
        english = {path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/*/*-*.md") if path.name[0].isupper()}
        translated = {path.relative_to(ROOT / "docs" / language) for path in ROOT.glob(f"docs/{language}/*/*-*.md")}
        assert len(english) > 100
        assert translated == english


@pytest.fixture(scope="module")
def code():
    return [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]


@pytest.fixture(scope="module")
def words(code):
    """Every text, name of a parameter and name of a field in the code."""
    found = {node.value for tree in code for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    found |= {node.arg for tree in code for node in ast.walk(tree) if isinstance(node, ast.arg | ast.keyword)}
    return {word for word in found if isinstance(word, str)}


@pytest.fixture(scope="module")
def composed(code):
    """Ids that are put together, such as f"label.{name}", as patterns."""
    joined = [node for tree in code for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    return [re.compile("".join(map(_pattern, node.values))) for node in joined if any(map(_has_dot, node.values))]


class TestUse:
    """No message is kept that nothing says."""

    def test_every_message_is_said_somewhere(self, words, composed):
        data = "".join(
            path.read_text(encoding="utf-8") for path in SOURCE.glob("data/*.toml") if "message" not in path.name
        )
        codes = set(json.loads(read_part("pages.json")))

        def is_word(part):
            return part in words or part in codes or f'"{part}"' in data

        def is_said(name):
            named = name.removeprefix("named.")
            if named != name and (any(named in word for word in words) or f'"{named}"' in data):
                return True
            matches = filter(None, (pattern.fullmatch(name) for pattern in composed))
            return name in words or any(all(map(is_word, match.groups())) for match in matches)

        assert [name for name in json.loads(read_part("messages.json")) if not is_said(name)] == []


def _pattern(part):
    return re.escape(part.value) if isinstance(part, ast.Constant) else r"([\w.-]+?)"


def _has_dot(part):
    return isinstance(part, ast.Constant) and "." in part.value


def catalog(*entries, language="pl"):
    """A catalogue of rows (id, English text, translation, flags)."""
    made = Catalog(language)
    for name, english, said, *flags in entries:
        made.add(english, said, context=name, flags=flags)
    return made


class TestChecks:
    """What the checks find; each line names the message."""

    @pytest.mark.parametrize(
        ("english", "said", "found"),
        [
            ("{ready} pods", "", "not translated"),
            ("{ready} pods", "{reday} podów", "other placeholders: ready, reday"),
            ("{size:gib} free", "{size} wolne", "{size} is written in another format"),
            ("{n} pods", "{n} {n:plural pod|pody}", "2 forms where the language has 3: plural pod|pody"),
            ("give --model", "podaj model", "lost: --model"),
            ("see `make index`", "zobacz make index", "lost: `make index`"),
            ("max_model_len is long", "długość jest duża", "lost: max_model_len"),
            ("as OOM401", "jak wyżej", "lost: OOM401"),
            (" beside", "obok", "blanks at an end differ"),
        ],
    )
    def test_a_wrong_translation_is_named(self, problems, english, said, found):
        assert problems(catalog(("x", english, said)), {"x": english}) == [f"x: {found}"]

    @pytest.mark.parametrize(
        "said", ["{n} {n:plural pod|pody|podów}", "{n} {n:plural pod|pody|podów|poda}", "{n} podów"]
    )
    def test_forms_are_free_where_their_number_is_right(self, problems, said):
        assert problems(catalog(("x", "{n} pods", said)), {"x": "{n} pods"}) == []

    def test_fuzzy_changed_unused_and_lacking_messages_are_named(self, problems):
        held = catalog(("fuzzy", "a", "b", "fuzzy"), ("changed", "old", "stare"), ("gone", "a", "b"))
        assert problems(held, {"fuzzy": "a", "changed": "new", "lacking": "a"}) == [
            "lacking: not in the catalogue",
            "fuzzy: fuzzy",
            "changed: the English text has changed",
            "gone: unused: no such text any more",
        ]

    def test_quoted_log_lines_must_stand_unchanged(self, problems):
        english = "It prints:\n\n    ValueError: too small"
        right, wrong = "Wypisuje:\n\n    ValueError: too small", "Wypisuje:\n\n    ValueError: za mało"
        assert problems(catalog(("page.X.example", english, right)), {"page.X.example": english}) == []
        (found,) = problems(catalog(("page.X.example", english, wrong)), {"page.X.example": english})
        assert found == "page.X.example: quoted lines differ: ValueError: too small"

    def test_placeholders_of_argparse_are_counted(self, problems):
        assert problems(catalog(("help.x", "%(prog)s: %s", "%(prog)s")), {"help.x": "%(prog)s: %s"}) == [
            "help.x: other placeholders"
        ]


class TestUpdate:
    """How changed English texts reach a catalogue."""

    def test_a_changed_text_keeps_its_translation_and_becomes_fuzzy(self, catalogues):
        fresh = catalogues.updated(catalog(("x", "old text", "stary tekst")), {"x": "new text"})
        (message,) = [each for each in fresh if each.id]
        assert (message.id, message.string, message.fuzzy) == ("new text", "stary tekst", True)
        assert list(message.previous_id) == ["old text"]

    def test_a_new_text_is_untranslated_and_a_gone_one_is_gone(self, catalogues):
        fresh = catalogues.updated(catalog(("gone", "a", "b")), {"new": "text"})
        assert [(each.context, each.string) for each in fresh if each.id] == [("new", "")]

    def test_the_same_text_under_two_ids_has_two_translations(self, catalogues):
        held = catalog(("a", "weights", "wagi"), ("b", "weights", "wagi modelu"))
        fresh = catalogues.updated(held, {"a": "weights", "b": "weights"})
        assert {each.context: each.string for each in fresh if each.id} == {"a": "wagi", "b": "wagi modelu"}

    def test_writing_twice_gives_the_same_bytes(self, catalogues, translations, tmp_path):
        text = catalogues.written(catalogues.updated(catalog(("x", "text", "tekst")), {"x": "text"}))
        path = tmp_path / "pl/LC_MESSAGES/oomedic.po"
        path.parent.mkdir(parents=True)
        path.write_bytes(text)
        assert catalogues.written(catalogues.updated(translations.read(path), {"x": "text"})) == text
        assert b"Date" not in text


class TestNewLanguage:
    """One .po file adds a language."""

    PARTS = ("messages.json", "signatures.json", "engines.json", "pages.json", "headings.json", "help.json")

    @pytest.fixture
    def compiled(self, translations, catalogues, texts, tmp_path):
        made = catalogues.updated(Catalog("de"), texts)
        for message in made:
            if message.context == "label.budget":
                message.string = "Budget einer GPU"
            if message.context == "label.plan":
                message.string, message.flags = "Plan (alt)", {"fuzzy"}
        path = tmp_path / "de/LC_MESSAGES/oomedic.po"
        path.parent.mkdir(parents=True)
        path.write_bytes(catalogues.written(made))
        return translations.compiled({name: read_part(name) for name in self.PARTS}, tmp_path)

    def test_its_texts_are_compiled_and_english_stands_for_what_it_lacks_or_has_fuzzy(self, compiled):
        messages = json.loads(compiled["messages.de.json"])
        assert messages["label.budget"] == "Budget einer GPU"
        assert messages["label.plan"] == "Plan"
        assert messages["label.left"] == json.loads(read_part("messages.json"))["label.left"]

    def test_how_it_writes_numbers_is_known_without_saying(self, compiled):
        row = json.loads(compiled["languages.json"])["de"]
        assert (row["decimal"], row["group"]) == (",", ".")
        assert row["plurals"].startswith("1011")

    def test_its_pages_have_the_shape_of_the_english_ones(self, compiled):
        assert json.loads(compiled["pages.de.json"]).keys() == json.loads(read_part("pages.json")).keys()


class TestReadmeStep:
    """A translated README says the same with the same headings, commands and figures."""

    ENGLISH = "# A\n\nIt takes 1,572 of 0.01 %: `make test`.\n\n## B\n\n```\nmake x  # words\n```\n[d](docs/cli.md)\n"
    POLISH = "# A\n\nZajmuje 1 572 z 0,01 %: `make test`.\n\n## B\n\n```\nmake x  # słowa\n```\n[d](docs/pl/cli.md)\n"

    @pytest.fixture
    def differences(self):
        from readme_step import differences

        return differences

    def test_words_may_differ(self, differences):
        assert differences(self.ENGLISH, self.POLISH, "pl") == []

    @pytest.mark.parametrize(
        ("old", "new", "what"),
        [
            ("## B", "### B", "headings"),
            ("make x", "make y", "blocks of code"),
            ("`make test`", "`make tests`", "code in sentences"),
            ("1 572", "1 573", "figures"),
            ("docs/pl/cli.md", "docs/pl/x.md", "links"),
        ],
    )
    def test_nothing_else_may(self, differences, old, new, what):
        (found,) = differences(self.ENGLISH, self.POLISH.replace(old, new), "pl")
        assert found.startswith(f"{what}: ")
