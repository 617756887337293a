package mqtt_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt"
	"github.com/messkit/messkit/exchange/remote/mqttclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/test/freeport"
)

// testCA signs certificates.
type testCA struct {
	*testing.T
	dir  string
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newTestCA(t *testing.T) *testCA {
	t.Helper()
	a := &testCA{T: t, dir: t.TempDir()}
	a.cert, a.key, _ = a.sign("ca", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	return a
}

// file is a file of the authority's: name.pem or name.key.
func (a *testCA) file(name string) string { return filepath.Join(a.dir, name) }

// sign makes a certificate and its key, as files. The text is the fingerprint for pinning.
func (a *testCA) sign(name string, set func(*x509.Certificate)) (*x509.Certificate, *ecdsa.PrivateKey, string) {
	a.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	if set != nil {
		set(c)
	}
	parent, by := c, key
	if a.cert != nil {
		parent, by = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		a.Fatal(err)
	}
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: der}, name + ".key": {Type: "PRIVATE KEY", Bytes: text}} {
		if err := os.WriteFile(a.file(file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.Fatal(err)
		}
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		a.Fatal(err)
	}
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return c, key, "sha256:" + hex.EncodeToString(sum[:])
}

// mosquittoWithAccounts is a mosquitto that knows its users, with the printed rules.
func mosquittoWithAccounts(t *testing.T, acl string, users ...string) (config, password string) {
	t.Helper()
	if _, err := exec.LookPath("mosquitto_passwd"); err != nil {
		t.Skip("mosquitto is missing; apt-get install mosquitto mosquitto-clients")
	}
	dir := t.TempDir()
	rules, passwords := filepath.Join(dir, "acl"), filepath.Join(dir, "passwords")
	password = filepath.Join(dir, "exchange.password")
	for name, data := range map[string]string{rules: acl, passwords: "", password: "pw\n"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, user := range users {
		if out, err := exec.Command("mosquitto_passwd", "-b", passwords, user, "pw").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return "allow_anonymous false\npassword_file " + passwords + "\nacl_file " + rules + "\n", password
}

// The exchange and an executor reach a mosquitto over TLS, with certificates of
// their own, users and passwords, under the printed rules; and Home Assistant
// works with them there.
func TestTLSToExternalBroker(t *testing.T) {
	h := newHarness(t, func(c *exchange.Config) { c.States = true }).enableHomeAssistant()
	acl, err := mqtt.ACL("home", "messkit-home", h.keys.List(), true)
	if err != nil {
		t.Fatal(err)
	}
	config, password := mosquittoWithAccounts(t, acl, "messkit-home", "kitchen-pi", "homeassistant")
	ca := newTestCA(t)
	_, _, pin := ca.sign("broker", nil)
	client := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	ca.sign("exchange", client)
	ca.sign("pi", client)
	port := freePort(t)
	m := &mosquitto{harness: h}
	m.configure(config + fmt.Sprintf("listener %s 127.0.0.1\ncafile %s\ncertfile %s\nkeyfile %s\nrequire_certificate true\n",
		port, ca.file("ca.pem"), ca.file("broker.pem"), ca.file("broker.key")))
	at := func(name string) broker.Address {
		return broker.Address{
			URL: "mqtts://127.0.0.1:" + port, User: map[string]string{"exchange": "messkit-home", "pi": "kitchen-pi"}[name], PasswordFile: password,
			CA: ca.file("ca.pem"), Cert: ca.file(name + ".pem"), Key: ca.file(name + ".key"),
		}
	}
	logger := slog.New(slog.NewTextHandler(h.log, nil))
	runUntilStopped(t, mqtt.NewExternal(m.opened(), mqtt.ExternalConfig{Address: at("exchange"), Client: "messkit-home"}, logger).Run)
	pi, err := mqttclient.New(mqttclient.Config{Address: at("pi"), Executor: "kitchen-pi"}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	runUntilStopped(t, pi.Run)
	d := h.runDevices("kitchen-pi", pi)
	checkScenario(h, h.connectHomeAssistant("pw"), d, false)

	// a rejected client stays out, and the log gives the reason without a password
	stranger := newTestCA(t)
	stranger.sign("pi", client)
	for _, c := range []struct {
		name string
		set  func(*mqttclient.Config)
		want string // found
	}{
		{"a pin instead of an authority", func(c *mqttclient.Config) { c.CA, c.Pin = "", pin }, "home"},
		{"no certificate of one's own", func(c *mqttclient.Config) { c.Cert, c.Key = "", "" }, ""},
		{"one of another authority", func(c *mqttclient.Config) { c.Cert, c.Key = stranger.file("pi.pem"), stranger.file("pi.key") }, ""},
		{"a broker of another authority", func(c *mqttclient.Config) { c.CA = stranger.file("ca.pem") }, ""},
		{"an authority that the system does not trust", func(c *mqttclient.Config) { c.CA = "" }, ""},
		{"another pin", func(c *mqttclient.Config) { c.CA, c.Pin = "", "sha256:"+strings.Repeat("0", 64) }, ""},
		{"a name that is not in the certificate", func(c *mqttclient.Config) { c.URL = strings.Replace(c.URL, "127.0.0.1", "localhost", 1) }, ""},
		{"plain text", func(c *mqttclient.Config) {
			c.URL, c.CA, c.Cert, c.Key = strings.Replace(c.URL, "mqtts", "mqtt", 1), "", "", ""
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := mqttclient.Config{Address: at("pi"), Executor: "kitchen-pi"}
			c.set(&cfg)
			text := &log{}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			var wg sync.WaitGroup
			defer wg.Wait()
			defer cancel()
			wg.Go(func() { // it gets the error, and then has little time to try again
				for ctx.Err() == nil && !text.has("cannot reach the broker") {
					time.Sleep(10 * time.Millisecond)
				}
				if c.want == "" {
					cancel()
				}
			})
			got, err := mqttclient.Find(ctx, cfg, slog.New(slog.NewTextHandler(text, nil)))
			if err != nil || got != c.want {
				t.Errorf("found %q, %v; want %q; log:\n%s", got, err, c.want, text.text.String())
			}
			if c.want == "" && !text.has("cannot reach the broker") {
				t.Errorf("the log does not contain that the broker is unreachable:\n%s", text.text.String())
			}
		})
	}
}

// freePort returns a port that is not in use now.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(freeport.Address(t))
	return port
}
