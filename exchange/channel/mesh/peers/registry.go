// Package peers has the peers of a MESH agent: their configuration, the registry file, their keys and
// the tokens of this agent. The registry and the tokens change while the agent runs. The package knows
// no message.
package peers

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

// Registry has the peers and the tokens of this agent. Both change while the adapter runs. A change
// replaces them whole.
type Registry struct {
	cfg    Config
	dir    string        // folder of the token file
	every  time.Duration // time between two checks of the files
	log    *slog.Logger
	tokens atomic.Pointer[[]secret.Text] // accepted from peers: the current token, then the previous one
	peers  atomic.Pointer[map[string]*Agent]
}

// Open returns the registry of an agent with the peers of cfg, and their addresses. Config.Load must
// have loaded cfg. dir is the folder of the token file; every is the time between two checks of the
// files, 0 for the default.
func Open(cfg Config, dir string, every time.Duration, log *slog.Logger) (*Registry, []delivery.Peer, error) {
	tokens, err := ownTokens(cfg.Token, filepath.Join(dir, TokenFile))
	if err != nil {
		return nil, nil, err
	}
	r := &Registry{cfg: cfg, dir: dir, every: every, log: log}
	r.tokens.Store(&tokens)
	return r, r.setPeers(cfg), nil
}

// Peer returns the peer with a name, nil for none.
func (r *Registry) Peer(name string) *Agent { return r.Peers()[name] }

// Peers returns the peers by name. The map never changes.
func (r *Registry) Peers() map[string]*Agent {
	if all := r.peers.Load(); all != nil {
		return *all
	}
	return nil
}

// setPeers replaces the peers by those of a configuration, and returns their addresses. A known
// peer keeps its queue and its rate limit.
func (r *Registry) setPeers(cfg Config) (addresses []delivery.Peer) {
	was, all := r.Peers(), map[string]*Agent{}
	for name, c := range cfg.Peers {
		p := was[name]
		if p == nil {
			p = &Agent{Name: name, Rate: rate.NewLimiter(rate.Limit(cfg.Rate/60), cfg.Burst)}
		}
		where := delivery.Peer{Name: name, URL: c.URL, Token: c.Token, Pin: c.Pin, Allow: cfg.Allow}
		p.is.Store(&Settings{c, cfg.keys[name], cfg.seals[name], where})
		addresses, all[name] = append(addresses, where), p
	}
	r.peers.Store(&all)
	return addresses
}

// TokenFile is the file with the tokens of this agent, in the folder of Open.
const TokenFile = "token"

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

// Tokens returns the tokens that the agent accepts, the current one first.
func (r *Registry) Tokens() []secret.Text { return *r.tokens.Load() }

// Token returns the current token.
func (r *Registry) Token() secret.Text { return r.Tokens()[0] }

// Rotate makes a new token. The previous one stays valid until a call with alone, which leaves only
// the newest.
func (r *Registry) Rotate(alone bool) error {
	if r.cfg.Token != "" {
		return mess.Errorf(mess.Invalid, "rotate: the token is in the configuration; change it there, or remove it, and messkit stores one in mesh/token")
	}
	list := r.Tokens()
	if alone {
		list = list[:1:1]
	} else {
		list = append([]secret.Text{secret.Text(strings.ToLower(rand.Text()))}, list[0])
	}
	if err := writeTokens(filepath.Join(r.dir, TokenFile), list); err != nil {
		return err
	}
	r.tokens.Store(&list)
	r.log.Info("mesh: the token of this agent has changed", "accepted", len(list))
	return nil
}

// watchEvery is the default time between two checks of the files.
const watchEvery = 2 * time.Second

// Watch reads the registry and the token again when their files change, until ctx ends. It
// calls changed with the addresses of the new peers.
func (r *Registry) Watch(ctx context.Context, changed func([]delivery.Peer)) {
	registry, token := r.cfg.registryFile(), filepath.Join(r.dir, TokenFile)
	was := []string{fileStamp(registry), fileStamp(token)}
	for wait.For(ctx, cmp.Or(r.every, watchEvery)) {
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
func (r *Registry) readRegistry(changed func([]delivery.Peer)) {
	next, err := r.cfg.reread()
	if err != nil {
		r.log.Error("mesh: invalid registry; the previous peers stay", "err", err)
		return
	}
	changed(r.setPeers(next))
	r.log.Info("mesh: registry reloaded", "peers", len(next.Peers))
}
