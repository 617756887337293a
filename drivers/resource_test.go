package drivers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestEqualResources(t *testing.T) {
	at := func(place string) func() string { return func() string { return place } }
	pin := func(what string, place func() string) drivers.Resource {
		return drivers.Resource{Label: what, Identity: "line 27", Location: place}
	}
	for name, c := range map[string]struct {
		one, two drivers.Resource
		want     bool
	}{
		"the same word":                   {drivers.Resource{Label: "a"}, drivers.Resource{Label: "a"}, true},
		"other words":                     {drivers.Resource{Label: "a"}, drivers.Resource{Label: "b"}, false},
		"spelled otherwise, not found":    {pin("GPIO27", at("")), pin("27", at("")), true},
		"spelled otherwise, found":        {pin("GPIO27", at("gpiochip0 27")), pin("27", at("gpiochip0 27")), true},
		"spelled otherwise, and is other": {pin("GPIO27", at("gpiochip1 3")), pin("27", at("gpiochip0 27")), false},
		"the only one, and another":       {drivers.Resource{Label: "a", Kind: "cam", Sole: true}, drivers.Resource{Label: "b", Kind: "cam"}, true},
		"two of a kind":                   {drivers.Resource{Label: "a", Kind: "cam"}, drivers.Resource{Label: "b", Kind: "cam"}, false},
		"the only ones of two kinds":      {drivers.Resource{Label: "a", Kind: "cam", Sole: true}, drivers.Resource{Label: "b", Kind: "chip", Sole: true}, false},
		"spelled alike":                   {pin("GPIO27", at("x")), pin("GPIO27", at("y")), true},
	} {
		if got := c.one.SameAs(c.two); got != c.want || c.two.SameAs(c.one) != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestSameAddress(t *testing.T) {
	for _, same := range [][]string{
		{"http://192.168.1.40", "http://192.168.1.40/", "HTTP://192.168.1.40:80", "https://192.168.1.40:443/"},
		{"http://Plug.local", "http://plug.local.", "https://plug.LOCAL//"},
		{"mqtt://localhost", "mqtt://127.0.0.1:1883", "mqtts://[::1]:8883", "mqtt://LOCALHOST"},
		{"http://[fe80::1]:8080/a", "http://[FE80:0::1]:8080/a/"},
	} {
		for _, one := range same {
			if got, want := drivers.URLIdentity(one), drivers.URLIdentity(same[0]); got != want {
				t.Errorf("%s: %q, want %q", one, got, want)
			}
		}
	}
	other := map[string]bool{}
	for _, one := range []string{"http://a", "http://b", "http://a:8080", "http://a/b", "mqtt://a:1884", "https://a:80"} {
		if is := drivers.URLIdentity(one); other[is] {
			t.Errorf("%s is another", one)
		} else {
			other[is] = true
		}
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "ttyUSB0"), filepath.Join(dir, "roomba")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	if drivers.FileIdentity(link) != drivers.FileIdentity(file) || drivers.FileIdentity("/dev/none/../x") != "/dev/x" {
		t.Error(drivers.FileIdentity(link), drivers.FileIdentity(file))
	}
}
