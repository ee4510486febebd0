#!/usr/bin/env python3
"""count-results.py BUILD_DIR...: sums the test cases of the last ctest run in each build folder.

Reads <build>/ctest.xml (ctest --output-junit) for the tests that ran and <build>/results/<test>.xml
for the cases of each. A test without such a file counts as one; a test that failed though all its
cases passed (it crashed or ran out of time) counts as one failure more. Prints each failed and each
skipped case with its reason, then PASSED FAILED SKIPPED on one line. A build folder without ctest.xml
counts as one failure."""

import os
import sys
from xml.etree import ElementTree


def cases_of(path):
    """[(name, status, reason)] of one results file, or None where it cannot be read."""
    try:
        root = ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError):
        return None
    found = []
    for case in root.iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
        if case.find("failure") is not None or case.find("error") is not None:
            found.append((name, "failed", ""))
        elif (skip := case.find("skipped")) is not None:
            # GoogleTest writes "file:line\nreason".
            reason = (skip.get("message") or skip.text or "").strip().splitlines()
            found.append((name, "skipped", reason[-1].strip() if reason else ""))
        elif case.get("status") != "notrun":
            found.append((name, "passed", ""))
    return found


def count(build):
    label = os.path.basename(build.rstrip("/"))
    passed = failed = skipped = 0
    tests = cases = None
    try:
        tests = list(ElementTree.parse(os.path.join(build, "ctest.xml")).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"failed  {label}: ctest left no result ({error})")
        return 0, 1, 0
    for test in tests:
        name = test.get("name")
        status = {"run": "passed", "fail": "failed", "notrun": "skipped", "disabled": "skipped"}[
            test.get("status")
        ]
        cases = cases_of(os.path.join(build, "results", f"{name}.xml"))
        if cases is None:
            skip = test.find("skipped")
            reason = skip.get("message", "") if skip is not None else ""
            cases = [("", status, reason)]
        elif status == "failed" and all(case[1] != "failed" for case in cases):
            cases.append(("(the test program itself crashed or ran out of time)", "failed", ""))
        for case, outcome, reason in cases:
            passed += outcome == "passed"
            failed += outcome == "failed"
            skipped += outcome == "skipped"
            if outcome != "passed":
                why = f": {reason}" if reason else ""
                print(f"{outcome:8}{label} {name} {case}{why}".rstrip())
    return passed, failed, skipped


def main():
    sums = [sum(column) for column in zip(*map(count, sys.argv[1:]))] or [0, 0, 0]
    print(*sums)


if __name__ == "__main__":
    main()
