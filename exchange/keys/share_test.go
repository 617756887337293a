package keys_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// sharedDocuments has the documents of several exchanges.
type sharedDocuments struct {
	mu    sync.Mutex
	docs  map[string]map[string][]byte
	nodes []*node
}

// node is one exchange.
type node struct {
	all    *sharedDocuments
	follow map[string]func(name string, doc []byte)
}

func (s *sharedDocuments) join() *node {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &node{s, map[string]func(string, []byte){}}
	s.nodes = append(s.nodes, n)
	return n
}

func (n *node) ChannelState(channel string) map[string][]byte {
	n.all.mu.Lock()
	defer n.all.mu.Unlock()
	return maps.Clone(n.all.docs[channel])
}

func (n *node) ChannelDocument(channel, name string) []byte {
	n.all.mu.Lock()
	defer n.all.mu.Unlock()
	return n.all.docs[channel][name]
}

func (n *node) FollowChannelState(channel string, fn func(name string, doc []byte)) {
	n.all.mu.Lock()
	defer n.all.mu.Unlock()
	n.follow[channel] = fn
}

func (n *node) ChangeChannelState(_ context.Context, channel, name string, change func(doc []byte) ([]byte, error)) error {
	n.all.mu.Lock()
	doc, err := change(n.all.docs[channel][name])
	if err != nil {
		n.all.mu.Unlock()
		return err
	}
	if n.all.docs[channel] == nil {
		n.all.docs[channel] = map[string][]byte{}
	}
	if n.all.docs[channel][name] = doc; doc == nil {
		delete(n.all.docs[channel], name)
	}
	var others []func(string, []byte)
	for _, other := range n.all.nodes {
		if fn := other.follow[channel]; other != n && fn != nil {
			others = append(others, fn)
		}
	}
	n.all.mu.Unlock()
	for _, fn := range others {
		fn(name, doc)
	}
	return nil
}

// openShared opens the keys of an exchange that shares them.
func openShared(t *testing.T, dir string, all *sharedDocuments) *keys.Keys {
	t.Helper()
	k, err := keys.Open(dir, "home")
	if err == nil {
		err = k.Share(all.join(), slog.New(slog.DiscardHandler))
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func operatorOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

func newShared() *sharedDocuments { return &sharedDocuments{docs: map[string]map[string][]byte{}} }

func wantActor(t *testing.T, k *keys.Keys, key, id string) {
	t.Helper()
	if actor, err := k.Authenticate(key); err != nil || actor.ID != id {
		t.Errorf("the key of %s is one of %q, %v", id, actor.ID, err)
	}
}

func wantNoActor(t *testing.T, k *keys.Keys, key string) {
	t.Helper()
	if actor, err := k.Authenticate(key); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("the ended key is one of %q, %v", actor.ID, err)
	}
}

// A key of one exchange works at the other ones, and ends there with the streams that use it.
func TestSharedKeys(t *testing.T) {
	all, dirs := newShared(), []string{t.TempDir(), t.TempDir()}
	local, err := keys.Open(dirs[0], "home")
	if err != nil {
		t.Fatal(err)
	}
	before, err := local.Issue("before", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	a, b := openShared(t, dirs[0], all), openShared(t, dirs[1], all)
	for _, k := range []*keys.Keys{a, b} {
		wantActor(t, k, before, "before")
		for _, dir := range dirs {
			wantActor(t, k, operatorOf(t, dir), keys.OperatorID)
		}
	}
	key, err := a.Issue("robot", exchange.ExecutorRole)
	if err != nil {
		t.Fatal(err)
	}
	wantActor(t, b, key, "robot")
	if _, err := b.Issue("robot", exchange.ExecutorRole); !errors.Is(err, mess.Conflict) {
		t.Errorf("a second key of the robot: %v", err)
	}
	actor, _ := b.Authenticate(key)
	ended := false
	defer b.Watch(key, actor, func() { ended = true })()
	if had, err := a.Revoke("robot"); !had || err != nil {
		t.Fatal(had, err)
	}
	wantNoActor(t, b, key)
	if !ended {
		t.Error("a stream with the revoked key goes on")
	}
	if _, err := b.Revoke("before"); err != nil {
		t.Fatal(err)
	}
	c := openShared(t, dirs[0], all) // its folder has had the key
	wantNoActor(t, c, before)
	wantActor(t, c, operatorOf(t, dirs[0]), keys.OperatorID)
	if list := c.List(); len(list) != 1 {
		t.Errorf("the list has %+v, want the operator once", list)
	}
}

// After a rotation without an overlap no earlier key of the operator works anywhere, not even that of an
// exchange that was off. Each exchange has a new one in its folder.
func TestRotatedOperatorOfAll(t *testing.T) {
	all, dirs := newShared(), []string{t.TempDir(), t.TempDir(), t.TempDir()}
	var old []string
	var open []*keys.Keys
	for _, dir := range dirs {
		open = append(open, openShared(t, dir, all))
		old = append(old, operatorOf(t, dir))
	}
	all.nodes[2].follow = map[string]func(string, []byte){} // it is off
	if _, err := open[0].Renew(keys.OperatorID, 0); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); operatorOf(t, dirs[1]) == old[1]; {
		if time.Now().After(end) {
			t.Fatal("the other exchange has made no new key")
		}
	}
	open[2] = openShared(t, dirs[2], all)
	for _, k := range open {
		for i, key := range old {
			wantNoActor(t, k, key)
			wantActor(t, k, operatorOf(t, dirs[i]), keys.OperatorID)
		}
	}
}

// One of two exchanges redeems a code.
func TestSharedCode(t *testing.T) {
	all := newShared()
	a, b := openShared(t, t.TempDir(), all), openShared(t, t.TempDir(), all)
	code, ends, err := a.NewCode("robot", time.Hour)
	if err != nil || time.Until(ends) > time.Hour {
		t.Fatal(ends, err)
	}
	if _, _, ok := b.Redeem(code, "other"); ok {
		t.Error("another actor redeems it")
	}
	_, back, ok := b.Redeem(code, "robot")
	if !ok {
		t.Fatal("the other exchange does not redeem it")
	}
	if _, _, ok := a.Redeem(code, "robot"); ok {
		t.Error("it works twice")
	}
	back()
	if g, _, ok := a.Redeem(code, "robot"); !ok || g.Roles&exchange.ExecutorRole == 0 {
		t.Errorf("after a failed enrollment it is worth %+v, %v", g, ok)
	}
}

// The first receipt key of an executor counts at all exchanges, and stands in the file of each. A key
// that somebody writes into the file of one of them replaces it at all.
func TestSharedReceiptKeys(t *testing.T) {
	all, dirs := newShared(), []string{t.TempDir(), t.TempDir()}
	alone := open(t, dirs[0])
	if _, err := alone.Pin("old", oneKey); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dirs[1]).Pin("old", otherKey); err != nil {
		t.Fatal(err)
	}
	a, b := openShared(t, dirs[0], all), openShared(t, dirs[1], all)
	want := func(executor, key, is string) {
		t.Helper()
		for i, k := range []*keys.Keys{a, b} {
			if first, err := k.Pin(executor, key); err != nil || first != is {
				t.Errorf("exchange %d pins %s for %s, %v; want %s", i, first, executor, err, is)
			}
			if pins, err := keys.Pins(dirs[i]); err != nil || pins[executor] != is {
				t.Errorf("the file of exchange %d has %v, %v; want %s for %s", i, pins, err, is, executor)
			}
		}
	}
	want("old", otherKey, oneKey)
	want("new", oneKey, oneKey)
	want("new", otherKey, oneKey)
	edited := []byte(`{"old": "` + oneKey + `", "new": "` + otherKey + `", "later": "` + otherKey + `"}`)
	if err := os.WriteFile(filepath.Join(dirs[1], keys.PinsFile), edited, 0o600); err != nil {
		t.Fatal(err)
	}
	if first, err := b.Pin("new", oneKey); err != nil || first != otherKey {
		t.Errorf("after the change of the file: %s, %v", first, err)
	}
	if first, err := b.Pin("later", oneKey); err != nil || first != otherKey {
		t.Errorf("a new one in the file: %s, %v", first, err)
	}
	want("new", oneKey, otherKey)
	want("old", oneKey, oneKey)
	want("later", oneKey, otherKey)
	a = openShared(t, dirs[0], all)
	want("new", oneKey, otherKey)
}

// Two exchanges that meet the first key of an executor at the same moment pin the same one.
func TestSharedReceiptKeysTogether(t *testing.T) {
	all := newShared()
	nodes := [2]*keys.Keys{openShared(t, t.TempDir(), all), openShared(t, t.TempDir(), all)}
	for n := range 50 {
		var first [2]string
		var both sync.WaitGroup
		for i, key := range []string{oneKey, otherKey} {
			both.Go(func() {
				var err error
				if first[i], err = nodes[i].Pin(fmt.Sprint("pi", n), key); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		if first[0] != first[1] {
			t.Errorf("one exchange pins %s, and the other one %s", first[0], first[1])
		}
	}
}

// Changes of many actors and of one actor run at once; each has its effect.
func TestSharedKeysChangeAtOnce(t *testing.T) {
	all := &sharedDocuments{docs: map[string]map[string][]byte{}}
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Share(all.join(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	const many = 64
	var mu sync.Mutex
	var issued []string
	var g sync.WaitGroup
	for i := range many {
		g.Go(func() {
			key, err := k.Enroll(fmt.Sprint("pi-", i), keys.Grant{Roles: exchange.ExecutorRole})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			issued = append(issued, key)
		})
		g.Go(func() {
			if _, err := k.Rotate("one", exchange.Requester); err != nil {
				t.Error(err)
			}
		})
	}
	g.Wait()
	for _, key := range issued {
		if _, err := k.Authenticate(key); err != nil {
			t.Error(err)
		}
	}
	if list := k.List(); len(list) != many+2 { // with the operator
		t.Errorf("%d actors have keys, want %d", len(list), many+2)
	}
}
