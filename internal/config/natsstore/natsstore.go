// Package natsstore has the settings of an exchange for NATS servers: the values of exchange: store: and
// exchange: nats: in a configuration.
package natsstore

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Settings are the value of store:. A text is the value of url alone.
type Settings struct {
	natslink.Address

	Prefix string `yaml:"prefix"` // of all subjects; "": mess
	Site   string `yaml:"site"`   // exchanges with one prefix and site share their threads; "": the id of the exchange

	Replicas int `yaml:"replicas"` // of each message

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
		return s, readURL(n, &s.Address)
	}
	if err := n.Decode(s); err != nil {
		return nil, err
	}
	s.Expand(expand)
	return s, s.CheckFiles(n)
}

// readURL reads the short form of a value: the addresses alone.
func readURL(n strictyaml.Node, a *natslink.Address) error {
	if err := n.Decode(&a.URL); err != nil {
		return err
	}
	err := a.Validate()
	if err == nil {
		return nil
	}
	var wrong strictyaml.Problems
	for _, line := range strings.Split(err.Error(), "\n") {
		wrong = append(wrong, n.Problem("", "%s", strings.TrimPrefix(line, "url: ")))
	}
	return wrong
}

// Executors are the value of nats:, which says where executors connect over NATS. A text is the value of
// url alone, or off.
type Executors struct {
	natslink.Address

	Prefix string `yaml:"prefix"` // first word of the subjects; "": mess
	Site   string `yaml:"site"`   // second word; "": the id of the exchange
}

// off is the value of nats: of an exchange that serves no executors there.
const off = "off"

// ReadExecutors reads the value of nats:. Without one, it is that of the store, if the store is on NATS
// servers. It returns nil for none.
func ReadExecutors(n strictyaml.Node, store *Settings, expand func(string) string) (*Executors, error) {
	var text string
	e := &Executors{}
	switch {
	case n.IsZero() && store == nil:
		return nil, nil
	case n.IsZero():
		return &Executors{Address: store.Address, Prefix: store.Prefix, Site: store.Site}, nil
	case len(n.Keys()) == 0 && n.Decode(&text) == nil && text == off:
		return nil, nil
	case len(n.Keys()) == 0:
		return e, readURL(n, &e.Address)
	}
	if err := n.Decode(e); err != nil {
		return nil, err
	}
	e.Expand(expand)
	return e, e.CheckFiles(n)
}

// Validate returns an error for each setting that is wrong.
func (e Executors) Validate() error {
	return errors.Join(e.Address.Validate(), checkWords(e.Prefix, e.Site))
}

// Subjects returns the subjects of the executors of an exchange.
func (e Executors) Subjects(exchange string) natslink.Subjects {
	return natslink.Of(cmp.Or(e.Prefix, natslink.DefaultPrefix), cmp.Or(e.Site, exchange))
}

// checkWords returns an error for each word that subjects cannot have.
func checkWords(prefix, site string) error {
	var errs []error
	for key, word := range map[string]string{"prefix": prefix, "site": site} {
		if err := natslink.CheckWord(word); word != "" && err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

// Validate returns an error for each setting that is wrong.
func (s Settings) Validate() error {
	errs := []error{s.Address.Validate(), checkWords(s.Prefix, s.Site)}
	if s.Replicas != 1 && s.Replicas != 3 && s.Replicas != 5 {
		errs = append(errs, fmt.Errorf("replicas: %d is no number of servers that can lose one; write 3 or 5, or 1 for a single server", s.Replicas))
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

// Config returns the settings of the store. If nothing says where the servers tell their settings, it
// is the usual port for that.
func (s Settings) Config(exchange string, log *slog.Logger) jetstream.Config {
	c := jetstream.Config{
		URLs: s.URLs(), Client: exchange, Prefix: s.Prefix, Site: s.Site, Replicas: s.Replicas,
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
