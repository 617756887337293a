package roombawifi

import (
	"context"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// broadcast is the broadcast address of robots, and probe is the question.
var broadcast = netip.MustParseAddrPort("255.255.255.255:5678")

const (
	probe   = "irobotmcs"
	largest = 8 << 10 // size limit for an answer
	most    = 64      // limit for the number of robots, against a flood of answers
)

// Discover searches the local network for robots until ctx ends.
func Discover(ctx context.Context) []drivers.FoundDevice { return discover(ctx, broadcast, most) }

func discover(ctx context.Context, to netip.AddrPort, most int) []drivers.FoundDevice {
	var all []drivers.FoundDevice
	discovery.Probe(ctx, to, []byte(probe), largest, func(data []byte, from netip.Addr) bool {
		f, ok := found(data, from.Unmap())
		if ok && !slices.ContainsFunc(all, func(o drivers.FoundDevice) bool { return o.Config["blid"] == f.Config["blid"] }) {
			all = append(all, f)
		}
		return len(all) < most
	})
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
		Name: discovery.ID("roomba " + m.Name), Where: where,
		Config: map[string]string{"host": from.String(), "blid": blid, "safe": Keep},
	}, true
}
