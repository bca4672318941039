#!/usr/bin/env bash
# Installs the packages for tests of files in Ceph pools, if apt-get may; prints what is still missing.
set -uo pipefail

missing=()
look() {
  missing=()
  command -v ceph-mon >/dev/null || missing+=(ceph-mon)
  command -v ceph-osd >/dev/null || missing+=(ceph-osd)
  command -v rados >/dev/null || missing+=(ceph-common)
  [[ -e /usr/include/rados/buffer.h ]] || missing+=(libradospp-dev)
  [[ -e /usr/include/rados/objclass.h ]] || missing+=(rados-objclass-dev)
}

as_root=()
if [[ $(id -u) != 0 ]]; then as_root=(sudo -n); fi

look
if ((${#missing[@]})) && command -v apt-get >/dev/null && "${as_root[@]}" true 2>/dev/null; then
  echo "rados: installing ${missing[*]} by apt-get"
  install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=120)
  "${install[@]}" --no-install-recommends install "${missing[@]}" >/dev/null 2>&1 ||
    { "${install[@]}" update && "${install[@]}" --no-install-recommends install "${missing[@]}"; } >/dev/null 2>&1
  look
fi
((${#missing[@]} == 0)) || echo "rados: missing: ${missing[*]}; what needs them is skipped"
