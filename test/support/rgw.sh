#!/bin/bash
# A real S3 server on loopback: Ceph RGW with one monitor and one store in memory, all children of this shell. It says in DIR/ready when it serves, and ends,
# with all that it made, when the process WATCHED does. Ready after some 12 s, most of them for the first user.
# Arguments: DIR PORT MON_PORT ACCESS_KEY SECRET_KEY WATCHED
set -eu
D=$1 PORT=$2 MON_PORT=$3 ACCESS_KEY=$4 SECRET_KEY=$5 WATCHED=$6
mkdir -p "$D/mon" "$D/osd/0" "$D/rgw"
export CEPH_CONF=$D/ceph.conf
FSID=$(cat /proc/sys/kernel/random/uuid) OSD_UUID=$(cat /proc/sys/kernel/random/uuid)

DAEMONS=
finish() {
  trap - EXIT; set +e
  [ -e "$D/ready" ] && rm -f "$D.log"
  kill -9 $DAEMONS 2>/dev/null
  wait
  rm -rf "$D"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP
DIES_WITH_US=$(command -v setpriv >/dev/null && echo 'setpriv --pdeathsig KILL' || true)   # also when this shell is killed with -9
lives() { grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }                         # its unburied remains do not count
all_live() { local pid; for pid in $DAEMONS $WATCHED; do lives "$pid" || return 1; done; }
ask() { until timeout 60 ceph "$@"; do all_live; sleep 0.1; done; }                        # a young monitor now and then refuses (EPERM); both say the same twice
daemon() { local name=$1; shift; $DIES_WITH_US "$@" >"$D/$name.out" 2>&1 & DAEMONS="$DAEMONS $!"; }

cat >"$CEPH_CONF" <<C
[global]
fsid = $FSID
mon host = v1:127.0.0.1:$MON_PORT
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
public addr = 127.0.0.1
ms bind msgr2 = false
run dir = $D
admin socket = $D/\$name.asok
pid file = $D/\$name.pid
log file = $D/\$name.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon warn on pool no redundancy = false
mon max pg per osd = 1000
osd crush chooseleaf type = 0
[mon]
mon data = $D/mon
mon cluster log file = $D/cluster.log
mon initial members = a
[mon.a]
mon addr = v1:127.0.0.1:$MON_PORT
[osd]
osd class update on start = false
osd crush update on start = false
osd data = $D/osd/\$id
osd objectstore = memstore
memstore device bytes = 4294967296
osd class default list = *
osd class load list = *
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$PORT
rgw data = $D/rgw
rgw thread pool size = 32
C

monmaptool --create --clobber --fsid "$FSID" --addv a "[v1:127.0.0.1:$MON_PORT]" "$D/monmap"
ceph-mon --mkfs -i a --monmap "$D/monmap"
daemon mon ceph-mon -f -i a
ask osd new "$OSD_UUID"
ask osd crush add osd.0 1.0 host=local root=default
ceph-osd -i 0 --mkfs --osd-uuid "$OSD_UUID"
daemon osd ceph-osd -f -i 0
until timeout 60 ceph osd stat | grep -q '1 up'; do all_live; sleep 0.1; done
timeout 120 radosgw-admin user create --uid=test --display-name=test --access-key="$ACCESS_KEY" --secret-key="$SECRET_KEY"
daemon rgw radosgw -f -n client.rgw
until (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do all_live; sleep 0.1; done
echo "http://127.0.0.1:$PORT" >"$D/ready.new" && mv "$D/ready.new" "$D/ready"
while all_live; do sleep 1; done
