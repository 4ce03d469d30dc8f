#!/bin/sh
# What becomes of packages, told in a Debian of its own where systemd runs: packages of before are installed and used,
# upgraded while their programs run, removed, installed again and purged.  Ends at the first promise that is broken.
# packaging/deb_test.sh starts it; /packages/former and /packages/these hold the packages.
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd /

fail() { echo "$*" >&2; exit 1; }
apt() {
  apt-get "$@" -q -y --no-install-recommends -o Dpkg::Options::=--force-confold >/tmp/apt.log 2>&1 \
    || { tail -n 30 /tmp/apt.log >&2; fail "apt-get $1 failed"; }
}
of() { systemctl show --property="$2" --value "$1"; }
# Ends when units are not in this state: `are active UNIT...`.
are() {
  state=$1; shift
  for unit; do
    [ "$(of "$unit" ActiveState)" = "$state" ] || { systemctl status "$unit" >&2 || true; fail "$unit is not $state"; }
  done
}
names() { for one in /packages/these/*.deb; do dpkg-deb -f "$one" Package; done; }
is() { [ "$2" = "$3" ] || fail "$1: $2 in place of $3"; }
services='smed-monitor ses-service ses-webface'

echo "Packages of before: units are off until somebody enables them"
apt install /packages/former/*.deb
are inactive ses-agent ses-share-agent $services
getent passwd qstorman >/dev/null || fail "There is no account for the services."

# The programs of services, which pip installs, have stand-ins that keep something where the real ones do.
mkdir -p /opt/qstorman/venv/bin /etc/systemd/system/ses-agent.service.d /etc/systemd/system/ses-apply@.service.d
cat >/opt/qstorman/venv/bin/ses-service <<'PROGRAM'
#!/usr/bin/python3
import os, socket, sys, time
with open(sys.argv[sys.argv.index("--state-dir") + 1] + "/kept", "a") as kept:
    kept.write("known\n")
telling = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
telling.connect(os.environ["NOTIFY_SOCKET"])
telling.send(b"READY=1")
while True:
    time.sleep(30)
    telling.send(b"WATCHDOG=1")
PROGRAM
cat >/opt/qstorman/venv/bin/apply <<'PROGRAM'
#!/usr/bin/python3
import os, signal
with open("/var/lib/qstorman/applied/layout", "x"):
    pass
try:
    signal.pause()
except KeyboardInterrupt:
    assert os.access("/usr/bin/ses", os.X_OK)  # else nothing could be given back
    os.remove("/var/lib/qstorman/applied/layout")
PROGRAM
chmod +x /opt/qstorman/venv/bin/*
for name in smed-monitor ses-webface; do ln -s ses-service "/opt/qstorman/venv/bin/$name"; done
printf '[Service]\nExecStart=\nExecStart=/opt/qstorman/venv/bin/apply\n' \
  >/etc/systemd/system/ses-apply@.service.d/stand-in.conf
printf '[Service]\nExecStartPre=+/bin/sh -c "echo started >>/tmp/starts"\n' \
  >/etc/systemd/system/ses-agent.service.d/counted.conf
own='SES_AGENT_OPTIONS="--service unix:/run/qstorman/service.sock --service unix:/run/other.sock"'
echo "$own" >/etc/default/ses-agent
systemctl daemon-reload
systemctl enable --now ses-agent $services ses-apply@srv >/dev/null 2>&1
are active ses-agent $services ses-apply@srv

echo "An upgrade while programs create files: the agent starts once more, nothing else does"
mkdir /tmp/files /tmp/held
touch /tmp/going-on /var/lib/ses/kept
ses-run sh -c 'number=0; while [ -e /tmp/going-on ]; do echo >"/tmp/files/$((number += 1))" || exit; sleep 0.02; done' &
writer=$!
ses-run sh -c 'exec 3>/tmp/held/file; while [ -e /tmp/going-on ]; do sleep 0.1; done; echo written >&3' &
holder=$!
files() { find /tmp/files -type f | wc -l; }
until [ "$(files)" -gt 20 ] && [ -e /tmp/held/file ]; do sleep 0.1; done
pids() { for unit in $services ses-apply@srv; do of "$unit" MainPID; done; }
before=$(pids) agent=$(of ses-agent MainPID)
apt install /packages/these/*.deb
for name in $(names); do
  is "the version of $name" "$(dpkg-query -W -f '${Version}' "$name")" "$(dpkg-deb -f /packages/these/"$name"_*.deb Version)"
done
are active ses-agent $services ses-apply@srv
are inactive ses-share-agent
is "processes that an upgrade lets be" "$(pids)" "$before"
[ "$(of ses-agent MainPID)" != "$agent" ] || fail "The agent of before still runs."
is "starts of the agent" "$(wc -l </tmp/starts)" 2
is "failed units" "$(systemctl list-units --failed --no-legend)" ""
count=$(files)
until [ "$(files)" -gt $((count + 20)) ]; do sleep 0.1; done
rm /tmp/going-on
wait "$writer" || fail "A program failed during the upgrade."
wait "$holder" || fail "A program that holds a file failed during the upgrade."
is "what was written through the upgrade" "$(cat /tmp/held/file)" written
is "options of the agent" "$(cat /etc/default/ses-agent)" "$own"
is "the state of the service" "$(cat /var/lib/qstorman/service/kept)" known

echo "The same packages once more: nothing starts but the agent"
apt install --reinstall /packages/these/*.deb
is "processes that a repeated installation lets be" "$(pids)" "$before"

echo "Removed: nothing runs, configuration and state are there"
apt remove $(names)
are inactive ses-agent $services ses-apply@srv
is "shared memory" "$(ipcs -m | grep -c 0x || true)" 0
[ ! -e /run/ses ] && [ ! -e /run/qstorman ] || fail "Something of programs that are gone is left in /run."
[ ! -e /var/lib/qstorman/applied/layout ] || fail "A default layout was not given back."
[ -z "$(find /etc -name '*ses*.lua')" ] || fail "A module file is left that names a library that is gone."
is "options of the agent" "$(cat /etc/default/ses-agent)" "$own"
is "the state of the service" "$(cat /var/lib/qstorman/service/kept)" known
[ -e /var/lib/ses/kept ] || fail "What the agent knew of the storage is gone."

echo "Installed again: what was enabled runs, and knows what it knew"
apt install /packages/these/*.deb
are active ses-agent $services ses-apply@srv
are inactive ses-share-agent
is "the state of the service" "$(tr '\n' ' ' </var/lib/qstorman/service/kept)" "known known "

echo "Purged: the services' state goes, what python3-ses has to give back does not"
apt purge qstorman-services
are active ses-agent ses-apply@srv
[ -e /var/lib/qstorman/applied/layout ] || fail "What was there before a default layout is forgotten."
is "what is left of the services" "$(ls -A /var/lib/qstorman)" applied
apt purge --auto-remove $(names | grep -vx qstorman-services)
is "what systemd knows" "$(systemctl list-unit-files --no-legend 'ses-*' 'smed-*')" ""
is "shared memory" "$(ipcs -m | grep -c 0x || true)" 0
[ ! -e /run/ses ] && [ ! -e /run/qstorman ] || fail "Something is left in /run."
is "what is left in /dev/shm" "$(ls -A /dev/shm)" ""
rm -r /opt/qstorman /etc/systemd/system/ses-agent.service.d /etc/systemd/system/ses-apply@.service.d
