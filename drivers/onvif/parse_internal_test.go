package onvif

import (
	"context"
	"encoding/base64"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

const match = `<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><SOAP-ENV:Body><d:ProbeMatches><d:ProbeMatch><d:Types>dn:NetworkVideoTransmitter</d:Types><d:Scopes>onvif://www.onvif.org/type/video_encoder onvif://www.onvif.org/name/Door%20Cam onvif://www.onvif.org/hardware/X1</d:Scopes><d:XAddrs>http://10.9.9.9/onvif/device_service http://127.0.0.1:8080/onvif/device_service</d:XAddrs></d:ProbeMatch></d:ProbeMatches></SOAP-ENV:Body></SOAP-ENV:Envelope>`

// discovered searches a responder with these answers until enough returns true.
func discovered(t *testing.T, answers [][]byte, enough func([]drivers.FoundDevice) bool) []drivers.FoundDevice {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		buf := make([]byte, 4096)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			if !strings.Contains(string(buf[:n]), "NetworkVideoTransmitter") {
				t.Errorf("asked %q", buf[:n])
			}
			for _, answer := range answers {
				_, _ = c.WriteToUDPAddrPort(answer, from)
			}
		}
	}()
	defer func() { _ = c.Close(); <-over }()
	for long := 200 * time.Millisecond; ; long *= 2 { // repeats lost questions
		ctx, cancel := context.WithTimeout(t.Context(), long)
		got := discover(ctx, netip.MustParseAddrPort(c.LocalAddr().String()))
		cancel()
		if enough(got) || long > time.Minute {
			return got
		}
	}
}

// A camera appears once, with its own address and the required settings; the search ignores
// an answer about another host.
func TestDiscover(t *testing.T) {
	got := discovered(t, [][]byte{[]byte("nonsense"), []byte(match), []byte(match)}, func(list []drivers.FoundDevice) bool { return len(list) > 0 })
	if len(got) != 1 || got[0].Name != "door-cam-127-0-0-1" || got[0].Where != "Door Cam X1 at 127.0.0.1; most cameras require a login: add username and password_file" || got[0].Config["url"] != "http://127.0.0.1:8080" {
		t.Errorf("%+v", got)
	}
	elsewhere := matches([2]string{"", "http://127.0.0.1:8080/onvif/services"})
	got = discovered(t, [][]byte{elsewhere}, func(list []drivers.FoundDevice) bool { return len(list) > 0 })
	if len(got) != 1 || got[0].Config["url"] != "http://127.0.0.1:8080/onvif/services" {
		t.Errorf("%+v", got)
	}
}

// matches returns an answer with these pairs of scopes and addresses.
func matches(list ...[2]string) []byte {
	var b strings.Builder
	b.WriteString(`<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope" xmlns:d="http://schemas.xmlsoap.org/ws/2005/04/discovery"><e:Body><d:ProbeMatches>`)
	for _, m := range list {
		b.WriteString("<d:ProbeMatch><d:Scopes>" + m[0] + "</d:Scopes><d:XAddrs>" + m[1] + "</d:XAddrs></d:ProbeMatch>")
	}
	b.WriteString(`</d:ProbeMatches></e:Body></e:Envelope>`)
	return []byte(b.String())
}

// For any answer, an address is that of the sender, a name is data, and the number of
// results has a limit.
func TestHostileMatches(t *testing.T) {
	const here, evil = "http://127.0.0.1:", "http://127.0.0.1:8066/%22%27"
	answers := [][]byte{
		nil,
		{0},
		[]byte("<"), []byte(strings.Repeat("<a>", 8000)), []byte(`<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "` + strings.Repeat("c", 1000) + `">]><a>&b;&b;</a>`),
		matches([2]string{"onvif://www.onvif.org/name/elsewhere", "http://10.9.9.9/ http://localhost/ http://127.0.0.1.evil.example/ http://127.0.0.1@10.9.9.9/ ftp://127.0.0.1/ file:///etc/passwd http://127.0.0.1:x/ :"}),
		matches([2]string{"onvif://www.onvif.org/name/evil%0A%20%20rogue:%20%7Bdriver:%20exec%7D%1B%5B2J", here + "8066/\"'"}),
		matches([2]string{"onvif://www.onvif.org/name/" + strings.Repeat("long", 5000), here + "8067/"}),
		matches([2]string{"onvif://www.onvif.org/name/%zz onvif://www.onvif.org/hardware/%ff%fe", here + "8068/"}),
		[]byte(match),
	}
	for n := range 8 {
		var list [][2]string
		for m := range 50 {
			list = append(list, [2]string{"", here + strconv.Itoa(10000+50*n+m) + "/"})
		}
		answers = append(answers, matches(list...))
	}
	at := func(list []drivers.FoundDevice) map[string]drivers.FoundDevice {
		m := map[string]drivers.FoundDevice{}
		for _, f := range list {
			m[f.Config["url"]] = f
		}
		return m
	}
	got := discovered(t, answers, func(list []drivers.FoundDevice) bool {
		m := at(list)
		return m[evil].Name != "" && m[here+"8080"].Name != "" && len(list) == mostCameras
	})
	if len(got) != mostCameras {
		t.Errorf("%d were kept", len(got))
	}
	for url, f := range at(got) {
		if !strings.HasPrefix(url, here) || len(f.Name) > 60 || strings.ContainsAny(f.Name, "\n\x1b {}:") {
			t.Errorf("%q at %q", f.Name, url)
		}
	}
	if f := at(got)[evil]; f.Name != "evil-rogue-driver-exec-2j-127-0-0-1" {
		t.Errorf("%+v", f)
	}
}

// TestDigest checks the formula of the profile with the values of the ONVIF application
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
