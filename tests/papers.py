#!/usr/bin/python3
"""The papers name what is there: files, headings, commands of ./dev, flags.

Usage: papers.py AXISD AXISCTL
"""

import glob
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from harness import Checks  # noqa: E402

ROOMS = "client|deploy|kernels|proto|server|tests"
# Papers that name no flags but ours. Elsewhere those with an underscore are:
# kubectl, pip and their like have hyphens.
OURS = {"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"}


def spelled_out(path: str) -> list:
    """`a.{h,cc}` is a.h and a.cc."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [name for part in found[1].split(",") for name in
            spelled_out(path[:found.start()] + part + path[found.end():])]


def anchors(paper: pathlib.Path) -> set:
    headings = re.findall(r"^#+ (.*)$", paper.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-")
            for h in headings}


def missing_links(paper: pathlib.Path, text: str) -> list:
    found = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", text):
        if target.startswith("http"):
            continue
        path = paper.parent / target if target else paper
        if not path.exists() or anchor and anchor not in anchors(path):
            found.append(f"{target}#{anchor}")
    return found


def missing_files(paper: pathlib.Path, text: str) -> list:
    named = re.findall(rf"`((?:{ROOMS})/[\w./*{{}},-]*)`", text)
    return [path for name in named for path in spelled_out(name)
            if not glob.glob(str(ROOT / path)) and
            not glob.glob(str(paper.parent / path))]


def named_flags(name: str, text: str) -> set:
    flags = re.findall(r"(?<![\w-])--([a-z]\w+)(?![\w-])", text)
    return {flag for flag in flags if name in OURS or "_" in flag}


def main() -> None:
    check = Checks()
    dev = set(re.findall(r"^  ([a-z]+)\)", (ROOT / "dev").read_text(), re.M))
    flags = {"help", "version"}
    for command in ([sys.argv[1], "--help"], [sys.argv[2], "help"]):
        said = subprocess.run(command, capture_output=True, text=True,
                              timeout=30).stdout
        found = set(re.findall(r"^ +--(\w+)", said, re.M))
        check(f"{' '.join(command)} lists flags", len(found) > 10, said)
        flags |= found
    papers = [name for folder in ("", *(f"{room}/**/" for room in
                                        ROOMS.split("|")))
              for name in glob.glob(f"{folder}*.md", root_dir=ROOT,
                                    recursive=True)
              if "node_modules" not in name]
    for name in papers:
        text = (ROOT / name).read_text()
        for what, missing in (
                ("links", missing_links(ROOT / name, text)),
                ("files", missing_files(ROOT / name, text)),
                ("commands", set(re.findall(r"\./dev ([a-z]+)", text)) - dev),
                ("flags", named_flags(name, text) - flags)):
            check(f"the {what} that {name} names are there", not missing,
                  missing)
    check.finish(f"papers, {len(papers)}")


if __name__ == "__main__":
    main()
