package httpapi

import (
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess"
)

// terminalHeader contains a process id. A local client says with it that a person has typed the
// command at the terminal of that process, and the server checks it.
const terminalHeader = "Messkit-Terminal"

// modelHeader says that a client acts for a model.
const modelHeader = "Messkit-Model"

// proof returns the proof of a person behind a call, in addition to the key.
func (c *caller) proof() exchange.Proof {
	switch {
	case c.session:
		if c.cfg.SignedInByPerson != nil && c.cfg.SignedInByPerson(c.r) {
			return exchange.OnPage
		}
	case c.r.Header.Get(terminalHeader) != "":
		err := c.checkTerminal()
		if err == nil {
			return exchange.AtTerminal
		}
		c.log().Warn("a client says that a person has typed this at a terminal, and it is not so", "actor", c.actor.ID, "remote", c.r.RemoteAddr, "err", err)
	}
	return exchange.ByKey
}

// checkTerminal checks the terminal of a client.
func (c *caller) checkTerminal() error {
	pid, err := strconv.Atoi(c.r.Header.Get(terminalHeader))
	if err != nil || pid <= 0 || c.isProxied() || c.isForeignPage() {
		return peer.ErrUnknown
	}
	return peer.Terminal(pid, c.localAddr(), c.r.RemoteAddr)
}

// isLocalUser reports whether a process of the exchange's own user or of root calls. It is
// false for other local users, proxies and foreign pages. The error says that the system did not
// list its connections just now.
func (c *transport) isLocalUser() (bool, error) {
	if c.isForeignPage() || c.isProxied() {
		return false, nil
	}
	return peer.Same(c.localAddr(), c.r.RemoteAddr)
}

// requireTerminal rejects a new key with the role operator unless a person has asked for it at
// a terminal.
func (c *caller) requireTerminal() error {
	if p := c.proof(); p == exchange.AtTerminal {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "operator: only a person at a terminal of the exchange's own machine makes a key with this role; run the command there, and type the answer that it asks for")
}

// isOperator reports whether the actor with this id has the role operator.
func (c *caller) isOperator(id string) bool {
	actor, _, ok := c.keys.Shared(id)
	return ok && actor.Has(exchange.Operator)
}

// noteEvery is the least time between two calls of ModelSeen.
const noteEvery = time.Minute

// noteModel reports that a process of the exchange's own user serves a model. Such a process
// can read the operator's key.
func (c *caller) noteModel() {
	if c.cfg.ModelSeen == nil || c.r.Header.Get(modelHeader) == "" && !slices.Contains(c.cfg.ModelPaths, c.r.URL.EscapedPath()) {
		return
	}
	now := time.Now().UnixNano()
	if now-c.modelNoted.Load() < int64(noteEvery) {
		return
	}
	if local, err := c.isLocalUser(); local || err != nil { // rather warn once too often
		c.modelNoted.Store(now)
		c.cfg.ModelSeen()
	}
}
