package keys_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

func open(t *testing.T, dir string) *keys.Keys {
	t.Helper()
	k, err := keys.Open(dir, "my_home")
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func operatorKey(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "operator.key")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("operator.key: %v, %v", info.Mode(), err)
	}
	return strings.TrimSpace(string(data))
}

func TestOperatorKeyIsMadeOnce(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	key := operatorKey(t, dir)
	who, err := k.Authenticate(key)
	if err != nil || who.ID != "operator" || !who.Has(exchange.Operator|exchange.Observer|exchange.Requester) || who.Has(exchange.ExecutorRole) {
		t.Errorf("%+v, %v", who, err)
	}
	open(t, dir)
	if again := operatorKey(t, dir); again != key {
		t.Error("a restart made another key")
	}
	if err := os.Remove(filepath.Join(dir, "operator.key")); err != nil {
		t.Fatal(err)
	}
	k = open(t, dir)
	if _, err := k.Authenticate(key); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("the lost key still works: %v", err)
	}
}

func TestKeys(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	key, err := k.Issue("kitchen-pi", exchange.ExecutorRole|exchange.Requester)
	if err != nil || !strings.HasPrefix(key, "mess_my_home_") || len(key) != len("mess_my_home_")+32 {
		t.Fatalf("%q, %v", key, err)
	}
	if _, err := k.Issue("kitchen-pi", exchange.ExecutorRole); !errors.Is(err, mess.Conflict) {
		t.Errorf("a second key: %v", err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil || strings.Contains(string(data), strings.TrimPrefix(key, "mess_my_home_")) {
		t.Errorf("keys.json holds the key itself, or cannot be read: %v", err)
	}

	k = open(t, dir) // as after a restart
	if who, err := k.Authenticate(key); err != nil || who.ID != "kitchen-pi" || !who.Has(exchange.ExecutorRole) {
		t.Errorf("%+v, %v", who, err)
	}
	fresh, err := k.Rotate("kitchen-pi", exchange.ExecutorRole)
	if err != nil || fresh == key {
		t.Fatal(err)
	}
	if _, err := k.Authenticate(key); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("the old key: %v", err)
	}
	if was, err := k.Revoke("kitchen-pi"); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if was, err := k.Revoke("kitchen-pi"); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if _, err := open(t, dir).Authenticate(fresh); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("the revoked key: %v", err)
	}
}

// All wrong keys get the same error.
func TestWrongKeysHaveOneError(t *testing.T) {
	k := open(t, t.TempDir())
	for _, key := range []string{"", "x", "mess_my_home_", "mess_other_0123456789abcdef0123456789abcdef", strings.Repeat("x", 1<<20)} {
		_, err := k.Authenticate(key)
		if err == nil || err.Error() != "the exchange does not know the key; enroll again" {
			t.Errorf("%.20q: %v", key, err)
		}
	}
}

func TestDamagedFileIsKept(t *testing.T) {
	for _, text := range []string{"{", "null", "", `{"00":{"actor":"a","roles":["operater"]}}`} {
		dir := t.TempDir()
		name := filepath.Join(dir, "keys.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Open(dir, "home"); err == nil || !strings.Contains(err.Error(), "keys.json") {
			t.Errorf("%q: got %v", text, err)
		}
		if data, _ := os.ReadFile(name); string(data) != text {
			t.Errorf("%q: the file was changed", text)
		}
	}
}

// No actor can have the name of the exchange, or an invalid name.
func TestReservedNamesAreRejected(t *testing.T) {
	k := open(t, t.TempDir())
	for name, want := range map[string]mess.ErrorCode{exchange.Self: mess.Conflict, "": mess.Invalid, "a/b": mess.Invalid} {
		_, issued := k.Issue(name, exchange.Requester)
		_, rotated := k.Rotate(name, exchange.Requester)
		if !errors.Is(issued, want) || !errors.Is(rotated, want) {
			t.Errorf("%q: %v, %v; want %s", name, issued, rotated, want)
		}
	}
}

// A change that Keys cannot write has no effect, neither now nor after a restart.
func TestFullDiskChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	k := open(t, dir)
	key, err := k.Issue("kitchen-pi", exchange.ExecutorRole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Fatal(err)
	}
	if fresh, err := k.Rotate("kitchen-pi", exchange.ExecutorRole); err == nil || fresh != "" {
		t.Errorf("rotated: %q, %v", fresh, err)
	}
	if _, err := k.Revoke("kitchen-pi"); err == nil {
		t.Error("revoked without a word on disk")
	}
	if _, err := k.Issue("garage-pi", exchange.ExecutorRole); err == nil {
		t.Error("issued without a word on disk")
	}
	if who, err := k.Authenticate(key); err != nil || who.ID != "kitchen-pi" {
		t.Errorf("the old key: %+v, %v", who, err)
	}
	if err := os.Rename(dir+"-away", dir); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Issue("garage-pi", exchange.ExecutorRole); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConcurrentChanges(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			id := fmt.Sprintf("pi-%d", i%8) // two want each name
			key, err := k.Issue(id, exchange.Observer)
			if errors.Is(err, mess.Conflict) {
				return
			}
			if who, err := k.Authenticate(key); err != nil || who.ID != id || who.Roles != exchange.Observer {
				t.Errorf("%s: %+v, %v", id, who, err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if n := strings.Count(string(data), `"actor"`); err != nil || n != 9 {
		t.Errorf("%d keys on disk, want 9 (%v)", n, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "keys.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("keys.json: %v, %v", info, err)
	}
}
