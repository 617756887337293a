// Package address checks hosts and ports before a program uses them. It does not use the network.
package address

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// CheckURL returns an error for an invalid host or port of a URL. The error has only the host or
// port, because the rest may have a password.
func CheckURL(u *url.URL) error {
	if err := CheckHost(u.Hostname()); err != nil {
		return err
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		return fmt.Errorf("%.20s is no port; write one of 1 to 65535, or leave it out", u.Port())
	}
	return nil
}

// CheckHost returns an error for an invalid host. A host that ends in a number must be an
// IPv4 address (WHATWG URL, "ends in a number"). Programs read addresses with fewer than four
// numbers or with leading zeros in different ways, so CheckHost rejects them.
func CheckHost(host string) error {
	if host == "" {
		return errors.New("has no host; write a name or an address, like 192.168.1.40")
	}
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	last := labels[len(labels)-1]
	_, err := strconv.ParseUint(last, 0, 64)
	if number := err == nil || strings.Trim(last, "0123456789") == ""; !number || strings.Contains(host, ":") {
		return nil
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return fmt.Errorf("%.60s is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40", host)
	}
	return nil
}
