// Package natslink connects to NATS servers. It also has the subjects and the signed messages in
// which an executor and its exchange talk there.
package natslink

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/strictyaml"
)

// Address says where NATS servers are, and who the client is there.
type Address struct {
	URL string `yaml:"url"` // nats://host:4222 or tls://host:4222, several with commas between

	Credentials string `yaml:"credentials_file"` // of a user: a JWT and a seed; "" for none
	NKey        string `yaml:"nkey_file"`        // the seed of a user; "" for none

	CA       string `yaml:"ca"`       // file with the certificates that sign those of the servers; "" for those of the system
	Cert     string `yaml:"cert"`     // file with the client's own certificate; "" for none
	Key      string `yaml:"key"`      // file with the key to it
	Insecure bool   `yaml:"insecure"` // plain text beyond this machine
}

// Is reports whether a text is the address of NATS servers.
func Is(text string) bool {
	return strings.HasPrefix(text, "nats://") || strings.HasPrefix(text, "tls://")
}

// URLs returns the addresses of the servers.
func (a Address) URLs() (all []string) {
	for one := range strings.SplitSeq(a.URL, ",") {
		all = append(all, strings.TrimSpace(one))
	}
	return all
}

// Expand replaces ~ in the names of files.
func (a *Address) Expand(expand func(string) string) {
	for _, name := range []*string{&a.Credentials, &a.NKey, &a.CA, &a.Cert, &a.Key} {
		*name = expand(*name)
	}
}

// Validate returns an error for each setting that is wrong. It does not read the files.
func (a Address) Validate() error {
	var errs []error
	if a.URL == "" {
		errs = append(errs, errors.New("url: is missing; write where the NATS servers are, like nats://127.0.0.1:4222"))
	} else {
		for _, one := range a.URLs() {
			errs = append(errs, a.checkURL(one))
		}
	}
	if a.Credentials != "" && a.NKey != "" {
		errs = append(errs, errors.New("nkey_file: there is a credentials_file as well; keep one of the two"))
	}
	if (a.Cert == "") != (a.Key == "") {
		errs = append(errs, errors.New("cert: cert and key are both needed; write both files, or none"))
	}
	return errors.Join(errs...)
}

// CheckFiles returns an error for each file that a start could not read. The key of the
// configuration is under n.
func (a Address) CheckFiles(n strictyaml.Node) error {
	var wrong strictyaml.Problems
	for key, name := range map[string]string{"credentials_file": a.Credentials, "nkey_file": a.NKey, "ca": a.CA} {
		if name == "" {
			continue
		}
		if f, err := os.Open(name); err != nil {
			wrong = append(wrong, n.Problem(key, "%v; write a file that this user can read", err))
		} else if err := f.Close(); err != nil {
			wrong = append(wrong, n.Problem(key, "%v", err))
		}
	}
	if a.Cert != "" {
		if _, err := tls.LoadX509KeyPair(a.Cert, a.Key); err != nil {
			wrong = append(wrong, n.Problem("cert", "%v; write PEM files that belong together", err))
		}
	}
	return wrong.Err()
}

// checkURL returns an error for an address that is none, or that would send messages in plain text.
func (a Address) checkURL(text string) error {
	if err := CheckURL(text); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	u, _ := url.Parse(text) // CheckURL has read it
	if u.Scheme == "tls" || a.CA != "" || a.Cert != "" || a.Insecure || isLocal(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("url: %s is beyond this machine, and messages would go there in plain text; write tls://%s, or url: with insecure: true where a tunnel keeps them", u.Host, u.Host)
}

// CheckURL returns an error for an address that is none of a NATS server. The error has no secret.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "" || u.Scheme != "nats" && u.Scheme != "tls":
		return errors.New("an address is not one of a NATS server; write it like nats://host:4222 or tls://host:4222, with the port")
	case u.User != nil:
		return fmt.Errorf("%s has a secret in it; write it into a file, and name that file in credentials_file or nkey_file", u.Host)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return fmt.Errorf("%s has something after the port; leave that out", u.Host)
	}
	return nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Options are of one connection.
type Options struct {
	Name string        // of the client, for the servers and their logs
	What string        // who has the connection, for messages: the store
	Dial time.Duration // time limit of a connection to one server
	Log  *slog.Logger

	// Connected gets each server with which a later connection is made. It may be nil.
	Connected func(*nats.Conn)
}

// Connect connects to one of the servers. Later the client changes to another one by itself. With
// nats.RetryOnFailedConnect in more, Connect returns at once.
func (a Address) Connect(o Options, more ...nats.Option) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(o.Name), nats.Timeout(o.Dial),
		// A frozen server answers no ping, and the client changes to another one after this time.
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2),
		nats.MaxReconnects(-1), nats.ReconnectWait(100 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.ReconnectBufSize(-1), // a write fails at once while there is no connection, and is not sent much later
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.Log.Warn(o.What+" has lost its server; it looks for another one", "err", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			o.Log.Info(o.What+" is connected again", "server", nc.ConnectedUrlRedacted())
			if o.Connected != nil {
				o.Connected(nc)
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Log.Warn("a NATS server reports an error", "err", err)
		}),
	}
	if a.Credentials != "" {
		options = append(options, nats.UserCredentials(a.Credentials))
	}
	if a.NKey != "" {
		seed, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			return nil, fmt.Errorf("nkey_file: %s: %w; write the file with the seed of a user", a.NKey, err)
		}
		options = append(options, seed)
	}
	if a.CA != "" {
		options = append(options, nats.RootCAs(a.CA))
	}
	if a.Cert != "" {
		options = append(options, nats.ClientCert(a.Cert, a.Key))
	}
	nc, err := nats.Connect(strings.Join(a.URLs(), ","), append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; look whether nats-server runs there, and whether it knows this user", strings.Join(a.URLs(), ", "), err)
	}
	return nc, nil
}

// IsConflict reports whether a write has not found the sequence that it expects. Servers answer with
// either code.
func IsConflict(e *jetstream.APIError) bool {
	return e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant
}
