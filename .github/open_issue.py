"""`python3 .github/open_issue.py TITLE REPORT`: say in an issue that a weekly check is red.

If an issue of that title is open, the report becomes a comment on it, so that a check that stays red for a month makes
one issue and not four. Calls `gh`; $RUN is the address of the run.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

LONGEST = 60_000  # characters; GitHub takes 65,536


def body(report: Path, run: str) -> str:
    """Return the text of the issue: where the run is, and what it reported, cut to what GitHub takes."""
    if not report.is_file():
        return f"Red: {run}\n\nThe run left no report: it failed before the check itself, see its log.\n"
    text = report.read_text(encoding="utf-8").strip()
    cut = "\n\n(cut; the rest is in the artifact of the run)" if len(text) > LONGEST else ""
    return f"Red: {run}\n\n{text[:LONGEST]}{cut}\n"


def gh(*words: str, text: str = "") -> str:
    """Run gh with text on its standard input and return what it prints; raises CalledProcessError when it fails."""
    return subprocess.run(["gh", *words], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def open_one(title: str) -> int | None:
    """Return the number of the open issue with exactly this title, None when there is none."""
    issues = json.loads(gh("issue", "list", "--state", "open", "--limit", "500", "--json", "number,title"))
    return next((issue["number"] for issue in issues if issue["title"] == title), None)


def main(title: str, report: Path) -> int:
    """Comment on the open issue, or open one; return 0. Raises CalledProcessError when gh fails."""
    text, number = body(report, os.environ.get("RUN", "no address given")), open_one(title)
    if number is None:
        print(gh("issue", "create", "--title", title, "--body-file", "-", text=text).strip())
    else:
        print(gh("issue", "comment", str(number), "--body-file", "-", text=text).strip())
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} TITLE REPORT")
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
