package natslink_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/natslink"
)

func TestCheckURL(t *testing.T) {
	for text, want := range map[string]string{
		"nats://127.0.0.1:4222": "", "tls://nats.example:4222": "", "nats://[::1]:4222": "", "nats://host": "",
		"http://host:4222": "is not one of a NATS server", "host:4222": "is not one of a NATS server", "nats://": "is not one of a NATS server", "": "is not one of a NATS server",
		"nats://user:secret@host:4222": "host:4222 has a secret in it", "nats://host:4222/x": "has something after the port",
	} {
		err := natslink.CheckURL(text)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("the error has the secret: %v", err)
		}
	}
}

func TestCheckWord(t *testing.T) {
	for text, good := range map[string]bool{
		"mess": true, "Home_2-b": true, strings.Repeat("x", 60): true,
		"": false, strings.Repeat("x", 61): false, "a.b": false, "a b": false, "*": false, ">": false, "ä": false,
	} {
		if err := natslink.CheckWord(text); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A subject has the id of its executor, and no other exchange or stream has it.
func TestSubjects(t *testing.T) {
	s := natslink.Of("mess", "home")
	for id, want := range map[string]string{"pi": "mess.@home.e.pi.out", "arm.left": "mess.@home.e.arm=left.out"} {
		got := s.Executor(id, natslink.Out)
		if got != want {
			t.Errorf("%s has the subject %s, want %s", id, got, want)
		}
		if back, ok := s.ExecutorOf(got); !ok || back != id {
			t.Errorf("%s is of %q, %v", got, back, ok)
		}
	}
	for _, other := range []string{"mess.@home.e.pi", "mess.@home.e..out", "mess.@attic.e.pi.out", "mess.home.e.pi.out", ""} {
		if id, ok := s.ExecutorOf(other); ok {
			t.Errorf("%q is of %q", other, id)
		}
	}
}

// Only the holder of the key can make or change a message.
func TestSignature(t *testing.T) {
	key, other := natslink.Secret("mess_home_key"), natslink.Secret("mess_home_other")
	head := natslink.Head{Kind: natslink.Message, Executor: "pi", ID: "1", Part: 1, Parts: 3}
	data := natslink.Seal(key, head, []byte("a\nbody"))
	h, body, secret, err := natslink.Open(data, other, key)
	if err != nil || h != head || string(body) != "a\nbody" || !bytes.Equal(secret, key) {
		t.Fatalf("%+v %q %v", h, body, err)
	}
	if _, _, _, err := natslink.Open(data, other); !errors.Is(err, natslink.ErrSignature) {
		t.Errorf("with another key: %v", err)
	}
	if _, _, _, err := natslink.Open(data); !errors.Is(err, natslink.ErrSignature) {
		t.Errorf("without a key: %v", err)
	}
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		if _, _, _, err := natslink.Open(changed, key); err == nil {
			t.Errorf("byte %d was changed, and the message is accepted", i)
		}
	}
}

// A body in parts is complete once, also if parts come twice, and never has a gap.
func TestParts(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789"), 10)
	var j natslink.Joined
	parts := natslink.Split(body, 33)
	add := func(id string, part int) ([]byte, bool, error) {
		return j.Add(natslink.Head{ID: id, Part: part, Parts: len(parts)}, parts[part], 100)
	}
	for range 2 {
		for part := range parts {
			got, complete, err := add("a", part)
			if err != nil || complete != (part == len(parts)-1) || complete && !bytes.Equal(got, body) {
				t.Fatalf("part %d: %q %v %v", part, got, complete, err)
			}
			if part == 1 {
				if _, complete, err := add("a", part); err != nil || complete {
					t.Error("a repeated part is not ignored")
				}
				if _, _, err := add("b", 2); !errors.Is(err, natslink.ErrGap) {
					t.Error("a part of another body is accepted")
				}
				if _, _, err := add("a", 3); !errors.Is(err, natslink.ErrGap) {
					t.Error("a gap is accepted")
				}
			}
		}
	}
	if _, _, err := j.Add(natslink.Head{ID: "long"}, make([]byte, 101), 100); !errors.Is(err, natslink.ErrTooLong) {
		t.Errorf("a body of 101 bytes, and 100 are allowed: %v", err)
	}
	if got := natslink.Split(nil, 10); len(got) != 1 {
		t.Errorf("an empty body has %d parts", len(got))
	}
}

// Open accepts what Seal has made, and nothing else has an effect.
func FuzzOpen(f *testing.F) {
	key := natslink.Secret("key")
	f.Add(natslink.Seal(key, natslink.Head{Kind: natslink.Hello, Executor: "pi", ID: "1"}, []byte("body")))
	f.Add(natslink.Seal(nil, natslink.Head{}, nil))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, body, _, err := natslink.Open(data, key)
		if err != nil {
			return
		}
		if h.Part < 0 || h.Parts > natslink.MaxParts || h.Part > 0 && h.Part >= h.Parts {
			t.Errorf("a head with impossible parts: %+v", h)
		}
		again, same, _, err := natslink.Open(natslink.Seal(key, h, body), key)
		if err != nil || again != h || !bytes.Equal(same, body) {
			t.Errorf("%+v is %+v after a second signature: %v", h, again, err)
		}
	})
}
