"""Every link and picture of a built site that stays on it leads somewhere: ``links.py FOLDER``. Exit code 1 if one does not."""

import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The addresses of a page that a browser would open, and the places in it that others can point to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.places = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs.get("id"), attrs.get("name")}
        self.links += [(tag, attrs[name]) for name in ("href", "src") if attrs.get(name)]


read = cache(Page)


def is_there(target, place):
    """Whether there is such a file and, if it is a page, such a place in it."""
    return target.exists() and (not place or target.suffix != ".html" or place in read(target).places)


def broken(path):
    """Links of a page that lead nowhere."""
    for tag, link in read(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            if tag != "a" and parts.scheme != "data":
                yield f"{link} would be fetched"
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not is_there(target, unquote(parts.fragment)):
            yield link


def main(folder):
    pages = sorted(p.resolve() for p in Path(folder).rglob("*.html") if "_static" not in p.parts)
    found = [f"{page.name}: {link}" for page in pages for link in broken(page)]
    print("\n".join(found) or f"{len(pages)} pages, all links lead somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
