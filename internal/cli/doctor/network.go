package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// checkPorts reports ports that another program uses. It skips the port of the running
// exchange.
func checkPorts(c *config.Exchange, running bool) (found []output.CheckResult) {
	if running {
		return nil
	}
	if err := freePort(c.Listen); err != nil {
		found = append(found, output.CheckResult{What: "port", Says: err.Error() + ", or choose another with listen:"})
	}
	if err := freePort(c.MQTT.Listen); err != nil && !c.MQTT.Elsewhere() && c.MQTT.Listen != config.NoBroker {
		f := output.CheckResult{What: "port", Says: err.Error() + ", or choose another with mqtt: listen:"}
		if c.MQTT.Listen == config.DefaultBroker {
			f.OK, f.Note, f.Says = true, true, "another program has port 1883; messkit's broker takes another port and prints it"
		}
		found = append(found, f)
	}
	return found
}

func freePort(addr string) error {
	l, err := net.Listen("tcp", addr)
	if err == nil {
		return l.Close()
	}
	if _, port, split := net.SplitHostPort(addr); split == nil && errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: another program has it, and is no exchange; ss -ltnp 'sport = :%s' shows which", addr, port)
	}
	return fmt.Errorf("%w; write another address", err)
}

// expiryWarning is the time before the end of a certificate from which the doctor warns.
const expiryWarning = 21 * 24 * time.Hour

// checkSecure checks the dates of certificates, and brokers on other machines.
func checkSecure(ctx context.Context, c *config.Config, now time.Time) (found []output.CheckResult) {
	add := func(what string, certs []*x509.Certificate, err error) {
		if err == nil && len(certs) > 0 {
			err = Dates(certs[0], now)
		}
		if err != nil || len(certs) > 0 {
			found = append(found, newCheckResult("tls", err, "%s is good until %s", what, lastDay(certs)))
		}
	}
	if e := c.Exchange; e != nil {
		switch {
		case e.TLSFiles.Cert != "":
			certs, err := inFile(e.TLSFiles.Cert, e.TLSFiles.Key)
			add(e.TLSFiles.Cert, certs, err)
		case e.TLSSelf:
			if own, err := keys.OwnCertificate(e.Data); err == nil { // without one the start makes it
				add("the certificate of this exchange", []*x509.Certificate{own.Leaf}, nil)
			}
		}
		if e.MQTT.Elsewhere() {
			found = append(found, checkBrokerThere(ctx, e.MQTT.Expanded()))
			if e.MQTT.Cert != "" {
				certs, err := inFile(e.MQTT.Cert, e.MQTT.Key)
				add(e.MQTT.Cert, certs, err)
			}
		}
	}
	if k := c.Connect; k != nil {
		if k.Cert != "" {
			certs, err := inFile(k.Cert, k.Key)
			add(k.Cert, certs, err)
		}
		found = append(found, CheckAddresses(ctx, httpclient.All(k.URL), now)...)
	}
	return found
}

// CheckAddresses checks the certificates at addresses, in a line for each. The address of the only
// exchange has no line if it does not answer: another check reports that.
func CheckAddresses(ctx context.Context, all []string, now time.Time) []output.CheckResult {
	lines := make([][]output.CheckResult, len(all))
	var g errgroup.Group
	for i, address := range all {
		g.Go(func() error {
			certs, err := atAddress(ctx, address)
			switch {
			case errors.Is(err, errNoTLS), err != nil && len(all) == 1:
			case err != nil:
				lines[i] = []output.CheckResult{{What: "tls", OK: true, Note: true, Says: fmt.Sprintf("the certificate at %s is unknown: %v; start the exchange there, or remove the address from connect: url:", address, err)}}
			case len(certs) > 0:
				lines[i] = []output.CheckResult{newCheckResult("tls", at(address, Dates(certs[0], now)), "the certificate at %s is good until %s", address, lastDay(certs))}
			}
			return nil
		})
	}
	_ = g.Wait() // it never fails: each line has its error
	return slices.Concat(lines...)
}

// at adds an address to an error. Several exchanges may have certificates of the same name.
func at(address string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", address, err)
}

// errNoTLS is the error of an address without TLS.
var errNoTLS = errors.New("no TLS there")

func inFile(cert, key string) ([]*x509.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(config.Expand(cert), config.Expand(key))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cert, err)
	}
	return []*x509.Certificate{pair.Leaf}, nil
}

// atAddress returns the certificates of a server, without verifying them.
func atAddress(ctx context.Context, address string) ([]*x509.Certificate, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "mqtts" {
		return nil, errNoTLS
	}
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "mqtts": "8883"}[u.Scheme])
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // this check reads the dates alone
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return nil, errNoTLS
	}
	return secure.ConnectionState().PeerCertificates, nil
}

// Dates returns an error if a certificate is not valid at a time, or ends soon.
func Dates(c *x509.Certificate, now time.Time) error {
	switch {
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate of %s is good from %s only; is this clock right?", c.Subject.CommonName, c.NotBefore.Format(time.DateOnly))
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate of %s was good until %s; renew it, and start messkit again", c.Subject.CommonName, c.NotAfter.Format(time.DateOnly))
	case now.Add(expiryWarning).After(c.NotAfter):
		return fmt.Errorf("the certificate of %s is good until %s; renew it now", c.Subject.CommonName, c.NotAfter.Format(time.DateOnly))
	}
	return nil
}

func lastDay(certs []*x509.Certificate) string {
	if len(certs) == 0 {
		return ""
	}
	return certs[0].NotAfter.Format(time.DateOnly)
}

// checkBrokerThere checks that a broker accepts connections. It does not log in: that would
// end the running session of the same client.
func checkBrokerThere(ctx context.Context, a broker.Address) output.CheckResult {
	ctx, cancel := context.WithTimeout(ctx, config.ReachTime)
	defer cancel()
	_, err := a.Password()
	var secure *tls.Config
	if err == nil {
		secure, err = a.TLS()
	}
	if err == nil {
		conn, dialed := a.Dial(ctx, secure)
		if err = dialed; err == nil {
			err = conn.Close()
		} else {
			err = fmt.Errorf("%s: %w; is the broker running, and the address right?", a.URL, err)
		}
	}
	return newCheckResult("broker", err, "%s takes connections", a.URL)
}
