package roombawifi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/messkit/messkit/drivers"
)

// ciphers are those of modern robots, and the one of the 900 series, which know no
// other (RSA without forward secrecy; Go leaves it out unless it is listed).
var ciphers = []uint16{
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
}

const (
	keepAlive    = 60 * time.Second
	longestPause = 30 * time.Second // between two tries to connect again
	writeTimeout = 5 * time.Second  // for a packet to leave; paho waits as long with one when the connection is let go
	maxPayload   = 256 << 10
	quiesce      = 100 // milliseconds for what is under way at the end
)

// link is the connection to a robot. A robot has one at a time: it is there only
// while somebody needs it, so that the maker's app has its turn.
type link struct {
	cfg Config
	log *slog.Logger

	turn   sync.Mutex // held by whoever opens or closes
	users  int
	client mqtt.Client

	mu    sync.Mutex
	known report        // what the robot has told since it was connected
	from  mqtt.Client   // by which connection
	moved bool          // it has told that it moves since it was sent off
	sent  time.Time     // when it was sent off, until it tells that it moves; else zero
	news  chan struct{} // closed when that changes
}

func newLink(cfg Config, log *slog.Logger) *link {
	return &link{cfg: cfg, log: log, news: make(chan struct{})}
}

// use connects, if nobody has yet; release lets it go.
func (l *link) use(ctx context.Context) (release func(), err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.users == 0 {
		if err := l.open(ctx); err != nil {
			return nil, drivers.NotDone(err)
		}
	}
	l.users++
	return func() {
		l.turn.Lock()
		defer l.turn.Unlock()
		if l.users--; l.users == 0 {
			l.client.Disconnect(quiesce)
			l.forget(nil)
		}
	}, nil
}

func (l *link) open(ctx context.Context) error {
	secret, err := l.cfg.secret()
	if err != nil {
		return err
	}
	where := net.JoinHostPort(l.cfg.Host, strconv.Itoa(l.cfg.Port))
	var untrusted error // which paho words anew
	try := &attempt{dialer: tls.Dialer{NetDialer: &net.Dialer{Timeout: l.cfg.Timeout}, Config: &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: ciphers,
		InsecureSkipVerify: true, // it has made its certificate itself: the pin judges
		VerifyConnection: func(s tls.ConnectionState) error {
			untrusted = l.cfg.trusts(s)
			return untrusted
		},
	}}}
	o := mqtt.NewClientOptions().AddBroker("ssl://" + where).SetClientID(l.cfg.Blid).SetCleanSession(true).
		SetUsername(l.cfg.Blid).SetPassword(string(secret)).SetProtocolVersion(4).
		SetConnectTimeout(l.cfg.Timeout).SetWriteTimeout(min(l.cfg.Timeout, writeTimeout)).SetKeepAlive(keepAlive).
		SetAutoReconnect(true).SetMaxReconnectInterval(longestPause).SetOrderMatters(true).
		SetCustomOpenConnectionFn(func(*url.URL, mqtt.ClientOptions) (net.Conn, error) { return try.dial(ctx, where) }).
		SetConnectionLostHandler(func(c mqtt.Client, err error) {
			l.forget(c)
			l.log.Warn("the robot is gone", "err", err)
		}).
		SetDefaultPublishHandler(l.hear).
		SetOnConnectHandler(func(c mqtt.Client) { // nobody may wait in a handler; robots tell their state with or without
			c.SubscribeMultiple(map[string]byte{"#": 0, "$aws/things/" + l.cfg.Blid + "/shadow/update": 0}, nil)
		})
	l.client = mqtt.NewClient(o)
	l.forget(l.client)
	t := l.client.Connect()
	<-t.Done() // soon, if ctx ends: who is given up would take the place of the next otherwise
	if err = t.Error(); try.made() && err == nil {
		return nil
	}
	l.client.Disconnect(0)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case untrusted != nil:
		return untrusted
	case strings.Contains(err.Error(), "bad user name") || strings.Contains(strings.ToLower(err.Error()), "not authorized"):
		return fmt.Errorf("%s refuses blid and password; get them anew", where)
	}
	return fmt.Errorf("%s: %w; is the robot in this network, and the maker's app closed? It takes one connection at a time", where, err)
}

// attempt is how a connection comes about: while it does, it ends with whoever
// wants it. It may be made anew later.
type attempt struct {
	dialer tls.Dialer

	mu   sync.Mutex
	stop func() bool // nil: it has not been dialled
	done bool
}

func (a *attempt) dial(ctx context.Context, where string) (net.Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		ctx = context.WithoutCancel(ctx)
	}
	conn, err := a.dialer.DialContext(ctx, "tcp", where)
	if err == nil {
		a.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	return conn, err
}

// made reports whether nobody has given it up.
func (a *attempt) made() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	return a.stop != nil && a.stop()
}

// trusts returns nil for a certificate that is the pinned one.
func (c Config) trusts(s tls.ConnectionState) error {
	if c.Insecure {
		return nil
	}
	if len(s.PeerCertificates) == 0 {
		return errors.New("it shows no certificate")
	}
	sum := sha256.Sum256(s.PeerCertificates[0].Raw)
	is := pinPrefix + hex.EncodeToString(sum[:])
	switch {
	case c.Pin == "":
		return fmt.Errorf("its certificate is one of its own, with the fingerprint %s; if you are in your own network now, write that as pin", is)
	case subtle.ConstantTimeCompare([]byte(is), []byte(strings.ToLower(c.Pin))) != 1:
		return fmt.Errorf("its certificate has the fingerprint %s, and pin: says another; is it the same robot?", is)
	}
	return nil
}

// hear takes what the robot tells. What a connection that is over has still under
// way is older than what the next one tells.
func (l *link) hear(from mqtt.Client, m mqtt.Message) {
	if len(m.Payload()) > maxPayload || strings.HasPrefix(m.Topic(), "cmd") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if from != l.from {
		return
	}
	next := l.known
	if next.take(m.Payload()) != nil {
		return
	}
	l.known = next
	if m := next.Mission; m != nil && (m.moves() || m.trouble() != nil) {
		l.sent = time.Time{}
		l.moved = l.moved || m.moves()
	}
	close(l.news)
	l.news = make(chan struct{})
}

// forget begins anew with what a connection will tell; nil if there is none.
func (l *link) forget(from mqtt.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.from = report{}, from
}

// mayYet reports whether the robot was sent off, and has not told yet that it moves.
func (l *link) mayYet(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.sent.IsZero() && now.Sub(l.sent) < setOutTime
}

// state is what the robot has told last. One that has just been connected tells it
// by itself; it is waited for.
func (l *link) state(ctx context.Context) (report, error) {
	limit := time.NewTimer(l.cfg.Timeout)
	defer limit.Stop()
	for {
		l.mu.Lock()
		is, news := l.known, l.news
		l.mu.Unlock()
		if is.Mission != nil && is.Battery != nil {
			return is, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return report{}, ctx.Err()
		case <-limit.C:
			if is.Mission != nil {
				return is, nil
			}
			return report{}, fmt.Errorf("it has not told its state in %v; look whether it is in reach", l.cfg.Timeout)
		}
	}
}

// until waits until the robot's state is as wanted.
func (l *link) until(ctx context.Context, so func(report) bool) (report, error) {
	for {
		l.mu.Lock()
		is, news := l.known, l.news
		l.mu.Unlock()
		if is.Mission != nil && so(is) {
			return is, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return is, ctx.Err()
		}
	}
}

// command is what a robot is told.
type command struct {
	Command   string   `json:"command"`
	Time      int64    `json:"time"`
	Initiator string   `json:"initiator"`
	Ordered   int      `json:"ordered,omitempty"`
	Map       string   `json:"pmap_id,omitempty"`
	Version   string   `json:"user_pmapv_id,omitempty"`
	Regions   []region `json:"regions,omitempty"`
}

type region struct {
	ID   string `json:"region_id"`
	Type string `json:"type"` // rid
}

// tell sends a command once. The robot acknowledges nothing: its state does.
func (l *link) tell(ctx context.Context, c command, now time.Time) error {
	c.Time, c.Initiator = now.Unix(), "localApp"
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if ctx.Err() != nil || !l.client.IsConnectionOpen() {
		return drivers.NotDone(errors.New("there is no connection to it"))
	}
	if c.Command == "start" || c.Command == "resume" || c.Command == "dock" {
		l.mu.Lock()
		l.sent, l.moved = now, false
		l.mu.Unlock()
	}
	t := l.client.Publish("cmd", 0, false, body)
	select {
	case <-t.Done():
		return t.Error()
	case <-ctx.Done():
		return ctx.Err()
	}
}
