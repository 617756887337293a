package discovery

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/order"
)

// Group is the multicast address of mDNS.
var Group = netip.MustParseAddrPort("224.0.0.251:5353")

// Browse sends questions for the services to the address to, which is Group outside of
// tests, and listens until ctx ends. The result is sorted by service and name.
func Browse(ctx context.Context, to netip.AddrPort, services ...string) ([]Instance, error) {
	conns, err := listen(to.Addr())
	if err != nil {
		return nil, err
	}
	received := make(chan []record)
	g, ctx := errgroup.WithContext(ctx)
	for _, c := range conns {
		stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the read
		defer stop()
		g.Go(func() error { ask(ctx, c, to, question(services)); return nil })
		g.Go(func() error { receive(ctx, c, received); return nil })
	}
	var all []record
	for {
		select {
		case list := <-received:
			if len(all) < maxStored {
				all = append(all, list...)
			}
		case <-ctx.Done():
			err := g.Wait()
			return instances(all, services), err
		}
	}
}

// maxStored limits the stored records; a large home has some hundred.
const maxStored = 1 << 14

// listen opens a socket for each network that can reach to.
func listen(to netip.Addr) ([]*net.UDPConn, error) {
	addrs, err := own(to)
	if err != nil {
		return nil, err
	}
	var conns []*net.UDPConn
	var errs []error
	for _, a := range addrs {
		c, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 0)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		conns = append(conns, c)
	}
	if len(conns) == 0 {
		return nil, errors.Join(append(errs, errors.New("mdns: no network for questions; connect this host to one"))...)
	}
	return conns, nil
}

// own returns the addresses of this host. The address of a socket selects the network for
// its multicast.
func own(to netip.Addr) ([]netip.Addr, error) {
	if !to.IsMulticast() {
		return []netip.Addr{netip.IPv4Unspecified()}, nil
	}
	nets, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var list []netip.Addr
	for _, n := range nets {
		if n.Flags&net.FlagUp == 0 || n.Flags&net.FlagMulticast == 0 {
			continue
		}
		addrs, err := n.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				list = append(list, p.Addr())
			}
		}
	}
	return list, nil
}

// askEvery is the interval of questions, because packets may be lost.
const askEvery = time.Second

func ask(ctx context.Context, c *net.UDPConn, to netip.AddrPort, q []byte) {
	pause := time.NewTicker(askEvery)
	defer pause.Stop()
	for {
		if _, err := c.WriteToUDPAddrPort(q, to); err != nil && ctx.Err() == nil {
			return // no questions in this network
		}
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
	}
}

// largest is the largest message (RFC 6762 §17).
const largest = 9000

func receive(ctx context.Context, c *net.UDPConn, received chan<- []record) {
	buf := make([]byte, largest)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return // the socket has been closed
		}
		list, err := parse(buf[:n])
		if err != nil {
			continue
		}
		select {
		case received <- list:
		case <-ctx.Done():
			return
		}
	}
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// instances combines records into services.
func instances(all []record, services []string) []Instance {
	found := map[string]*Instance{}
	for _, r := range all {
		service, ok := strings.CutSuffix(r.name, ".local")
		if r.kind != typePTR || !ok || !slices.Contains(services, service) {
			continue
		}
		if name, ok := strings.CutSuffix(r.target, "."+r.name); ok && name != "" {
			found[r.target] = &Instance{Service: service, Name: name}
		}
	}
	ports := map[string]uint16{}
	for _, r := range all {
		if i := found[r.name]; i != nil && r.kind == typeSRV {
			i.Host, ports[r.name] = r.target, r.port
		} else if i != nil && r.kind == typeTXT {
			i.Texts = r.texts
		}
	}
	addrs := map[string]netip.Addr{}
	for _, r := range all {
		if r.kind == typeA && !r.addr.IsUnspecified() && !r.addr.IsMulticast() && r.addr != broadcast {
			addrs[r.name] = r.addr
		}
	}
	for full, i := range found {
		if addr, ok := addrs[i.Host]; ok && i.Host != "" && ports[full] != 0 {
			i.Addr = netip.AddrPortFrom(addr, ports[full])
		}
	}
	list := make([]Instance, 0, len(found))
	for _, key := range slices.Sorted(maps.Keys(found)) {
		list = append(list, *found[key])
	}
	order.By(list, func(a, b Instance) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Name, b.Name))
	})
	return list
}
