#!/usr/bin/env bash
# Build RPM packages of what runs on compute nodes into build/rpm/.  On a distribution without RPM's own
# dependencies (Debian) they are not asked for: what building needs is there from `make install`.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v rpmbuild >/dev/null || { echo "rpmbuild is missing; install the package rpm or rpm-build." >&2; exit 1; }

spec=packaging/rpm/qstorman.spec
version=$(sed -n 's/^Version: *//p' "$spec")
work=$PWD/build/rpm
rm -rf "$work"
packaging/source.sh "$work" "qstorman-$version" "qstorman-$version.tar.gz"
log=$work/build.log
rpmbuild -bb $([ -f /etc/debian_version ] && echo --nodeps) \
  --define "_topdir $work/top" --define "_sourcedir $work" --define "_rpmdir $work" \
  "$spec" >"$log" 2>&1 || { tail -n 40 "$log" >&2; echo "The build failed; the whole log is $log" >&2; exit 1; }
ls "$work"/*/*.rpm
