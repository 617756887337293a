package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
)

// selfMade is the value of tls: for a certificate that the exchange makes.
const selfMade = "self"

// tlsFiles are the value of tls: for a certificate that somebody has signed.
type tlsFiles struct {
	Cert string `yaml:"cert"` // file with it, and with those of who has signed it
	Key  string `yaml:"key"`  // file
}

// Validate reads the files, as the start does.
func (f tlsFiles) Validate() error {
	if f.Cert == "" || f.Key == "" {
		return errors.New("cert and key are both needed; write the files, or tls: self")
	}
	if _, err := tls.LoadX509KeyPair(expand(f.Cert), expand(f.Key)); err != nil {
		return fmt.Errorf("cert: %w; write PEM files that belong together", err)
	}
	return nil
}

// url returns the address of the exchange's HTTP API for a client on this machine.
func (c exchangeConfig) url() (string, error) {
	addr, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return "", err
	}
	if c.tlsSelf || c.tlsFiles.Cert != "" {
		return "https://" + reachable(addr), nil
	}
	return "http://" + reachable(addr), nil
}

// asOperator returns a client of the running exchange of this configuration, with the
// operator's key. It does not connect yet. MESSKIT_URL overrides the address.
func (c exchangeConfig) asOperator() (*remote.Client, error) {
	keyFile := filepath.Join(c.Data, operatorFile)
	key, err := readKey(keyFile)
	if err != nil {
		return nil, err
	}
	url := env("MESSKIT_URL", defaultURL)
	if own, err := c.url(); err == nil && url == defaultURL {
		url = own
	}
	pin := ""
	if strings.HasPrefix(url, "https://") {
		pin = ownPin(keyFile)
	}
	return remote.New(remote.Config{URL: url, Key: key, Pin: pin}, output.NoLog)
}

// readTLS reads what tls: says.
func (c *exchangeConfig) readTLS() error {
	if c.TLS.IsZero() {
		return nil
	}
	if len(c.TLS.Keys()) > 0 {
		return c.TLS.Decode(&c.tlsFiles)
	}
	var word string
	if err := c.TLS.Decode(&word); err != nil {
		return err
	}
	if word != selfMade {
		return strictyaml.Problems{c.TLS.Problem("", "%q is unknown; write self, or cert and key", word)}
	}
	c.tlsSelf = true
	return nil
}

// checkPlain refuses to send keys over a network in plain text.
func (c exchangeConfig) checkPlain() error {
	if c.Insecure || c.tlsSelf || !c.TLS.IsZero() || here(c.Listen) || !listenable(c.Listen) {
		return nil
	}
	return fmt.Errorf("listen: %s is beyond this machine, and keys would go there in plain text; write tls: self (--tls self), or insecure: true (--insecure) where a tunnel or proxy keeps them", c.Listen)
}

// here reports whether an address to listen at is this machine's own.
func here(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true // which is told by itself
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// own reports whether an address is one that only this machine reaches.
func own(addr net.Addr) bool {
	a, err := netip.ParseAddrPort(addr.String())
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// secure is how the door is to be served; nil: in plain text.
func (c exchangeConfig) secure() (*tls.Config, error) {
	var cert tls.Certificate
	var err error
	switch {
	case c.tlsSelf:
		cert, err = keys.Certificate(c.Data)
	case c.tlsFiles.Cert != "":
		cert, err = tls.LoadX509KeyPair(expand(c.tlsFiles.Cert), expand(c.tlsFiles.Key))
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, nil
}

// at is where an exchange is, as one would type it here, and how its
// certificate is known.
func at(addr net.Addr, c *tls.Config) string {
	if c == nil {
		return "http://" + reachable(addr)
	}
	return "https://" + reachable(addr) + "\ncertificate " + remote.Fingerprint(c.Certificates[0].Leaf)
}

// ownPin is the pin of the exchange whose key file lies in its own data folder;
// "" if it has made no certificate there.
func ownPin(keyFile string) string {
	cert, err := keys.OwnCertificate(filepath.Dir(keyFile))
	if err != nil {
		return ""
	}
	return remote.Fingerprint(cert.Leaf)
}

func keysFingerprintCommand(a *output.Env) *cobra.Command {
	var data string
	c := &cobra.Command{
		Use:   "fingerprint",
		Short: "Show how clients know the exchange's own certificate",
		Long: `Fingerprint shows the certificate that an exchange with tls: self has made, as clients
pin it: --pin, or connect: pin:. It reads the exchange's data folder.`,
		Example: "  messkit keys fingerprint --data ~/.mess",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cert, err := keys.OwnCertificate(data)
			if errors.Is(err, fs.ErrNotExist) {
				return output.Hint(fmt.Errorf("%s: there is no certificate", data), "an exchange with tls: self makes one when it starts")
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, remote.Fingerprint(cert.Leaf))
			return err
		},
	}
	c.Flags().StringVar(&data, "data", dataDir(), "the exchange's data folder")
	return c
}
