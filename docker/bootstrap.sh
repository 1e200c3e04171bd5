#!/bin/bash
# Make the base image parley/base:bookworm where no image registry can be reached.
# Debian's own installer fills a folder from the package mirror this host already uses; Docker imports it.
# What a build inside the image needs to reach the same mirrors (apt sources, pip index, CA certificates)
# is read from this host and written into the image. No address is kept in the repository.
set -euo pipefail

IMAGE=parley/base:bookworm
SUITE=bookworm
PACKAGES=python3,python3-venv,python3-pip,curl,ca-certificates
BUNDLE=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}

main() {
    case "${1:-}" in
        '' | --force) ;;
        *) fail "unknown argument $1" "docker/bootstrap.sh [--force]" ;;
    esac
    docker version >/dev/null 2>&1 || fail "Docker does not answer" "start Docker, then: docker version"
    if [[ ${1:-} != --force ]] && docker image inspect "$IMAGE" >/dev/null 2>&1; then
        say "$IMAGE is there already; --force makes it anew"
        return
    fi
    ((EUID == 0)) || fail "debootstrap needs root" "sudo docker/bootstrap.sh"
    need_debootstrap
    build
}

build() {
    work=$(mktemp -d -t parley-base.XXXXXX)
    root=$work/root
    trap clean EXIT
    say "installing Debian $SUITE into $root (about a minute)"
    install_debian
    write_apt
    write_certificates
    write_pip
    strip_root
    say "importing $IMAGE"
    import_image
}

say() { echo "bootstrap: $1" >&2; }

# One line: what is wrong, and the next command to type.
fail() {
    echo "bootstrap: $1. Next: $2" >&2
    exit 1
}

clean() {
    # debootstrap leaves these mounted when it is interrupted; removing through them would hurt the host.
    umount -q "$root/proc" "$root/sys" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}

need_debootstrap() {
    command -v debootstrap >/dev/null && return
    command -v apt-get >/dev/null || fail "debootstrap is missing and this host has no apt" "install debootstrap"
    say "installing debootstrap"
    { apt-get update -qq && apt-get install -qqy --no-install-recommends debootstrap debian-archive-keyring; } >/dev/null 2>&1 \
        || fail "apt could not install debootstrap" "apt-get update && apt-get install debootstrap"
}

# Every "address suite" pair of this host's apt sources, in both formats; nothing on a host that is not Debian.
sources() {
    grep -qx 'ID=debian' /etc/os-release || return 0
    # Most hosts have only one of the two formats, and then one of these cats finds nothing.
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | sed -nE 's/^deb +(\[[^]]*\] +)?([^ ]+ [^ ]+).*/\2/p'
    { cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | awk '
        function tell(   i, j, n, m, a, s) {
            n = split(addresses, a, " "); m = split(suites, s, " ")
            if (!off) for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) print a[i], s[j]
            addresses = suites = off = ""
        }
        /^Types:/ { tell() }
        /^URIs:/ { addresses = substr($0, 6) }
        /^Suites:/ { suites = substr($0, 8) }
        /^Enabled: *no/ { off = 1 }
        END { tell() }'
}

# The address that carries this host's release with the given ending, empty if none does.
mirror_of() {
    local codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    sources | awk -v suite="$codename$1" '$2 == suite && !found { found = $1 } END { print found }'
}

# Only Debian's own archive has `-updates`; others, too, name a suite after the release.
main_mirror() {
    local updates
    updates=$(mirror_of -updates)
    echo "${updates:-$(mirror_of '')}"
}

install_debian() {
    local mirror
    mirror=$(main_mirror)
    no_secret "$mirror" "apt source"
    debootstrap --variant=minbase --include="$PACKAGES" "$SUITE" "$root" ${mirror:+"$mirror"} >"$work/log" 2>&1 \
        || fail "debootstrap failed: $(grep -E '^[EW]:' "$work/log" | tail -n 1)" "check the apt mirror with: apt-get update"
}

write_apt() {
    local mirror security
    mirror=$(main_mirror)
    security=$(mirror_of -security)
    no_secret "$security" "apt source"
    if [[ $mirror ]]; then
        printf 'deb %s %s main\n' "$mirror" "$SUITE" "$mirror" "$SUITE-updates" >"$root/etc/apt/sources.list"
    fi
    if [[ $security ]]; then
        echo "deb $security $SUITE-security main" >>"$root/etc/apt/sources.list"
    fi
    # How this host reaches its mirror: proxies, time-outs, frozen mirrors whose index has outlived its date.
    local reach
    reach=$(apt-config dump | grep -E '^Acquire::(Check-|Retries|ForceIPv|https?::(Proxy|Timeout|Verify-))' || true)
    no_secret "$reach" "apt proxy"
    echo "$reach" >"$root/etc/apt/apt.conf.d/90host"
    printf 'path-exclude /usr/share/%s/*\n' doc man info locale >"$root/etc/dpkg/dpkg.cfg.d/90slim"
    echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/90slim"
}

# Certificates this host trusts beyond Debian's own, one a file, so that a later update-ca-certificates keeps them.
write_certificates() {
    [[ -r $BUNDLE ]] || fail "no CA bundle at $BUNDLE" "apt-get install ca-certificates"
    awk -v folder="$root/usr/local/share/ca-certificates" '
        /BEGIN CERTIFICATE/ { text = "" }
        { text = text $0 "\n" }
        /END CERTIFICATE/ && FILENAME == ARGV[1] { known[text] = 1; next }
        /END CERTIFICATE/ && !(text in known) {
            known[text] = 1
            file = sprintf("%s/host-%d.crt", folder, ++count)
            printf "%s", text >file
            close(file)
        }' "$root/etc/ssl/certs/ca-certificates.crt" "$BUNDLE"
    chroot "$root" update-ca-certificates >/dev/null 2>&1
}

# Only where to fetch from: paths of this host mean nothing inside, and secrets must not enter an image.
write_pip() {
    local settings name value
    settings=$({ pip config list || python3 -m pip config list; } 2>/dev/null || true)
    printf '[global]\ncert = /etc/ssl/certs/ca-certificates.crt\ndisable-pip-version-check = true\n' >"$root/etc/pip.conf"
    for name in index-url extra-index-url trusted-host timeout; do
        value=$(sed -nE "s/^[^=]*\.$name='(.*)'\$/\1/p" <<<"$settings" | tail -n 1 | sed 's/\\n/ /g' | tr ' ' '\n' | grep -v '^file:' | xargs || true)
        no_secret "$value" "pip $name"
        if [[ $value ]]; then
            echo "$name = $value" >>"$root/etc/pip.conf"
        fi
    done
}

# Everyone who holds the image could read them.
no_secret() {
    [[ $1 != *://*@* ]] || fail "the $2 of this host carries a password, which must not enter an image" "set up a mirror without one"
}

strip_root() {
    rm -rf "$root"/usr/share/{doc,man,info,locale}/* "$root"/var/lib/apt/lists/* "$root"/var/cache/{apt,debconf,ldconfig}/* \
        "$root"/var/log/* "$root"/tmp/* "$root"/etc/{hostname,resolv.conf,machine-id}
    mkdir -p "$root/var/cache/apt/archives/partial" "$root/var/lib/apt/lists/partial"
}

import_image() {
    tar -C "$root" --one-file-system --exclude='./proc/*' --exclude='./sys/*' --exclude='./dev/*' -c . \
        | docker import \
            --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8' \
            --change 'CMD ["python3"]' \
            --message 'parley docker/bootstrap.sh' - "$IMAGE" >/dev/null
    say "$IMAGE made, $(($(docker image inspect -f '{{.Size}}' "$IMAGE") / 1000000)) MB"
}

main "$@"
