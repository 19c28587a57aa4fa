#!/bin/sh
# Installs the Debian packages that the real control plane and the real hosts need.
# Not root, or not Debian: names what is missing and stops with status 1.
set -eu

# What must be there, and the package it comes from.
needed="
debootstrap:debootstrap
systemd-nspawn:systemd-container
ip:iproute2
nsenter:util-linux
losetup:mount
mkfs.ext4:e2fsprogs
ssh:openssh-client
ssh-keygen:openssh-client
bash:bash
tar:tar
gzip:gzip
ps:procps
pkg-config:pkg-config
gcc:gcc
"

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
packages=""
for entry in $needed; do
    command -v "${entry%%:*}" >/dev/null 2>&1 || packages="$packages ${entry##*:}"
done
# runc is linked with it.
[ -e /usr/include/seccomp.h ] || packages="$packages libseccomp-dev libc6-dev"
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "the real tests need these Debian packages:$packages" >&2
    exit 1
fi

echo "installing:$packages"
export DEBIAN_FRONTEND=noninteractive
# Lists that are outdated and an installation that was cut off are the usual reasons for a failure.
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends $packages ||
    { dpkg --configure -a && apt-get update -q && apt-get install -y -q -f --no-install-recommends $packages; }
