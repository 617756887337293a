package roombawifi_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"math/big"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/broker/port"
)

const (
	blid     = "80C5F2B1A0001234"
	password = ":1:1500000000:abcdefghijkLMNOP"
	shadow   = "$aws/things/" + blid + "/shadow/update"
)

// robot simulates a Roomba with its own server, from public descriptions of its messages.
// It records its commands and whether it moves. It accepts one connection at a time.
type robot struct {
	mochi.HookBase
	server *mochi.Server
	host   string
	port   int
	pin    string

	sending sync.Mutex

	mu       sync.Mutex
	cycle    string
	phase    string
	fault    int
	notReady int
	left     int // steps until the end of the task
	steps    int // steps of a task
	acts     []string
	deaf     bool // accepts commands and does not move
	strands  bool // a task ends away from the dock
	most     int  // largest number of simultaneous connections
	clients  []*mochi.Client
}

func newRobot(t *testing.T, legacy bool) *robot {
	t.Helper()
	r := &robot{cycle: "none", phase: "charge", steps: 8}
	cert := certificate(t, legacy)
	sum := sha256.Sum256(cert.Certificate[0])
	r.pin = "sha256:" + hex.EncodeToString(sum[:])
	cfg := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	if legacy {
		cfg.CipherSuites = []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA256}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host, number, _ := net.SplitHostPort(l.Addr().String())
	r.host = host
	r.port, _ = strconv.Atoi(number)
	r.server = mochi.New(&mochi.Options{InlineClient: true, Logger: slog.New(slog.DiscardHandler)})
	for _, hook := range []mochi.Hook{r, port.NewRetained(r.server)} {
		if err := r.server.AddHook(hook, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.server.AddListener(port.New(r.server, l, cfg)); err != nil {
		t.Fatal(err)
	}
	if err := r.server.Serve(); err != nil {
		t.Fatal(err)
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() { // its own clock
		defer close(done)
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				if r.step() {
					r.sendState()
				}
			}
		}
	}()
	t.Cleanup(func() {
		close(over)
		<-done
		_ = r.server.Close()
	})
	r.sendState()
	return r
}

func certificate(t *testing.T, legacy bool) tls.Certificate {
	t.Helper()
	var key any
	var public any
	if legacy {
		k, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		key, public = k, &k.PublicKey
	} else {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		key, public = k, &k.PublicKey
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Roomba-" + blid}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (r *robot) ID() string { return "robot" }

func (r *robot) Provides(b byte) bool {
	return slices.Contains([]byte{mochi.OnConnectAuthenticate, mochi.OnACLCheck, mochi.OnPublished, mochi.OnSessionEstablished, mochi.OnDisconnect}, b)
}

func (r *robot) OnConnectAuthenticate(c *mochi.Client, p packets.Packet) bool {
	return c.ID == blid && string(p.Connect.Username) == blid && string(p.Connect.Password) == password
}

func (r *robot) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnSessionEstablished sends the whole state to a new client, even without a subscription.
func (r *robot) OnSessionEstablished(c *mochi.Client, _ packets.Packet) {
	if !c.Net.Inline {
		r.set(func(r *robot) { r.clients = append(r.clients, c); r.most = max(r.most, len(r.clients)) })
		r.sendState()
	}
}

func (r *robot) OnDisconnect(c *mochi.Client, _ error, _ bool) {
	r.set(func(r *robot) {
		r.clients = slices.DeleteFunc(r.clients, func(one *mochi.Client) bool { return one == c })
	})
}

func (r *robot) OnPublished(c *mochi.Client, p packets.Packet) {
	if c.Net.Inline || p.TopicName != "cmd" {
		return
	}
	var cmd struct {
		Command   string           `json:"command"`
		Time      int64            `json:"time"`
		Initiator string           `json:"initiator"`
		Map       string           `json:"pmap_id"`
		Version   string           `json:"user_pmapv_id"`
		Regions   []map[string]any `json:"regions"`
	}
	if json.Unmarshal(p.Payload, &cmd) != nil || cmd.Initiator != "localApp" || cmd.Time == 0 {
		return
	}
	r.set(func(r *robot) {
		what := cmd.Command
		for _, one := range cmd.Regions {
			what += " " + cmd.Map + "/" + cmd.Version + "/" + one["region_id"].(string) + "/" + one["type"].(string)
		}
		r.acts = append(r.acts, what)
		if r.deaf {
			return
		}
		switch {
		case cmd.Command == "start":
			r.cycle, r.phase, r.left = "clean", "run", r.steps
		case cmd.Command == "pause" && r.phase == "run":
			r.phase = "stop"
		case cmd.Command == "resume" && r.phase == "stop" && r.cycle != "none":
			r.phase = "run"
		case cmd.Command == "stop":
			r.cycle, r.phase = "none", "stop"
		case cmd.Command == "dock" && r.phase == "stop":
			r.cycle, r.phase, r.left = "dock", "hmUsrDock", r.steps
		}
	})
	r.sendState()
}

// step makes one step; it reports whether anything changed.
func (r *robot) step() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.phase != "run" && r.phase != "hmUsrDock" && r.phase != "hmPostMsn" {
		return false
	}
	if r.left--; r.left > 0 {
		return true
	}
	switch {
	case r.strands:
		r.cycle, r.phase = "none", "stop"
	case r.phase == "run":
		r.phase, r.left = "hmPostMsn", r.steps
	default:
		r.cycle, r.phase = "none", "charge"
	}
	return true
}

// sendState sends its state to the client in parts, even without a subscription, as real robots
// do.
func (r *robot) sendState() {
	r.sending.Lock()
	defer r.sending.Unlock()
	r.mu.Lock()
	mission := map[string]any{"cycle": r.cycle, "phase": r.phase, "error": r.fault, "notReady": r.notReady, "sqft": 215, "mssnM": 1, "initiator": "localApp"}
	clients := slices.Clone(r.clients)
	r.mu.Unlock()
	publish := func(topic string, reported map[string]any) {
		data, _ := json.Marshal(map[string]any{"state": map[string]any{"reported": reported}})
		for _, c := range clients {
			_ = c.WritePacket(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish}, TopicName: topic, Payload: data}) // the client may have disconnected
		}
	}
	publish("wifistat", map[string]any{"signal": map[string]int{"rssi": -43}, "batPct": 87, "bin": map[string]bool{"present": true, "full": false}, "pmaps": []any{map[string]string{"map1": "220101T"}}})
	publish(shadow, map[string]any{"cleanMissionStatus": mission})
}

func (r *robot) set(f func(*robot)) { r.mu.Lock(); defer r.mu.Unlock(); f(r) }

func (r *robot) log() []string { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.acts) }

func (r *robot) moves() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase == "run" || strings.HasPrefix(r.phase, "hm")
}
