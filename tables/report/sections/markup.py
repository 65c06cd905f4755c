"""HTML of the report: text, elements, tables, folded parts."""

import html
import json
import os
import re

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "assets")


def escape(text):
    """Text as HTML; what UTF-8 cannot hold is escaped on writing."""
    return html.escape(" ".join(str(text).split()))


def element(tag, content, **attributes):
    """One element; content is HTML already."""
    words = "".join(f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
                    for name, value in attributes.items() if value is not None)
    return f"<{tag}{words}>{content}</{tag}>"


def marked(text):
    """A Markdown cell of ours as HTML: bold, code, and the escaped star."""
    found = escape(str(text).replace("\\*", "*"))
    for mark, tag in ((r"\*\*", "b"), ("`", "code")):
        found = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", found)
    return found


def html_table(header, alignment, rows, kind="plain"):
    """A small table; alignment as for Markdown. kind tight: with many columns, so that names may break
    after : and _."""
    def content(cell):
        return re.sub("([:_])", r"\1<wbr>", marked(cell)) if kind == "tight" else marked(cell)

    def line(cells, tag):
        return "<tr>" + "".join(
            f"<{tag}{' class=n' if letter == 'r' else ''}>{content(cell)}"
            for cell, letter in zip(cells, alignment))
    return (f'<div class=wide><table class={kind}><thead>{line(header, "th")}</thead><tbody>'
            + "".join(line(row, "td") for row in rows) + "</tbody></table></div>")


def fold(name, title, note, content):
    """A folded part of the page; note: what it holds."""
    return (f"<details id={name}><summary><h2>{escape(title)}</h2> <span>{escape(note)}</span></summary>"
            f"<div class=inside>{content}</div></details>")


def fold_each(parts):
    """(title, content) one after the other, folded if there are several."""
    if len(parts) == 1:
        return f"<h3>{escape(parts[0][0])}</h3>{parts[0][1]}"
    return "".join(f"<details><summary><h3>{escape(title)}</h3></summary>{content}</details>" for title, content in parts)


def resource(name):
    """A file of the assets."""
    with open(os.path.join(ASSETS, name), encoding="utf-8") as file:
        return file.read()


def script(text, **attributes):
    """A script element of code: nothing inside it may end it."""
    return element("script", re.sub("</(?=script)", r"<\\/", text, flags=re.IGNORECASE),
                   **attributes)


def json_script(data, name):
    """Data for the page's scripts."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return script(text.replace("<", "\\u003c"), id=name, type="application/json")


def columns(points):
    """Equal objects as {name: values}: names once, and of texts that repeat the place in a list."""
    def packed(values):
        words = list(dict.fromkeys(values))
        if all(isinstance(word, str) for word in words) and 2 * len(words) < len(values):
            place = {word: k for k, word in enumerate(words)}
            return {"words": words, "at": [place[value] for value in values]}
        return values
    return {name: packed([point[name] for point in points]) for name in (points[0] if points else ())}
