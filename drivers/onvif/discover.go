package onvif

import (
	"context"
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/discovery"
)

// group is the multicast address of WS-Discovery (OASIS WS-Discovery 2005/04, §2.4).
var group = netip.MustParseAddrPort("239.255.255.250:3702")

const probe = `<?xml version="1.0" encoding="UTF-8"?>
<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" xmlns:w="http://schemas.xmlsoap.org/ws/2004/08/addressing" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery" xmlns:dn="http://www.onvif.org/ver10/network/wsdl">` +
	`<e:Header><w:MessageID>uuid:%s</w:MessageID><w:To>urn:schemas-xmlsoap-org:ws:2005:04:discovery</w:To>` +
	`<w:Action>http://schemas.xmlsoap.org/ws/2005/04/discovery/Probe</w:Action></e:Header>` +
	`<e:Body><d:Probe><d:Types>dn:NetworkVideoTransmitter</d:Types></d:Probe></e:Body></e:Envelope>`

// Discover searches the local network for cameras until ctx ends.
func Discover(ctx context.Context) []drivers.FoundDevice { return discover(ctx, group) }

// largest is the size limit for an answer.
const largest = 32 << 10

// mostCameras limits the number of results, because more cameras are probably false
// announcements.
const mostCameras = 300

func discover(ctx context.Context, to netip.AddrPort) []drivers.FoundDevice {
	var all []drivers.FoundDevice
	seen := map[string]bool{}
	discovery.Probe(ctx, to, fmt.Appendf(nil, probe, uuid()), largest, func(data []byte, from netip.Addr) bool {
		for _, f := range found(data, from) {
			if url := f.Config["url"]; !seen[url] && len(all) < mostCameras {
				seen[url] = true
				all = append(all, f)
			}
		}
		return true
	})
	return all
}

// found returns the cameras of one answer. It ignores addresses of another host than the
// sender.
func found(data []byte, from netip.Addr) []drivers.FoundDevice {
	var m struct {
		List []struct {
			Scopes string `xml:"Scopes"`
			XAddrs string `xml:"XAddrs"`
		} `xml:"Body>ProbeMatches>ProbeMatch"`
	}
	if xml.Unmarshal(data, &m) != nil {
		return nil
	}
	var all []drivers.FoundDevice
	for _, one := range m.List {
		for _, address := range strings.Fields(one.XAddrs) {
			u, err := url.Parse(address)
			if err != nil || u.Hostname() != from.Unmap().String() || u.Scheme != "http" && u.Scheme != "https" {
				continue
			}
			name := scope(one.Scopes, "name")
			where := strings.TrimSpace(name+" "+scope(one.Scopes, "hardware")) + " at " + from.Unmap().String()
			path := u.EscapedPath()
			if path == devicePath || path == "/" {
				path = ""
			}
			all = append(all, drivers.FoundDevice{
				Name: discovery.ID(name + " " + from.Unmap().String()), Where: where + "; most cameras require a login: add username and password_file",
				Config: map[string]string{"url": u.Scheme + "://" + u.Host + path},
			})
			break
		}
	}
	return all
}

// scope returns the value of onvif://www.onvif.org/KEY/VALUE.
func scope(scopes, key string) string {
	for _, s := range strings.Fields(scopes) {
		if value, ok := strings.CutPrefix(s, "onvif://www.onvif.org/"+key+"/"); ok {
			if plain, err := url.PathUnescape(value); err == nil {
				return plain
			}
		}
	}
	return ""
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])                      // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80 // RFC 9562 §5.4
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
