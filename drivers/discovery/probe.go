package discovery

import (
	"context"
	"net"
	"net/netip"
)

// Probe sends a question in any protocol over UDP to the address to. It passes each answer with its
// sender to accept, until ctx ends or accept returns false. It reads at most largest bytes of an
// answer.
func Probe(ctx context.Context, to netip.AddrPort, question []byte, largest int, accept func(data []byte, from netip.Addr) bool) {
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the read
	defer stop()
	defer func() { _ = c.Close() }() // a second Close does no harm
	if _, err := c.WriteToUDPAddrPort(question, to); err != nil {
		return // there is no network
	}
	buf := make([]byte, largest)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil || !accept(buf[:n], from.Addr()) {
			return
		}
	}
}
