"""What takes its time: left out by scripts/test --quick."""

import os
import unittest

from launching import LaunchTest

GIB = 1 << 30
BLOCK = 1 << 20
LAUNCHER_MEMORY_MAX = 128 << 20


class Lines(LaunchTest):
    def test_a_line_of_a_gibibyte(self):
        """Written through the rank's pipe as one line: the launcher's memory stays small, the log too, and
        what comes after the line is there."""
        logs = os.path.join(self.folder, "logs")
        code, output = self.launch(1, self.script(f"""
            block = b"x" * {BLOCK}
            os.write(1, b"before" + bytes([10]))
            for _ in range({GIB // BLOCK}):
                left = memoryview(block)
                while left: left = left[os.write(1, left):]
            os.write(1, bytes([10]) + b"after" + bytes([10]))
            with open(f"/proc/{{os.getppid()}}/status") as status:
                note("peak", next(line for line in status if line.startswith("VmHWM:")).split()[1])
            """), "--log-dir", logs)
        self.assertEqual(code, 0, output[-2000:])
        self.assertIn("[0] before", output)
        self.assertIn("[0] after", output)
        self.assertLess(int(self.note("peak", 0)) * 1024, LAUNCHER_MEMORY_MAX, "the line was kept in memory")
        self.assertLess(len(output), BLOCK, "the line was shown whole")
        stored = sum(os.path.getsize(os.path.join(logs, name)) for name in os.listdir(logs))
        self.assertLess(stored, 2 * BLOCK, "the line was stored whole")


if __name__ == "__main__":
    unittest.main()
