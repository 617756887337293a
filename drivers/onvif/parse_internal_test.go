package onvif

import (
	"context"
	"encoding/base64"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

const match = `<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><SOAP-ENV:Body><d:ProbeMatches><d:ProbeMatch><d:Types>dn:NetworkVideoTransmitter</d:Types><d:Scopes>onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/name/Door%20Cam onvif://www.onvif.org/hardware/X1</d:Scopes><d:XAddrs>http://10.9.9.9/onvif/device_service http://127.0.0.1:8080/onvif/device_service</d:XAddrs></d:ProbeMatch></d:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>`

// What answers is told once, at its own address; what it says of others is not.
func TestDiscover(t *testing.T) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	go func() {
		buf := make([]byte, 4096)
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil || !strings.Contains(string(buf[:n]), "NetworkVideoTransmitter") {
			t.Errorf("asked %q, %v", buf[:n], err)
		}
		for _, answer := range []string{"nonsense", match, match} {
			_, _ = c.WriteToUDPAddrPort([]byte(answer), from)
		}
		time.AfterFunc(200*time.Millisecond, cancel)
	}()
	got := discover(ctx, netip.MustParseAddrPort(c.LocalAddr().String()))
	if len(got) != 1 || got[0].Name != "door-cam-127-0-0-1" || got[0].Where != "Door Cam X1 at 127.0.0.1" || got[0].Config["url"] != "http://127.0.0.1:8080" {
		t.Errorf("%+v", got)
	}
}

// TestDigest is the profile's formula with values of the ONVIF application
// programmer's guide, §6.1.1.3.
func TestDigest(t *testing.T) {
	nonce, err := base64.StdEncoding.DecodeString("LKqI6G/AikKCQrN0zqZFlg==")
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(nonce, "2010-09-16T07:50:45Z", "userpassword"); got != "tuOSpGlFlIXsozq4HFNeeGeFLEI=" {
		t.Error(got)
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(match))
	f.Add([]byte(`<e:Envelope xmlns:e="x"><e:Body><e:Fault><e:Reason><e:Text>no</e:Text></e:Reason></e:Fault></e:Body></e:Envelope>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parse(data)
		if err != nil && !reflect.DeepEqual(r, reply{}) {
			t.Errorf("%+v beside %v", r, err)
		}
		for _, one := range found(data, netip.MustParseAddr("127.0.0.1")) {
			if !strings.Contains(one.Config["url"], "127.0.0.1") || one.Name == "" {
				t.Errorf("%+v", one)
			}
		}
	})
}
