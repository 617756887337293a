#!/usr/bin/env python3
"""Measures how plain the English of a Go repository is.

    plain.py [--root DIR] [--worst N] [--limit KIND.MEASURE=NUMBER ...] [--changed BASE]

Kinds of text: docs (Markdown outside docs/decisions and the changelog), decisions, comments
(of Go and JavaScript), messages (string literals of Go and JavaScript of four words or more, and
the text of HTML pages), changelog.

Measures, each per 100 sentences:
  headless  a clause without a noun as its subject or object: "What is not known is refused",
            "who asks", "of what it saw". Name the thing instead: "The safety policy refuses an unknown state".
  passive   a form of "to be" with a participle: "the file is read". Name who acts.
  long      more than 30 words.
  private   a word that this project once used with a meaning of its own (see --words).
columns     lines of Markdown longer than 100 columns outside tables, code and links (a plain count).

Exit status 1 if a limit is exceeded. Without limits it only reports.
"""
import argparse, os, re, subprocess, sys

PARTICIPLES = """known told done made said kept held given taken shown seen sent set put read written built found
left lost meant met paid run sold thought understood won begun broken chosen cut drawn driven eaten fallen forgotten
gone heard hidden hit hurt laid led let lit ridden risen sat shut slept spoken spent stolen struck stuck sworn taught
thrown torn woken worn bound bought brought burnt caught dealt fed felt fought got grown hung spelt spread stood swept
""".split()
PASSIVE = re.compile(r"\b(?:is|are|was|were|be|been|being|isn't|aren't|wasn't|weren't)\s+(?:(?:not|never|always|then|also|only|just|\w+ly)\s+){0,2}"
                     r"(?:\w{3,}ed|" + "|".join(PARTICIPLES) + r")\b", re.I)
HEADLESS = re.compile(
    r"(?:^|[.;:,–—]\s+|\b(?:and|but|or|nor|so|then)\s+)(?:what|whoever|who|whatever|that which|all that|all which)\s+(?!kind\b|sort\b|about\b|if\b)\w+"
    r"|\b(?:of|from|to|for|with|by|on|in|at|into|than|as|like|about|over|under|behind|after|before|is|are|was|say|says|see|sees|do|does|did|know|knows|keep|keeps|take|takes|give|gives|find|finds|tell|tells|show|shows)\s+(?:what|whoever|whatever)\s+(?!kind\b|sort\b)\w+"
    r"|\b(?:all|that|those|everything)\s+(?:that|which)\s+(?:is|was|are|were|it|he|they|has|had|can|must|may)\b", re.I)
# Words that had a private meaning here once.
PRIVATE = re.compile(r"\b(?:doors?(?=\s+(?:of|to|for)\s+(?:the\s+)?exchange)|the house|its floors?|told|abreast|tends?\b(?!\s+to)|hands? over|goes on from|beforehand of|in hand|"
                     r"at its word|by its word|the last word|its word|of its own accord|fresh eyes|stands? beside|barred|at rest|wants? (?:a|an|the) (?:look|person|word))\b", re.I)
FENCE = re.compile(r"^\s*(```|~~~)")


def git_files(root):
    out = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
    return [f for f in out.stdout.splitlines() if "testdata/" not in f and "/vendor/" not in f and not f.startswith("vendor/")]


def sentences(text):
    text = re.sub(r"\s+", " ", text).strip()
    for s in re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'(\[*]|messkit\b)", text):
        s = s.strip()
        if len(re.findall(r"[A-Za-z]{2,}", s)) >= 4:
            yield s


def clean(md):
    md = re.sub(r"`[^`]*`", "X", md)
    md = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", md)
    return re.sub(r"[*_]{1,3}", "", md)


def markdown(path):
    """Yields (line, sentence) of prose, and counts lines that are too wide."""
    blocks, cur, start, fence, wide = [], [], 0, False, 0
    for n, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
        line = line.rstrip("\n")
        if FENCE.match(line):
            fence = not fence
            line = ""
        elif fence:
            continue
        table = line.lstrip().startswith("|")
        if len(line) > 100 and not table and "](" not in line and "http" not in line:
            wide += 1
        item = re.match(r"\s*(?:[-*+]|\d+\.)\s+", line)
        if table:
            for cell in line.strip().strip("|").split("|"):
                blocks.append((n, clean(cell)))
            line = ""
        if not line.strip() or line.startswith("#") or item:
            if cur:
                blocks.append((start, clean(" ".join(cur))))
            cur = []
        if line.strip() and not line.startswith("#"):
            if not cur:
                start = n
            cur.append(line[item.end():] if item else line.lstrip("> "))
    if cur:
        blocks.append((start, clean(" ".join(cur))))
    return [(n, s) for n, b in blocks for s in sentences(b)], wide


STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`([^`]*)`', re.S)


def go(path):
    """Returns the sentences of a Go file's comments and of its messages."""
    comments, messages, cur, start = [], [], [], 0
    raw = False
    for n, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
        s = line.strip()
        if not raw and s.startswith("//") and not s.startswith("//go:") and not s.startswith("//nolint"):
            if not cur:
                start = n
            cur.append(re.sub(r"`[^`]*`|\[[\w.]+\]", "X", s[2:].strip()))
            if not s[2:].strip() and len(cur) > 1:
                comments.append((start, " ".join(cur)))
                cur = []
            continue
        if cur:
            comments.append((start, " ".join(cur)))
            cur = []
        if line.count("`") % 2:
            raw = not raw
        if not raw and not s.startswith("import"):
            code = line
            for m in STRING.finditer(line):
                text = m.group(1) or m.group(2) or ""
                if len(re.findall(r"[A-Za-z]{2,}", text)) >= 4 and " " in text and not re.search(r"[<>{}^$]|\\[dswb(]", text):
                    messages.append((n, re.sub(r"%[-+# 0-9.]*[a-zA-Z]", "X", text.replace('\\"', '"').replace("\\n", " "))))
                code = code.replace(m.group(0), '""', 1)
            tail = re.search(r"\s//\s(.*)$", code)
            if tail:
                comments.append((n, tail.group(1)))
    if cur:
        comments.append((start, " ".join(cur)))
    split = lambda blocks: [(n, s) for n, b in blocks for s in sentences(b)]
    return split(comments), split(messages)


def javascript(path):
    """Returns the sentences of a JavaScript file's comments and of its messages."""
    comments, messages, cur, start = [], [], [], 0
    for n, line in enumerate(open(path, encoding="utf-8", errors="replace"), 1):
        whole = re.match(r"\s*(?://|/\*\*)\s?(.*?)(?:\s*\*/)?$", line.rstrip())
        if whole:
            start = start if cur else n
            cur.append(whole.group(1))
            continue
        if cur:
            comments.append((start, " ".join(cur)))
            cur = []
        strings, tail = literals(line)
        messages += [(n, s) for s in strings if len(re.findall(r"[A-Za-z]{2,}", s)) >= 4 and " " in s and not re.search(r"[<>{}^$]|\\[dswb(]", s)]
        if tail:
            comments.append((n, tail))
    split = lambda blocks: [(n, s) for n, b in blocks for s in sentences(b)]
    return split(comments), split(messages)


def literals(line):
    """Returns the string literals of a line of JavaScript, with X for each ${...}, and its comment."""
    found, stack, i = [], [], 0  # the stack holds [quote or brace, text]
    while i < len(line):
        c, top = line[i], stack[-1][0] if stack else ""
        if top and top in "'\"`":
            if c == "\\":
                i += 1
            elif c == top:
                found.append(stack.pop()[1])
            elif top == "`" and line.startswith("${", i):
                stack[-1][1] += "X"
                stack.append(["{", ""])
                i += 1
            else:
                stack[-1][1] += c
        elif c in "'\"`" or (c == "{" and stack):
            stack.append([c, ""])
        elif c == "}" and stack:
            stack.pop()
        elif not stack and line.startswith(" // ", i):
            return found, line[i + 4:].strip()
        i += 1
    return found, ""


def page(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    text = re.sub(r"(?s)<(script|style).*?</\1>", " ", text)
    return [(0, s) for b in re.split(r"<[^>]+>", text) for s in sentences(b)]


def changed_lines(root, base):
    out = subprocess.run(["git", "-C", root, "diff", "--unified=0", base], capture_output=True, text=True).stdout
    lines, cur = {}, None
    for l in out.splitlines():
        if l.startswith("+++ b/"):
            cur = l[6:]
        m = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))?", l)
        if m and cur:
            a, k = int(m.group(1)), int(m.group(2) or 1)
            lines.setdefault(cur, set()).update(range(a, a + k))
    return lines


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--root", default=".")
    ap.add_argument("--worst", type=int, default=0, metavar="N", help="show N examples of each measure and kind")
    ap.add_argument("--limit", action="append", default=[], metavar="KIND.MEASURE=NUMBER")
    ap.add_argument("--changed", metavar="BASE", help="only sentences that start on lines changed since BASE")
    ap.add_argument("paths", nargs="*", help="only files below these paths")
    a = ap.parse_args()
    only = changed_lines(a.root, a.changed) if a.changed else None
    found, wide = {}, 0

    def add(kind, f, rows):
        for n, s in rows:
            if only is None or n in only.get(f, ()) or (n == 0 and f in only):
                found.setdefault(kind, []).append((f, n, s))

    for f in git_files(a.root):
        if a.paths and not any(f == p or f.startswith(p.rstrip("/") + "/") for p in a.paths):
            continue
        path = os.path.join(a.root, f)
        if not os.path.isfile(path):
            continue
        if f.endswith(".md"):
            kind = "changelog" if os.path.basename(f).upper().startswith("CHANGELOG") else "decisions" if "/decisions/" in f else "docs"
            rows, w = markdown(path)
            wide += w
            add(kind, f, rows)
        elif f.endswith(".go"):
            c, m = go(path)
            add("comments", f, c)
            if not f.endswith("_test.go"):
                add("messages", f, m)
        elif f.endswith(".js"):
            c, m = javascript(path)
            add("comments", f, c)
            add("messages", f, m)
        elif f.endswith((".html", ".tmpl")):
            add("messages", f, page(path))

    figures = {}
    tests = {"headless": lambda s: bool(HEADLESS.search(s)) and not s.rstrip().endswith("?"), "passive": lambda s: bool(PASSIVE.search(s)),
             "long": lambda s: len(s.split()) > 30, "private": lambda s: bool(PRIVATE.search(s))}
    print(f"{'kind':10} {'sentences':>9} " + " ".join(f"{m:>9}" for m in tests))
    for kind in ("docs", "decisions", "changelog", "comments", "messages"):
        rows = found.get(kind, [])
        if not rows:
            continue
        for m, t in tests.items():
            hits = [r for r in rows if t(r[2])]
            figures[f"{kind}.{m}"] = 100 * len(hits) / len(rows)
            figures.setdefault("_" + m, []).extend((kind,) + r for r in hits)
        print(f"{kind:10} {len(rows):9} " + " ".join(f"{figures[f'{kind}.{m}']:9.1f}" for m in tests))
    print(f"columns: {wide} lines of Markdown over 100")
    figures["columns"] = wide
    if a.worst:
        for m in tests:
            per = {}
            for kind, f, n, s in figures.get("_" + m, []):
                per[kind] = per.get(kind, 0) + 1
                if per[kind] <= a.worst:
                    print(f"{m} {f}:{n}: {s[:200]}")
    bad = 0
    for l in a.limit:
        k, v = l.split("=")
        if k not in figures:
            continue
        if figures[k] > float(v):
            bad = 1
            print(f"over the limit: {k} is {figures[k]:.1f}, at most {v}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
