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

// registry has the peers and the tokens of this agent. Both change while the adapter runs. A change
// replaces them whole.
type registry struct {
	cfg    Config
	opts   Options
	log    *slog.Logger
	tokens atomic.Pointer[[]secret.Text] // accepted from peers: the current token, then the previous one
	peers  atomic.Pointer[map[string]*peer]
}

// peer returns the peer with a name, nil for none.
func (r *registry) peer(name string) *peer { return r.allPeers()[name] }

// allPeers returns the peers by name. The map never changes.
func (r *registry) allPeers() map[string]*peer {
	if all := r.peers.Load(); all != nil {
		return *all
	}
	return nil
}

// setPeers replaces the peers by those of a configuration, and returns their addresses. A known
// peer keeps its queue and its rate limit.
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

// maxTokens is the number of tokens that are valid at the same time.
const maxTokens = 2

// ownTokens returns the tokens that peers send: the configured one, or those of a file, the newest
// first. It makes the file if it does not exist.
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

// token returns the current token.
func (r *registry) token() secret.Text { return (*r.tokens.Load())[0] }

// rotate makes a new token. The previous one stays valid until a call with alone, which leaves only
// the newest.
func (r *registry) rotate(alone bool) error {
	if r.cfg.Token != "" {
		return mess.Errorf(mess.Invalid, "rotate: the token is in the configuration; change it there, or remove it, and messkit stores one in mesh/token")
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

// watchEvery is the default of Options.Watch.
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
				r.log.Error("mesh: cannot read the token file; the previous tokens stay valid", "err", err)
			} else {
				r.tokens.Store(&list)
			}
		}
		was = is
	}
}

// fileStamp returns a text that changes with the file, "" if the file does not exist.
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

// readRegistry reads the registry again. An invalid registry changes nothing.
func (r *registry) readRegistry(changed func([]delivery.Peer)) {
	next, err := r.cfg.reread()
	if err != nil {
		r.log.Error("mesh: invalid registry; the previous peers stay", "err", err)
		return
	}
	changed(r.setPeers(next))
	r.log.Info("mesh: registry reloaded", "peers", len(next.Peers))
}
