package keys_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// bubble runs a test in fake time, with a key of a phone.
func bubble(t *testing.T, story func(t *testing.T, k *keys.Keys, dir, phone string)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := open(t, dir)
		phone, err := k.Issue("phone", exchange.ExecutorRole)
		if err != nil {
			t.Fatal(err)
		}
		story(t, k, dir, phone)
	})
}

func TestRenewalOverlaps(t *testing.T) {
	bubble(t, func(t *testing.T, k *keys.Keys, dir, first string) {
		second, err := k.Renew("phone", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		good := func(k *keys.Keys, key string, want bool) {
			t.Helper()
			who, err := k.Authenticate(key)
			if (err == nil) != want || want && (who.ID != "phone" || who.Roles != exchange.ExecutorRole) {
				t.Errorf("%+v, %v; want good: %v", who, err, want)
			}
		}
		good(k, first, true)
		good(k, second, true)
		if list := k.List(); len(list) != 2 || list[1].Actor != "phone" || list[1].OldUntil == nil {
			t.Errorf("%+v", list)
		}
		time.Sleep(time.Hour - 2*time.Second)
		good(open(t, dir), first, true) // a restart changes nothing
		time.Sleep(2 * time.Second)
		good(k, first, false)
		good(open(t, dir), first, false)
		good(k, second, true)
		if list := k.List(); len(list) != 2 || list[1].OldUntil != nil {
			t.Errorf("%+v", list)
		}

		// Of three keys the oldest ends at once, and without an overlap so does the one before.
		third, err := k.Renew("phone", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		fourth, err := k.Renew("phone", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		good(k, second, false)
		good(k, third, true)
		fifth, err := k.Renew("phone", 0)
		if err != nil {
			t.Fatal(err)
		}
		good(k, third, false)
		good(k, fourth, false)
		good(k, fifth, true)
	})
}

func TestOperatorKeyIsRenewedInFile(t *testing.T) {
	dir := t.TempDir()
	k := open(t, dir)
	old := operatorKey(t, dir)
	key, err := k.Renew("operator", 0)
	if err != nil || operatorKey(t, dir) != key {
		t.Errorf("%v", err)
	}
	if _, err := k.Authenticate(old); !errors.Is(err, mess.Unauthorized) {
		t.Errorf("the old key: %v", err)
	}
	open(t, dir)
	if operatorKey(t, dir) != key {
		t.Error("a restart made another key")
	}
}

func TestInvalidChangesAreRejected(t *testing.T) {
	k := open(t, t.TempDir())
	_, long := k.Renew("operator", keys.MaxOverlap+1)
	_, back := k.Renew("operator", -1)
	_, nobody := k.Renew("nobody", 0)
	_, operator := k.Revoke("operator")
	_, none := k.Issue("phone", 0)
	_, code := keys.Roles([]string{"executor", "king"})
	_, _, name := k.NewCode("a/b", time.Minute)
	_, _, never := k.NewCode("", keys.MaxCodeTime+1)
	for what, c := range map[string]struct {
		err  error
		want mess.ErrorCode
	}{
		"an overlap that is too long":  {long, mess.Invalid},
		"a negative overlap":           {back, mess.Invalid},
		"renewing nobody's":            {nobody, mess.NotFound},
		"revoking the operator's":      {operator, mess.Conflict},
		"a key without roles":          {none, mess.Invalid},
		"an unknown role":              {code, mess.Invalid},
		"roles of nobody":              {k.SetRoles("nobody", exchange.Observer), mess.NotFound},
		"an operator that is none":     {k.SetRoles("operator", exchange.Observer), mess.Conflict},
		"no roles":                     {k.SetRoles("operator", 0), mess.Invalid},
		"a code for no name":           {name, mess.Invalid},
		"a code for longer than a day": {never, mess.Invalid},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %s", what, c.err, c.want)
		}
	}
}

// A session ends with its key, and when the roles of the key change.
func TestSessionEndsWithKey(t *testing.T) {
	for name, c := range map[string]struct {
		change func(k *keys.Keys) error
		after  time.Duration // time to the end of the session; -1: it continues
	}{
		"revoked":           {func(k *keys.Keys) error { _, err := k.Revoke("phone"); return err }, 0},
		"rotated":           {func(k *keys.Keys) error { _, err := k.Rotate("phone", exchange.ExecutorRole); return err }, 0},
		"renewed":           {func(k *keys.Keys) error { _, err := k.Renew("phone", 0); return err }, 0},
		"with an overlap":   {func(k *keys.Keys) error { _, err := k.Renew("phone", time.Minute); return err }, time.Minute},
		"other roles":       {func(k *keys.Keys) error { return k.SetRoles("phone", exchange.Observer) }, 0},
		"the same roles":    {func(k *keys.Keys) error { return k.SetRoles("phone", exchange.ExecutorRole) }, -1},
		"somebody else's":   {func(k *keys.Keys) error { _, err := k.Issue("tablet", exchange.Observer); return err }, -1},
		"nothing to revoke": {func(k *keys.Keys) error { _, err := k.Revoke("tablet"); return err }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, k *keys.Keys, _, phone string) {
				who, err := k.Authenticate(phone)
				if err != nil {
					t.Fatal(err)
				}
				var over, after atomic.Int32
				k.Watch(phone, who, func() { over.Add(1) })
				k.Watch(phone, who, func() { after.Add(1) })()
				began := time.Now()
				if err := c.change(k); err != nil {
					t.Fatal(err)
				}
				for over.Load() == 0 && time.Since(began) < time.Hour {
					time.Sleep(time.Second)
				}
				ended, stopped := over.Load(), after.Load()
				switch took := time.Since(began); {
				case stopped != 0 || ended > 1:
					t.Errorf("called %d times, and %d times after its end", ended, stopped)
				case c.after < 0 && ended != 0:
					t.Errorf("ended after %v", took)
				case c.after >= 0 && (ended == 0 || took > c.after+time.Second):
					t.Errorf("%d ended after %v, want after %v", ended, took, c.after)
				}
				late := 0
				k.Watch(phone, who, func() { late++ })() // one that begins only now
				if (late == 1) != (c.after >= 0) {
					t.Errorf("a late one ended %d times", late)
				}
			})
		})
	}
}

func TestEnrollmentCodes(t *testing.T) {
	bubble(t, func(t *testing.T, k *keys.Keys, dir, _ string) {
		code, ends, err := k.NewCode("", time.Minute)
		if err != nil || len(code) != 11 || !ends.Equal(time.Now().Add(time.Minute)) {
			t.Fatalf("%q, %v, %v", code, ends, err)
		}
		redeem := func(code, actor string, want bool) func() {
			t.Helper()
			_, back, ok := k.Redeem(code, actor)
			if ok != want {
				t.Errorf("%q for %s: %v", code, actor, ok)
			}
			return back
		}
		for _, wrong := range []string{"", "-", code[:10], code + "0", strings.Repeat("0", 1<<20)} {
			redeem(wrong, "pi", false)
		}
		typed := strings.ToLower(strings.NewReplacer("-", " ", "0", "o", "1", "l").Replace(code))
		redeem(typed, "pi", true)() // its registration has failed
		redeem(code, "pi", true)    // which uses it up
		redeem(code, "pi", false)
		theirs, _, err := k.NewCode("garage-pi", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		redeem(theirs, "pi", false)
		redeem(theirs, "garage-pi", true)()
		time.Sleep(time.Minute)
		redeem(theirs, "garage-pi", false)

		for range 100 {
			if _, _, err := k.NewCode("", time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := k.NewCode("", time.Minute); !errors.Is(err, mess.Conflict) {
			t.Errorf("a code too many: %v", err)
		}
		time.Sleep(time.Minute)
		last, _, err := k.NewCode("", time.Minute)
		if err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "keys.json"))
		if err != nil || strings.Contains(string(data), last) {
			t.Errorf("a code is on the disk, or nothing can be read: %v", err)
		}
	})
}
