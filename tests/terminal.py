"""A terminal for tests: tmux with one window."""

import itertools
import subprocess

from drover import wait_until

_numbers = itertools.count()


class Terminal:
    """tmux with one window, which shows what the words do and then waits."""

    def __init__(self, drover, columns, rows, *words, env=None):
        self.drover = drover
        self.socket = str(drover.folder / f"tmux-{next(_numbers)}")
        self.environment = {**drover.environment(env), "LC_ALL": "C.UTF-8"}
        for name in ("TMUX", "NO_COLOR"):
            self.environment.pop(name, None)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows, *words)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *map(str, words)], env=self.environment, cwd=self.drover.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, f"tmux {words}: {done.stdout}"
        return done.stdout

    def lines(self):
        """What is to be seen without scrolling."""
        return self.tmux("capture-pane", "-p").splitlines()

    def screen(self):
        return "\n".join(self.lines())

    def everything(self):
        """That, and what was pushed out of the screen above; a line that was wrapped is one."""
        return self.tmux("capture-pane", "-p", "-J", "-S", "-")

    def wait_for(self, *texts):
        def shown():
            screen = self.screen()
            return all(text in screen for text in texts)

        try:
            wait_until(shown, f"{texts} on the screen")
        except AssertionError:
            print(self.everything())
            raise

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.environment, stderr=subprocess.DEVNULL)
