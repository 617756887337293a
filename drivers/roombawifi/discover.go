package roombawifi

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mdns"
)

// everybody is the broadcast address of robots, and probe is the question.
var everybody = netip.MustParseAddrPort("255.255.255.255:5678")

const (
	probe   = "irobotmcs"
	largest = 8 << 10 // size limit for an answer
	most    = 64      // limit for the number of robots, against a flood of answers
)

// Discover searches the local network for robots until ctx ends.
func Discover(ctx context.Context) []drivers.FoundDevice { return discover(ctx, everybody, most) }

func discover(ctx context.Context, to netip.AddrPort, most int) []drivers.FoundDevice {
	c, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return nil
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends the read
	defer stop()
	defer func() { _ = c.Close() }() // a second Close does no harm
	if _, err := c.WriteToUDPAddrPort([]byte(probe), to); err != nil {
		return nil // there is no network
	}
	var all []drivers.FoundDevice
	buf := make([]byte, largest)
	for len(all) < most {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return all
		}
		f, ok := found(buf[:n], from.Addr().Unmap())
		if ok && !slices.ContainsFunc(all, func(o drivers.FoundDevice) bool { return o.Config["blid"] == f.Config["blid"] }) {
			all = append(all, f)
		}
	}
	return all
}

// found returns the robot of one answer, with the address of the sender, not the address in
// the answer.
func found(data []byte, from netip.Addr) (drivers.FoundDevice, bool) {
	var m struct {
		Host  string `json:"hostname"` // "Roomba-" or "iRobot-", followed by the BLID
		ID    string `json:"robotid"`  // the BLID, in some answers
		Name  string `json:"robotname"`
		Model string `json:"sku"`
		Proto string `json:"proto"`
	}
	if json.Unmarshal(data, &m) != nil {
		return drivers.FoundDevice{}, false
	}
	maker, blid, _ := strings.Cut(m.Host, "-")
	if m.ID != "" {
		blid = m.ID
	}
	if maker != "Roomba" && maker != "iRobot" || !isID(blid) || m.Proto != "" && m.Proto != "mqtt" {
		return drivers.FoundDevice{}, false
	}
	where := strings.Join(strings.Fields(m.Name+" "+m.Model+" at "+from.String()), " ")
	return drivers.FoundDevice{
		Name: mdns.ID("roomba " + m.Name), Where: where,
		Config: map[string]string{"host": from.String(), "blid": blid, "safe": Keep},
	}, true
}
