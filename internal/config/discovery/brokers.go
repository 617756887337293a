package discovery

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"

	"github.com/messkit/messkit/drivers/discovery"
)

// FoundBroker is an MQTT broker on this machine or in the network.
type FoundBroker struct {
	URL  string // mqtt://host:port
	Name string // its announced name; "" for the one on this machine
}

// FindBrokers looks for a broker on this machine, at addr, and for brokers that announce
// themselves in the multicast group, until ctx ends.
func FindBrokers(ctx context.Context, addr string, group netip.AddrPort) (list []FoundBroker) {
	if IsBroker(ctx, addr) {
		list = append(list, FoundBroker{URL: "mqtt://" + addr})
	}
	instances, err := discovery.Browse(ctx, group, "_mqtt._tcp", "_secure-mqtt._tcp")
	if err != nil {
		return list // this machine receives no announcements
	}
	for _, i := range instances {
		if i.Addr.IsValid() {
			scheme := map[string]string{"_mqtt._tcp": "mqtt://", "_secure-mqtt._tcp": "mqtts://"}[i.Service]
			list = append(list, FoundBroker{scheme + i.Addr.String(), i.Name})
		}
	}
	return list
}

// hello is a CONNECT of MQTT 3.1.1 with a clean session and no client id (section 3.1). A
// broker answers it with a CONNACK, whether it accepts the client or not.
var hello = []byte{0x10, 12, 0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 10, 0, 0}

// IsBroker reports whether a broker listens at an address.
func IsBroker(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	if end, ok := ctx.Deadline(); ok && conn.SetDeadline(end) != nil {
		return false
	}
	answer := make([]byte, 2)
	if _, err := conn.Write(hello); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, answer)
	return err == nil && bytes.Equal(answer, []byte{0x20, 2})
}
