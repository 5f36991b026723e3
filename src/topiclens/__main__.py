"""`python -m topiclens claims`: measure the book's claims; exit status 1 if one fails, or if the one that was asked for
cannot be measured. See `--help`."""

import argparse
import json
import sys

from .claims import ALL


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m topiclens")
    commands = parser.add_subparsers(dest="command", required=True)
    claims = commands.add_parser("claims", help="measure every claim of the book and compare it with what is expected")
    claims.add_argument("--json", action="store_true", help="print a list of objects instead of text")
    claims.add_argument("--only", metavar="NAME", choices=ALL, help=f"one of {', '.join(ALL)}")
    claims.add_argument("--full", action="store_true", help="real text at the chapter's setting, not a small one")
    claims.add_argument("--no-cache", action="store_true", help="compute real text anew; neither read nor keep results")
    options = parser.parse_args(arguments)

    results = []
    for name, claim in ALL.items():
        if options.only in (None, name):
            real_text = {"full": options.full, "cache": not options.no_cache} if name == "real-text" else {}
            try:
                results.append(claim(**real_text))
            except ImportError as error:  # of an extra that is not installed
                print(f"[{name}] not measured: {error}", file=sys.stderr)
                continue
            if not options.json:
                print(f"[{name}] {results[-1]}", flush=True)
    if options.json:
        print(json.dumps([result.as_dict() for result in results], indent=2, ensure_ascii=False))
    return 0 if results and all(result.holds for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
