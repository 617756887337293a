// Package console is what people see of an exchange in a browser: a page for
// those who run the place, and one for those who do what robots cannot. It
// serves the pages, signs browsers in, tells them what changes, and passes
// on what only the program itself can do. Threads are read and written through
// the HTTP door as by any other client.
package console

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// channel is the name under which the console keeps what it must know again.
const channel = "console"

// Config of a console.
type Config struct {
	// Status is how the program stands, for operators; it becomes JSON.
	Status func() any
	// DeniedRequests lists what the HTTP door has refused, the last first; it becomes
	// JSON.
	DeniedRequests func() any
	// LocalExecutor is the executor in the same process; nil: there is none.
	LocalExecutor LocalExecutor
	// Addresses are the addresses under which phones may reach the door, the best
	// first: https://192.168.1.7:8420.
	Addresses func() []string
	// Secure says that the door speaks TLS.
	Secure bool
	// Notifier tell people what is theirs while no page is open; nil: nothing does.
	Notifier Notifier
	// SignInRate is how often somebody may try to sign in; 0: one in two seconds.
	SignInRate rate.Limit
}

// Notifier are what people are told by, at addresses that they have registered.
type Notifier interface {
	// Log is what became of the last few notices to an actor, the newest first; it
	// becomes JSON.
	Log(who exchange.Actor) any
	// SendTest sends a notice to each address of an executor now, and tells what became
	// of each; it becomes JSON. Where that is too often, it is a refusal.
	SendTest(ctx context.Context, executor string) (any, error)
}

// LocalExecutor is the executor in the same process as the exchange.
type LocalExecutor interface {
	// State is how its devices stand; it becomes JSON, for operators.
	State() any
	// Plan tells what a request would do, after the answers to the questions about
	// it, in their order, each by field; it becomes JSON. Nothing is done.
	Plan(intent string, requires []string, answers []mess.Object) any
	// Stop stops everything at once, and needs neither the exchange nor a disk.
	Stop(by, why string)
	// ResetStop ends the stop. Whoever calls it has made sure that by is at the
	// place. Devices that are not known to be safe are an error that names them, unless
	// they do not matter.
	ResetStop(by string, anyway bool) (cleared []string, err error)
	// Arm lets a risk class or a device act again ("": everything), and Disarm
	// keeps one from acting.
	Arm(what string) error
	Disarm(what, why string) error
	// Lock keeps a device from acting, and Unlock lets it act again.
	Lock(device, why string) error
	Unlock(device string) error
}

// Console serves the pages of one exchange.
type Console struct {
	x    *exchange.Exchange
	keys *keys.Keys
	cfg  Config
	log  *slog.Logger

	tries *rate.Limiter // to sign in, by all who fail

	mu       sync.Mutex
	sessions map[string]session // by the hash of the cookie
	links    map[string]link    // by the hash of the token
}

// How often somebody may be wrong when he signs in, for all of them together.
const (
	tryEvery = 2 * time.Second
	tryBurst = 20
)

// Open makes a console and reads who is signed in.
func Open(ctx context.Context, x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) (*Console, error) {
	if cfg.SignInRate == 0 {
		cfg.SignInRate = rate.Every(tryEvery)
	}
	c := &Console{
		x: x, keys: k, cfg: cfg, log: log, tries: rate.NewLimiter(cfg.SignInRate, tryBurst),
		sessions: map[string]session{}, links: map[string]link{},
	}
	return c, c.readSessions(ctx)
}

// Paths of what needs a key or a signed-in browser.
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
	pathLink          = "/console/link"
	pathCode          = "/console/code"
)

// MountedPaths are the paths that need a key, for the HTTP door.
func (c *Console) MountedPaths() []string {
	return []string{pathIdentity, pathEvents, pathPlan, pathStop, pathResetStop, pathArm, pathDenied, pathImages, pathInvite, pathNotifications, pathLink, pathCode}
}

// StopPath is the path that is never counted against a limit.
const StopPath = pathStop

// Serve answers whoever has shown a key.
func (c *Console) Serve(who exchange.Actor, w http.ResponseWriter, r *http.Request) {
	g := &request{Console: c, who: who, w: w, r: r}
	if err := g.serve(); err != nil {
		g.writeError(err)
	}
}
