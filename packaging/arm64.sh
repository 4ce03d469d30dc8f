#!/usr/bin/env bash
# Build for arm64 on another machine, by Debian's cross compiler.  In a Debian of its own below build/arm64: on this one, that
# compiler and gcc-multilib exclude each other.  Needs root; a few minutes and 2 GB.
# Usage: packaging/arm64.sh root | native | run COMMAND
#   root     make that Debian, as the others do where there is none
#   native   libses and all its parts, into build/arm64/libses
#   run      a command in that Debian, where the checkout is /src
set -euo pipefail
cd "$(dirname "$0")/.."
action=${1:?usage: packaging/arm64.sh root | native | run COMMAND}
work=$PWD/build/arm64
root=$work/root

make_root() {
  packaging/install.sh arm64
  local mirror suite begun=$work/begun
  mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -m 1 ^http)
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  rm -rf --one-file-system "$begun"
  mkdir -p "$begun"
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$begun" "$mirror"
  cp -r /etc/apt/apt.conf.d/. "$begun/etc/apt/apt.conf.d/"
  cp -r /usr/local/share/ca-certificates/. "$begun/usr/local/share/ca-certificates/"
  mkdir -p "$begun/build/debian"
  cp packaging/debian/control packaging/debian/changelog "$begun/build/debian"
  enter "$begun" 'update-ca-certificates && dpkg --add-architecture arm64 && apt-get update -q
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -q -y --no-install-recommends dpkg-dev g++-aarch64-linux-gnu pkgconf:arm64 libstdc++-12-dev:arm64 libc6-dev:arm64
    cd /build && apt-get build-dep -q -y --no-install-recommends --host-architecture arm64 --arch-only ./'
  mv "$begun" "$root" # whole
}

enter() { # DIRECTORY COMMAND
  unshare --mount --propagation private bash -euc '
    mount -t proc proc "$0/proc"
    mkdir -p "$0/src"
    mount --bind "$1" "$0/src"
    exec chroot "$0" bash -euc "$2"' "$1" "$PWD" "$2"
}

mkdir -p "$work"
if [ ! -d "$root" ] && [ "$action" != root ]; then
  echo "Making a Debian that builds for arm64"
  packaging/arm64.sh root >"$work/root.log" 2>&1 || { tail -n 20 "$work/root.log" >&2; exit 1; }
fi
case $action in
  root) if [ ! -d "$root" ]; then make_root; fi ;;
  native)
    enter "$root" 'cd /src
      cmake -S libses -B build/arm64/libses -G Ninja --toolchain /src/packaging/arm64.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DSES_WARNINGS_AS_ERRORS=ON
      cmake --build build/arm64/libses --parallel' >"$work/native.log" 2>&1 || { tail -n 40 "$work/native.log" >&2; exit 1; } ;;
  run) enter "$root" "${2:?COMMAND is missing}" ;;
  *) echo "packaging/arm64.sh: $action?" >&2; exit 1 ;;
esac
