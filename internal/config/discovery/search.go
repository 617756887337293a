package discovery

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers/discovery"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// Place is a place where Search looks.
type Place struct {
	Broker string // address of a broker; "" for this machine and its network
	Found  int    // number of devices there
	Err    string // why it could not look there; "" if it could
}

// brokerTime is how long Search looks for brokers. A broker answers sooner, and its retained
// messages need the rest of the time.
const brokerTime = 2 * time.Second

// Search looks for devices until ctx ends: on this machine, in its network, and at brokers. It adds
// the brokers that it finds without an account. looks is called with each place where the search
// begins or ends.
func Search(ctx context.Context, brokers []mqttdevice.Config, looks func(p Place, ended bool)) []Discovered {
	var mu sync.Mutex
	var found []Discovered
	look := func(p Place, list func() ([]Discovered, error)) {
		looks(p, false)
		here, err := list()
		if p.Found = len(here); err != nil {
			p.Err = line(err.Error())
		}
		looks(p, true)
		mu.Lock()
		defer mu.Unlock()
		found = append(found, here...)
	}
	var g errgroup.Group
	g.Go(func() error {
		look(Place{}, func() ([]Discovered, error) { return discover(ctx, mqttdevice.Config{}) })
		return nil
	})
	ask := func(b mqttdevice.Config) {
		g.Go(func() error {
			look(Place{Broker: b.Broker}, func() ([]Discovered, error) { return announced(ctx, b) })
			return nil
		})
	}
	for _, b := range brokers {
		ask(b)
	}
	within, cancel := context.WithTimeout(ctx, brokerTime)
	defer cancel()
	known := slices.Clone(brokers)
	for _, b := range FindBrokers(within, config.DefaultBroker, discovery.Group) {
		if !slices.ContainsFunc(known, func(k mqttdevice.Config) bool { return k.Broker == b.URL }) {
			one := mqttdevice.DefaultConfig()
			one.Broker = b.URL
			known = append(known, one)
			ask(one)
		}
	}
	_ = g.Wait() // each place has its error
	return found
}

// announced returns the devices that a broker announces until ctx ends.
func announced(ctx context.Context, b mqttdevice.Config) (list []Discovered, err error) {
	found, err := mqttdevice.Announced(ctx, b, output.NoLog)
	for _, f := range found {
		if b.Password != "" && f.Config != nil {
			f.Config["password"] = string(b.Password)
		}
		list = append(list, Discovered{f, mqttdevice.Kind()})
	}
	return list, err
}
