"""How improbable observed texts are under the model `text`: what the warning of `fill` goes by.

python benchmarks/surprise.py --data DATA
"""

import argparse

import numpy as np

import caesura
from caesura import datasets
from caesura.scoring.gaps import score_steps

LENGTHS, PASSAGES = (20, 40, 80, 200), 150
OTHERS = {
    "German": "Die Schlacht bei Hastings wurde im Jahre 1066 zwischen den Normannen und den "
    "Englaendern geschlagen und veraenderte das Land.",
    "French": "La bataille de Hastings fut livree en 1066 entre les Normands et les Anglais, et "
    "elle changea le pays pour toujours.",
    "Latin": "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, "
    "tertiam qui ipsorum lingua Celtae",
    "Finnish": "Taistelu kaytiin vuonna 1066 normannien ja englantilaisten valilla, ja se muutti "
    "maan historian pysyvasti ja kokonaan.",
    "C code": "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; if (sum > limit) { return -1; } } "
    "// end of loop, see header",
    "random letters": "xq zvk wjqp lmnz aoeu qxzk jjvw pqrm zzkt wvxq bnlm kqjz xwvu tplk mnqz "
    "jkvx wqzp lkjh gfdz xcvq",
    "Shakespeare": "Shall I compare thee to a summer's day? Thou art more lovely and more "
    "temperate: rough winds do shake the darling buds",
    "text message": "hey r u coming 2nite?? lol cant wait 2 c u bring ur friend plz thx xoxo ill b "
    "there @ 8ish ok",
    "telegram": "ARRIVING MONDAY STOP SEND MONEY STOP FATHER ILL STOP LETTER FOLLOWS STOP ADVISE "
    "MOTHER STOP",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="the data directory")
    filler = caesura.load("text")
    articles = datasets.load("wiki96", "test", parser.parse_args().data, limit=3_000_000)
    text, draw = "\n\n".join(articles), np.random.default_rng(0)

    def nats(passage: str) -> float:
        return score_steps(filler.nets["bidirectional"], filler.read([passage])).nll

    print("| characters | median | 99 % | maximum |\n|---|---|---|---|")
    for length in LENGTHS:
        starts = draw.integers(0, len(text) - length, PASSAGES)
        found = [nats(text[start : start + length]) for start in starts]
        print(f"| {length} | {np.median(found):.2f} | {np.quantile(found, 0.99):.2f} | ", end="")
        print(f"{max(found):.2f} |", flush=True)
    print("\n| passage | nats a character |\n|---|---|")
    for name, passage in OTHERS.items():
        print(f"| {name} | {nats(passage):.2f} |")


if __name__ == "__main__":
    main()
