// Package console serves the pages of an exchange: one for its operators, and one for human
// executors. It signs browsers in, streams changes to them, and passes on orders for the local
// executor. The pages read and write threads through the HTTP API, like any other client.
package console

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console/state"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

// channel is the name under which the console stores its documents.
const channel = "console"

// Config is the settings of a console.
type Config struct {
	// Status returns the status of the program for operators, as a value for JSON.
	Status func() any
	// DeniedRequests returns the requests that the HTTP API has rejected, the newest first, as
	// a value for JSON.
	DeniedRequests func() any
	// LocalExecutor is the executor in the same process, or nil.
	LocalExecutor LocalExecutor
	// Setup changes the configuration of this program, or is nil.
	Setup Setup
	// Addresses returns the URLs under which phones may reach the exchange, the best first.
	Addresses func() []string
	// Secure reports that the exchange speaks TLS.
	Secure bool
	// Authority is the certificate of the authority that signs those of the exchange, as DER; nil if
	// devices need none or have it.
	Authority []byte
	// Notifier sends notifications to human executors, or is nil.
	Notifier Notifier
	// Home is the home of the exchange. nil: the console makes its own one.
	Home *home.Home
	// Notices has the notices of the exchange, or is nil.
	Notices *notices.Log
	// PushKey is the public key of the exchange for push services, "" if it sends no push messages.
	PushKey string
	// Data is the data folder of the exchange, for operators.
	Data string
	// LastBackup returns when somebody made the last backup of the data folder; zero if the program
	// knows of none.
	LastBackup func() time.Time
	// Uplinks reports that the exchange reads sites, or is a site.
	Uplinks bool
	// SignInRate limits failed attempts to sign in. 0 means one in two seconds.
	SignInRate rate.Limit
}

// Notifier sends notifications to the addresses of executors and people.
type Notifier interface {
	// Log returns the results of the last notifications to an actor, the newest first, as a
	// value for JSON.
	Log(actor exchange.Actor) any
	// SendTest sends a test notification to each address and browser of an actor now. It returns the
	// results as a value for JSON, and a *mess.Error if the last test is too recent.
	SendTest(ctx context.Context, actor string) (any, error)
}

// LocalExecutor is the executor in the same process as the exchange.
type LocalExecutor interface {
	// State returns the state of its devices for operators, as a value for JSON.
	State() any
	// Plan returns what a request would do, as a value for JSON, and does nothing. answers
	// holds the answers to its questions in order, each by field.
	Plan(intent string, requires []string, answers []mess.Object) any
	// Stop stops everything at once. It needs neither the exchange nor a disk.
	Stop(by, reason string)
	// ResetStop resets the stop. The caller has checked that by is on the host. If some devices
	// may be unsafe and anyway is false, it returns an error that names them.
	ResetStop(by string, anyway bool) (cleared []string, err error)
	// Arm enables a risk class or a device ("" means everything). Disarm disables it.
	Arm(what string) error
	Disarm(what, reason string) error
	// Lock sets a lockout on a device, and Unlock releases it.
	Lock(device, reason string) error
	Unlock(device string) error
}

// Console serves the pages of one exchange. It is safe for concurrent use.
type Console struct {
	x    *exchange.Exchange
	keys *keys.Keys
	cfg  Config
	log  *slog.Logger

	local *state.Local  // nil without a local executor
	tries *rate.Limiter // limits failed attempts to sign in, of all browsers together

	storing sync.Mutex // held while a link or a registration is changed in the store; goroutines take it before mu

	mu       sync.Mutex
	sessions map[string]session            // by the hash of the cookie
	used     map[string]time.Time          // when a session was last used, by the same hash
	watches  map[string]map[*func()]func() // the streams of a session, by the same hash
	own      map[string][]*func()          // the streams that windows do not share, the oldest first, by the same hash

	pushChanged chan struct{} // closes at the next change of a subscription
}

// Limits of failed attempts to sign in, for all browsers together.
const (
	tryEvery = 2 * time.Second
	tryBurst = 20
)

// Open makes a console and reads the stored sessions.
func Open(x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) *Console {
	cfg.SignInRate = cmp.Or(cfg.SignInRate, rate.Every(tryEvery))
	if cfg.Home == nil {
		cfg.Home = home.New(x, time.Now)
	}
	c := &Console{
		x: x, keys: k, cfg: cfg, log: log, tries: rate.NewLimiter(cfg.SignInRate, tryBurst),
		pushChanged: make(chan struct{}),
		sessions:    map[string]session{}, used: map[string]time.Time{}, watches: map[string]map[*func()]func(){},
		own: map[string][]*func(){},
	}
	if cfg.LocalExecutor != nil {
		c.local = state.NewLocal(cfg.LocalExecutor.State)
	}
	c.readSessions()
	c.checkSettings()
	c.checkLinks()
	return c
}

// Paths that need a key or a session.
const (
	pathIdentity      = "/console/who"
	pathEvents        = "/console/events"
	pathPlan          = "/console/plan"
	pathStop          = "/console/stop"
	pathResetStop     = "/console/release"
	pathArm           = "/console/arm"
	pathDenied        = "/console/refused"
	pathImages        = "/console/pictures"
	pathInvite        = "/console/invite"
	pathNotifications = "/console/notices"
	pathBell          = "/console/bell"
	pathLink          = "/console/link"
	pathCode          = "/console/code"
	pathConfig        = "/console/config"
	pathQuiet         = "/console/quiet"
	pathSearch        = "/console/search"
	pathDevice        = "/console/device"
	pathPeople        = "/console/people"
	pathBrowsers      = "/console/browsers"
)

// MountedPaths returns the paths that need a key, for the HTTP API.
func (c *Console) MountedPaths() (paths []string) {
	for _, e := range endpoints {
		if !slices.Contains(paths, e.path) {
			paths = append(paths, e.path)
		}
	}
	return paths
}

// HasRules says that package access has a rule for each path.
func (c *Console) HasRules() {}

// StopPath is the path that no rate limit applies to.
const StopPath = pathStop

// Serve answers a request of an authenticated actor.
func (c *Console) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	g := &request{Console: c, actor: actor, w: w, r: r}
	if err := g.serve(); err != nil {
		g.writeError(err)
	}
}
