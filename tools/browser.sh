#!/usr/bin/env bash
# Gets a headless Chromium for the tests that open a page, from Debian's packages and without root. It is
# unpacked, with missing libraries, into VENV/browser, and started by VENV/bin/chromium-headless-shell.
# Usage: browser.sh VENV. It never fails: without a browser those tests are skipped.
set -uo pipefail

PACKAGE=chromium-headless-shell
VENV=$(realpath "$1")
FOLDER=$VENV/browser
STARTER=$VENV/bin/$PACKAGE

for name in "$STARTER" chromium-headless-shell chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1 && exit 0
done

without() {
  echo "setup: no headless browser ($1): the tests that open a page will be reported as skipped"
  rm -rf "$FOLDER"
  exit 0
}
command -v apt-get >/dev/null && command -v dpkg >/dev/null || without "only Debian's packages are known here"

echo "setup: unpacking $PACKAGE into $FOLDER"
rm -rf "$FOLDER"
mkdir -p "$FOLDER/archives/partial" "$FOLDER/lists/partial"
get=(apt-get -qq -y --no-install-recommends -o Debug::NoLocking=1 -o APT::Sandbox::User= -o "Dir::Cache=$FOLDER"
  -o "Dir::Cache::archives=$FOLDER/archives")
own_lists=(-o "Dir::State::lists=$FOLDER/lists")
# The system's package lists may be absent or old: new ones are fetched only when the first try fails.
"${get[@]}" --download-only install $PACKAGE >/dev/null 2>&1 ||
  { "${get[@]}" "${own_lists[@]}" update && "${get[@]}" "${own_lists[@]}" --download-only install $PACKAGE; } \
    >/dev/null 2>&1 || without "apt-get could not download $PACKAGE"
for archive in "$FOLDER"/archives/*.deb; do
  dpkg -x "$archive" "$FOLDER" 2>/dev/null || without "dpkg could not unpack ${archive##*/}"
done
rm -rf "$FOLDER/archives" "$FOLDER/lists" "$FOLDER"/*.bin

libraries=$(find "$FOLDER/usr/lib" -name '*.so*' -not -path '*/chromium/*' -printf '%h\n' | sort -u | paste -sd:)
cat >"$STARTER" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$libraries"
exec "$FOLDER/usr/lib/chromium/$PACKAGE" "\$@"
END
chmod +x "$STARTER"
"$STARTER" --version >/dev/null 2>&1 || { rm "$STARTER" && without "$PACKAGE does not start here"; }
