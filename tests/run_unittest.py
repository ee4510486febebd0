#!/usr/bin/env python3
"""run_unittest.py RESULTS.xml TEST_FILE.py [name ...]: runs a unittest file and writes its cases as
JUnit XML, so that skips keep their reasons. Every skip needs a reason."""

import importlib.util
import os
import sys
import time
import unittest
from xml.etree import ElementTree


class Recorder(unittest.TextTestResult):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cases = {}
        self.began = {}

    def startTest(self, test):
        super().startTest(test)
        self.began[test.id()] = time.monotonic()
        self.cases[test.id()] = ("passed", "", 0.0)

    def stopTest(self, test):
        status, text, _ = self.cases[test.id()]
        self.cases[test.id()] = (status, text, time.monotonic() - self.began[test.id()])
        super().stopTest(test)

    def note(self, test, status, text):
        # A failure of a whole class or module never passes startTest.
        self.cases[test.id()] = (status, text, 0.0)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if reason.strip():
            self.note(test, "skipped", reason)
        else:
            self.addFailure(test, (AssertionError, AssertionError("a skip without a reason"), None))

    def addError(self, test, err):
        super().addError(test, err)
        self.note(test, "failed", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.note(test, "failed", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.note(test, "failed", self._exc_info_to_string(err, test))


def printable(text):
    return "".join(c if c in "\t\n" or ord(c) >= 32 else "?" for c in text)


def write_results(path, cases):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    suite = ElementTree.Element("testsuite")
    for name, (status, text, seconds) in cases.items():
        case = ElementTree.SubElement(suite, "testcase", name=name, time=f"{seconds:.3f}")
        if status == "failed":
            ElementTree.SubElement(case, "failure", message=printable(text))
        elif status == "skipped":
            ElementTree.SubElement(case, "skipped", message=printable(text))
    ElementTree.ElementTree(suite).write(path)


def main():
    results, file, names = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
    sys.path.insert(0, os.path.dirname(file))
    module_name = os.path.splitext(os.path.basename(file))[0]
    spec = importlib.util.spec_from_file_location(module_name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    spec.loader.exec_module(module)
    loader = unittest.defaultTestLoader
    suite = (
        loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    )
    runner = unittest.TextTestRunner(stream=sys.stdout, verbosity=2, resultclass=Recorder)
    result = runner.run(suite)
    write_results(results, result.cases)
    if result.testsRun == 0 and not result.cases:
        print(f"{file}: no test was found")
        return 1
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
