package agentmail

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// Config configures the adapter.
type Config struct {
	On        bool                `yaml:"on"`         // accept the formats over HTTP
	Server    string              `yaml:"server"`     // address of a mail server; "": none
	TokenFile string              `yaml:"token_file"` // file with the bearer token of the server
	Project   string              `yaml:"project"`    // absolute path that names the project at the server
	Name      string              `yaml:"name"`       // name of this agent at the server
	Senders   []string            `yaml:"senders"`    // agents that may assign tasks
	Agents    []Agent             `yaml:"agents"`     // agents that are executors
	Lenient   bool                `yaml:"lenient"`    // accept abridged messages
	Poll      time.Duration       `yaml:"poll"`       // time between two fetches
	Zones     map[string][]string `yaml:"zones"`      // devices that can be reserved, by zone
	MaxZone   time.Duration       `yaml:"max_reservation"`
	Insecure  bool                `yaml:"insecure"` // the token may go over a network without encryption

	// Secrets are texts that no outgoing message may contain.
	Secrets []secret.Text `yaml:"-"`
}

// Agent configures a mail agent as an executor.
type Agent struct {
	Name         string   `yaml:"name"` // name at the mail server
	ID           string   `yaml:"id"`   // id as an executor; "": the name
	Capabilities []string `yaml:"capabilities"`
	Areas        []string `yaml:"areas"` // areas that it serves
}

// executor returns the id of the agent as an executor.
func (a Agent) executor() string {
	return cmp.Or(a.ID, a.Name)
}

// DefaultConfig returns the default settings.
func DefaultConfig() Config { return Config{Poll: 5 * time.Second, MaxZone: 4 * time.Hour} }

// Wanted reports whether the configuration enables the channel.
func (c Config) Wanted() bool { return c.On || c.Server != "" }

// Validate returns an error for each invalid setting.
func (c Config) Validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Server != "" {
		errs = append(errs, c.checkServer()...)
	} else if len(c.Senders)+len(c.Agents) > 0 || c.Project != "" || c.Name != "" || c.TokenFile != "" {
		fail("server: is missing; write where the mail server is, like http://127.0.0.1:8765/mcp/, or leave out senders, agents, project, name and token_file")
	}
	for _, name := range c.Senders {
		if !validName(name) {
			fail("senders: %q cannot be an agent; write its name at the mail server", name)
		}
	}
	seen := map[string]bool{}
	for _, a := range c.Agents {
		if err := a.Validate(); err == nil && seen[strings.ToLower(a.executor())] {
			fail("agents: %s is there twice; name each once", a.executor())
		}
		seen[strings.ToLower(a.executor())] = true
	}
	if c.Poll < time.Second || c.Poll > time.Hour {
		fail("poll: %v is not from 1s to 1h", c.Poll)
	}
	if c.MaxZone < time.Minute {
		fail("max_reservation: %v is too short; write 1m or more", c.MaxZone)
	}
	for zone, devices := range c.Zones {
		if !mess.ValidID(zone) || strings.Contains(zone, "/") {
			fail("zones: %q cannot name a zone; use letters, digits, - and _", zone)
		}
		if len(devices) == 0 {
			fail("zones: %s has no devices; list those that a reservation binds", zone)
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkServer() (errs []error) {
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := mailbox.CheckURL(c.Server); err != nil {
		fail("server: %w", err)
	} else if c.TokenFile != "" && !c.Insecure && !mailbox.Private(c.Server) {
		fail("server: the token would go to %s in plain text; write https, or insecure: true where a tunnel keeps it", c.Server)
	}
	if !path.IsAbs(c.Project) {
		fail("project: %q is not an absolute path; write one that names the project at the mail server, like /home/house", c.Project)
	}
	if err := checkName(c.Name); err != nil {
		fail("name: %w", err)
	}
	if len(c.Senders)+len(c.Agents) == 0 {
		fail("senders: is missing; name the agents that may give tasks, or agents that take some")
	}
	return errs
}

// validName reports whether an agent can have a name.
func validName(name string) bool { return mess.ValidID(name) && !strings.ContainsAny(name, ":@") }

// checkName returns an error for a name that servers silently replace, or to which they deliver
// nothing.
func checkName(name string) error {
	switch {
	case !validName(name):
		return fmt.Errorf("%q cannot be an agent; write a name like Kitchen-1", name)
	case !strings.ContainsAny(name, "._-"):
		return fmt.Errorf("%q is a name that the mail server replaces; write a name with . _ or - in it, like Kitchen-1", name)
	}
	for _, word := range roles {
		if strings.HasSuffix(strings.ToLower(name), word) {
			return fmt.Errorf("%q ends in %s, and the mail server delivers nothing to such names; write one like Kitchen-1", name, word)
		}
	}
	return nil
}

// roles are the endings of names that servers take for a role.
var roles = []string{"agent", "bot", "assistant", "helper", "manager", "coordinator", "developer", "engineer", "worker"}

// Validate returns an error for each invalid setting.
func (a Agent) Validate() error {
	var errs []error
	if err := checkName(a.Name); err != nil {
		errs = append(errs, fmt.Errorf("name: %w", err))
	}
	if a.ID != "" && !mess.ValidID(a.ID) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an executor; use letters, digits and . _ : @ -", a.ID))
	}
	if len(a.Capabilities) == 0 {
		errs = append(errs, errors.New("capabilities: is missing; list what the agent can do; without a list it would get every request"))
	}
	return errors.Join(errs...)
}

func (c Config) profile() format.Profile {
	if c.Lenient {
		return format.Lenient
	}
	return format.Strict
}

// sender returns the configured name of an agent that may assign tasks.
func (c Config) sender(name string) (string, bool) { return fold(c.Senders, name) }

func fold(list []string, name string) (string, bool) {
	i := slices.IndexFunc(list, func(one string) bool { return strings.EqualFold(one, name) })
	if i < 0 {
		return "", false
	}
	return list[i], true
}

// agent returns the executor with a name.
func (c Config) agent(name string) (Agent, bool) {
	i := slices.IndexFunc(c.Agents, func(a Agent) bool { return strings.EqualFold(a.Name, name) })
	if i < 0 {
		return Agent{}, false
	}
	return c.Agents[i], true
}

// Contacts returns all agents that may write.
func (c Config) Contacts() []string {
	all := slices.Clone(c.Senders)
	for _, a := range c.Agents {
		if _, ok := fold(all, a.Name); !ok {
			all = append(all, a.Name)
		}
	}
	return all
}
