package keys_test

import (
	"errors"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// IssueAll makes all keys, or none.
func TestIssueAllIsAtomic(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	all, err := k.IssueAll(map[string]exchange.Role{"a": exchange.Requester, "b": exchange.ExecutorRole})
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	again := open(t, dir)
	for actor, want := range map[string]exchange.Role{"a": exchange.Requester, "b": exchange.ExecutorRole} {
		if who, err := again.Authenticate(all[actor]); err != nil || who.ID != actor || who.Roles != want {
			t.Errorf("%s: %+v, %v", actor, who, err)
		}
	}
	for _, wrong := range []map[string]exchange.Role{
		{"c": exchange.Requester, "a": exchange.Requester},
		{"c": exchange.Requester, "d d": exchange.Requester},
		{"c": exchange.Requester, "d": 0},
	} {
		if _, err := again.IssueAll(wrong); err == nil {
			t.Errorf("%v is taken", wrong)
		}
		if again.Has("c") || open(t, dir).Has("c") {
			t.Errorf("%v: one of them has a key", wrong)
		}
	}
	if _, err := again.IssueAll(map[string]exchange.Role{"a": exchange.Requester}); !errors.Is(err, mess.Conflict) {
		t.Error(err)
	}
}
