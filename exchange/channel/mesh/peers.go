package mesh

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange/channel/mesh/delivery"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// registry has the peers and the tokens of this agent. Both change while the adapter runs, and
// are replaced whole.
type registry struct {
	cfg    Config
	opts   Options
	log    *slog.Logger
	tokens atomic.Pointer[[]secret.Text] // that peers show here: the current one, then the previous one
	peers  atomic.Pointer[map[string]*peer]
}

// peer finds a peer by its name, nil for none.
func (r *registry) peer(name string) *peer { return r.allPeers()[name] }

// allPeers are the peers by their names. Nobody changes the map.
func (r *registry) allPeers() map[string]*peer {
	if all := r.peers.Load(); all != nil {
		return *all
	}
	return nil
}

// setPeers takes the peers of a configuration. One that there was keeps what waits for
// it, and how much it has sent.
func (r *registry) setPeers(cfg Config) (addresses []delivery.Peer) {
	was, all := r.allPeers(), map[string]*peer{}
	for name, c := range cfg.Peers {
		p := was[name]
		if p == nil {
			p = &peer{name: name, rate: rate.NewLimiter(rate.Limit(cfg.Rate/60), cfg.Burst)}
		}
		where := delivery.Peer{Name: name, URL: c.URL, Token: c.Token, Pin: c.Pin, Allow: cfg.Allow}
		p.is.Store(&peerSettings{c, cfg.keys[name], cfg.seals[name], where})
		addresses, all[name] = append(addresses, where), p
	}
	r.peers.Store(&all)
	return addresses
}

const tokenFile = "token"

// maxTokens is how many tokens count side by side: the new one, and the one before.
const maxTokens = 2

// ownTokens are what peers show here: as configured, or those of a file, a line for
// each and the newest first, which is made where there is none.
func ownTokens(configured secret.Text, name string) (list []secret.Text, _ error) {
	if configured != "" {
		return []secret.Text{configured}, nil
	}
	data, err := durable.Read(name, maxSmallFile)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, one := range strings.Fields(string(data)) {
		list = append(list, secret.Text(one))
	}
	if len(list) == 0 {
		list = []secret.Text{secret.Text(strings.ToLower(rand.Text()))}
		return list, writeTokens(name, list)
	}
	return list[:min(len(list), maxTokens)], nil
}

func writeTokens(name string, list []secret.Text) error {
	var text strings.Builder
	for _, one := range list {
		text.WriteString(string(one) + "\n")
	}
	return durable.Replace(name, []byte(text.String()))
}

// token is the one that peers are told to show.
func (r *registry) token() secret.Text { return (*r.tokens.Load())[0] }

// rotate makes a new token of this agent. The one before counts until alone is asked
// for: then the newest counts alone.
func (r *registry) rotate(alone bool) error {
	if r.cfg.Token != "" {
		return mess.Errorf(mess.Invalid, "rotate: the token stands in the configuration; change it there, or take it out and messkit keeps one in mesh/token")
	}
	list := *r.tokens.Load()
	if alone {
		list = list[:1:1]
	} else {
		list = append([]secret.Text{secret.Text(strings.ToLower(rand.Text()))}, list[0])
	}
	if err := writeTokens(filepath.Join(r.opts.Dir, tokenFile), list); err != nil {
		return err
	}
	r.tokens.Store(&list)
	r.log.Info("mesh: the token of this agent has changed", "accepted", len(list))
	return nil
}

// watchEvery is how soon a change of the registry or of the token counts, unless told
// otherwise.
const watchEvery = 2 * time.Second

// watch reads the registry and the token again when their files change, until ctx ends. It
// calls changed with the addresses of the new peers.
func (r *registry) watch(ctx context.Context, changed func([]delivery.Peer)) {
	registry, token := r.cfg.registryFile(), filepath.Join(r.opts.Dir, tokenFile)
	was := []string{fileStamp(registry), fileStamp(token)}
	for wait.For(ctx, cmp.Or(r.opts.Watch, watchEvery)) {
		is := []string{fileStamp(registry), fileStamp(token)}
		if is[0] != was[0] {
			r.readRegistry(changed)
		}
		if is[1] != was[1] && r.cfg.Token == "" {
			if list, err := ownTokens("", token); err != nil {
				r.log.Error("mesh: the token file cannot be read; the tokens of before count", "err", err)
			} else {
				r.tokens.Store(&list)
			}
		}
		was = is
	}
}

// fileStamp tells whether a file has changed, "" if there is none.
func fileStamp(name string) string {
	if name == "" {
		return ""
	}
	info, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return info.ModTime().String() + " " + strconv.FormatInt(info.Size(), 10)
}

// readRegistry takes the peers of the registry as it is now. One that cannot be taken
// changes nothing.
func (r *registry) readRegistry(changed func([]delivery.Peer)) {
	next, err := r.cfg.reread()
	if err != nil {
		r.log.Error("mesh: the registry is not taken; the peers of before stay", "err", err)
		return
	}
	changed(r.setPeers(next))
	r.log.Info("mesh: the registry was read again", "peers", len(next.Peers))
}
