"""Makes the sample CSV files in `examples/data`: leads and companies that do not exist.

    python examples/make_data.py

Names are combined from lists, domains end in `.example` or `.test`, which belong to nobody. The same
files come out everywhere: one generator with a fixed seed, and nothing that depends on the order of
sets or on hashing.
"""

from __future__ import annotations

import csv
import random
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path

SIZES = (25, 1_000, 10_000)
SEED = 20_240_229
HERE = Path(__file__).parent / "data"

FIRST_NAMES = (
    "Ada", "Aisha", "Alejandro", "Amélie", "Anaïs", "André", "Anne-Marie", "Åsa", "Beatriz", "Björn",
    "Carlos", "Chiara", "Chloé", "Ciarán", "Daniel", "Đorđe", "Elif", "Emily", "Erik", "Fatima",
    "François", "Gabriela", "Grace", "Hannah", "Hélène", "Hiroshi", "Ines", "Íñigo", "Jean-Luc", "João",
    "José", "Jürgen", "Karolína", "Keiko", "Kwame", "Lars", "Léa", "Leyla", "Liam", "Łukasz", "Mai",
    "Małgorzata", "Marco", "María José", "Martin", "Mei-Ling", "Mia", "Mohammed", "Nadia", "Ngozi",
    "Nuño", "Olga", "Oluwaseun", "Paul", "Priya", "Rafael", "René", "Rosa", "Samuel", "Seán", "Siobhán",
    "Søren", "Tomáš", "Uchenna", "Valentina", "Wei", "Xavier", "Yasmin", "Zoë", "Zsófia",
)  # fmt: skip
LAST_NAMES = (
    "Abara", "Almeida", "Andersson", "Bakker", "Brontë", "Castellanos", "Chen", "Çelik", "D'Angelo",
    "D'Souza", "de la Cruz", "Dubois", "Eriksen", "Fernández", "Fitzgerald-Byrne", "García", "Garcia-Márquez",
    "González", "Grünwald", "Haddad", "Hansen", "Hernández-Ruiz", "Ibrahim", "Ivanova", "Jónsdóttir", "Kim",
    "Kowalczyk", "Larsen", "Lefèvre", "Li", "Lindström", "MacAllister", "Mbeki", "Müller", "Nakamura",
    "Nguyễn", "Novák", "O'Brien", "O'Connor", "Öztürk", "Okafor", "Olsen", "Ó Súilleabháin", "Patel",
    "Pérez", "Petrović", "Quispe", "Ramírez", "Rossi", "Saint-Exupère", "Sánchez", "Schäfer", "Silva",
    "Smith-Jones", "Sørensen", "Šimunović", "Tanaka", "Taylor", "Ueda", "Van den Berg", "Vogel",
    "von Hagen", "Weiß", "Williams", "Wójcik", "Yamamoto", "Yılmaz", "Zhang", "Zielińska", "Zúñiga",
)  # fmt: skip
COMPANY_STARTS = (
    "Alder", "Amber", "Arc", "Ash", "Aurora", "Basalt", "Bay", "Birch", "Blue", "Brook", "Cedar",
    "Cinder", "Clear", "Cobalt", "Copper", "Coral", "Crest", "Delta", "Drift", "Dune", "Ember", "Fern",
    "Field", "Flint", "Fjord", "Frost", "Glen", "Granite", "Harbor", "Hazel", "Heron", "Iron", "Juniper",
    "Kestrel", "Lark", "Linden", "Loch", "Maple", "Marble", "Meadow", "Mist", "Moss", "North", "Oak",
    "Ocean", "Onyx", "Opal", "Otter", "Pebble", "Pine", "Quartz", "Raven", "Reed", "Ridge", "River",
    "Sage", "Slate", "South", "Stone", "Summit", "Tern", "Thistle", "Tide", "Willow", "Wren",
)  # fmt: skip
COMPANY_ENDS = (
    "bridge", "craft", "dale", "fall", "ford", "forge", "gate", "grove", "haven", "hill", "house",
    "land", "line", "mark", "mill", "point", "port", "shore", "side", "smith", "stead", "stone", "view",
    "wave", "well", "wick", "wood", "works", "yard",
)  # fmt: skip
COMPANY_KINDS = (
    "AG",
    "AB",
    "BV",
    "Group",
    "Inc.",
    "Labs",
    "Ltd",
    "S.A.",
    "SAS",
    "GmbH",
    "& Sons",
    "",
)
COUNTRIES = (
    "Argentina", "Austria", "Belgium", "Brazil", "Canada", "Côte d'Ivoire", "Czechia", "Denmark",
    "Finland", "France", "Germany", "Ghana", "India", "Ireland", "Italy", "Japan", "Kenya", "Mexico",
    "Netherlands", "Nigeria", "Norway", "Poland", "Portugal", "Singapore", "South Africa", "Spain",
    "Sweden", "Türkiye", "United Kingdom", "United States", "Vietnam",
)  # fmt: skip

Company = tuple[str, str, str]


def companies(count: int, choose: random.Random) -> list[Company]:
    """Return domain, name and country of `count` companies, no domain twice."""
    stems = [start + end for start in COMPANY_STARTS for end in COMPANY_ENDS]
    choose.shuffle(stems)
    found = []
    for number in range(count):
        stem, round_of_names = stems[number % len(stems)], number // len(stems)
        name = " ".join(filter(None, (stem, ROUNDS[round_of_names], choose.choice(COMPANY_KINDS))))
        label = "-".join(filter(None, (stem, ROUNDS[round_of_names]))).lower()
        domain = f"{label}.{choose.choice(('example', 'example', 'example', 'test'))}"
        found.append((domain, name, choose.choice(COUNTRIES)))
    return found


ROUNDS = ("", "Digital", "Energy", "Foods", "Health", "Logistics", "Media", "Systems")


def leads(count: int, choose: random.Random) -> Iterator[list[str]]:
    """Yield `count` people, none twice at the same company: two to four a company on average."""
    employers = companies(max(count // 3, 10), choose)
    seen: set[tuple[str, str, str]] = set()
    while len(seen) < count:
        domain, company, _ = choose.choice(employers)
        person = (choose.choice(FIRST_NAMES), choose.choice(LAST_NAMES), domain)
        if person in seen:
            continue
        seen.add(person)
        handle = "-".join(map(_ascii, person[:2])) + f"-{len(seen):05d}"
        yield [*person, company, f"https://linkedin.example/in/{handle}"]


def write(name: str, header: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write one CSV file as the RFC has it, but with plain line ends, in UTF-8."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main() -> None:
    HERE.mkdir(exist_ok=True)
    for size in SIZES:
        write(
            f"leads_{size}.csv",
            ("first_name", "last_name", "domain", "company", "linkedin_url"),
            leads(size, random.Random(SEED + size)),
        )
        write(
            f"companies_{size}.csv",
            ("domain", "name", "country"),
            companies(size, random.Random(SEED - size)),
        )


def _ascii(name: str) -> str:
    """Return a name as an address would hold it: no accents, words joined by hyphens."""
    special = str.maketrans({"Đ": "D", "đ": "d", "ł": "l", "Ł": "L", "ø": "o", "ß": "ss", "ı": "i"})
    bare = unicodedata.normalize("NFKD", name.translate(special))
    letters = (
        sign if sign.isascii() and sign.isalnum() else "-" if sign in " -" else "" for sign in bare
    )
    return "".join(letters).lower()


if __name__ == "__main__":
    main()
