// Package natsstore has the settings of an exchange whose threads are in NATS JetStream: the value of
// exchange: store: in a configuration.
package natsstore

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Settings are the value of store:. A text is the value of url alone.
type Settings struct {
	URL string `yaml:"url"` // nats://host:4222 or tls://host:4222, several with commas between

	Prefix string `yaml:"prefix"` // of all subjects; "": mess
	Site   string `yaml:"site"`   // exchanges with one prefix and site share their threads; "": the id of the exchange

	Replicas int `yaml:"replicas"` // of each message

	Credentials string `yaml:"credentials_file"` // of a user: a JWT and a seed
	NKey        string `yaml:"nkey_file"`        // the seed of a user

	CA       string `yaml:"ca"` // files for TLS
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	Insecure bool   `yaml:"insecure"` // plain text beyond this machine

	Sync       string   `yaml:"sync"`        // always: somebody has set it at all servers
	Monitor    []string `yaml:"monitor"`     // addresses where the servers tell their settings
	AcceptLoss bool     `yaml:"accept_loss"` // start with settings that can lose acknowledged steps
}

const defaultReplicas = 3

// Read reads the value of store:; nil for none. expand replaces ~ in the names of files.
func Read(n strictyaml.Node, expand func(string) string) (*Settings, error) {
	if n.IsZero() {
		return nil, nil
	}
	s := &Settings{Replicas: defaultReplicas}
	if len(n.Keys()) == 0 {
		if err := n.Decode(&s.URL); err != nil {
			return nil, err
		}
		if err := s.Validate(); err != nil {
			var wrong strictyaml.Problems
			for _, line := range strings.Split(err.Error(), "\n") {
				wrong = append(wrong, n.Problem("", "%s", strings.TrimPrefix(line, "url: ")))
			}
			return nil, wrong
		}
		return s, nil
	}
	if err := n.Decode(s); err != nil {
		return nil, err
	}
	for _, name := range []*string{&s.Credentials, &s.NKey, &s.CA, &s.Cert, &s.Key} {
		*name = expand(*name)
	}
	return s, s.checkFiles(n)
}

// checkFiles returns an error for each file that the start could not read.
func (s *Settings) checkFiles(n strictyaml.Node) error {
	var wrong strictyaml.Problems
	for key, name := range map[string]string{"credentials_file": s.Credentials, "nkey_file": s.NKey, "ca": s.CA} {
		if name == "" {
			continue
		}
		if f, err := os.Open(name); err != nil {
			wrong = append(wrong, n.Problem(key, "%v; write a file that this user can read", err))
		} else if err := f.Close(); err != nil {
			wrong = append(wrong, n.Problem(key, "%v", err))
		}
	}
	if s.Cert != "" {
		if _, err := tls.LoadX509KeyPair(s.Cert, s.Key); err != nil {
			wrong = append(wrong, n.Problem("cert", "%v; write PEM files that belong together", err))
		}
	}
	return wrong.Err()
}

// addresses returns the addresses of the servers.
func (s Settings) addresses() (all []string) {
	for one := range strings.SplitSeq(s.URL, ",") {
		all = append(all, strings.TrimSpace(one))
	}
	return all
}

// Validate returns an error for each setting that is wrong.
func (s Settings) Validate() error {
	var errs []error
	if s.URL == "" {
		errs = append(errs, errors.New("url: is missing; write where the NATS servers are, like nats://127.0.0.1:4222"))
	} else {
		for _, one := range s.addresses() {
			errs = append(errs, s.checkURL(one))
		}
	}
	for key, word := range map[string]string{"prefix": s.Prefix, "site": s.Site} {
		if err := jetstream.CheckWord(word); word != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	if s.Replicas != 1 && s.Replicas != 3 && s.Replicas != 5 {
		errs = append(errs, fmt.Errorf("replicas: %d is no number of servers that can lose one; write 3 or 5, or 1 for a single server", s.Replicas))
	}
	if s.Credentials != "" && s.NKey != "" {
		errs = append(errs, errors.New("nkey_file: there is a credentials_file as well; keep one of the two"))
	}
	if (s.Cert == "") != (s.Key == "") {
		errs = append(errs, errors.New("cert: cert and key are both needed; write both files, or none"))
	}
	if s.Sync != "" && s.Sync != jetstream.SyncAlways {
		errs = append(errs, fmt.Errorf("sync: %q is unknown; write always, if all servers have jetstream {sync_interval: always}", s.Sync))
	}
	for _, one := range s.Monitor {
		if u, err := url.Parse(one); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			errs = append(errs, errors.New("monitor: an address is not one of the monitoring of a server; write it like http://127.0.0.1:8222"))
		}
	}
	return errors.Join(errs...)
}

// checkURL returns an error for an address that is none, or that would send threads in plain text.
func (s Settings) checkURL(text string) error {
	if err := jetstream.CheckURL(text); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	u, _ := url.Parse(text) // CheckURL has read it
	if u.Scheme == "tls" || s.CA != "" || s.Cert != "" || s.Insecure || isLocal(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("url: %s is beyond this machine, and threads would go there in plain text; write tls://%s, or a store: with insecure: true where a tunnel keeps them", u.Host, u.Host)
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Config returns the settings of the store. If nothing says where the servers tell their settings, it
// is the usual port for that.
func (s Settings) Config(exchange string, log *slog.Logger) jetstream.Config {
	c := jetstream.Config{
		URLs: s.addresses(), Client: exchange, Prefix: s.Prefix, Site: s.Site, Replicas: s.Replicas,
		Credentials: s.Credentials, NKey: s.NKey, CA: s.CA, Cert: s.Cert, Key: s.Key,
		SyncAlways: s.Sync == jetstream.SyncAlways, Monitors: s.Monitor, AcceptLoss: s.AcceptLoss, Log: log,
	}
	if c.Site == "" {
		c.Site = exchange
	}
	if len(c.Monitors) == 0 && !c.SyncAlways {
		for _, one := range c.URLs {
			if u, err := url.Parse(one); err == nil {
				c.Monitors = append(c.Monitors, "http://"+net.JoinHostPort(u.Hostname(), monitorPort))
			}
		}
	}
	return c
}

// monitorPort is the port for monitoring in the examples of nats-server.
const monitorPort = "8222"
