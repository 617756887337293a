package main

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	maildoor "github.com/messkit/messkit/exchange/agentmail/door"
	"github.com/messkit/messkit/exchange/httpapi"
	"github.com/messkit/messkit/exchange/mcp"
	"github.com/messkit/messkit/exchange/mesh"
	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/exchange/webhook"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// config is the configuration file. example.yaml explains every key.
type config struct {
	Exchange *exchangeConfig            `yaml:"exchange"`
	Connect  *connectConfig             `yaml:"connect"`
	Agent    agentConfig                `yaml:"agent"`
	Devices  map[string]strictyaml.Node `yaml:"devices"`

	home *home           // made from Devices
	at   strictyaml.Node // the whole, for what is told of it later
	file string          // as an absolute path; "" for what is built in
}

// exchangeConfig is an exchange that this program carries.
type exchangeConfig struct {
	exchange.Config
	Listen string `yaml:"listen"` // host:port of the HTTP door
	Data   string `yaml:"data"`   // folder
	Enrol  string `yaml:"enrol"`  // code with which executors elsewhere register; "" for none

	EnrolCapabilities []string `yaml:"enrol_capabilities"` // that executors may register with that code; none: all

	ArchiveAfter time.Duration `yaml:"archive_after"` // since a thread ended; 0: never

	Hosts    []string        `yaml:"hosts"`    // names by which a proxy calls it, beside addresses and localhost
	TLS      strictyaml.Node `yaml:"tls"`      // self, or the files with a certificate and its key
	Insecure bool            `yaml:"insecure"` // plain text beyond this machine

	reserved []string // actors that speak in this process
	tlsSelf  bool     // made from TLS
	tlsFiles tlsFiles

	MQTT mqttConfig `yaml:"mqtt"`

	CORS     []string        `yaml:"cors"` // origins of pages elsewhere that may use it
	Rate     httpapi.Rate    `yaml:"rate"`
	Webhooks webhook.Config  `yaml:"webhooks"`
	MCP      mcp.Config      `yaml:"mcp"`
	MESH     mesh.Config     `yaml:"mesh"`
	Mail     maildoor.Config `yaml:"agentmail"`
	Rules    []rule          `yaml:"routing"`
}

// rule prefers executors (MESS 1.0 section 7.4).
type rule struct {
	Match struct {
		Capability string         `yaml:"capability"`
		Urgency    mess.Urgency   `yaml:"urgency"`
		Precision  mess.Precision `yaml:"precision"`
	} `yaml:"match"`
	Prefer  []string `yaml:"prefer"`
	Default *struct {
		Prefer []string `yaml:"prefer"`
	} `yaml:"default"` // for what no other rule matches
}

// connectConfig is an exchange elsewhere, over HTTP or over a broker.
type connectConfig struct {
	URL      string `yaml:"url"`
	Exchange string `yaml:"exchange"`
	KeyFile  string `yaml:"key_file"` // over HTTP it is made by enrolling if it is not there; at a broker it holds the password
	Enrol    string `yaml:"enrol"`    // the exchange's enrolment code
	Pin      string `yaml:"pin"`      // fingerprint of its certificate, if it has made that itself

	Server    remote.Kind   `yaml:"server"`    // what is there: auto, messkit or field
	Operators []string      `yaml:"operators"` // of a server in the field: whose yes is that of a person other than the requester
	Poll      time.Duration `yaml:"poll"`      // of a server in the field: between two looks for news
	Settle    time.Duration `yaml:"settle"`    // and the longest wait before each of the two looks at a claim

	User     string `yaml:"user"` // at a broker; "": the executor's id
	CA       string `yaml:"ca"`   // files, as of a broker
	Cert     string `yaml:"cert"`
	Key      string `yaml:"key"`
	Insecure bool   `yaml:"insecure"`
}

func defaultExchange() *exchangeConfig {
	return &exchangeConfig{Config: exchange.DefaultConfig(), Listen: "127.0.0.1:8420", Data: dataDir(), ArchiveAfter: files.DefaultConfig().ArchiveAfter, Rate: httpapi.DefaultRate(), MCP: mcp.DefaultConfig(), MESH: mesh.DefaultConfig(), Mail: maildoor.DefaultConfig(), MQTT: mqttConfig{Listen: defaultBroker}}
}

// minEnrol is how long a standing enrolment code is at least, in bytes.
const minEnrol = 8

func (c exchangeConfig) Validate() error {
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
	if c.Data == "" {
		errs = append(errs, errors.New("data: is empty; write the folder for keys and journals"))
	}
	if c.Enrol != "" && len(c.Enrol) < minEnrol {
		errs = append(errs, fmt.Errorf("enrol: %d characters can be guessed; write %d or more, or leave it out and use messkit keys enrol", len(c.Enrol), minEnrol))
	}
	for _, id := range c.EnrolCapabilities {
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

// Validate tells what cannot be, as what nobody asks for would never match.
func (r rule) Validate() error {
	var errs []error
	prefer := r.Prefer
	if r.Default != nil {
		if prefer = r.Default.Prefer; len(r.Prefer) > 0 || r.Match.Capability != "" || r.Match.Urgency != "" || r.Match.Precision != "" {
			errs = append(errs, errors.New("default: stands beside match or prefer; make it a rule of its own"))
		}
	}
	if len(prefer) == 0 {
		errs = append(errs, errors.New("prefer: is missing, and the rule prefers nobody; write prefer: [executor]"))
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

// files are the settings of the store.
func (c exchangeConfig) files(log *slog.Logger) files.Config {
	s := files.DefaultConfig()
	s.ArchiveAfter, s.Log = c.ArchiveAfter, log
	return s
}

// settings are c as the exchange wants them.
func (c exchangeConfig) settings() exchange.Config {
	s := c.Config
	s.States = c.MQTT.HomeAssistant
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

func (c connectConfig) Validate() error {
	if broker.Is(c.URL) {
		return c.checkBroker()
	}
	var errs []error
	if c.URL == "" {
		errs = append(errs, errors.New("url: is missing; write where the exchange is, like http://192.168.1.20:8420, or its broker, like mqtt://192.168.1.20"))
	}
	if c.KeyFile == "" {
		errs = append(errs, errors.New("key_file: is missing; write where this executor's key is, or is to be kept"))
	}
	if c.URL != "" {
		errs = append(errs, c.remote("").Validate())
	}
	if c.URL == "" && c.Pin != "" {
		errs = append(errs, remote.CheckPin(c.Pin))
	}
	errs = append(errs, c.field("").Validate())
	if c.Server == remote.InField {
		errs = append(errs, remote.CheckFieldExchange(c.Exchange))
	}
	for name, set := range map[string]bool{"user": c.User != "", "ca": c.CA != "", "cert": c.Cert != "", "key": c.Key != "", "insecure": c.Insecure} {
		if set {
			errs = append(errs, fmt.Errorf("%s: is for a broker alone; leave it out, or write mqtt:// in url", name))
		}
	}
	return errors.Join(errs...)
}

// field are the settings for a server in the field.
func (c connectConfig) field(executor string) remote.FieldConfig {
	return remote.FieldConfig{Executor: executor, Operators: c.Operators, Poll: c.Poll, Settle: c.Settle}
}

func (c connectConfig) remote(key remote.Secret) remote.Config {
	return remote.Config{URL: c.URL, Exchange: c.Exchange, Key: key, Pin: c.Pin, Reread: func() (remote.Secret, error) { return readKey(c.KeyFile) }}
}

func (c config) Validate() error {
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

// load reads a configuration file and opens what it names, so that every
// mistake is told at once. Without a name it is the simulated home.
func load(name string, log *slog.Logger) (*config, error) {
	data, builtIn := simulatedHome, name == ""
	if builtIn {
		name = "(built in)"
	} else {
		var err error
		if data, err = os.ReadFile(name); err != nil {
			return nil, err
		}
	}
	c := &config{Agent: defaultAgent()}
	if !builtIn {
		c.file, _ = filepath.Abs(name) // without it, it is only not told
	}
	err := c.read(name, data)
	if c.Exchange != nil && c.Exchange.Mail.Wanted() {
		c.Exchange.Mail.Secrets = secretsIn(name, data)
	}
	if builtIn {
		c.find(log)
	}
	home, more := openHome(c.Devices, log) // its mistakes belong to the same list
	c.home = home
	c.home.catalogue, c.home.leftOut = c.Agent.catalogue()
	for _, one := range c.home.leftOut {
		log.Warn("words left out", "file", one.File, "err", one.Why)
	}
	return c, merge(err, more, c.checkZones(), noTimes(c.at.Under("agent").Under("limits")), home.named(c.Devices), home.classes(c.Devices))
}

// checkZones tells zones of devices that are not here.
func (c *config) checkZones() error {
	if c.Exchange == nil || len(c.Devices) == 0 {
		return nil
	}
	var wrong strictyaml.Problems
	for _, zone := range output.SortedKeys(c.Exchange.Mail.Zones) {
		for _, device := range c.Exchange.Mail.Zones[zone] {
			if _, ok := c.Devices[device]; !ok {
				wrong = append(wrong, c.at.Problem("exchange.agentmail.zones."+zone, "there is no device %q here; devices: %s", device, strings.Join(output.SortedKeys(c.Devices), ", ")))
			}
		}
	}
	return wrong.Err()
}

//go:embed home.yaml
var simulatedHome []byte

// read decodes a file over the defaults.
func (c *config) read(name string, data []byte) error {
	// Whether there is an exchange is known before its defaults are. What is wrong is
	// told once, below.
	_ = strictyaml.Decode(name, data, &c.at)
	if c.at.Under("connect").IsZero() || !c.at.Under("exchange").IsZero() {
		c.Exchange = defaultExchange()
	}
	err := strictyaml.Decode(name, data, c)
	if c.Exchange != nil {
		err = merge(err, c.Exchange.readTLS())
		c.Exchange.Data = expand(c.Exchange.Data)
		if wrong := c.Exchange.MESH.Load(c.Exchange.ID, expand); wrong != nil {
			err = merge(err, told(c.at.Under("exchange"), wrong))
		}
		c.Exchange.reserved = []string{c.Agent.ID}
	}
	if c.Connect != nil {
		for _, name := range []*string{&c.Connect.KeyFile, &c.Connect.CA, &c.Connect.Cert, &c.Connect.Key} {
			*name = expand(*name)
		}
	}
	c.Agent.Data, c.Agent.Words = expand(c.Agent.Data), beside(name, c.Agent.Words)
	return err
}

// expand puts the home folder in for ~.
func expand(name string) string {
	rest, ok := strings.CutPrefix(name, "~/")
	if !ok {
		return name
	}
	return filepath.Join(filepath.Dir(dataDir()), rest)
}

// merge joins the problems of several readings in the order of their lines.
func merge(errs ...error) error {
	var all strictyaml.Problems
	var others []error
	for _, err := range errs {
		if ps, ok := errors.AsType[strictyaml.Problems](err); ok {
			for _, p := range ps {
				if !slices.Contains(all, p) { // what is of two parts is told by both
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
