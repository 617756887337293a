package keys_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
)

// The shared secret is the hash of the newest key. Without a key there is no secret.
func TestSharedSecretFollowsKey(t *testing.T) {
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	const roles = exchange.Requester | exchange.ExecutorRole
	for _, next := range []func() (string, error){
		func() (string, error) { return k.Issue("pi", roles) },
		func() (string, error) { return k.Renew("pi", keys.MaxOverlap) },
	} {
		key, err := next()
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(key))
		who, secret, ok := k.Shared("pi")
		if !ok || who.ID != "pi" || who.Roles != roles || string(secret) != hex.EncodeToString(sum[:]) {
			t.Errorf("%+v %q %v", who, secret, ok)
		}
		if _, err := k.Authenticate(string(secret)); err == nil {
			t.Error("what is shared lets somebody in")
		}
	}
	if _, err := k.Revoke("pi"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := k.Shared("pi"); ok {
		t.Error("somebody without a key")
	}
}

// After a renewal both keys count until the old one ends, and none counts after a revocation.
func TestSecretsOfRenewedKey(t *testing.T) {
	k, err := keys.Open(t.TempDir(), "home")
	if err != nil {
		t.Fatal(err)
	}
	if _, secrets := k.Secrets("pi"); len(secrets) > 0 {
		t.Errorf("an actor without a key has %d secrets", len(secrets))
	}
	if _, err := k.Issue("pi", exchange.ExecutorRole); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Renew("pi", time.Hour); err != nil {
		t.Fatal(err)
	}
	actor, secrets := k.Secrets("pi")
	_, present, ok := k.Shared("pi")
	if !ok || actor.ID != "pi" || !actor.Has(exchange.ExecutorRole) || len(secrets) != 2 || !slices.ContainsFunc(secrets, func(s []byte) bool { return bytes.Equal(s, present) }) {
		t.Errorf("%+v has %d secrets, want two with the present one", actor, len(secrets))
	}
	if _, err := k.Revoke("pi"); err != nil {
		t.Fatal(err)
	}
	if _, secrets := k.Secrets("pi"); len(secrets) > 0 {
		t.Errorf("%d secrets count after the revocation", len(secrets))
	}
}
