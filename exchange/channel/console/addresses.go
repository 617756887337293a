package console

import (
	"net"
	"net/netip"
)

// Addresses returns the URLs under which other machines reach a listener at l, such as
// http://192.168.1.7:8420. It returns nil for a listener on loopback.
func Addresses(l net.Addr, secure bool) []string {
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	a, err := netip.ParseAddrPort(l.String())
	if err != nil {
		return nil
	}
	if !a.Addr().IsUnspecified() {
		if a.Addr().IsLoopback() {
			return nil
		}
		return []string{scheme + a.String()}
	}
	var list []string
	all, _ := net.InterfaceAddrs() // the list stays empty if the system reports no interfaces
	for _, one := range all {
		p, err := netip.ParsePrefix(one.String())
		if err == nil && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() && p.Addr().Unmap().Is4() {
			list = append(list, scheme+netip.AddrPortFrom(p.Addr().Unmap(), a.Port()).String())
		}
	}
	return list
}
