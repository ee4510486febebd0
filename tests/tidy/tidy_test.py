"""The house rules (rules.py) on the repository, and on small bad trees to see that each one bites."""

import ast
import os
import subprocess
import tempfile
import unittest

import rules

SOURCE = os.environ.get("MUSTER_SOURCE", os.path.join(os.path.dirname(__file__), "../.."))


class Repository(unittest.TestCase):
    """One test a rule, so that a failure names the rule."""

    tree = None

    @classmethod
    def setUpClass(cls):
        cls.tree = rules.Tree(SOURCE)

    def test_scripts_parse(self):
        found = []
        for path in self.tree.paths:
            if path.startswith(("scripts/", ".ci/")) and self.tree.text(path).startswith("#!/usr/bin/env bash"):
                check = subprocess.run(["bash", "-n", os.path.join(SOURCE, path)], capture_output=True, text=True)
                if check.returncode != 0:
                    found.append(f"{path}: {check.stderr.strip()}")
                if not os.access(os.path.join(SOURCE, path), os.X_OK):
                    found.append(f"{path}: has no run bit")
                if "set -euo pipefail" not in self.tree.text(path):
                    found.append(f"{path}: say 'set -euo pipefail'")
        self.assertEqual(found, [])

    def test_python_parses(self):
        for path in self.tree.paths:
            if path.endswith(".py"):
                # 3.9 is the oldest that ranks may bring along.
                ast.parse(self.tree.text(path), path, feature_version=(3, 9))

    def test_layout(self):
        sources = [path for path in self.tree.paths if path.endswith((".cpp", ".hpp"))]
        check = subprocess.run(["clang-format-19", "--dry-run", "--Werror", *sources], cwd=SOURCE,
                               capture_output=True, text=True)
        found = [line for line in check.stderr.splitlines() if " error: " in line]
        self.assertEqual((check.returncode, found), (0, []), "run clang-format-19 -i on these")


def add_rule(rule):
    def test(self):
        found = list(rule(self.tree))
        if found:
            self.fail(f"{len(found)} found by the rule '{rule.__name__}':\n" + "\n".join(found))

    setattr(Repository, f"test_{rule.__name__}", test)


for each in rules.RULES:
    add_rule(each)


class Bites(unittest.TestCase):
    """Each rule finds what is planted, and nothing in the good twin."""

    def found(self, rule, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return list(rule(rules.Tree(root)))

    def bites(self, rule, path, bad, good=None):
        self.assertEqual(len(self.found(rule, {path: bad})), 1, f"{rule.__name__} on {bad!r}")
        if good is not None:
            self.assertEqual(self.found(rule, {path: good}), [], f"{rule.__name__} on {good!r}")

    def test_layers(self):
        self.bites(rules.layers, "src/control/a.cpp", '#include "codec/json.hpp"\n', '#include "model/ids.hpp"\n')
        self.bites(rules.layers, "src/scheduler/a.hpp", '#include "recovery/recovery.hpp"\n')
        self.bites(rules.layers, "src/base/a.hpp", '#include "model/ids.hpp"\n', '#include "base/id.hpp"\n')
        self.bites(rules.layers, "src/cli/a.cpp", '#include "control/core.hpp"\n',
                   '#include "control/requests.hpp"\n')
        self.bites(rules.layers, "src/base/a.hpp", '#include "id.hpp"\n')
        self.bites(rules.layers, "src/attic/a.hpp", "")

    def test_layers_have_no_cycle(self):
        seen = []

        def visit(layer, path):
            self.assertNotIn(layer, path, f"a cycle: {path + [layer]}")
            for below in rules.LAYERS[layer]:
                visit(below.split("/")[0], path + [layer])
            seen.append(layer)

        for layer in rules.LAYERS:
            visit(layer, [])

    def test_banned_words(self):
        banned = rules.banned_words
        for word in ["auto t = std::chrono::steady_clock::now();", "std::random_device d;", "int x = rand();",
                     "std::unordered_map<int, int> m;", "std::mutex m;", "std::thread t;", "#include <fstream>",
                     'printf("x");', "std::atomic<int> a;", "assert(x);", "throw 1;", "usleep(3);",
                     "auto t = time(nullptr);", "sleep(1);", "std::cout << 1;", 'getenv("A");']:
            self.bites(banned, "src/control/a.cpp", word + "\n")
        for word in ["// std::mutex would be wrong here", 'auto s = "std::random_device";', "int strand(int);",
                     "int operand(1);", "job.sleep(1);", "int run_time(int x);", "/* rand() */",
                     "// Allowed throw here: the interface of X asks for it\nthrow 1;",
                     'auto r = R"(throw std::mutex)";', "char c = '\"'; int assertion(1);"]:
            self.assertEqual(self.found(banned, {"src/control/a.cpp": word + "\n"}), [], word)
        self.bites(banned, "src/io/a.cpp", "std::this_thread::sleep_for(x);\n", "std::mutex m;\n")
        self.bites(banned, "tests/a/a_test.cpp", "sleep_for(x);\n", 'GTEST_SKIP() << "no GPU";\n')
        self.bites(banned, "tests/a/a_test.cpp", "GTEST_SKIP();\n")
        self.bites(banned, "tests/a/a_test.py", "time.sleep(1)\n", "self.skipTest('no GPU')\n")

    def test_third_party(self):
        rule = rules.third_party
        self.bites(rule, "src/control/a.cpp", "#include <boost/json.hpp>\n", "#include <fmt/format.h>\n")
        self.bites(rule, "src/codec/a.hpp", "#include <boost/json.hpp>\n", "#include <boost/describe.hpp>\n")
        self.bites(rule, "src/codec/a.cpp", "#include <boost/asio.hpp>\n", "#include <yaml-cpp/yaml.h>\n")
        self.bites(rule, "src/io/journal/a.cpp", "#include <boost/beast.hpp>\n", "#include <sqlite3.h>\n")
        self.bites(rule, "src/io/http/a.hpp", "#include <boost/asio.hpp>\n", "#include <vector>\n")
        self.bites(rule, "src/api/a.cpp", "#include <CLI/CLI.hpp>\n")
        self.bites(rule, "src/launch/a.cpp", "#include <unistd.h>\n", "#include <cmath>\n")
        self.bites(rule, "src/base/a.hpp", "#include <fmt/format.h>\n", "#include <tl/expected.hpp>\n")

    def test_sizes(self):
        self.bites(rules.sizes, "src/base/a.cpp", "\n" * 501, "\n" * 500)
        self.bites(rules.sizes, "src/base/a.hpp", "\n" * 201, "// Long because: one table\n" + "\n" * 300)

    def test_headers(self):
        self.bites(rules.headers, "src/base/a.hpp", "int x;\n", "#pragma once\n")
        both = {"src/base/a.hpp": "#pragma once\n", "src/base/a.cpp": '#include "base/b.hpp"\n#include "base/a.hpp"\n'}
        self.assertEqual(len(self.found(rules.headers, both)), 1)

    def test_readmes(self):
        self.bites(rules.readmes, "src/base/a.cpp", "")
        self.assertEqual(self.found(rules.readmes, {"src/base/a.cpp": "", "src/base/README.md": "# base\n"}), [])

    def test_listed(self):
        self.bites(rules.listed, "src/base/a.cpp", "")
        both = {"src/base/a.cpp": "", "src/base/CMakeLists.txt": "muster_library(base SOURCES a.cpp)\n"}
        self.assertEqual(self.found(rules.listed, both), [])

    def test_unfinished(self):
        self.bites(rules.unfinished, "src/base/a.cpp", "// TO" + "DO: later\n", "// to do things well\n")

    def test_links(self):
        rule = rules.links
        self.bites(rule, "docs/a.md", "[b](b.md)\n", "[c](https://example.com/c)\n")
        self.bites(rule, "docs/a.md", "[b](#nothing)\n", "# A `nice` heading\n[b](#a-nice-heading)\n")

    def test_named_paths(self):
        rule = rules.named_paths
        self.bites(rule, "docs/a.md", "see `src/none.cpp`\n", "see `docs/a.md`\n")
        self.bites(rule, "src/base/a.hpp", "// see docs/none.md\n", '"docs/none.md"\n')
        tree = {"docs/architecture.md": "`src/a.cpp` `good()` `X::bad()`\n", "src/a.cpp": "void good();\n"}
        self.assertEqual(len(self.found(rule, tree)), 1)
