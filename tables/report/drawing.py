"""A chart as SVG, drawn with nothing but Python: scales, axes, marks and a legend. A page that shows the SVG gives its classes
the page's colours; a file of its own has them in a style element and a white ground."""

import html
import math

# Okabe and Ito's colours, told apart by colour-blind readers, darkened where needed so that each has three times the
# luminance of a dark page and a third of a white one's. In grey they are one: shape and filling tell all names apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#B8699A", "#2F8FC5", "#B07A00", "#7f7f7f")
FADED = "#8c8c8c"
SHAPES = {  # as a path from the middle of a mark, with a radius of about 3.5 units
    "circle": "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0", "square": "m-3-3h6v6h-6z", "triangle-up": "m-3.8 2.9h7.6l-3.8-6.6z",
    "diamond": "m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z", "cross": "m-1.3-4h2.6v2.7h2.7v2.6h-2.7v2.7h-2.6v-2.7h-2.7v-2.6h2.7z",
    "triangle-down": "m-3.8-2.9h7.6l-3.8 6.6z", "triangle-right": "m-2.9-3.8v7.6l6.6-3.8z", "triangle-left": "m2.9-3.8v7.6l-6.6-3.8z"}
STROKES = {"x": "m-3-3l6 6m-6 0l6-6", "asterisk": "m0-4v8m-4-4h8m-6.8-2.8l5.6 5.6m-5.6 0l5.6-5.6"}
PATTERNS = [*((shape, True) for shape in SHAPES), *((shape, False) for shape in (*SHAPES, *STROKES))]  # (shape, whether filled)
DASHES = ("", "6 3", "2 2", "8 2 2 2", "4 4", "1 3", "10 4")
NAMED = 400  # marks of a chart that can have a text each; more are one path for each look
WIDTH, BELOW, ABOVE, RIGHT = 760, 46, 12, 16
LETTER = 6.7  # the width of one, about
STYLE = ("text{font:12px system-ui,sans-serif;fill:#1b1f24}.soft{fill:#57606a}.bold{font-weight:600}.title{font-size:15px;font-weight:600}"
         ".grid{stroke:#d0d7de;stroke-width:.7}.rule{stroke:#57606a;stroke-dasharray:5 4}.mean{stroke:#1b1f24;stroke-width:2.5}")


def looks(names):
    """{name: (colour, shape, whether filled)}; a name looks the same in every chart of the same names."""
    return {name: (COLOURS[place % len(COLOURS)], *PATTERNS[place % len(PATTERNS)]) for place, name in enumerate(names)}


def plain(value):
    """A number of a path or an attribute: a tenth of a unit is enough."""
    return f"{value:.1f}".removesuffix(".0").replace("-0.", "-.").removeprefix("0") if abs(value) >= 0.05 else "0"


def escaped(text):
    """Text as XML; what a log may hold and XML may not is left out."""
    return html.escape("".join(letter for letter in " ".join(str(text).split()) if letter.isprintable()))


def label(value):
    """A number on an axis."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Scale:
    """Places a number between 0 and 1; what lies outside of low and high stands at the edge."""

    def __init__(self, low, high, kind="log", values=None, form=label):
        self.low, self.high, self.kind, self.form = low, high if high > low else low + 1, kind, form
        self.values = values

    def turned(self, value):
        """A number as the axis counts."""
        return math.log(value) if self.kind == "log" else math.asinh(5 * value) if self.kind == "symlog" else value

    def at(self, value):
        """Place of a number."""
        low, high = self.turned(self.low), self.turned(self.high)
        return (self.turned(min(max(value, self.low), self.high)) - low) / (high - low)

    def ticks(self, most):
        """Values that the axis names."""
        if self.values is not None:
            return [value for value in self.values if self.low <= value <= self.high]
        if self.kind == "log":
            decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
                found = [step * 10.0 ** k for k in decades for step in steps if self.low <= step * 10.0 ** k <= self.high * (1 + 1e-9)]
                if len(found) <= most:
                    return found
            return found[::1 + len(found) // most]
        raw = (self.high - self.low) / most
        step = next(k * 10.0 ** math.floor(math.log10(raw)) for k in (1, 2, 2.5, 5, 10) if k * 10.0 ** math.floor(math.log10(raw)) >= raw)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


class Bands:
    """Places names one under the other."""

    def __init__(self, names):
        self.names = list(names)
        self.places = {name: (k + 0.5) / len(self.names) for k, name in enumerate(self.names)}

    def at(self, name):
        """The middle of a name's band."""
        return self.places[name]


def around(values, room=0.04, **more):
    """A logarithmic scale that has room around its values."""
    low, high = min(values), max(values)
    edge = math.exp(max(math.log(high / low), 0.1) * room)
    return Scale(low / edge, high * edge, **more)


class Chart:
    """Marks between two axes."""

    def __init__(self, x, y, height, titles=("", ""), width=WIDTH):
        self.x, self.y, self.height, self.titles = x, y, height, titles
        names = y.names if isinstance(y, Bands) else [y.form(value) for value in y.ticks(8)]
        self.left = min(max((LETTER * len(name) for name in names), default=0), 260) + (26 if titles[1] else 12)
        self.width = width - self.left - RIGHT
        self.marks, self.legends = [], []

    def place(self, x, y):
        """Where a point is drawn; None: at the edge."""
        return self.width * (0 if x is None else self.x.at(x)), self.height * (1 - self.y.at(y) if isinstance(self.y, Scale) else self.y.at(y))

    def points(self, found, seen, size=1):
        """Marks; found: (x, y, name of its look, text, units further down)."""
        groups = {}
        for x, y, name, text, down in found:
            groups.setdefault(name, []).append((*self.place(x, y), text, down))
        for name, many in groups.items():
            colour, shape, filled = seen[name]
            path = SHAPES.get(shape) or STROKES[shape]
            paths = [(f"M{plain(x)} {plain(y + down)}{path}", text) for x, y, text, down in many]
            inside = ("".join(f'<path d="{path}"><title>{escaped(text)}</title></path>' for path, text in paths) if len(found) <= NAMED
                      else f'<path d="{"".join(path for path, _ in paths)}"/>')
            self.marks.append(f'<g class="marks" stroke="{colour}" stroke-width="{1.4 * size:g}" fill="{colour if filled else "none"}" '
                              f'opacity=".85">{inside}</g>')

    def line(self, found, colour, dash="", wide=2, text="", steps=False):
        """A line through (x, y); steps: level until the next x."""
        parts, before = [], None
        for x, y in (self.place(*point) for point in found):
            parts.append(f"M{plain(x)} {plain(y)}" if before is None else (f"H{plain(x)}" if steps else "") + (f"V{plain(y)}" if steps else f"L{plain(x)} {plain(y)}"))
            before = x
        self.marks.append(f'<path class="line" d="{"".join(parts)}" fill="none" stroke="{colour}" stroke-width="{wide:g}"'
                          + (f' stroke-dasharray="{dash}"' if dash else "") + f'><title>{escaped(text)}</title></path>')

    def rule(self, x=None, y=None):
        """A dashed line across, if its value lies on the axis."""
        value, scale = (x, self.x) if x is not None else (y, self.y)
        if scale.low <= value <= scale.high:
            place = plain(self.width * self.x.at(x) if x is not None else self.height * (1 - self.y.at(y)))
            self.marks.append(f'<path class="rule" d="M{place} 0V{plain(self.height)}"/>' if x is not None
                              else f'<path class="rule" d="M0 {place}H{plain(self.width)}"/>')

    def mean(self, x, y, high=24, colour=None):
        """An upright tick."""
        across, down = self.place(x, y)
        self.marks.append(f'<path class="mean" d="M{plain(across)} {plain(down - high / 2)}v{plain(high)}"' + (f' style="stroke:{colour}"' if colour else "") + "/>")

    def text(self, x, y, words, right=0, down=4, anchor="start", kind="", colour=None):
        """Words at a point."""
        across, low = self.place(x, y)
        self.marks.append(f'<text class="{kind}" x="{plain(across + right)}" y="{plain(low + down)}" text-anchor="{anchor}"'
                          + (f' style="fill:{colour}"' if colour else "") + f">{escaped(words)}</text>")

    def cells(self, found, opacity, colour=COLOURS[0]):
        """Filled rectangles; found: ((left, right), (top, bottom)) as values of the axes."""
        parts = []
        for across, down in found:
            (left, top), (right, low) = (self.place(x, y) for x, y in zip(across, down))
            parts.append(f"M{left:.2f} {top:.2f}H{right:.2f}V{low:.2f}H{left:.2f}z")
        self.marks.append(f'<path class="cells" shape-rendering="crispEdges" fill="{colour}" fill-opacity="{opacity:.2g}" d="{"".join(parts)}"/>')

    def legend(self, title, entries):
        """A line over the chart; entries: (name, SVG of its mark around 0, 0)."""
        self.legends.append((title, entries))

    def legend_of(self, title, names, seen):
        """A legend of marks."""
        self.legend(title, [(name, f'<path d="M0 0{SHAPES.get(shape) or STROKES[shape]}" stroke="{colour}" stroke-width="1.4" '
                                   f'fill="{colour if filled else "none"}"/>') for name, (colour, shape, filled) in ((name, seen[name]) for name in names)])

    def drawn_legends(self):
        """(SVG, its height): entries side by side, in as many lines as they need."""
        parts, down, edge = [], 0, self.left + self.width
        for title, entries in self.legends:
            across = self.left
            parts.append(f'<text class="soft" x="{plain(across)}" y="{plain(down + 12)}">{escaped(title)}</text>')
            across += LETTER * len(title) + 16
            for name, mark in entries:
                wide = LETTER * len(name) + 32
                if across + wide > edge and across > self.left:
                    across, down = self.left, down + 18
                parts.append(f'<g transform="translate({plain(across + 6)},{plain(down + 8)})">{mark}<text x="10" y="4">{escaped(name)}</text></g>')
                across += wide
            down += 22
        return "".join(parts), down

    def axes(self):
        """Lines of the grid, with their numbers and names."""
        parts = []
        for value in self.x.ticks(max(int(self.width / 70), 2)):
            place = plain(self.width * self.x.at(value))
            parts.append(f'<path class="grid" d="M{place} 0V{plain(self.height)}"/><text x="{place}" y="{plain(self.height + 17)}" text-anchor="middle">{self.x.form(value)}</text>')
        if isinstance(self.y, Bands):
            for name in self.y.names:
                shown = name if len(name) <= 38 else name[:37] + "…"
                parts.append(f'<text x="-8" y="{plain(self.height * self.y.at(name) + 4)}" text-anchor="end">{escaped(shown)}</text>')
        else:
            for value in self.y.ticks(max(int(self.height / 40), 2)):
                place = plain(self.height * (1 - self.y.at(value)))
                parts.append(f'<path class="grid" d="M0 {place}H{plain(self.width)}"/><text x="-8" y="{place}" dy="4" text-anchor="end">{self.y.form(value)}</text>')
        across, up = self.titles
        parts.append(f'<text class="soft" x="{plain(self.width / 2)}" y="{plain(self.height + 37)}" text-anchor="middle">{escaped(across)}</text>')
        if up:
            parts.append(f'<text class="soft" transform="translate({plain(16 - self.left)},{plain(self.height / 2)}) rotate(-90)" text-anchor="middle">{escaped(up)}</text>')
        return "".join(parts)

    def inside(self):
        """(SVG, width, height) without the element around it."""
        legends, high = self.drawn_legends()
        body = f'{legends}<g transform="translate({plain(self.left)},{plain(high + ABOVE)})">{self.axes()}{"".join(self.marks)}</g>'
        return body, self.left + self.width + RIGHT, high + ABOVE + self.height + BELOW


def svg(charts, title="", lines=(), alone=True):
    """Charts side by side as one SVG, under a title and lines; alone: with its style and a white ground, as a file."""
    head = "".join(f'<text class="{kind}" x="12" y="{24 + 17 * k}">{escaped(text)}</text>'
                   for k, (kind, text) in enumerate([("title", title)] * bool(title) + [("soft", line) for line in lines]))
    down, across, parts, high = 17 * (bool(title) + len(lines)) + (16 if head else 0), 0, [], 0
    for chart in charts:
        body, wide, tall = chart.inside()
        parts.append(f'<g transform="translate({plain(across)},{plain(down)})">{body}</g>')
        across, high = across + wide, max(high, tall)
    size = f'viewBox="0 0 {plain(across)} {plain(down + high)}"'
    ground = f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#fff"/>' if alone else ""
    named = f' width="{plain(across)}" height="{plain(down + high)}"' if alone else ""
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}{named}>{ground}{head}{"".join(parts)}</svg>\n'
