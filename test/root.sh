# root.sh: a bare Debian in a folder, for scripts that ask whether what they test brings all that it needs; read with `.`.
# Needs root, debootstrap and a mirror (SUITE and MIRROR: other than this machine's).

# make_root: debootstraps into a new folder, $root, which goes when the script ends; says why it cannot and returns 1.
make_root() {
    command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap"; return 1; }
    [ "$(id -u)" = 0 ] || { echo "debootstrap needs root"; return 1; }
    root=$(mktemp -d)
    trap 'rm -rf "$root" "$root.log"' EXIT
    trap 'exit 130' INT TERM
    chmod 755 "$root"
    debootstrap --variant=minbase "${SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}" "$root" ${MIRROR:-} >"$root.log" 2>&1 ||
        { tail "$root.log"; return 1; }
    # The network is this machine's, and so are those whom it trusts.
    cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/trusted.crt" 2>/dev/null || :
}
# in_root COMMANDS: runs them there as root, with nothing of this environment.
in_root() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive OMP_WAIT_POLICY=passive \
        ${PIP_CERT:+PIP_CERT=/etc/trusted.crt} \
        unshare --mount sh -euc '
            for at in proc sys dev; do mount --rbind "/$at" "$1/$at"; done
            exec chroot "$1" sh -euc "$2"' sh "$root" "$1"
}
