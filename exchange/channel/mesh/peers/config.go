package peers

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

// Config configures the adapter.
type Config struct {
	On    bool        `yaml:"on"`    // enabled
	Agent string      `yaml:"agent"` // name of this agent in the mesh; "": the id of the exchange
	URL   string      `yaml:"url"`   // address at which peers reach this agent: http://192.168.1.20:8420
	Token secret.Text `yaml:"token"` // token that peers send; "": the adapter makes one and stores it in the data folder
	// Registry is a file {"agents": {"hub": {"ip", "port", "token", "role"}}} (MESH 1.0 section
	// 7).
	Registry string              `yaml:"registry"`
	Peers    map[string]Peer     `yaml:"peers"` // peers in addition to the registry, or with more settings than it has
	Groups   map[string][]string `yaml:"groups"`
	Relay    string              `yaml:"relay"`   // peer that forwards what this agent cannot deliver
	Forward  bool                `yaml:"forward"` // this agent forwards messages for other agents
	Rate     float64             `yaml:"rate"`    // messages a minute from one peer, on average
	Burst    int                 `yaml:"burst"`   // messages at once from one peer
	Paths    []string            `yaml:"paths"`   // folders from which peers may name files
	Allow    []netip.Prefix      `yaml:"allow"`   // networks that addresses of peers may lie in, in addition to their own address
	Notify   []string            `yaml:"notify"`  // peers that receive notifications of incidents
	Outage   Outage              `yaml:"outage"`  // when alerts of several hosts are one incident
	// TextURL receives texts without an envelope (MESH 1.0 section 11); "": the audit log has them
	// only.
	TextURL string `yaml:"text_url"`
	// RetryAfter sends a message again after an answer 429 with Retry-After.
	RetryAfter bool `yaml:"retry_after"`
	// AllowSessionKey lets a message name its session (section 5.1, allowRequestSessionKey).
	AllowSessionKey bool `yaml:"allow_session_key"`
	// SessionPrefixes are the allowed beginnings of session keys; none: every key is allowed.
	SessionPrefixes []string `yaml:"session_prefixes"`

	keys   map[string]wire.Key // keys for signatures, by peer; Load reads them
	seals  map[string]wire.Key // keys for encryption, by peer
	source source
}

// source is the input of the last Load.
type source struct {
	peers  map[string]Peer
	self   string
	expand func(string) string
}

// registryFile returns the name of the registry file, "" for none.
func (c Config) registryFile() string {
	if c.Registry == "" || c.source.expand == nil {
		return ""
	}
	return c.source.expand(c.Registry)
}

// reread returns the configuration with the current registry.
func (c Config) reread() (Config, error) {
	c.Peers, c.Paths = c.source.peers, slices.Clone(c.Paths)
	err := c.Load(c.source.self, c.source.expand)
	return c, err
}

// Peer configures another agent.
type Peer struct {
	URL    string      `yaml:"url"`    // http://192.168.1.10:18789
	Token  secret.Text `yaml:"token"`  // token that this agent sends to it
	Accept secret.Text `yaml:"accept"` // token that it sends; "": the common token
	// AcceptBefore is accepted in addition to Accept while the peer changes its token.
	AcceptBefore secret.Text `yaml:"accept_before"`
	KeyFile      string      `yaml:"key_file"` // file with the shared secret for signatures and encryption
	// SealKeyFile is the file with the secret for encryption, if that is another one.
	SealKeyFile string `yaml:"seal_key_file"`
	Sign        bool   `yaml:"sign"`    // this agent signs its messages to the peer
	Signed      bool   `yaml:"signed"`  // the peer must sign its messages
	Encrypt     bool   `yaml:"encrypt"` // this agent encrypts its messages to the peer
	Pin         string `yaml:"pin"`     // fingerprint of the peer's self-signed certificate
	Role        string `yaml:"role"`

	// Capabilities make the peer an executor of the exchange, which offers it requests that
	// require one of them. None: the peer is no executor.
	Capabilities []string `yaml:"capabilities"`
	Areas        []string `yaml:"areas"`    // areas that it serves
	Executor     string   `yaml:"executor"` // id as an executor; "": the name
}

// Outage says when alerts of several hosts of one scope are one incident (section 9).
type Outage struct {
	Hosts  int           `yaml:"hosts"`  // number of hosts; 0: never
	Within time.Duration `yaml:"within"` // time within which they fail
}

// DefaultConfig returns the default settings.
func DefaultConfig() Config {
	p := state.DefaultPolicy()
	return Config{AllowSessionKey: true, Rate: 10, Burst: 20, Outage: Outage{p.OutageHosts, p.OutageTime}}
}

// Policy returns the policy for notifications of incidents.
func (c Config) Policy() state.Policy {
	p := state.DefaultPolicy()
	p.OutageHosts, p.OutageTime = c.Outage.Hosts, c.Outage.Within
	return p
}

// Validate returns an error for each invalid setting. Load checks more.
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
			fail("text_url: %q is no address; write the address that receives texts, like http://127.0.0.1:9000/texts", c.TextURL)
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
	var wrong []string // report one problem for each key
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

// reserved are names that no peer can have, because they are paths.
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

// registered is an agent in the registry.
type registered struct {
	IP      string      `json:"ip"`
	Port    json.Number `json:"port"`
	Token   string      `json:"token"`
	Role    string      `json:"role"`
	Signing bool        `json:"signing"`

	// Accept is a messkit extension: the token that the agent sends.
	Accept       string `json:"accept"`
	AcceptBefore string `json:"accept_before"`
}

const maxSmallFile = 1 << 20

// Load reads the files that the configuration names, and checks the settings that need them. self
// is the default name of the agent; expand replaces ~ in file names.
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
	delete(c.Peers, c.Agent) // a registry contains this agent too
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

// readKey reads a secret with at least the given number of characters. It returns "" if name is
// "".
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
