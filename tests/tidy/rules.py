"""The rules of the house as functions over a tree of files: each yields "path:line: what is wrong;
what to do instead". tidy_test.py runs them on the repository and, to see that they bite, on small
bad trees. A rule here is a place to look: where a file has a reason, the marks below let it say so.

    // Long because: <reason>                 in a file over the limits, within its first 40 lines
    // Allowed <word> here: <reason>          on the line or the line above a banned word
"""

import os
import re

# ---- layers: which folders of src/ a folder may include. Beside its own.
CORES_BELOW = ["base", "model"]
LAYERS = {
    "base": [],
    "model": ["base"],
    "codec": ["base"],
    "scheduler": CORES_BELOW,
    "recovery": CORES_BELOW,
    "goodput": CORES_BELOW,
    "control": CORES_BELOW + ["scheduler", "recovery", "goodput"],
    "agent": CORES_BELOW,
    "launch": CORES_BELOW + ["recovery"],
    "runtime": CORES_BELOW,
    "io": CORES_BELOW + ["codec", "runtime"],
    "api": CORES_BELOW + ["codec", "control", "io/http/server.hpp"],
    "sim": CORES_BELOW + ["goodput", "control", "agent", "launch", "runtime"],
    "cli": CORES_BELOW
    + ["codec", "control/requests.hpp", "io/http/client.hpp", "io/journal/journal_reader.hpp",
       "io/logs/error_context.hpp"],
    "app": CORES_BELOW + ["codec", "control", "agent", "launch", "runtime", "io", "api", "cli"],
}

# Decide things from values alone: same input, same output, on every machine.
PURE = ["base", "model", "codec", "scheduler", "recovery", "goodput", "control", "agent", "launch"]
DETERMINISTIC = PURE + ["runtime", "sim"]
ALL = list(LAYERS)
SHELLS = ["io", "api", "cli", "app"]

# (word, folders where it is banned, what to use instead)
BANNED = [
    (r"std::chrono|\b(?:clock_gettime|gettimeofday|ftime)\b|\btime\s*\(\s*(?:nullptr|NULL|0)\s*\)",
     DETERMINISTIC, "the Instant that step() is given (runtime::Clock in a shell)"),
    (r"\b(?:sleep_for|sleep_until|usleep|nanosleep|clock_nanosleep)\b|(?<![\w.>:])sleep\s*\(",
     ALL, "a wait for the event with a limit (poll, condition variable, wake_at)"),
    (r"\b(?:random_device|mt19937(?:_64)?|default_random_engine|getrandom|getentropy|arc4random)\b"
     r"|\b(?:std::)?s?rand\s*\(", DETERMINISTIC, "Prng, or values that arrive in events"),
    (r"\bunordered_(?:multi)?(?:map|set)\b", DETERMINISTIC, "std::map, std::set or a sorted vector"),
    (r"\bstd::(?:j?thread|mutex|recursive_mutex|shared_mutex|condition_variable(?:_any)?|atomic\w*"
     r"|future|promise|async|lock_guard|unique_lock|scoped_lock)\b|\bpthread_\w+",
     PURE + ["runtime"], "values; threads live in shells, data crosses through mailboxes"),
    (r"#\s*include\s*<(?:iostream|fstream|filesystem|thread|mutex|shared_mutex"
     r"|condition_variable|future|atomic|random|unordered_map|unordered_set|ctime|time\.h)>",
     PURE + ["runtime"], "a port of runtime/ (files, output), or what the rule for its content names"),
    (r"\bstd::(?:cout|cerr|clog|[io]?fstream|filesystem)\b|\b(?:f?printf|fopen|getenv)\s*\(",
     DETERMINISTIC, "a command, a fact or a returned value"),
    (r"\bassert\s*\(", ALL, "REQUIRE: it stays on in release builds"),
    (r"\bthrow\b", ALL, "Result<T> for operating errors, REQUIRE for bugs of ours"),
    (r"\busing\s+namespace\s+std\b", ALL, "qualified names"),
    (r"\bstd::endl\b", ALL, r"'\n'; flush by hand where it is needed"),
    (r"\bsystem\s*\(|\bpopen\s*\(", ALL, "io/process: it knows what it started"),
]
# Tests wait for events; a sleep there hides a race or wastes time.
BANNED_IN_TESTS = [
    (r"\b(?:sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.>:])sleep\s*\(|\btime\.sleep\s*\(",
     "a wait for the event itself, with a limit"),
    (r"GTEST_SKIP\(\)\s*;|@unittest\.skip\(\s*\)|self\.skipTest\(\s*\)", "a skip with its reason"),
]

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal
cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution
filesystem format forward_list fstream functional future initializer_list iomanip ios iosfwd iostream
istream iterator latch limits list locale map memory memory_resource mutex new numbers numeric optional
ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex source_location
span sstream stack stdexcept stop_token streambuf string string_view system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
""".split())
SYSTEM = re.compile(
    r"^(?:sys|linux|netinet|arpa|net|asm|bits)/|^(?:unistd|fcntl|poll|signal|dirent|dlfcn|errno|grp|pwd"
    r"|ifaddrs|netdb|pthread|sched|spawn|stdlib|string|stdint|stddef|stdio|time|termios|pty|utmp|limits"
    r"|ftw|glob|syslog|getopt|locale|langinfo|immintrin|x86intrin|cpuid)\.h$")
# (header prefix, where it may stand). "codec/*.cpp" style globs over the path below src/.
THIRD_PARTY = [
    ("boost/describe", ["model/", "codec/", "api/*.cpp", "cli/*.cpp", "sim/*.cpp"]),
    ("boost/mp11", ["model/", "codec/", "api/*.cpp", "cli/*.cpp"]),
    ("tl/expected", ["base/"]),
    ("fmt/", ["*.cpp"]),
    ("boost/asio", ["io/http/*.cpp", "io/http/connection.hpp"]),
    ("boost/beast", ["io/http/*.cpp", "io/http/connection.hpp"]),
    ("CLI/", ["cli/*.cpp"]),
    ("", ["io/*.cpp", "codec/*.cpp", "api/*.cpp", "cli/*.cpp"]),
]

LINES_MAX = 500
HEADER_LINES_MAX = 200
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
CODE = (".cpp", ".hpp", ".h", ".c", ".py", ".sh", ".js", ".css")
SKIPPED_FOLDERS = {".git", "build", "__pycache__", ".cache", "node_modules"}
TEXT_FOLDERS = ("src/", "lib/", "python/", "scripts/", "tests/", "examples/", "docs/", ".ci/")


class Tree:
    """The files below a root, each read once."""

    def __init__(self, root):
        self.root = root
        self.paths = []
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
            for file in sorted(files):
                self.paths.append(os.path.relpath(os.path.join(folder, file), root))
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            with open(os.path.join(self.root, path), "rb") as file:
                self.texts[path] = file.read().decode("utf-8", "replace")
        return self.texts[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def code(self, *prefixes, ends=(".cpp", ".hpp", ".h")):
        return [p for p in self.paths if p.startswith(prefixes) and p.endswith(ends)]

    def exists(self, path):
        return os.path.lexists(os.path.join(self.root, path))


def layer_of(path):
    """src/io/http/a.cpp -> io."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "src" else ""


def without_comments_and_strings(text):
    """The same lines with comments and the insides of literals blanked, so that words can be found."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(?P<d>[^\s()\\]{0,16})\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
        r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'", re.S)

    def blank(match):
        found = match.group(0)
        if found.startswith(('"', 'R"')):
            return '"' + "\n" * found.count("\n") + '"'
        return " " + "\n" * found.count("\n")

    # An include keeps its name.
    kept = re.sub(r'^(\s*#\s*include\s*)"([^"\n]*)"', r"\1<<\2>>", text, flags=re.M)
    return re.sub(r"<<([^<>\n]*)>>", r'"\1"', pattern.sub(blank, kept))


def includes(text, quoted):
    form = r'"([^"\n]+)"' if quoted else r"<([^>\n]+)>"
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*#\s*include\s*" + form, line)
        if match:
            yield number, match.group(1)


def layers(tree):
    for path in tree.code("src/"):
        layer = layer_of(path)
        if layer not in LAYERS:
            yield f"{path}:1: src/{layer} is not a known layer; add it to LAYERS in {__name__}.py " \
                  f"and to docs/architecture.md"
            continue
        for number, name in includes(tree.text(path), quoted=True):
            target = name.split("/")[0]
            if "/" not in name or target not in LAYERS:
                yield f'{path}:{number}: "{name}" is not below src/; write the path from src/'
            elif target != layer and target not in LAYERS[layer] and name not in LAYERS[layer]:
                allowed = ", ".join(LAYERS[layer]) or "nothing of src/"
                yield f"{path}:{number}: {layer}/ may not include {name}; it may use {allowed}"


def banned_words(tree):
    rules = [(re.compile(word), set(folders), instead) for word, folders, instead in BANNED]
    for path in tree.code("src/"):
        layer = layer_of(path)
        yield from find_words(tree, path, [(w, i) for w, f, i in rules if layer in f])
    in_tests = [(re.compile(word), instead) for word, instead in BANNED_IN_TESTS]
    for path in tree.code("tests/", ends=(".cpp", ".hpp", ".py")):
        if not path.startswith("tests/tidy/"):
            yield from find_words(tree, path, in_tests)


def find_words(tree, path, rules):
    text = tree.text(path)
    original = text.splitlines()
    plain = text if path.endswith(".py") else without_comments_and_strings(text)
    for number, line in enumerate(plain.splitlines(), 1):
        for word, instead in rules:
            match = word.search(line)
            if not match:
                continue
            near = "\n".join(original[max(0, number - 2):number])
            if not re.search(r"Allowed \S+ here: \S+", near):
                yield f"{path}:{number}: '{match.group(0).strip()}' is banned here; use {instead}"


def third_party(tree):
    for path in tree.code("src/"):
        below = path[len("src/"):]
        for number, name in includes(tree.text(path), quoted=False):
            if name in STANDARD:
                continue
            if SYSTEM.match(name):
                if layer_of(path) not in SHELLS:
                    yield f"{path}:{number}: <{name}> is the machine's; only io/ and the programs above " \
                          f"it may include it"
                continue
            places = next(p for prefix, p in THIRD_PARTY if name.startswith(prefix))
            if not any(stands(below, place) for place in places):
                yield f"{path}:{number}: third-party <{name}> may stand only in {', '.join(places)}"


def stands(path, place):
    if place == "*.cpp":
        return path.endswith(".cpp")
    if place.endswith("*.cpp"):
        return path.startswith(place[:-len("*.cpp")]) and path.endswith(".cpp")
    return path.startswith(place)


def sizes(tree):
    for path in tree.paths:
        if not path.startswith(("src/", "lib/", "python/", "scripts/", "tests/", "examples/")):
            continue
        if not path.endswith(CODE):
            continue
        lines = tree.lines(path)
        limit = HEADER_LINES_MAX if path.endswith((".hpp", ".h")) else LINES_MAX
        head = "\n".join(lines[:40])
        if len(lines) > limit and not re.search(r"Long because: \S+", head):
            yield f"{path}:1: {len(lines)} lines, the limit is {limit}; split it by what the parts know, or " \
                  f"give the reason in a comment 'Long because: ...' near its start"


def headers(tree):
    for path in tree.code("src/", "lib/", ends=(".hpp", ".h")):
        if "#pragma once" not in tree.text(path):
            yield f"{path}:1: a header without '#pragma once'"
    for path in tree.code("src/", ends=(".cpp",)):
        own = path[len("src/"):-len(".cpp")] + ".hpp"
        if not tree.exists("src/" + own):
            continue
        first = next(includes(tree.text(path), quoted=True), (1, ""))
        if first[1] != own:
            yield f'{path}:{first[0]}: include "{own}" first, so that it is seen to compile alone'


def readmes(tree):
    folders = sorted({layer_of(p) for p in tree.paths} - {""})
    for folder in folders:
        if not tree.exists(f"src/{folder}/README.md"):
            yield f"src/{folder}/README.md:1: missing; say its purpose, main type and what may not go in"


def listed(tree):
    """Each source is named by a CMakeLists.txt beside or above it: nothing lies around unbuilt."""
    for path in tree.code("src/", "lib/", "tests/", ends=(".cpp",)):
        folder, name = os.path.split(path)
        place, found = folder, False
        while place and not found:
            file = f"{place}/CMakeLists.txt"
            if tree.exists(file):
                text = tree.text(file)
                found = os.path.relpath(path, place) in text or name in text or "GLOB" in text
            place = os.path.dirname(place)
        if not found:
            yield f"{path}:1: no CMakeLists.txt names it; build it or delete it"


def unfinished(tree):
    for path in tree.paths:
        if path.startswith(TEXT_FOLDERS) or path == "README.md":
            for number, line in enumerate(tree.lines(path), 1):
                if UNFINISHED.search(line):
                    yield f"{path}:{number}: an unfinished mark; finish it, or say in docs/ what is missing"


def slug(heading):
    plain = re.sub(r"[`*_]|\[([^\]]*)\]\([^)]*\)", lambda m: m.group(1) or "", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def anchors(text):
    return {slug(m.group(1)) for m in re.finditer(r"^#{1,6}\s+(.*)$", text, re.M)}


def without_fences(text):
    return re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S | re.M)


def links(tree):
    for path in tree.paths:
        if not path.endswith(".md"):
            continue
        text = without_fences(tree.text(path))
        for number, line in enumerate(text.splitlines(), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                if re.match(r"[a-z]+:", target):
                    continue
                file, _, anchor = target.partition("#")
                whole = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if not tree.exists(whole):
                    yield f"{path}:{number}: the link {target} leads nowhere"
                elif anchor and whole.endswith(".md") and anchor not in anchors(tree.text(whole)):
                    yield f"{path}:{number}: {whole} has no heading for #{anchor}"


NAMED_PATH = re.compile(r"\b(?:src|tests|scripts|docs|lib|python|examples)/[\w./-]*\w")


def named_paths(tree):
    """Files that docs and comments name exist; functions named beside a file are in it."""
    for path in tree.paths:
        if path.startswith("tests/tidy/") or not path.endswith((".md",) + CODE):
            continue
        text = without_fences(tree.text(path)) if path.endswith(".md") else tree.text(path)
        for number, line in enumerate(text.splitlines(), 1):
            files = []
            if path.endswith(".md"):
                names = [n for code in re.findall(r"`([^`]+)`", line) for n in NAMED_PATH.findall(code)
                         if code.startswith(n)]
            else:
                names = re.findall(r"\bdocs/[\w./-]*\w", line) if comment_of(line) else []
            for name in names:
                if any(c in name for c in "*<>"):
                    continue
                if not tree.exists(name):
                    yield f"{path}:{number}: names {name}, which does not exist"
                elif os.path.isfile(os.path.join(tree.root, name)):
                    files.append(name)
            if path != "docs/architecture.md" or not files:
                continue
            for symbol in re.findall(r"`([\w:]+)\(\)`", line):
                last = symbol.split("::")[-1]
                if not any(re.search(rf"\b{last}\b", tree.text(f)) for f in files):
                    yield f"{path}:{number}: {last}() is not in {', '.join(files)}"


def comment_of(line):
    return re.search(r"(?:^|\s)(?://|#|\*)", line)


RULES = [layers, banned_words, third_party, sizes, headers, readmes, listed, unfinished, links, named_paths]
