# HTML as text: what a page says to a reader who sees no page; bounded, whatever the HTML is.

HTML_READ = 16 << 10    # html.parser takes quadratic time on some texts, and no value is shown with more than 2,000 characters
HTML_LOOKED = 1 << 20   # characters of a text that are looked at; the rest is ignored
HTML_PARSER = []        # the class that parses HTML, once some was read
CELL_CHARS, SPAN_MOST, COLUMNS = 40, 100, 200
# Begin and end of parts that are cut out before the parser runs, so that 50 kB of CSS do not use up HTML_READ.
LEFT_OUT = [("<" + name, "</" + name) for tag in ("style", "script", "svg") for name in (tag, tag.upper())] + [
    ("<!--", "-->"), ('="data:', '"'), ("='data:", "'"), ('srcdoc="', '"'), ("srcdoc='", "'")]
SILENT = {"style", "script", "svg", "head", "iframe", "audio", "video", "template", "object", "canvas", "select", "textarea"}
BLOCKS = {"p", "div", "br", "li", "ul", "ol", "dl", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section", "article",
          "header", "footer", "main", "nav", "aside", "details", "summary", "blockquote", "figure", "figcaption", "hr", "form",
          "fieldset", "table", "caption", "tr", "body", "html", "address"}
# Sentences that libraries write into their HTML for notebooks which do not run scripts.
BOILERPLATE = ("Make this Notebook Trusted", "please rerun this cell to show the HTML", "HTML representation is unable to render",
               "Loading BokehJS", "BokehJS is being loaded", "Your browser does not support", "Click to expand", "requires JavaScript")


def html_text(html, budget):
    """The text of some HTML within the budget, by whole lines; "" if it says nothing."""
    try:
        text = parsed_text(without_silent(html[:HTML_LOOKED])[:HTML_READ])
    except Exception:  # no parser in this Python
        return ""
    lines = [line for line in text.split("\n") if not any([known in line for known in BOILERPLATE])]
    lines = without_blanks(lines)
    return cut_lines(lines, budget)


def without_silent(html):
    """The HTML without styles, scripts, drawings, comments and embedded data, in one pass: a regular expression
    takes seconds where such tags are nested or never closed."""
    following = {}  # pair of LEFT_OUT -> where it begins next
    for pair in LEFT_OUT:
        at = html.find(pair[0])
        if at >= 0:
            following[pair] = at
    kept, end = [], 0
    while following:
        pair = min(following, key=following.get)
        begin = following[pair]
        if begin >= end:
            kept.append(html[end:begin])
            close = html.find(pair[1], begin + len(pair[0]))
            if close < 0:
                return "".join(kept)
            if pair[1].startswith("</"):
                close = html.find(">", close)
                if close < 0:
                    return "".join(kept)
            end = close + (len(pair[1]) if pair[1] == "-->" else 1)
            if pair[1] in "\"'":
                kept.append('=""')
        begin = html.find(pair[0], end)
        if begin < 0:
            del following[pair]
        else:
            following[pair] = begin
    kept.append(html[end:])
    return "".join(kept)


def html_parser():
    """The parser of the standard library. Its modules are taken out again: a file of the user's may have their names."""
    if not HTML_PARSER:
        names = ("html", "html.entities", "html.parser", "_markupbase")
        others = {name: modules.pop(name) for name in names if name in modules}
        try:
            import_stdlib("html.parser")
            HTML_PARSER.append(modules["html.parser"].HTMLParser)
        finally:
            for name in names:
                modules.pop(name, None)
            modules.update(others)
    return HTML_PARSER[0]


def parsed_text(html):
    reader = HtmlReader()

    class Parser(html_parser()):
        def handle_starttag(self, tag, attributes):
            reader.begin(tag, dict(attributes))

        def handle_endtag(self, tag):
            reader.end(tag)

        def handle_data(self, data):
            reader.write(data)

    parser = Parser(convert_charrefs=True)
    parser.feed(html)
    parser.close()
    return reader.finish()


class HtmlReader:
    """Puts together the lines of a page. A table inside another is text of the cell that it is in."""

    def __init__(self):
        self.lines, self.words = [], []
        self.silent = self.pre = self.depth = 0
        self.rows = []      # of the table that is read: each a list of texts
        self.cell = None    # the pieces of the cell that is read
        self.held = {}      # column -> rows below that a cell with a rowspan still covers
        self.spans = 1, 1   # columns and rows that the cell covers

    def begin(self, tag, attributes):
        if tag == "body":
            self.silent = 0
        if tag in SILENT:
            self.silent += 1
        if self.silent:
            return
        if tag == "img" and attributes.get("alt"):
            self.write("[%s]" % attributes["alt"])
        if tag == "table":
            self.depth += 1
            if self.depth == 1:
                self.end_line()
                self.rows, self.held = [], {}
        if self.depth == 1 and tag == "tr":
            self.end_cell()
            self.rows.append([])
        elif self.depth == 1 and tag in ("td", "th"):
            self.end_cell()
            if not self.rows:
                self.rows.append([])
            self.cell = []
            self.spans = span(attributes.get("colspan")), span(attributes.get("rowspan"))
        elif tag in BLOCKS or tag in ("td", "th"):
            self.end_line()
        if tag == "li":
            self.write("- ")
        if tag == "pre":
            self.pre += 1

    def end(self, tag):
        if tag in SILENT:
            self.silent = max(self.silent - 1, 0)
            return
        if self.silent:
            return
        if tag == "pre":
            self.pre = max(self.pre - 1, 0)
        if tag == "table" and self.depth:
            self.depth -= 1
            if not self.depth:
                self.end_table()
        elif self.depth == 1 and tag in ("td", "th", "tr"):
            self.end_cell()
        elif tag in BLOCKS:
            self.end_line()

    def write(self, data):
        if self.silent:
            return
        if self.cell is not None:
            self.cell.append(data)
        elif self.depth and not data.strip():
            return  # white space between the cells
        elif self.pre:
            first, *others = data.split("\n")
            self.words.append(first)
            for line in others:
                self.end_line(True)
                self.words.append(line)
        else:
            self.words.append(data)

    def end_line(self, exact=False):
        if self.cell is not None:
            self.cell.append(" ")
            return
        text = "".join(self.words)
        self.words = []
        text = text.rstrip() if exact or self.pre else " ".join(text.split())
        if text or exact:
            self.lines.append(text)

    def end_cell(self):
        if self.cell is None:
            return
        text, self.cell = " ".join("".join(self.cell).split()), None
        if len(text) > CELL_CHARS:
            text = text[:CELL_CHARS - 1] + "…"
        row, (wide, high) = self.rows[-1], self.spans
        while self.held.get(len(row)) and len(row) < COLUMNS:
            self.held[len(row)] -= 1
            row.append("")
        for at in range(min(wide, COLUMNS - len(row))):
            if high > 1:
                self.held[len(row)] = high - 1
            row.append(text if not at else "")

    def end_table(self):
        self.end_cell()
        rows, self.rows = [row for row in self.rows if any(row)], []
        self.words = []
        count = max([len(row) for row in rows] or [0])
        rows = [row + [""] * (count - len(row)) for row in rows]
        used = [at for at in range(count) if any([row[at] for row in rows])]
        widths = {at: max([len(row[at]) for row in rows]) for at in used}
        # The first row mostly has the names.
        right = {at for at in used if all([is_number(row[at]) for row in rows[1:] if row[at]]) and len(rows) > 1}
        for row in rows:
            cells = [row[at].rjust(widths[at]) if at in right else row[at].ljust(widths[at]) for at in used]
            self.lines.append("  ".join(cells).rstrip())

    def finish(self):
        """What was cut off in the middle of a table is shown all the same."""
        if self.depth:
            self.end_table()
        self.end_line()
        return "\n".join(self.lines)


def span(text):
    try:
        return min(max(int(text), 1), SPAN_MOST)
    except (TypeError, ValueError):
        return 1


def is_number(text):
    if text in ("NaN", "nan", "None", "inf", "-"):
        return True
    for sign in (".", ",", "%", "e-", "e+"):
        text = text.replace(sign, "")
    return text.lstrip("+-−$€").isdigit()


def without_blanks(lines):
    """No empty lines at both ends, and not two in a row."""
    kept = []
    for line in lines:
        if line.strip() or (kept and kept[-1]):
            kept.append(line.rstrip())
    while kept and not kept[-1]:
        kept.pop()
    return kept


def cut_lines(lines, budget):
    """The first lines that fit, and how many follow."""
    text = "\n".join(lines)
    if len(text) <= budget:
        return text
    room, kept = budget - len("\n… (00000 more lines)"), []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    if not kept:
        return cut(text, budget)
    return "\n".join(kept) + "\n… (%d more lines)" % (len(lines) - len(kept))
