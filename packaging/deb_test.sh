#!/usr/bin/env bash
# Install the packages of build/deb/ into a fresh Debian and run their tests (debian/tests) there; then boot one, and
# install, use, upgrade, remove and purge them there (deb_life.sh), and look for what is left.  Needs root; takes a few
# minutes and 800 MB below TMPDIR.  Usage: packaging/deb_test.sh [DIRECTORY of the packages to upgrade from]
set -euo pipefail
cd "$(dirname "$0")/.."
packaging/install.sh deb

compgen -G 'build/deb/*.changes' >/dev/null || { echo "There are no packages in build/deb; run: make deb" >&2; exit 1; }
work=$(mktemp -d)
root=$work/root tests=$work/tests
machine=
finish() {
  if [ -n "$machine" ]; then kill "$machine" 2>/dev/null && wait "$machine"; fi
  for one in "$root" "$tests"; do if mountpoint -q "$one/proc"; then umount "$one/proc"; fi; done
  rm -rf --one-file-system "$work"
}
trap finish EXIT
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 ^http)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
# With systemd, as every machine of a site has it: what it makes where it is first booted is not ours.
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

echo "Installing, upgrading, removing and purging where systemd runs"
# The whole root, but for what packages of others keep on every installation: caches, logs, dpkg's own files, and
# the locks and copies that tools for accounts leave.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run -o -path ./packages \
    -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./etc/ld.so.cache \
    -o -path './etc/*-' -o -path ./etc/.pwd.lock -o -path ./var/lib/systemd \) -prune -o -print | sort)
}
accounts() { cut -d: -f1 "$root/etc/passwd" | grep -v "^qstorman" | sort; }
boot() {
  systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --console=pipe --resolv-conf=off \
    --timezone=off --link-journal=no </dev/null >"$work/boot.log" 2>&1 &
  machine=$!
  for _ in $(seq 600); do
    first=$(cat "/proc/$machine/task/$machine/children" 2>/dev/null || true)
    if [ -n "$first" ] && inside systemctl is-system-running 2>/dev/null | grep -Eqx 'running|degraded'; then return; fi
    sleep 0.1
  done
  tail -n 20 "$work/boot.log" >&2
  echo "systemd does not start in the fresh Debian." >&2
  exit 1
}
inside() { nsenter --target "${first%% *}" --all --root --wd -- "$@"; }

# Those of before: of the directory that is named, else these with a lower version and other options of the agent.
mkdir -p "$root"/packages/{these,former}
cp build/deb/*.deb "$root/packages/these/"
if [ -n "${1:-}" ]; then
  cp "$1"/*.deb "$root/packages/former/"
else
  for one in build/deb/*.deb; do
    rm -rf "$work/package"
    dpkg-deb -R "$one" "$work/package"
    version=$(dpkg-deb -f "$one" Version)
    sed -i "s/${version//./\\.}/$version~before/" "$work/package/DEBIAN/control"
    if [ -e "$work/package/etc/default/ses-agent" ]; then echo "# Of before." >>"$work/package/etc/default/ses-agent"; fi
    dpkg-deb --root-owner-group -Znone -b "$work/package" "$root/packages/former/" >/dev/null
  done
fi
cp packaging/deb_life.sh "$root/packages/"
umount "$root/proc"
boot
before=$(inside dpkg-query -W -f '${Package}\n')
listing >"$work/before"
accounts >"$work/accounts-before"
inside /packages/deb_life.sh
listing >"$work/after"
if [ "$before" = "$(inside dpkg-query -W -f '${Package}\n')" ] \
  && diff "$work/before" "$work/after" && diff "$work/accounts-before" <(accounts); then
  echo "Nothing is left but the accounts of the services, as the description of qstorman-services says."
else
  echo "Purging left something." >&2
  exit 1
fi
