package keys

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Documents has small documents that several exchanges share. *exchange.Exchange implements it.
type Documents interface {
	ChannelState(channel string) map[string][]byte
	ChannelDocument(channel, name string) []byte
	ChangeChannelState(ctx context.Context, channel, name string, change func(doc []byte) ([]byte, error)) error
	FollowChannelState(channel string, fn func(name string, doc []byte))
}

var _ Documents = (*exchange.Exchange)(nil)

// The names under which the exchanges store keys by actor, and enrollment codes by hash.
const (
	keysChannel  = "keys"
	codesChannel = "enrollment-codes"
)

// shareTimeout limits a change of shared keys.
const shareTimeout = time.Minute

// changeTries limits how often a change starts again because another one was first. Fewer changes run
// at the same time, so each has its turn.
const (
	changeTries   = 16
	changesAtOnce = 8
)

// errMoved says that another exchange has changed the keys of an actor meanwhile.
var errMoved error = mess.Errorf(mess.Unavailable, "another exchange changes the same keys; try again")

// Share has all exchanges with the same documents use the same keys, codes and receipt keys. They get the
// keys of the data folder that they do not have. After that the folder has only the key of the
// operator, because each exchange has one of its own. Call Share before anything else uses the keys.
func (k *Keys) Share(docs Documents, log *slog.Logger) error {
	own := k.ring
	k.docs, k.log, k.ring = docs, log, newRing(nil)
	ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
	defer cancel()
	if err := k.sharePins(ctx); err != nil {
		return err
	}
	docs.FollowChannelState(keysChannel, func(actor string, _ []byte) { k.refresh(actor) })
	for actor := range docs.ChannelState(keysChannel) {
		k.refresh(actor)
	}
	err := k.update(func(next ring) error {
		for actor, sums := range own.of {
			if len(next.of[actor]) > 0 && actor != OperatorID {
				continue
			}
			for _, sum := range sums {
				if h := own.holders[sum]; !h.Shared {
					next.put(sum, h)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(own.of) > 1 {
		if data, err := render(own.holders); err != nil {
			return err
		} else if err := replace(filepath.Join(k.dir, "keys-before-store.json"), data); err != nil {
			return err
		}
	}
	k.mu.Lock()
	k.operators = own.only(OperatorID).holders
	ready := k.hasOperator()
	k.mu.Unlock()
	if !ready {
		_, err := k.renewOwnOperator(func(ring) {})
		return err
	}
	return k.saveOperators()
}

func render(holders map[string]holder) ([]byte, error) {
	return json.MarshalIndent(holders, "", "  ")
}

// saveOperators writes the keys of the operator at this exchange into the data folder.
func (k *Keys) saveOperators() error {
	k.mu.RLock()
	shared := maps.Clone(k.operators)
	k.mu.RUnlock()
	for sum, h := range shared {
		h.Shared = true
		shared[sum] = h
	}
	data, err := render(shared)
	if err != nil {
		return err
	}
	return replace(filepath.Join(k.dir, keysFile), data)
}

// refresh puts the stored keys of an actor in force. Unreadable ones are not in force.
func (k *Keys) refresh(actor string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var holders map[string]holder
	if doc := k.docs.ChannelDocument(keysChannel, actor); doc != nil {
		var err error
		if holders, err = parse(doc); err != nil {
			k.log.Error("the stored keys of an actor are unreadable, so it has none; revoke them and enrol it again", "actor", actor, "err", err)
		}
	}
	k.drop(actor)
	for sum, h := range holders {
		if h.Actor == actor {
			k.put(sum, h)
		}
	}
	k.lookFor(actor)
	if actor == OperatorID && k.operators != nil && !k.hasOperator() {
		k.operators = nil // one goroutine makes a key
		go k.renewOperator()
	}
}

// hasOperator reports whether the key of the operator at this exchange is in force. The caller holds
// k.mu.
func (k *Keys) hasOperator() bool {
	for sum := range k.operators {
		if h, ok := k.holders[sum]; ok && h.Ends == nil {
			return true
		}
	}
	return false
}

// renewOperator makes a new key of the operator at this exchange, after another exchange has ended the
// old one.
func (k *Keys) renewOperator() {
	if _, err := k.renewOwnOperator(func(ring) {}); err != nil {
		k.log.Error("the operator has no key at this exchange until its restart", "err", err)
	}
}

// renewOwnOperator makes a key of the operator at this exchange, after a change of the others, and writes
// it into its file.
func (k *Keys) renewOwnOperator(do func(next ring)) (string, error) {
	key, h, err := k.make(OperatorID, Grant{Roles: exchange.Requester | exchange.Observer | exchange.Operator})
	if err != nil {
		return "", err
	}
	k.mu.Lock()
	k.operators = map[string]holder{hash(key): h}
	k.mu.Unlock()
	if err := k.saveOperators(); err != nil {
		return "", err
	}
	err = k.update(func(next ring) error {
		do(next)
		next.put(hash(key), h)
		return nil
	})
	if err != nil {
		return "", err
	}
	return key, replace(filepath.Join(k.dir, operatorFile), []byte(key+"\n"))
}

// renewSharedOperator makes a new key of the operator at this exchange. Its keys at all exchanges end
// after the overlap; each other exchange makes its own new one at once.
func (k *Keys) renewSharedOperator(overlap time.Duration) (string, error) {
	ends := time.Now().Add(overlap).UTC().Truncate(time.Second)
	return k.renewOwnOperator(func(next ring) {
		old := next.only(OperatorID)
		next.drop(OperatorID)
		for sum, h := range old.holders {
			if overlap > 0 && h.Ends == nil {
				h.Ends = &ends
				next.put(sum, h)
			}
		}
	})
}

// changeShared changes the shared keys. It calls do again if another exchange was first, or another
// change at this one.
func (k *Keys) changeShared(do func(next ring) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
	defer cancel()
	k.sharing <- struct{}{}
	defer func() { <-k.sharing }()
	err := errMoved
	for n := 0; n < changeTries && err == errMoved; n++ {
		k.mu.Lock()
		before, after, failed := k.try(do)
		k.mu.Unlock()
		if failed != nil {
			return failed
		}
		err = k.storeChanged(ctx, before, after)
	}
	return err
}

// storeChanged stores the keys of each actor that differ, and puts them in force.
func (k *Keys) storeChanged(ctx context.Context, before, after map[string]ring) error {
	for actor := range before {
		was, err := render(before[actor].holders)
		if err != nil {
			return err
		}
		next, err := render(after[actor].holders)
		if err != nil {
			return err
		}
		if bytes.Equal(was, next) {
			continue
		}
		err = k.docs.ChangeChannelState(ctx, keysChannel, actor, func(doc []byte) ([]byte, error) {
			if !isSame(doc, was) {
				return nil, errMoved
			}
			if len(after[actor].holders) == 0 {
				return nil, nil
			}
			return next, nil
		})
		k.refresh(actor)
		if err != nil {
			return err
		}
	}
	return nil
}

// isSame reports whether a document has the keys of a rendered one.
func isSame(doc, rendered []byte) bool {
	holders := map[string]holder{}
	if doc != nil {
		var err error
		if holders, err = parse(doc); err != nil {
			return string(rendered) == "{}" // an unreadable one counts as none
		}
	}
	is, err := render(holders)
	return err == nil && bytes.Equal(is, rendered)
}

// codeDoc is a stored enrollment code.
type codeDoc struct {
	Actor        string    `json:"actor,omitempty"`
	Roles        []string  `json:"roles"`
	Capabilities []string  `json:"capabilities,omitempty"`
	Ends         time.Time `json:"ends"`
}

func (c code) document() ([]byte, error) {
	return json.Marshal(codeDoc{c.actor, Names(c.grant.Roles), c.grant.Capabilities, c.ends})
}

// parseCode reads a stored code. An unreadable one does not work.
func parseCode(doc []byte) (c code, ok bool) {
	var d codeDoc
	if doc == nil || json.Unmarshal(doc, &d) != nil {
		return code{}, false
	}
	roles, err := Roles(d.Roles)
	return code{d.Actor, Grant{roles, d.Capabilities}, d.Ends}, err == nil
}

// readCodes returns the valid codes, and removes expired ones.
func (k *Keys) readCodes(ctx context.Context) (codes, error) {
	all := newCodes()
	for sum, doc := range k.docs.ChannelState(codesChannel) {
		if c, ok := parseCode(doc); ok && time.Now().Before(c.ends) {
			all[sum] = c
		} else if err := k.storeCode(ctx, sum, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// newSharedCode stores a new code.
func (k *Keys) newSharedCode(c code) (text string, _ Grant, ends time.Time, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
	defer cancel()
	all, err := k.readCodes(ctx)
	if err != nil {
		return "", c.grant, ends, err
	}
	if len(all) >= maxCodes {
		return "", c.grant, ends, tooManyCodes()
	}
	doc, err := c.document()
	if err != nil {
		return "", c.grant, ends, err
	}
	plain := newPlainCode()
	if err := k.storeCode(ctx, hash(plain), doc); err != nil {
		return "", c.grant, ends, err
	}
	return plain[:5] + "-" + plain[5:], c.grant, c.ends, nil
}

func (k *Keys) storeCode(ctx context.Context, sum string, doc []byte) error {
	return k.docs.ChangeChannelState(ctx, codesChannel, sum, func([]byte) ([]byte, error) { return doc, nil })
}

// errUsed says that a code does not work.
var errUsed error = mess.Errorf(mess.Unauthorized, "the enrollment code does not work; ask for a new one")

// redeemShared uses a shared code up: one exchange alone can do that.
func (k *Keys) redeemShared(sum, actor string) (g Grant, back func(), ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
	defer cancel()
	var used code
	var had []byte
	err := k.docs.ChangeChannelState(ctx, codesChannel, sum, func(doc []byte) ([]byte, error) {
		c, ok := parseCode(doc)
		if !ok || !time.Now().Before(c.ends) || c.actor != "" && c.actor != actor {
			return nil, errUsed
		}
		used, had = c, doc
		return nil, nil
	})
	if err != nil {
		return Grant{}, nil, false
	}
	return used.grant, func() {
		ctx, cancel := context.WithTimeout(context.Background(), shareTimeout)
		defer cancel()
		if err := k.storeCode(ctx, sum, had); err != nil {
			k.log.Error("an unused enrollment code does not work any more; make a new one", "err", err)
		}
	}, true
}
