package address_test

import (
	"net/url"
	"testing"

	"github.com/messkit/messkit/internal/address"
)

func TestReachableAddresses(t *testing.T) {
	for text, want := range map[string]string{
		"http://192.168.1.40": "", "http://plug.local.": "", "https://[fe80::1]:8080/a": "", "mqtt://localhost:1883": "",
		"http://tasmota-4711:80": "", "http://1.example": "", "http://cafe": "", "http://x:65535": "", "http://127.0.0.1:1": "", "http://[::ffff:1.2.3.4]": "",
		"http://192.168.77.999": "192.168.77.999 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://192.168.77.011": "192.168.77.011 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://3232255243":     "3232255243 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://0xc0a84d10":     "0xc0a84d10 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://192.168.77":     "192.168.77 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://192.168.1.40.5": "192.168.1.40.5 is no address; write four numbers of 0 to 255 without zeros before them, like 192.168.1.40",
		"http://x:99999":        "99999 is no port; write one of 1 to 65535, or leave it out",
		"http://x:0":            "0 is no port; write one of 1 to 65535, or leave it out",
		"http://:80":            "has no host; write a name or an address, like 192.168.1.40",
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := address.CheckURL(u); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// CheckHost returns for any text, and accepts every name that ends in ".local".
func FuzzCheckHost(f *testing.F) {
	f.Add("192.168.1.40")
	f.Add("a..")
	f.Add("")
	f.Fuzz(func(t *testing.T, host string) {
		if err := address.CheckHost("x" + host + ".local"); err != nil {
			t.Errorf("%q: %v", host, err)
		}
		_ = address.CheckHost(host)
	})
}
