#!/usr/bin/env bash
# Install the packages of build/rpm/ into a root of their own, compare what is there with what they say, upgrade and
# erase them, and look for what is left.  Needs root, and busybox (static) to run their scripts there.  It does not run
# the programs: their libraries are those of another distribution.
set -euo pipefail
cd "$(dirname "$0")/.."

compgen -G 'build/rpm/*/*.rpm' >/dev/null || { echo "There are no packages in build/rpm; run: packaging/rpm.sh" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
# The directories of the packages filesystem, systemd and others that every such system has.
python=$(rpm -qpl --nosignature build/rpm/noarch/python3-ses-*.rpm | sed -n 's|^/\(.*/site-packages\)/ses$|\1|p')
mkdir -p "$root"/{bin,etc/sysconfig,run,tmp,var/lib,var/tmp} "$root/$python" \
  "$root"/usr/{bin,sbin,include,libexec,lib64/cmake,lib64/pkgconfig,share/licenses,share/modulefiles} \
  "$root"/usr/share/{man/man{1,8},bash-completion/completions,fish/vendor_completions.d,zsh/site-functions} \
  "$root"/usr/lib/{systemd/system,sysusers.d,tmpfiles.d}
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh rm rmdir; do ln -s busybox "$root/bin/$name"; done
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

quietly rpm --root "$root" --initdb
names=$(rpm -qp --nosignature --qf '%{NAME}\n' build/rpm/*/*.rpm)
listing() { (cd "$root" && find . -path "./$database" -prune -o -print | sort); }
database=$(cd "$root" && find . -name 'rpmdb.sqlite' -printf '%P\n' | xargs -r dirname)
[ -n "$database" ] || { echo "rpm keeps its database elsewhere than expected" >&2; exit 1; }
listing >"$work/before"
quietly rpm --root "$root" --install --nodeps --nosignature build/rpm/*/*.rpm
quietly rpm --root "$root" --verify --nodeps $names
listing >"$work/installed"
# What the agent leaves when it is used.
mkdir -p "$root/run/ses/jobs" "$root/var/lib/ses"
touch "$root/var/lib/ses/inventory.json"
# A default layout that is kept fresh, where systemd runs; its stand-in says what it is asked, and whether the command
# is still there then.
mkdir -p "$root/run/systemd/system" "$root/var/lib/qstorman/applied" "$root/etc/systemd/system/multi-user.target.wants"
ln -s /usr/lib/systemd/system/ses-apply@.service "$root/etc/systemd/system/multi-user.target.wants/ses-apply@x.service"
cat >"$root/bin/systemctl" <<'EOF'
#!/bin/sh
[ -x /usr/bin/ses ] && echo "$*" >>/tmp/asked
EOF
chmod +x "$root/bin/systemctl"
# An upgrade, of packages to the same: what was kept and said is there after it, and nothing is given back.
echo 'SES_AGENT_OPTIONS="--service https://own:8630"' >"$root/etc/sysconfig/ses-agent"
quietly rpm --root "$root" --upgrade --replacepkgs --nodeps --nosignature build/rpm/*/*.rpm
if ! grep -q own: "$root/etc/sysconfig/ses-agent" || [ ! -e "$root/var/lib/ses/inventory.json" ] || [ -e "$root/tmp/asked" ]; then
  echo "An upgrade loses options or state, or ends what runs." >&2
  exit 1
fi
quietly rpm --root "$root" --erase --nodeps $names
rm "$root/etc/sysconfig/ses-agent.rpmsave" # the options that somebody wrote
grep -qxF 'stop ses-apply@*.service' "$root/tmp/asked" || { echo "The default layouts are not given back." >&2; exit 1; }
rm "$root/tmp/asked" "$root/bin/systemctl"
rmdir "$root/run/systemd/system" "$root/run/systemd" "$root/etc/systemd/system/multi-user.target.wants" \
  "$root/etc/systemd/system" "$root/etc/systemd"
listing >"$work/after"
echo "$(comm -13 "$work/before" "$work/installed" | wc -l) paths of $(echo "$names" | wc -w) packages came and went."
diff "$work/before" "$work/after" || { echo "Erasing left something." >&2; exit 1; }
