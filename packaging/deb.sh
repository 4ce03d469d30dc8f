#!/usr/bin/env bash
# Build Debian packages of what runs on compute nodes into build/deb/, and check them with lintian; for arm64 those that depend on
# the processor, into build/deb-arm64/, also on another machine.  Installs debhelper and lintian if they are missing (see
# packaging/install.sh).  Usage: packaging/deb.sh [arm64]
set -euo pipefail
cd "$(dirname "$0")/.."
packaging/install.sh deb

version=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
upstream=${version%-*}
work=build/deb${1:+-$1}
rm -rf "$work"
packaging/source.sh "$work" "qstorman-$upstream" "qstorman_$upstream.orig.tar.gz"
cp -r packaging/debian "$work/qstorman-$upstream/debian"

log=$work/build.log
build() {
  if [ "${1-}" = arm64 ]; then
    packaging/arm64.sh run "cd /src/$work/qstorman-$upstream && dpkg-buildpackage --host-arch=arm64 --no-sign --build=any"
  else
    cd "$work/qstorman-$upstream" && dpkg-buildpackage --no-sign --build=full
  fi
}
(build "$@") >"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "The build failed; the whole log is $log" >&2; exit 1; }
# For a site, not for an upload to Debian: no bug there asks for it.
lintian --allow-root --suppress-tags initial-upload-closes-no-bugs --fail-on error,warning "$work"/qstorman_*.changes
ls "$work"/*.deb
