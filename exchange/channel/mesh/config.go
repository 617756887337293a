package mesh

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// Config of the door.
type Config struct {
	On    bool        `yaml:"on"`    // it is served
	Agent string      `yaml:"agent"` // what this agent is called in the mesh; "": as the exchange
	URL   string      `yaml:"url"`   // where peers reach it: http://192.168.1.20:8420
	Token secret.Text `yaml:"token"` // that peers show here; "": made, and kept in the data folder
	// Registry is a file {"agents": {"hub": {"ip", "port", "token", "role"}}} (MESH
	// 1.0 section 7).
	Registry string              `yaml:"registry"`
	Peers    map[string]Peer     `yaml:"peers"` // beside those of the registry, or with more than it says
	Groups   map[string][]string `yaml:"groups"`
	Relay    string              `yaml:"relay"`   // the peer through which goes what does not arrive
	Forward  bool                `yaml:"forward"` // messages for others are passed on to them
	Rate     float64             `yaml:"rate"`    // messages a minute of one peer, in the long run
	Burst    int                 `yaml:"burst"`   // and at once
	Paths    []string            `yaml:"paths"`   // folders from which files are taken that peers name
	Allow    []netip.Prefix      `yaml:"allow"`   // networks to which peers may point beside their own address
	Notify   []string            `yaml:"notify"`  // peers that are told of incidents
	Outage   Outage              `yaml:"outage"`  // when alerts of several hosts are one incident
	// TextURL is who is told of texts without an envelope (MESH 1.0 section 11); "":
	// nobody, they are noted.
	TextURL string `yaml:"text_url"`
	// RetryAfter sends again what a peer has answered with 429, when it says.
	RetryAfter bool `yaml:"retry_after"`
	// AllowSessionKey lets a message name the session that it is for (section 5.1,
	// allowRequestSessionKey).
	AllowSessionKey bool `yaml:"allow_session_key"`
	// SessionPrefixes are how session keys of peers may begin; none: all.
	SessionPrefixes []string `yaml:"session_prefixes"`

	keys   map[string]wire.Key // that sign; read by Load
	seals  map[string]wire.Key // and those that encrypt
	source source
}

// source is what Load has made peers of.
type source struct {
	peers  map[string]Peer
	self   string
	expand func(string) string
}

// registryFile is the file of the registry, "" for none.
func (c Config) registryFile() string {
	if c.Registry == "" || c.source.expand == nil {
		return ""
	}
	return c.source.expand(c.Registry)
}

// reread is the configuration with the registry as it is now.
func (c Config) reread() (Config, error) {
	c.Peers, c.Paths = c.source.peers, slices.Clone(c.Paths)
	err := c.Load(c.source.self, c.source.expand)
	return c, err
}

// Peer is another agent.
type Peer struct {
	URL    string      `yaml:"url"`    // http://192.168.1.10:18789
	Token  secret.Text `yaml:"token"`  // that it wants to see
	Accept secret.Text `yaml:"accept"` // that it shows here; "": the one that all show
	// AcceptBefore counts beside accept, while the peer changes to that.
	AcceptBefore secret.Text `yaml:"accept_before"`
	KeyFile      string      `yaml:"key_file"` // secret that both have, for signatures and encryption
	// SealKeyFile is the secret for encryption where it is another one.
	SealKeyFile string `yaml:"seal_key_file"`
	Sign        bool   `yaml:"sign"`    // what goes to it is signed
	Signed      bool   `yaml:"signed"`  // what comes from it must be signed
	Encrypt     bool   `yaml:"encrypt"` // what goes to it is encrypted
	Pin         string `yaml:"pin"`     // fingerprint of a certificate that it has made itself
	Role        string `yaml:"role"`

	// Capabilities make the peer an executor of the exchange: requests that require one
	// of them are offered to it. None: it is none.
	Capabilities []string `yaml:"capabilities"`
	Areas        []string `yaml:"areas"`    // places that it serves
	Executor     string   `yaml:"executor"` // its id as an executor; "": its name
}

// Outage says when alerts of several hosts of one scope are one incident (section
// 9).
type Outage struct {
	Hosts  int           `yaml:"hosts"`  // so many; 0: never
	Within time.Duration `yaml:"within"` // if they fail within that time
}

// DefaultConfig returns the settings that the door has unless told otherwise.
func DefaultConfig() Config {
	p := state.DefaultPolicy()
	return Config{AllowSessionKey: true, Rate: 10, Burst: 20, Outage: Outage{p.OutageHosts, p.OutageTime}}
}

// policy is when people are told of incidents.
func (c Config) policy() state.Policy {
	p := state.DefaultPolicy()
	p.OutageHosts, p.OutageTime = c.Outage.Hosts, c.Outage.Within
	return p
}

// Validate tells every setting that cannot be. Load tells more.
func (c Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Agent != "" && !wire.ValidName(c.Agent) {
		fail("agent: %q cannot name an agent; use letters, digits, _ - and .", c.Agent)
	}
	if c.URL != "" {
		if _, err := delivery.Base(c.URL); err != nil {
			fail("url: %w", err)
		}
	}
	if !(c.Rate >= 0.1 && c.Rate <= 100_000) || c.Burst < 1 {
		fail("rate, burst: %v a minute and %d at once cannot be; write 0.1 or more, and 1 or more", c.Rate, c.Burst)
	}
	if o := c.Outage; o.Hosts < 0 || o.Hosts == 1 || o.Hosts > 0 && (o.Within < time.Second || o.Within > 24*time.Hour) {
		fail("outage: %d hosts within %v cannot be; write hosts: 2 or more (0: never) and within: 1s to 24h", o.Hosts, o.Within)
	}
	if c.TextURL != "" {
		if u, err := url.Parse(c.TextURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			fail("text_url: %q is no address; write where texts are posted, like http://127.0.0.1:9000/texts", c.TextURL)
		}
	}
	for _, dir := range c.Paths {
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "~/") {
			fail("paths: %q is not a whole path", dir)
		}
	}
	if c.On && c.Registry == "" && len(c.Peers) == 0 {
		fail("peers: there are none; write peers: {hub: {url: http://192.168.1.10:18789, token: ...}}, or registry: FILE")
	}
	var wrong []string // one key, one problem
	for _, name := range slices.Sorted(maps.Keys(c.Peers)) {
		for _, err := range c.Peers[name].check(name, c.Registry != "") {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		fail("peers: %s", strings.Join(wrong, "; "))
	}
	return errors.Join(errs...)
}

// reserved are paths that name no peer.
var reserved = []string{"agent", "all"}

func (p Peer) check(name string, registered bool) (errs []error) {
	fail := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
	}
	if !wire.ValidName(name) || slices.Contains(reserved, name) {
		fail("cannot name an agent")
	}
	if p.URL != "" || !registered {
		if _, err := delivery.Base(p.URL); err != nil {
			fail("url: %w", err)
		}
	}
	if p.Executor != "" && !mess.ValidID(p.Executor) {
		fail("executor: %q cannot name an executor; use letters, digits and . _ : @ -", p.Executor)
	}
	for _, id := range p.Capabilities {
		if !mess.ValidID(id) {
			fail("capabilities: %q cannot name a capability; use letters, digits and . _ : @ -", id)
		}
	}
	if p.Pin != "" {
		if err := delivery.CheckPin(p.Pin); err != nil {
			fail("pin: %w", err)
		} else if !strings.HasPrefix(p.URL, "https://") {
			fail("pin: is for https:// alone")
		}
	}
	if (p.Sign || p.Signed || p.Encrypt && p.SealKeyFile == "") && p.KeyFile == "" {
		fail("key_file: is missing; sign, signed and encrypt need the secret that both have")
	}
	return errs
}

// registered is one agent of a registry.
type registered struct {
	IP      string      `json:"ip"`
	Port    json.Number `json:"port"`
	Token   string      `json:"token"`
	Role    string      `json:"role"`
	Signing bool        `json:"signing"`

	// Ours: what the agent shows here.
	Accept       string `json:"accept"`
	AcceptBefore string `json:"accept_before"`
}

const maxSmallFile = 1 << 20

// Load reads the files that are named, and checks what needs them. self is what
// the agent is called unless configured; expand puts the home folder into names.
func (c *Config) Load(self string, expand func(string) string) error {
	if !c.On {
		return nil
	}
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Agent == "" {
		if c.Agent = self; !wire.ValidName(self) {
			fail("mesh: agent: %q cannot name an agent; write another name", self)
		}
	}
	c.source = source{maps.Clone(c.Peers), self, expand}
	c.Peers = maps.Clone(c.Peers)
	if c.Peers == nil {
		c.Peers = map[string]Peer{}
	}
	if c.Registry != "" {
		if err := c.readRegistry(expand(c.Registry)); err != nil {
			fail("mesh: registry: %w", err)
		}
	}
	delete(c.Peers, c.Agent) // a registry has all
	c.keys, c.seals = map[string]wire.Key{}, map[string]wire.Key{}
	for _, name := range slices.Sorted(maps.Keys(c.Peers)) {
		p := c.Peers[name]
		if c.Registry != "" {
			for _, err := range p.check(name, false) {
				fail("mesh: peers: %w", err)
			}
		}
		var err error
		if c.keys[name], err = readKey(expand(p.KeyFile), 1); err != nil {
			fail("mesh: peers: %s: key_file: %w", name, err)
		}
		least := 1
		if p.Encrypt {
			least = wire.SealKeySize
		}
		if c.seals[name], err = readKey(expand(cmp.Or(p.SealKeyFile, p.KeyFile)), least); err != nil && (p.SealKeyFile != "" || least > 1) {
			fail("mesh: peers: %s: seal_key_file: %w", name, err)
		}
	}
	if c.Relay != "" && c.Peers[c.Relay].URL == "" {
		fail("mesh: relay: there is no peer %q", c.Relay)
	}
	for _, name := range c.Notify {
		if c.Peers[name].URL == "" {
			fail("mesh: notify: there is no peer %q", name)
		}
	}
	for group, names := range c.Groups {
		for _, name := range names {
			if c.Peers[name].URL == "" && name != c.Agent {
				fail("mesh: groups: %s: there is no peer %q", group, name)
			}
		}
	}
	for i, dir := range c.Paths {
		c.Paths[i] = expand(dir)
		if info, err := os.Stat(c.Paths[i]); err != nil || !info.IsDir() {
			fail("mesh: paths: %s is not a folder that is there", dir)
		}
	}
	return errors.Join(errs...)
}

// readKey reads a secret of so many characters or more, "" without a file.
func readKey(name string, least int) (wire.Key, error) {
	if name == "" {
		return "", nil
	}
	data, err := durable.Read(name, maxSmallFile)
	if err != nil {
		return "", err
	}
	if n := len(strings.Join(strings.Fields(string(data)), "")); n < least {
		return "", fmt.Errorf("%s is too short; put 64 random digits there (openssl rand -hex 32)", name)
	}
	return wire.Key(data), nil
}

func (c *Config) readRegistry(name string) error {
	data, err := durable.Read(name, maxSmallFile)
	if err != nil {
		return err
	}
	var file struct {
		Agents map[string]registered `json:"agents"`
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Agents) == 0 {
		return fmt.Errorf(`%s is no registry; write {"agents": {"hub": {"ip": "192.168.1.10", "port": 18789, "token": "..."}}}`, name)
	}
	for agent, r := range file.Agents {
		p := c.Peers[agent]
		if p.URL == "" && r.IP != "" {
			p.URL = "http://" + r.IP
			if r.Port != "" {
				p.URL += ":" + r.Port.String()
			}
		}
		if p.Token == "" {
			p.Token = secret.Text(r.Token)
		}
		if p.Accept == "" {
			p.Accept, p.AcceptBefore = secret.Text(r.Accept), secret.Text(r.AcceptBefore)
		}
		if p.Role == "" {
			p.Role = r.Role
		}
		p.Sign = p.Sign || r.Signing
		c.Peers[agent] = p
	}
	return nil
}
