package mqtt_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/peer/peertest"
)

// connectPacket is an MQTT 3.1.1 CONNECT of an id, with a user and a password if there is one.
func connectPacket(id, user, password string) string {
	text := func(s string) string { return string([]byte{0, byte(len(s))}) + s }
	flags, more := byte(2), text(id)
	if password != "" {
		flags, more = flags|0xc0, more+text(user)+text(password)
	}
	body := text("MQTT") + string([]byte{4, flags, 0, 60}) + more
	return "\x10" + string([]byte{byte(len(body))}) + body
}

// accepted is the beginning of a CONNACK that accepts a client.
const accepted = "\x20\x02\x00\x00"

// Without a key, only processes of the exchange's user can use the embedded broker. Another user of
// this machine could act as any actor.
func TestOtherLocalUserNeedsKey(t *testing.T) {
	h := newEmbeddedHarness(t)
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, connectPacket("helper", "", "")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(accepted))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != accepted {
		t.Errorf("this user: %q %v", got, err)
	}
	if got := peertest.Speak(t, peertest.OtherUser, h.addr, connectPacket("helper-2", "", ""), time.Second); strings.HasPrefix(got, accepted) {
		t.Errorf("another user is let in without a key: %q", got)
	}
	key, err := h.keys.Issue("dash", exchange.Requester)
	if err != nil {
		t.Fatal(err)
	}
	if got := peertest.Speak(t, peertest.OtherUser, h.addr, connectPacket("dash", "dash", key), time.Second); !strings.HasPrefix(got, accepted) {
		t.Errorf("another user with a key: %q", got)
	}
}

// A client without a key reads public topics and its own: no status and no card of an executor.
func TestClientWithoutKeyReadsNoExecutor(t *testing.T) {
	h := newEmbeddedHarness(t)
	pi := h.connect(login{id: "pi"})
	pi.subscribe(root + "e/pi/in")
	pi.publishWith(root+"e/pi/status", `{"state":"ready","epoch":1}`, 1, true)
	pi.publishWith(root+"e/pi/card", `{"id":"pi","capabilities":["take-photo"]}`, 1, true)
	spy := h.connect(login{id: "spy"})
	for _, f := range []string{"e/+/status", "e/+/card", "e/#", "e/pi/in", "#"} {
		spy.subscribe(root + f)
	}
	if spy.listen(root+"x/status") == nil {
		t.Fatal("the client cannot read the public topic")
	}
	pi.publishWith(root+"e/pi/status", `{"state":"busy","epoch":1}`, 1, true)
	spy.waitForText(`"ready"`)
	for _, m := range spy.all() {
		if strings.Contains(m.topic, "/e/") {
			t.Errorf("the client reads %s: %s", m.topic, m.text)
		}
	}
}
