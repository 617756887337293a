package setup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/config"
	"github.com/messkit/messkit/internal/config/discovery"
	"github.com/messkit/messkit/internal/durable"
)

// Times of a search. A driver that ignores the end of its time does not delay the result beyond
// graceTime.
const (
	searchTime = 6 * time.Second
	graceTime  = 3 * time.Second
)

// search is one search for devices.
type search struct {
	began  time.Time
	done   bool
	cut    bool // a driver did not end in time; its devices are missing
	places []discovery.Place
	ended  map[string]bool // by broker
	found  []discovery.Candidate
}

// Find begins a search, unless one runs. address is the MQTT broker that a person has typed: a host,
// host:port or a URL, or "" for none. A password goes to a file in the data folder, which only this
// user can read; the configuration names that file.
func (s *Setup) Find(address, user, password string) error {
	brokers := s.configuredBrokers()
	if address != "" {
		one, err := s.broker(address, user, password)
		if err != nil {
			return err
		}
		brokers = append([]mqttdevice.Config{one}, slices.DeleteFunc(brokers, func(k mqttdevice.Config) bool { return k.Broker == one.Broker })...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search != nil && !s.search.done {
		return errors.New("a search runs already; wait for its end")
	}
	one := &search{began: time.Now(), ended: map[string]bool{}}
	s.search = one
	go s.run(one, brokers)
	return nil
}

// run looks for devices and stores the result.
func (s *Setup) run(one *search, brokers []mqttdevice.Config) {
	ctx, cancel := context.WithTimeout(context.Background(), searchTime)
	defer cancel()
	result := make(chan []discovery.Discovered, 1)
	go func() {
		result <- discovery.Search(ctx, brokers, func(p discovery.Place, ended bool) { s.looks(one, p, ended) })
	}()
	var found []discovery.Candidate
	cut := false
	select {
	case list := <-result:
		found = discovery.Candidates(list, s.program.Config().Opened)
	case <-time.After(searchTime + graceTime):
		cut = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one.found, one.done, one.cut = found, true, cut
}

// looks records that a search looks at a place, or has looked there.
func (s *Setup) looks(one *search, p discovery.Place, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(one.places, func(k discovery.Place) bool { return k.Broker == p.Broker }); i >= 0 {
		one.places[i] = p
	} else {
		one.places = append(one.places, p)
	}
	one.ended[p.Broker] = ended
}

// FoundPlace is a place of a search.
type FoundPlace struct {
	Broker string `json:"broker"` // "" for this machine and its network
	Ended  bool   `json:"ended"`
	Found  int    `json:"found"`
	Error  string `json:"error,omitempty"`
}

// FoundDevice is a device that a search has found.
type FoundDevice struct {
	ID      string `json:"id"` // for Add
	Label   string `json:"label,omitempty"`
	Class   string `json:"class,omitempty"`
	Driver  string `json:"driver"`
	Where   string `json:"where"`
	Note    string `json:"note,omitempty"`
	Same    string `json:"same,omitempty"`
	Problem string `json:"problem,omitempty"`
	Acts    bool   `json:"acts"`
}

// Findings is the state of the last search.
type Findings struct {
	Running bool          `json:"running"`
	Ran     float64       `json:"ran"` // s, since its begin
	Takes   float64       `json:"takes"`
	Cut     bool          `json:"cut,omitempty"` // a part of the search did not end in time
	Places  []FoundPlace  `json:"places"`
	Devices []FoundDevice `json:"devices"`
	Areas   []string      `json:"areas"` // of the devices here
}

// Found returns the Findings.
func (s *Setup) Found() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := Findings{Takes: searchTime.Seconds(), Places: []FoundPlace{}, Devices: []FoundDevice{}, Areas: s.areas()}
	one := s.search
	if one == nil {
		return f
	}
	f.Running, f.Cut, f.Ran = !one.done, one.cut, time.Since(one.began).Seconds()
	for _, p := range one.places {
		f.Places = append(f.Places, FoundPlace{p.Broker, one.ended[p.Broker], p.Found, p.Err})
	}
	for _, c := range one.found {
		if c.Block == nil && c.Problem == "" {
			continue
		}
		f.Devices = append(f.Devices, FoundDevice{c.Name, c.Label, c.Class, c.Driver, c.Where, c.Note, c.Same, c.Problem, c.Acts})
	}
	return f
}

// areas returns the areas of the devices here, each once, in order.
func (s *Setup) areas() []string {
	list := []string{}
	for _, d := range s.program.Config().Opened.Devices {
		if area := d.EffectiveArea(); area != "" {
			list = append(list, area)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// candidate returns a device that the last search has found, nil if it has not.
func (s *Setup) candidate(id string) *discovery.Candidate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search == nil {
		return nil
	}
	i := slices.IndexFunc(s.search.found, func(c discovery.Candidate) bool { return c.Name == id })
	if i < 0 {
		return nil
	}
	c := s.search.found[i]
	return &c
}

// broker returns the settings of a broker that a person has typed.
func (s *Setup) broker(typed, user, password string) (mqttdevice.Config, error) {
	address := strings.TrimSpace(typed)
	if !strings.Contains(address, "://") {
		address = "mqtt://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.User != nil || !slices.Contains([]string{"mqtt", "mqtts"}, u.Scheme) {
		return mqttdevice.Config{}, fmt.Errorf("broker: %.100q is no address; write it like 192.168.1.20 or mqtt://192.168.1.20:1883", typed)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"mqtt": "1883", "mqtts": "8883"}[u.Scheme])
	}
	c := mqttdevice.DefaultConfig()
	c.Broker, c.Username = u.Scheme+"://"+u.Host, user
	if password != "" {
		name := "broker-" + strings.NewReplacer(":", "-", "[", "", "]", "").Replace(u.Host) + ".password"
		c.PasswordFile, err = filepath.Abs(filepath.Join(s.program.Config().Agent.Data, name))
		if err == nil {
			err = durable.Replace(c.PasswordFile, []byte(password+"\n"))
		}
	}
	return c, err
}

// configuredBrokers returns the brokers of the devices here, with their accounts.
func (s *Setup) configuredBrokers() (list []mqttdevice.Config) {
	c := s.program.Config()
	for _, d := range c.Opened.Devices {
		if d.Driver != mqttdevice.Kind().Name {
			continue
		}
		b, password := mqttdevice.DefaultConfig(), ""
		n := c.Devices[d.Name]
		_ = n.Under("broker").Decode(&b.Broker) // the program has read them
		_ = n.Under("username").Decode(&b.Username)
		_ = n.Under("password").Decode(&password)
		_ = n.Under("password_file").Decode(&b.PasswordFile)
		b.Password = drivers.Secret(password)
		if b.PasswordFile = config.Expand(b.PasswordFile); b.PasswordFile != "" && !filepath.IsAbs(b.PasswordFile) {
			b.PasswordFile = filepath.Join(filepath.Dir(c.File), b.PasswordFile)
		}
		if b.Broker != "" && !slices.ContainsFunc(list, func(k mqttdevice.Config) bool { return k.Broker == b.Broker }) {
			list = append(list, b)
		}
	}
	return list
}
