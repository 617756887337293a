package config

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/channel/mcp"
	"github.com/messkit/messkit/exchange/channel/mesh/peers"
	"github.com/messkit/messkit/exchange/channel/webhook"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config/natsstore"
	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/internal/otlp"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Config is the configuration file. example.yaml explains every key.
type Config struct {
	Exchange *Exchange                  `yaml:"exchange"`
	Connect  *Connect                   `yaml:"connect"`
	Agent    Agent                      `yaml:"agent"`
	Devices  map[string]strictyaml.Node `yaml:"devices"`

	Opened   *DeviceSet      `yaml:"-"` // made from Devices
	Document strictyaml.Node `yaml:"-"` // the whole file, for later messages with line numbers
	File     string          `yaml:"-"` // absolute path; "" for the built-in configuration

	// Local has the devices that the program has found on this machine and added to the built-in
	// configuration, by name.
	Local map[string]*strictyaml.Value `yaml:"-"`
}

// Exchange configures the exchange in this program.
type Exchange struct {
	exchange.Config
	Listen string `yaml:"listen"` // host:port of the HTTP API
	Data   string `yaml:"data"`   // folder

	Store strictyaml.Node     `yaml:"store"` // where the threads are, instead of the folder
	NATS  *natsstore.Settings `yaml:"-"`     // made from Store; nil: the threads are in the folder

	Bus       strictyaml.Node      `yaml:"nats"` // where executors connect over NATS
	Executors *natsstore.Executors `yaml:"-"`    // made from Bus and Store; nil: nowhere

	Sites  map[string]natsstore.Site `yaml:"sites"`  // whose threads this exchange reads, by name
	Centre *natsstore.Centre         `yaml:"centre"` // from where this site takes requests; nil: from nowhere

	Enroll string `yaml:"enrol"` // code with which executors on other machines register; "" for none

	EnrollCapabilities []string `yaml:"enrol_capabilities"` // capabilities that this code grants; empty: all

	ArchiveAfter time.Duration `yaml:"archive_after"` // since a thread ended; 0: never

	Hosts    []string        `yaml:"hosts"`    // host names that a proxy uses, in addition to addresses and localhost
	TLS      strictyaml.Node `yaml:"tls"`      // self, or the files with a certificate and its key
	Insecure bool            `yaml:"insecure"` // plain text beyond this machine
	OTLP     string          `yaml:"otlp"`     // address of a collector of traces; "": that of the environment

	Reserved []string `yaml:"-"` // ids of actors in this process
	TLSSelf  bool     `yaml:"-"` // made from TLS
	TLSFiles tlsFiles `yaml:"-"`

	MQTT MQTT `yaml:"mqtt"`

	CORS     []string         `yaml:"cors"` // origins of other pages that may use the API
	Rate     httpapi.Rate     `yaml:"rate"`
	Webhooks webhook.Config   `yaml:"webhooks"`
	MCP      mcp.Config       `yaml:"mcp"`
	MESH     peers.Config     `yaml:"mesh"`
	Mail     agentmail.Config `yaml:"agentmail"`
	Rules    []RoutingRule    `yaml:"routing"`
}

// RoutingRule prefers executors (MESS 1.0 section 7.4).
type RoutingRule struct {
	Match struct {
		Capability string         `yaml:"capability"`
		Urgency    mess.Urgency   `yaml:"urgency"`
		Precision  mess.Precision `yaml:"precision"`
	} `yaml:"match"`
	Prefer  []string `yaml:"prefer"`
	Default *struct {
		Prefer []string `yaml:"prefer"`
	} `yaml:"default"` // for requests that no other rule matches
}

// Connect configures the connection to another exchange, over HTTP or a broker.
type Connect struct {
	URL      string `yaml:"url"`
	Exchange string `yaml:"exchange"`
	KeyFile  string `yaml:"key_file"` // over HTTP enrolling creates it; at a broker it holds the password
	Enroll   string `yaml:"enrol"`    // the enrollment code of the exchange
	Pin      string `yaml:"pin"`      // fingerprint of a self-made certificate

	Server    remote.Kind   `yaml:"server"`    // the kind of server: auto, messkit or field
	Operators []string      `yaml:"operators"` // server of another make: ids whose confirmation counts as a person's
	Poll      time.Duration `yaml:"poll"`      // server of another make: time between two polls
	Settle    time.Duration `yaml:"settle"`    // and the longest wait before each of the two checks of a claim

	Secret httpclient.Secret `yaml:"-"` // the key that a program has given; "": the one in KeyFile

	User     string `yaml:"user"` // user name at a broker; "": the executor's id
	CA       string `yaml:"ca"`   // files for TLS to a broker
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	Insecure bool   `yaml:"insecure"`

	Credentials string `yaml:"credentials_file"` // of a user at NATS servers: a JWT and a seed
	NKey        string `yaml:"nkey_file"`        // the seed of such a user
}

func defaultExchange() *Exchange {
	return &Exchange{Config: exchange.DefaultConfig(), Listen: "127.0.0.1:8420", Data: DataDir(), ArchiveAfter: files.DefaultConfig().ArchiveAfter, Rate: httpapi.DefaultRate(), MCP: mcp.DefaultConfig(), MESH: peers.DefaultConfig(), Mail: agentmail.DefaultConfig(), MQTT: MQTT{Listen: DefaultBroker}}
}

// minEnroll is the shortest length of a permanent enrollment code, in bytes.
const minEnroll = 8

// Validate returns an error for each setting that is wrong.
func (c Exchange) Validate() error {
	errs := []error{c.Config.Validate()}
	if !listenable(c.Listen) {
		errs = append(errs, fmt.Errorf("listen: %q is not an address; write host:port, like 127.0.0.1:8420", c.Listen))
	}
	for _, name := range c.Hosts {
		if name == "" || strings.ContainsAny(name, " \t/:@*") {
			errs = append(errs, fmt.Errorf("hosts: %q is no name of a host; write it like kitchen.example", name))
		}
	}
	if c.ArchiveAfter > 0 && c.ArchiveAfter < time.Second {
		errs = append(errs, fmt.Errorf("archive_after: %v is too short; write 1s or more, or 0 for never", c.ArchiveAfter))
	}
	if err := c.checkPlain(); err != nil {
		errs = append(errs, err)
	}
	if err := c.checkMQTT(); err != nil {
		errs = append(errs, err)
	}
	if c.OTLP != "" {
		errs = append(errs, otlp.Check("otlp", c.OTLP))
	}
	if c.Data == "" {
		errs = append(errs, errors.New("data: is empty; write the folder for keys and journals"))
	}
	if c.Enroll != "" && len(c.Enroll) < minEnroll {
		errs = append(errs, fmt.Errorf("enrol: %d characters are easy to guess; write %d or more, or leave it out and use messkit keys enrol", len(c.Enroll), minEnroll))
	}
	for _, id := range c.EnrollCapabilities {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("enrol_capabilities: %q cannot name a capability; use letters, digits and . _ : @ -", id))
		}
	}
	for _, origin := range c.CORS {
		if err := httpapi.CheckOrigin(origin); err != nil {
			errs = append(errs, fmt.Errorf("cors: %w", err))
		}
	}
	return errors.Join(errs...)
}

// listenable reports whether text is an address to listen at.
func listenable(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	return err == nil
}

// Validate returns an error for a rule that can never match.
func (r RoutingRule) Validate() error {
	var errs []error
	prefer := r.Prefer
	if r.Default != nil {
		if prefer = r.Default.Prefer; len(r.Prefer) > 0 || r.Match.Capability != "" || r.Match.Urgency != "" || r.Match.Precision != "" {
			errs = append(errs, errors.New("default: excludes match and prefer; make it a rule of its own"))
		}
	}
	if len(prefer) == 0 {
		errs = append(errs, errors.New("prefer: is missing, and the rule prefers no executor; write prefer: [executor]"))
	}
	for _, id := range prefer {
		if !mess.ValidID(id) {
			errs = append(errs, fmt.Errorf("prefer: %q cannot name an executor; use letters, digits and . _ : @ -", id))
		}
	}
	if m := r.Match; m.Capability != "" && !mess.ValidID(m.Capability) {
		errs = append(errs, fmt.Errorf("match.capability: %q cannot name a capability; use letters, digits and . _ : @ -", m.Capability))
	}
	if u := r.Match.Urgency; !slices.Contains([]mess.Urgency{"", mess.Whenever, mess.Soon, mess.Now}, u) {
		errs = append(errs, fmt.Errorf("match.urgency: %q is unknown; write whenever, soon or now", u))
	}
	if p := r.Match.Precision; !slices.Contains([]mess.Precision{"", mess.Loose, mess.Guided, mess.Exact}, p) {
		errs = append(errs, fmt.Errorf("match.precision: %q is unknown; write loose, guided or exact", p))
	}
	return errors.Join(errs...)
}

// Files returns the settings of the store.
func (c Exchange) Files(log *slog.Logger) files.Config {
	s := files.DefaultConfig()
	s.ArchiveAfter, s.Log = c.ArchiveAfter, log
	return s
}

// Settings returns the settings of package exchange.
func (c Exchange) Settings() exchange.Config {
	s := c.Config
	s.States = true // the console and Home Assistant show them
	for _, r := range c.Rules {
		if r.Default != nil {
			s.Routing.Rules = append(s.Routing.Rules, mess.Rule{Default: &mess.Preferred{Prefer: r.Default.Prefer}})
			continue
		}
		s.Routing.Rules = append(s.Routing.Rules, mess.Rule{
			Match:  mess.Match{Capability: r.Match.Capability, Urgency: r.Match.Urgency, Precision: r.Match.Precision},
			Prefer: r.Prefer,
		})
	}
	return s
}

// Validate returns an error for each setting that is wrong.
func (c Connect) Validate() error {
	switch {
	case natslink.Is(c.URL):
		return c.checkNATS()
	case broker.Is(c.URL):
		return c.checkBroker()
	}
	errs := c.checkNoNATS()
	if c.URL == "" {
		errs = append(errs, errors.New("url: is missing; write where the exchange is, like http://192.168.1.20:8420, its broker, like mqtt://192.168.1.20, or its NATS servers, like nats://192.168.1.20:4222"))
	}
	if c.KeyFile == "" {
		errs = append(errs, errors.New("key_file: is missing; write the file for this executor's key"))
	}
	if c.URL != "" {
		errs = append(errs, c.Remote("").Validate())
	}
	if c.URL == "" && c.Pin != "" {
		errs = append(errs, httpclient.CheckPin(c.Pin))
	}
	errs = append(errs, c.Field("").Validate())
	if c.Server == remote.Reference {
		errs = append(errs, reference.CheckExchange(c.Exchange))
	}
	for name, set := range map[string]bool{"user": c.User != "", "ca": c.CA != "", "cert": c.Cert != "", "key": c.Key != "", "insecure": c.Insecure} {
		if set {
			errs = append(errs, fmt.Errorf("%s: is for a broker alone; leave it out, or write mqtt:// in url", name))
		}
	}
	return errors.Join(errs...)
}

// Field returns the settings of the client for servers of another make.
func (c Connect) Field(executor string) reference.Config {
	return reference.Config{Executor: executor, Operators: c.Operators, Poll: c.Poll, Settle: c.Settle}
}

// Remote returns the settings of the HTTP client with this key.
func (c Connect) Remote(key httpclient.Secret) httpclient.Config {
	return httpclient.Config{URL: c.URL, Exchange: c.Exchange, Key: key, Pin: c.Pin, Reread: func() (httpclient.Secret, error) { return ReadKey(c.KeyFile) }}
}

// Validate returns an error for two sections that exclude each other.
func (c Config) Validate() error {
	if c.Exchange != nil && c.Connect != nil {
		return errors.New("connect: there is an exchange: as well; keep one of the two")
	}
	if c.Connect != nil && broker.Is(c.Connect.URL) {
		if err := topic.CheckID(c.Agent.ID); err != nil {
			return fmt.Errorf("agent: id: %w", err)
		}
	}
	return nil
}

// CheckZones returns an error for each zone with an unknown device.
func (c *Config) CheckZones() error {
	if c.Exchange == nil || len(c.Devices) == 0 {
		return nil
	}
	var wrong strictyaml.Problems
	for _, zone := range output.SortedKeys(c.Exchange.Mail.Zones) {
		for _, device := range c.Exchange.Mail.Zones[zone] {
			if _, ok := c.Devices[device]; !ok {
				wrong = append(wrong, c.Document.Problem("exchange.agentmail.zones."+zone, "there is no device %q here; devices: %s", device, strings.Join(output.SortedKeys(c.Devices), ", ")))
			}
		}
	}
	return wrong.Err()
}

// SimulatedHome is the configuration of the simulated home.
//
//go:embed home.yaml
var SimulatedHome []byte

// Read decodes a file over the defaults.
func (c *Config) Read(name string, data []byte) error {
	// The defaults depend on whether the file has an exchange. The second decoding below
	// reports the errors.
	_ = strictyaml.Decode(name, data, &c.Document)
	if c.Document.Under("connect").IsZero() || !c.Document.Under("exchange").IsZero() {
		c.Exchange = defaultExchange()
	}
	err := strictyaml.Decode(name, data, c)
	if c.Exchange != nil {
		var wrong error
		c.Exchange.NATS, wrong = natsstore.Read(c.Exchange.Store, Expand)
		executors, alsoWrong := natsstore.ReadExecutors(c.Exchange.Bus, c.Exchange.NATS, Expand)
		c.Exchange.Executors = executors
		err = MergeProblems(err, c.Exchange.readTLS(), wrong, alsoWrong)
		for name, site := range c.Exchange.Sites {
			site.KeyFile = Expand(site.KeyFile)
			c.Exchange.Sites[name] = site
		}
		if wrong := natsstore.CheckSites(c.Exchange.NATS, c.Exchange.ID, c.Exchange.Sites, c.Exchange.Centre); wrong != nil {
			err = MergeProblems(err, withLines(c.Document.Under("exchange"), wrong))
		}
		c.Exchange.Data = Expand(c.Exchange.Data)
		if wrong := c.Exchange.MESH.Load(c.Exchange.ID, Expand); wrong != nil {
			err = MergeProblems(err, withLines(c.Document.Under("exchange"), wrong))
		}
		c.Exchange.Reserved = []string{c.Agent.ID}
	}
	if c.Connect != nil {
		for _, name := range []*string{&c.Connect.KeyFile, &c.Connect.CA, &c.Connect.Cert, &c.Connect.Key, &c.Connect.Credentials, &c.Connect.NKey} {
			*name = Expand(*name)
		}
		if natslink.Is(c.Connect.URL) {
			err = MergeProblems(err, c.Connect.NATS("").CheckFiles(c.Document.Under("connect")))
		}
	}
	c.Agent.Data, c.Agent.Words = Expand(c.Agent.Data), pathBeside(name, c.Agent.Words)
	return err
}

// MergeProblems joins the problems of several readings in the order of their lines.
func MergeProblems(errs ...error) error {
	var all strictyaml.Problems
	var others []error
	for _, err := range errs {
		if ps, ok := errors.AsType[strictyaml.Problems](err); ok {
			for _, p := range ps {
				if !slices.Contains(all, p) { // two sections report a problem that they share
					all = append(all, p)
				}
			}
		} else if err != nil {
			others = append(others, err)
		}
	}
	if len(others) == 0 {
		return all.Err()
	}
	return errors.Join(append([]error{all.Err()}, others...)...)
}
