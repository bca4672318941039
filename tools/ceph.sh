#!/usr/bin/env bash
# Starts a Ceph cluster on this machine for tests and trials: one monitor, a few OSDs, no manager, no root.
#
#   tools/ceph.sh start [FOLDER]     # prints the configuration file, to give as ?conf=… or in CEPH_CONF
#   tools/ceph.sh status [FOLDER]
#   tools/ceph.sh stop [FOLDER]      # and removes it
#
# FOLDER is build/ceph unless it is given. From the environment:
#   CEPH_STORE      memstore (default: in memory, gone when an OSD ends) or bluestore (a file an OSD: survives a restart)
#   CEPH_OSDS       number of OSDs, 4 by default
#   CEPH_PORT       port of the monitor, on 127.0.0.1; by default the first free one from 26789 on
#   CEPH_AUTH       none (default), or cephx: with a key for client.admin, and a wrong one in FOLDER/wrong.conf
#   CEPH_SIZE       copies of each object, 1 by default
#   CEPH_OSD_BYTES  size of each OSD, 2 GiB by default
#   CEPH_CLASSES    a folder with object classes besides the shipped ones (cls_swath: see docs/rados.md)
#   CEPH_POOLS      pools that are made, "swath" by default
#   CEPH_WATCH_TIMEOUT  seconds until a client that is gone counts as gone, 5 by default
#
# If root starts it, it continues as nobody: OSDs refuse to run as root. It does not touch an installed cluster.
set -euo pipefail

fail() {
  echo "ceph.sh: $*" >&2
  exit 1
}

[[ $# -ge 1 && $# -le 2 ]] || fail "usage: ceph.sh start|stop|status [FOLDER]"
readonly DOING=$1
FOLDER=$(realpath -m "${2:-$(dirname "$0")/../build/ceph}")
readonly FOLDER
readonly CONF=$FOLDER/ceph.conf
readonly STORE=${CEPH_STORE:-memstore} OSDS=${CEPH_OSDS:-4}
readonly AUTH=${CEPH_AUTH:-none} SIZE=${CEPH_SIZE:-1} OSD_BYTES=${CEPH_OSD_BYTES:-2147483648}
readonly POOLS=${CEPH_POOLS:-swath}
readonly START_SECONDS=180  # a start takes some 10 s alone, and most of a minute if all cores are busy

# The user of the daemons: nobody instead of root.
as_user() {
  if [[ $(id -u) == 0 ]]; then
    setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups -- env HOME=/ "$@"
  else
    "$@"
  fi
}

ceph() { as_user timeout "$START_SECONDS" /usr/bin/env ceph --conf "$CONF" --connect-timeout 60 "$@" \
  2>"$FOLDER/log/last-error" || {
  cat "$FOLDER/log/last-error" >&2
  return 1
}; }

# The port of the monitor. It is below 32768: Linux gives the ports above to clients.
choose_port() {
  local port
  [[ -z ${CEPH_PORT:-} ]] || {
    echo "$CEPH_PORT"
    return
  }
  for port in $(seq 26789 26989); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || {
      echo "$port"
      return
    }
  done
  fail "all ports from 26789 to 26989 are taken: set CEPH_PORT"
}

check_programs() {
  local program
  for program in ceph ceph-mon ceph-osd monmaptool ceph-authtool; do
    command -v "$program" >/dev/null ||
      fail "$program is not installed (Debian: ceph-mon, ceph-osd, ceph-common; or make rados-packages)"
  done
}

shipped_classes() {
  local folder
  for folder in /usr/lib/*/rados-classes /usr/lib/rados-classes /usr/lib64/rados-classes; do
    [[ -d $folder ]] && echo "$folder" && return
  done
  fail "the folder of the shipped object classes is not to be found (…/rados-classes)"
}

write_configuration() {
  local class
  mkdir -p "$FOLDER"/{classes,log,run}
  for class in "$(shipped_classes)"/*.so* ${CEPH_CLASSES:+"$CEPH_CLASSES"/*.so*}; do
    [[ -e $class ]] && ln -sf "$(realpath "$class")" "$FOLDER/classes/$(basename "$class")"
  done
  cat >"$CONF" <<END
[global]
fsid = $(cat /proc/sys/kernel/random/uuid)
mon_host = [v2:127.0.0.1:$PORT]
mon_initial_members = a
auth_cluster_required = $AUTH
auth_service_required = $AUTH
auth_client_required = $AUTH
keyring = $FOLDER/keyring
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
osd_crush_chooseleaf_type = 0
osd_pool_default_size = $SIZE
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 32
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_warn_on_pool_no_redundancy = false
mon_allow_pool_delete = true
mon_data_avail_warn = 2
mon_data_avail_crit = 1
mon_osd_min_down_reporters = 1
mon_osd_full_ratio = 0.95
paxos_propose_interval = 0.05
osd_heartbeat_grace = 6
osd_heartbeat_interval = 2
osd_client_watch_timeout = ${CEPH_WATCH_TIMEOUT:-5}
osd_objectstore = $STORE
osd_class_dir = $FOLDER/classes
osd_class_load_list = *
osd_class_default_list = *
memstore_device_bytes = $OSD_BYTES
memstore_page_set = true
bluestore_block_size = $OSD_BYTES
osd_memory_target = 939524096
run_dir = $FOLDER/run
mon_cluster_log_file = $FOLDER/log/cluster.log
err_to_stderr = false
crash_dir = $FOLDER/run
$(for part in mon osd ms paxos monc auth objecter rocksdb bluestore bluefs bdev filestore memdb leveldb crush; do
    echo "debug_$part = 0/0"
  done)
[mon.a]
mon_data = $FOLDER/mon
admin_socket = $FOLDER/run/\$name.asok
log_file = $FOLDER/log/\$name.log
[osd]
admin_socket = $FOLDER/run/\$name.asok
log_file = $FOLDER/log/\$name.log
osd_data = $FOLDER/osd.\$id
keyring = $FOLDER/osd.\$id/keyring
END
}

write_keys() {
  ceph-authtool --create-keyring "$FOLDER/keyring" --gen-key -n mon. --cap mon 'allow *' >/dev/null
  ceph-authtool "$FOLDER/keyring" --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' >/dev/null
  [[ $AUTH == cephx ]] || return 0
  ceph-authtool --create-keyring "$FOLDER/wrong.keyring" --gen-key -n client.admin >/dev/null
  sed "s|^keyring = .*|keyring = $FOLDER/wrong.keyring|" "$CONF" >"$FOLDER/wrong.conf"
}

# Runs a daemon in the background, and records its process id.
daemon() {
  local name=$1
  shift
  if [[ $(id -u) == 0 ]]; then
    setsid setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups -- env HOME=/ "$@" \
      </dev/null >"$FOLDER/log/$name.out" 2>&1 &
  else
    setsid "$@" </dev/null >"$FOLDER/log/$name.out" 2>&1 &
  fi
  echo $! >"$FOLDER/run/$name.pid"
}

start_osd() {
  daemon "osd.$1" ceph-osd --conf "$CONF" --id "$1" -f
}

make_osd() {
  local id=$1 uuid
  uuid=$(cat /proc/sys/kernel/random/uuid)
  ceph osd new "$uuid" >/dev/null
  as_user mkdir -p "$FOLDER/osd.$id"
  if [[ $AUTH == cephx ]]; then
    as_user ceph-authtool --create-keyring "$FOLDER/osd.$id/keyring" --gen-key -n "osd.$id" >/dev/null
    ceph auth add "osd.$id" osd 'allow *' mon 'allow profile osd' -i "$FOLDER/osd.$id/keyring" >/dev/null
  fi
  as_user ceph-osd --conf "$CONF" --id "$id" --mkfs --osd-uuid "$uuid" >"$FOLDER/log/osd.$id.mkfs" 2>&1 ||
    fail "osd.$id was not made: $(tail -n 3 "$FOLDER/log/osd.$id.mkfs")"
}

# The last lines that a daemon wrote.
last_words() { tail -n 5 "$FOLDER/log/$1".* 2>/dev/null; }

wait_for_monitor() {
  local end=$((SECONDS + START_SECONDS))
  until as_user timeout 30 /usr/bin/env ceph --conf "$CONF" --connect-timeout 10 mon stat >"$FOLDER/log/mon.wait" 2>&1; do
    is_running "$FOLDER/run/mon.a.pid" || fail "the monitor ended while it started: $(last_words mon.a)"
    ((SECONDS < end)) || fail "the monitor does not answer on port $PORT after $START_SECONDS s: $(last_words mon)"
    sleep 0.2
  done
}

wait_for_osds() {
  local end=$((SECONDS + START_SECONDS))
  until [[ $(ceph osd stat) == *"$OSDS up"* ]]; do
    ((SECONDS < end)) || fail "not all of $OSDS OSDs came up within $START_SECONDS s: $(ceph osd stat) $(last_words osd)"
    sleep 0.1
  done
}

start() {
  local id pool
  check_programs
  [[ ! -e $CONF ]] || fail "$FOLDER holds a cluster already: stop it first"
  PORT=$(choose_port)
  mkdir -p "$FOLDER"
  write_configuration
  write_keys
  if [[ $(id -u) == 0 ]]; then chown -R nobody "$FOLDER"; fi
  # Only root may have access to the parent folders.
  as_user test -r "$CONF" || fail "user nobody cannot read $CONF: choose another folder"
  as_user monmaptool --create --fsid "$(sed -n 's/^fsid = //p' "$CONF")" --addv a "[v2:127.0.0.1:$PORT]" \
    "$FOLDER/monmap" >/dev/null
  as_user mkdir -p "$FOLDER/mon"
  as_user ceph-mon --conf "$CONF" --id a --mkfs --monmap "$FOLDER/monmap" --keyring "$FOLDER/keyring" \
    >"$FOLDER/log/mon.mkfs" 2>&1 || fail "the monitor was not made: $(tail -n 3 "$FOLDER/log/mon.mkfs")"
  daemon mon.a ceph-mon --conf "$CONF" --id a -f
  wait_for_monitor
  for id in $(seq 0 $((OSDS - 1))); do
    make_osd "$id"
    start_osd "$id"
  done
  wait_for_osds
  for pool in $POOLS; do
    ceph osd pool create "$pool" 32 >/dev/null
  done
  echo "$CONF"
}

is_running() { [[ -e $1 ]] && kill -0 "$(cat "$1")" 2>/dev/null; }

stop_daemons() {
  local file attempt
  for file in "$FOLDER"/run/*.pid; do
    is_running "$file" && kill -TERM "$(cat "$file")" 2>/dev/null
  done
  for file in "$FOLDER"/run/*.pid; do
    for attempt in $(seq 100); do
      is_running "$file" || break
      ((attempt < 80)) || kill -KILL "$(cat "$file")" 2>/dev/null || true
      sleep 0.1
    done
  done
}

stop() {
  [[ -e $CONF ]] || return 0
  stop_daemons || true
  rm -rf "$FOLDER"
}

case $DOING in
  start)
    trap '[[ $? == 0 ]] || stop_daemons || true' EXIT
    start
    ;;
  stop) stop ;;
  status)
    [[ -e $CONF ]] || fail "no cluster in $FOLDER"
    ceph status
    ;;
  *) fail "expected start, stop or status, not '$DOING'" ;;
esac
