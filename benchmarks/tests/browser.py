"""A headless browser for tests: it opens a page without a network and returns its state."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome")
MARK = "what-the-test-found"
SECONDS_MAX = 60


def browser() -> str:
    """The browser of this environment (tools/browser.sh) or of this system; without one the calling test is skipped."""
    folders = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    for name in NAMES:
        found = shutil.which(name, path=folders)
        if found is not None:
            return found
    pytest.skip("no Chromium: tools/browser.sh can get one where apt-get reaches Debian's packages")


def opened(page: Path, script: str) -> Any:
    """Return, through JSON, the result of the function body `script` (JavaScript) after `page` is loaded."""
    program = browser()
    probe = page.with_name("probed.html")
    told = f"""
<script>addEventListener("load", () => {{
  const told = document.createElement("script");
  told.type = "application/json";
  told.id = "{MARK}";
  const found = (() => {{ {script} }})();
  told.textContent = JSON.stringify(found).replaceAll("<", "\\\\u003c");
  document.body.append(told);
}});</script></body>"""
    probe.write_text(told.join(page.read_text(encoding="utf-8").rsplit("</body>", 1)), encoding="utf-8")
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1366,768", "--dump-dom"]
    environment = {**os.environ, "HOME": str(page.parent)}
    ended = subprocess.run(
        [*command, probe.as_uri()], capture_output=True, text=True, timeout=SECONDS_MAX, check=True, env=environment
    )
    found = re.search(rf'<script type="application/json" id="{MARK}">(.*?)</script>', ended.stdout, re.DOTALL)
    assert found is not None, f"the page did not load: {ended.stderr[-2000:]}"
    return json.loads(found[1])
