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

// ciphers lists the ciphers of modern robots, and the only one of the 900 series (RSA
// without forward secrecy, which Go excludes by default).
var ciphers = []uint16{
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_RSA_WITH_AES_128_CBC_SHA256,
}

const (
	keepAlive    = 60 * time.Second
	longestPause = 30 * time.Second // before the next attempt to connect
	writeTimeout = 5 * time.Second  // limit for a write; paho waits as long for a pending write at the disconnect
	maxPayload   = 256 << 10
	quiesce      = 100 // milliseconds for pending messages at the disconnect
)

// link is the connection to a robot. A robot accepts one connection at a time, so the link
// exists only while a verb needs it, and the app of the manufacturer can connect in
// between.
type link struct {
	cfg Config
	log *slog.Logger

	turn   sync.Mutex // serializes open and close
	users  int
	client mqtt.Client

	mu    sync.Mutex
	known report        // state that the robot has reported on this connection
	from  mqtt.Client   // present connection
	moved bool          // the robot has moved since the last start command
	sent  time.Time     // time of the last start command until the robot moves; else zero
	news  chan struct{} // closes at a change
}

func newLink(cfg Config, log *slog.Logger) *link {
	return &link{cfg: cfg, log: log, news: make(chan struct{})}
}

// use connects if there is no connection; release closes it after the last user.
func (l *link) use(ctx context.Context) (release func(), err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.users == 0 {
		if err := l.open(ctx); err != nil {
			return nil, drivers.MarkNothingDone(err)
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
	var untrusted error // paho replaces the error
	try := &attempt{dialer: tls.Dialer{NetDialer: &net.Dialer{Timeout: l.cfg.Timeout}, Config: &tls.Config{
		MinVersion: tls.VersionTLS12, CipherSuites: ciphers,
		InsecureSkipVerify: true, // the certificate is self-signed: the pin decides
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
			l.log.Warn("connection to the robot lost", "err", err)
		}).
		SetDefaultPublishHandler(l.receive).
		SetOnConnectHandler(func(c mqtt.Client) { // a handler must not wait; robots send their state with or without a subscription
			c.SubscribeMultiple(map[string]byte{"#": 0, "$aws/things/" + l.cfg.Blid + "/shadow/update": 0}, nil)
		})
	l.client = mqtt.NewClient(o)
	l.forget(l.client)
	t := l.client.Connect()
	<-t.Done() // ends soon after ctx: an abandoned attempt would occupy the only connection
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
		return fmt.Errorf("%s rejects blid and password; get them again", where)
	}
	return fmt.Errorf("%s: %w; check that the robot is in this network, and close the app of the manufacturer, because the robot accepts one connection at a time", where, err)
}

// attempt dials a connection. The end of ctx cancels it until made returns. The client may
// use it again for reconnects.
type attempt struct {
	dialer tls.Dialer

	mu   sync.Mutex
	stop func() bool // nil before the first dial
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

// made reports whether the attempt was successful and not canceled.
func (a *attempt) made() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done = true
	return a.stop != nil && a.stop()
}

// trusts returns nil for the pinned certificate.
func (c Config) trusts(s tls.ConnectionState) error {
	if c.Insecure {
		return nil
	}
	if len(s.PeerCertificates) == 0 {
		return errors.New("the robot sends no certificate")
	}
	sum := sha256.Sum256(s.PeerCertificates[0].Raw)
	is := pinPrefix + hex.EncodeToString(sum[:])
	switch {
	case c.Pin == "":
		return fmt.Errorf("the certificate of the robot is self-signed, with the fingerprint %s; if you are in your own network now, write that as pin", is)
	case subtle.ConstantTimeCompare([]byte(is), []byte(strings.ToLower(c.Pin))) != 1:
		return fmt.Errorf("the certificate of the robot has the fingerprint %s, which differs from pin:; check that it is the same robot", is)
	}
	return nil
}

// receive processes a message of the robot. It ignores messages of an earlier connection,
// because they are older.
func (l *link) receive(from mqtt.Client, m mqtt.Message) {
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
	if m := next.Mission; m != nil && (m.moves() || m.neededHelp() != nil) {
		l.sent = time.Time{}
		l.moved = l.moved || m.moves()
	}
	close(l.news)
	l.news = make(chan struct{})
}

// forget drops the known state for a new connection; nil means none.
func (l *link) forget(from mqtt.Client) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known, l.from = report{}, from
}

// mayYet reports whether the robot has a start command and has not reported movement yet.
func (l *link) mayYet(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.sent.IsZero() && now.Sub(l.sent) < setOutTime
}

// state returns the last state of the robot. After a new connection it waits for the first
// state, which the robot sends by itself.
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
			return report{}, fmt.Errorf("the robot has not reported its state in %v; check that it is in range", l.cfg.Timeout)
		}
	}
}

// until waits until so returns true for the state.
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

// command is a command to the robot.
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

// send sends a command once. The robot acknowledges it only by its state.
func (l *link) send(ctx context.Context, c command, now time.Time) error {
	c.Time, c.Initiator = now.Unix(), "localApp"
	body, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if ctx.Err() != nil || !l.client.IsConnectionOpen() {
		return drivers.MarkNothingDone(errors.New("no connection to the robot"))
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
