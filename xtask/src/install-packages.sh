# Installs the Debian packages given as arguments. Run as root. Keeps the packages' services from starting: the tests
# start their own.
set -eu
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 130' INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi
install() {
	apt-get install --yes --quiet=2 --no-install-recommends -o Dpkg::Use-Pty=0 "$@"
}
# The lists are fetched only when the ones at hand do not do: it takes longer than the installation.
install "$@" || {
	apt-get update --quiet=2
	install "$@"
}
