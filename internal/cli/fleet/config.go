// Package fleet simulates many executors and requesters. They speak HTTP and MQTT to
// an exchange, as real ones do. The report compares the answers that they got with the
// threads of the exchange. The package knows nothing of devices.
package fleet

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/resources"
)

// Protocols that the fleet can speak.
const (
	HTTP = "http"
	MQTT = "mqtt"
	Both = "both"
)

// Config has the size of the fleet and the address of its exchange.
type Config struct {
	Executors   int
	Rate        float64       // requests a second
	For         time.Duration // in which requesters send requests
	Protocol    string        // HTTP, MQTT or Both
	Compete     int           // executors that can take the same request
	Heartbeat   time.Duration // between two heartbeats of one executor; 0: none
	Connections int           // over which all executors and requesters post by HTTP

	URLs         []string // of a running exchange, one for each node; nil: Run starts one
	Broker       string   // address of its MQTT broker
	Key          string   // of its operator
	OwnsExchange bool     // the user owns the exchange on another machine
}

// Limits of a fleet.
const (
	maxExecutors = 50_000
	maxRate      = 5_000
	maxTime      = 2 * time.Hour
	spareFiles   = 300 // for all connections except those of executors
)

// DefaultConfig is a fleet that a small machine can carry.
func DefaultConfig() Config {
	return Config{Executors: 100, Rate: 10, For: 10 * time.Minute, Protocol: HTTP, Compete: 2, Heartbeat: 10 * time.Second, Connections: 64}
}

// Validate returns every wrong setting.
func (c Config) Validate() error {
	var errs []error
	no := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Executors < 1 || c.Executors > maxExecutors {
		no("--executors: %d is not from 1 to %d", c.Executors, maxExecutors)
	}
	if !(c.Rate > 0 && c.Rate <= maxRate) { // NaN is neither
		no("--rate: %v is not above 0 and at most %d requests a second", c.Rate, maxRate)
	}
	if c.For < time.Second || c.For > maxTime {
		no("--for: %v is not from 1s to %v", c.For, maxTime)
	}
	if !slices.Contains([]string{HTTP, MQTT, Both}, c.Protocol) {
		no("--protocol: %q is unknown; write http, mqtt or both", c.Protocol)
	}
	if c.Compete < 1 || c.Compete > 1000 {
		no("--compete: %d is not from 1 to 1000", c.Compete)
	}
	if c.Heartbeat != 0 && c.Heartbeat < time.Second {
		no("--heartbeat: %v is too short; write 1s or more, or 0 for none", c.Heartbeat)
	}
	if c.Connections < 1 || c.Connections > 1000 {
		no("--connections: %d is not from 1 to 1000", c.Connections)
	}
	if files := resources.Of().Files; c.Executors > files-spareFiles {
		no("--executors: %d need as many connections, and this process may open %d files; raise the limit with ulimit -n, or simulate fewer", c.Executors, files)
	}
	return errors.Join(append(errs, c.checkTarget())...)
}

// checkTarget refuses an exchange on another machine unless its owner runs the fleet.
func (c Config) checkTarget() error {
	if len(c.URLs) == 0 {
		return nil
	}
	var errs []error
	if c.Heartbeat == 0 {
		errs = append(errs, errors.New("--heartbeat: without heartbeats the exchange at --url lists the executors for an hour after the run; write 1s or more"))
	}
	for _, address := range c.URLs {
		errs = append(errs, c.checkAddress("--url", "http", address))
	}
	switch {
	case c.Broker != "":
		errs = append(errs, c.checkAddress("--broker", "mqtt", c.Broker))
	case c.Protocol != HTTP:
		errs = append(errs, errors.New("--broker: is missing; write the address of the exchange's MQTT broker, like mqtt://127.0.0.1:1883"))
	}
	return errors.Join(errs...)
}

func (c Config) checkAddress(flag, scheme, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != scheme || u.Port() == "":
		return fmt.Errorf("%s: %q is not an address that the fleet can use; write it like %s://127.0.0.1:8420", flag, address, scheme)
	case !c.OwnsExchange && !loopback(u.Hostname()):
		return fmt.Errorf("%s: %s is another machine, and a fleet can keep its exchange from its work; if the exchange is yours and nothing depends on it now, add --i-own-this-exchange", flag, u.Hostname())
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// protocols returns the protocols of the fleet.
func (c Config) protocols() []string {
	if c.Protocol == Both {
		return []string{HTTP, MQTT}
	}
	return []string{c.Protocol}
}

// protocolOf returns the protocol that the executor with a number speaks.
func (c Config) protocolOf(i int) string {
	p := c.protocols()
	return p[i%len(p)]
}

// perRequester is the rate of one requester, below the 200 a second of one key.
const perRequester = 100

// requesters returns the number of requesters for each protocol.
func (c Config) requesters() int {
	return max(1, int(c.Rate/float64(len(c.protocols()))/perRequester+0.999))
}

// groups returns the number of different capabilities of the executors.
func (c Config) groups() int { return max(1, c.Executors/c.Compete) }

// capability of the executor or the request with a number. No real device has it.
func (c Config) capability(i int) string { return fmt.Sprintf("simulated-%d", i%c.groups()) }

// executorID names the executor with a number.
func executorID(run string, i int) string { return fmt.Sprintf("fleet-%s-%05d", run, i) }

func requesterID(run, protocol string, i int) string {
	return strings.Join([]string{"fleet", run, protocol, fmt.Sprint(i)}, "-")
}
