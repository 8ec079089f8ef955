"""Checks the links of our pages: `links.py [PAGE...]`.

A relative link names a file that exists and, behind a #, a heading in it. Pages of the site link
only to files of the site, and all of them are in its table of contents and in llms.txt. No link
depends on where the project is published. Each guide has a program in examples/. Prints what is
wrong and exits with 1.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs/src"
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]*)\)|\bsrc=\"([^\"]*)\"")
HEADING = re.compile(r"^#+ (.*)", re.MULTILINE)
# Machines of ours and places where the project is not.
FOREIGN = re.compile(r"https?://[^/\s]*(?:paddlegate|localhost)|github\.com/[^/\s]*/paddlegate")


def main(names):
    pages = [Path(name).resolve() for name in names] or all_pages()
    faults = [fault for page in pages for fault in faults_of(page)]
    if not names:
        faults += unlisted(SITE / "SUMMARY.md", SITE) + unlisted(ROOT / "llms.txt", ROOT)
        faults += lonely()
    print(*faults, f"{len(pages)} pages", sep="\n")
    return bool(faults)


def all_pages():
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    pages = [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]
    return [*(page for page in pages if page != ROOT / "tests/readme/sample.md"), ROOT / "llms.txt"]


def faults_of(page):
    text = page.read_text()
    for target in links(text):
        if fault := fault_of(page, target):
            yield f"{page}: {target or 'an empty link'} {fault}"
    if foreign := FOREIGN.search(COMMENT.sub("", FENCE.sub("", text))):
        yield f"{page}: {foreign[0]} is an address that the project does not have"


def links(text):
    prose = CODE.sub("", COMMENT.sub("", FENCE.sub("", text)))
    return [first or second for first, second in LINK.findall(prose)]


def fault_of(page, target):
    if re.match(r"[a-z]+:", target):
        return None
    if target.startswith("/") or not target:
        return "is an absolute link"
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return "names no file"
    if page.is_relative_to(SITE) and not file.is_relative_to(SITE):
        return "leaves the site"
    if anchor and anchor not in anchors(file):
        return "names no heading"
    return None


def anchors(file):
    """The anchors that GitHub and mdBook give to headings."""
    headings = HEADING.findall(FENCE.sub("", file.read_text()))
    words = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in headings]
    return {word.replace(" ", "-") for word in words}


def unlisted(contents, folder):
    """Pages of the site that a table of contents does not have."""
    listed = {(folder / target).resolve() for target in links(contents.read_text())}
    missing = set(SITE.rglob("*.md")) - listed - {SITE / "SUMMARY.md"}
    return [f"{page}: is not in {contents.name}" for page in sorted(missing)]


def lonely():
    """Guides without a program in examples/, and programs without a guide."""
    faults = []
    guides = {guide: guide.read_text() for guide in sorted((SITE / "guides").glob("*.md"))}
    listed = (ROOT / "examples/README.md").read_text()
    for guide, text in guides.items():
        if not re.search(r"`examples/\w+\.\w+`", text):
            faults.append(f"{guide}: names no program in examples/")
    for program in sorted((ROOT / "examples").iterdir()):
        is_named = any(f"`examples/{program.name}`" in text for text in guides.values())
        if program.suffix != ".md" and not (is_named and f"({program.name})" in listed):
            faults.append(f"{program}: is not named by a guide and by examples/README.md")
    return faults


sys.exit(main(sys.argv[1:]))
