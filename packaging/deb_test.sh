#!/usr/bin/env bash
# Install the packages of build/deb/ into a fresh Debian, run their tests (debian/tests) there, use them, purge
# them, and look for what is left.  Needs root; takes a few minutes and 600 MB below TMPDIR.
set -euo pipefail
cd "$(dirname "$0")/.."
packaging/install.sh deb

compgen -G 'build/deb/*.changes' >/dev/null || { echo "There are no packages in build/deb; run: make deb" >&2; exit 1; }
work=$(mktemp -d)
root=$work/root tests=$work/tests
finish() {
  for one in "$root" "$tests"; do if mountpoint -q "$one/proc"; then umount "$one/proc"; fi; done
  rm -rf --one-file-system "$work"
}
trap finish EXIT
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 ^http)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
# With systemd, as every machine of a site has it: what it makes where it is first installed is not ours.
echo "Making a fresh $suite"
debootstrap --variant=minbase --include=ca-certificates,systemd "$suite" "$root" "$mirror" >"$work/log" 2>&1 \
  || { tail -n 20 "$work/log" >&2; exit 1; }
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
chroot "$root" update-ca-certificates >/dev/null 2>&1

# What the tests need stays in a copy.
cp -a "$root" "$tests"
for one in "$root" "$tests"; do mount -t proc proc "$one/proc"; done

echo "Running the packages' tests"
log=$(realpath build/deb)/autopkgtest.log
autopkgtest --no-built-binaries build/deb/*.deb build/deb/*.dsc -- chroot "$tests" >"$log" 2>&1 \
  || { tail -n 40 "$log" >&2; echo "The tests failed; the whole log is $log" >&2; exit 1; }
sed -n '/@@@ summary/,$p' "$log"

echo "Installing and purging"
# The whole root, but for what packages of others keep on every installation: caches, logs, dpkg's own files, and
# the locks and copies that tools for accounts leave.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./packages \
    -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./etc/ld.so.cache \
    -o -path './etc/*-' -o -path ./etc/.pwd.lock -o -path ./run/adduser \) -prune -o -print | sort)
}
accounts() { cut -d: -f1 "$root/etc/passwd" | grep -vx qstorman | sort; }
mkdir "$root/packages" && cp build/deb/*.deb "$root/packages/"
names=$(for one in build/deb/*.deb; do dpkg-deb -f "$one" Package; done)
before=$(chroot "$root" dpkg-query -W -f '${Package}\n')
listing >"$work/before"
accounts >"$work/accounts-before"
chroot "$root" sh -c 'apt-get install -q -y --no-install-recommends /packages/*.deb' >"$work/log" 2>&1 \
  || { tail -n 20 "$work/log" >&2; exit 1; }
echo "Using them where they keep what they keep"
chroot "$root" sh -eu -c '
  if command -v systemd-tmpfiles >/dev/null; then systemd-tmpfiles --create ses-agent.conf; fi
  getent passwd qstorman >/dev/null
  mkdir -p /var/lib/qstorman/service
  mkdir -p /run/ses/jobs /var/lib/ses
  . /etc/default/ses-agent
  ses-agent $SES_AGENT_OPTIONS 2>/tmp/agent.log &
  agent=$!
  for _ in $(seq 300); do [ -S /run/ses/agent.sock ] && break; sleep 0.1; done
  ses-run touch /tmp/file
  kill "$agent"
  wait "$agent"
  [ -f /tmp/file ]'
# As on a machine where systemd runs, with a default layout that is kept fresh; its stand-in says what it is asked, and
# whether the command is still there then.
mkdir -p "$root"/run/systemd/system "$root"/opt/stand-in "$root"/var/lib/qstorman/applied
ln -s /lib/systemd/system/ses-apply@.service "$root"/etc/systemd/system/multi-user.target.wants/ses-apply@x.service
cat >"$root/opt/stand-in/systemctl" <<'EOF'
#!/bin/sh
if [ -x /usr/bin/ses ]; then echo "$*" >>/opt/stand-in/asked; fi
EOF
chmod +x "$root/opt/stand-in/systemctl"
# What they needed goes with them.
chroot "$root" sh -c "apt-get purge -q -y --auto-remove -o DPkg::Path=/opt/stand-in:/usr/sbin:/usr/bin:/sbin:/bin $(echo $names)" >"$work/log" 2>&1 \
  || { tail -n 20 "$work/log" >&2; exit 1; }
for unit in 'ses-apply@*.service' ses-agent.service; do
  grep -qxF -- "stop $unit" "$root/opt/stand-in/asked" \
    || { echo "$unit is not stopped:" >&2; cat "$root/opt/stand-in/asked" >&2; exit 1; }
done
rm -r "$root/opt/stand-in" "$root/run/systemd/system"
listing >"$work/after"
if [ "$before" = "$(chroot "$root" dpkg-query -W -f '${Package}\n')" ] \
  && diff "$work/before" "$work/after" && diff "$work/accounts-before" <(accounts); then
  echo "Nothing is left but the account of the services, as the description of qstorman-services says."
else
  echo "Purging left something." >&2
  exit 1
fi
