package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/daemon"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// The users of two accounts of a NATS server, which exist in this test only. Each account belongs to one
// home. Both homes have the same id, so their streams and subjects have the same names.
const (
	seedA = "SUAIGXM42MCYXDNBVWRPCDBF5E5NUKIDCIWL2BFCQNHFXADRJDMDA6GPIA"
	userA = "UDU57HPGPBWPLGSCWQFN5LNJD4HQBKM4AN37U3SBPIBVDZ2X5EXEEARO"
	seedB = "SUABAV6Z6TLYMFZLPNGGTKLESDL22XSEJDWPM4GLVORQ27ETC3KG25IBTY"

	accounts = `accounts: {
  A: {jetstream: {max_file: 64MB, max_mem: 0}, users: [{nkey: %s}]}
  B: {jetstream: {max_file: 64MB, max_mem: 0}, users: [{nkey: %s}]}
}`

	onlyA = "feed the cat of home A"
	onlyB = "hide the key of home B"
)

// tenant is an exchange of one home.
type tenant struct {
	*testing.T
	url, mqtt string
	key       string // of the operator
	seed      string // file
	refs      []string
}

// startTenant starts an exchange with the credentials of an account.
func startTenant(t *testing.T, server *natsserver.Server, seed string) *tenant {
	t.Helper()
	dir := t.TempDir()
	h := &tenant{T: t, seed: filepath.Join(dir, "user.nk"), mqtt: freeport.Address(t)}
	listen := freeport.Address(t)
	h.url = "http://" + listen
	file := filepath.Join(dir, "exchange.yaml")
	text := fmt.Sprintf("exchange: {id: home, listen: '%s', data: '%s/data', mqtt: {listen: '%s'}, mcp: {on: true}, store: {url: '%s', replicas: 1, sync: always, nkey_file: '%s'}}\n", listen, dir, h.mqtt, server.URL(), h.seed)
	if err := errors.Join(os.WriteFile(h.seed, []byte(seed), 0o600), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg, err := daemon.LoadConfig(file, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	e, err := daemon.OpenExchange(t.Context(), &output.Env{Out: io.Discard, Err: io.Discard}, cfg.Exchange, nil, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	key, err := os.ReadFile(filepath.Join(dir, "data", "operator.key"))
	if err != nil {
		t.Fatal(err)
	}
	h.key = strings.TrimSpace(string(key))
	return h
}

// call calls a path with a key, and returns the code and the body. A stream is read for a moment.
func (h *tenant) call(key, method, path, body string) (int, string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body) // a stream ends with the time limit
	return res.StatusCode, string(data)
}

// ask makes a request with an attachment's name in it.
func (h *tenant) ask(intent string) {
	h.Helper()
	code, body := h.call(h.key, http.MethodPost, "/api/v1/exchanges/home/requests", fmt.Sprintf(`{"intent": %q}`, intent))
	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || code != http.StatusCreated {
		h.Fatalf("%d %s", code, body)
	}
	h.refs = append(h.refs, made.Ref)
}

// endpoints returns all paths of the HTTP API that need a key, with their methods, from its description,
// and those of other channels.
func endpoints(t *testing.T, ref string) (all [][2]string) {
	t.Helper()
	data, err := os.ReadFile("../../exchange/channel/httpapi/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(data, &api); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{exchange}", "home", "{ref}", ref, "{name}", "a.txt", "{id}", "x", "{actor}", "operator", "{verb}", "on")
	for path, methods := range api.Paths {
		for method, one := range methods {
			var about struct{ Security *[]json.RawMessage }
			if method == "parameters" || json.Unmarshal(one, &about) == nil && about.Security != nil {
				continue // parameters, and paths that need no key
			}
			all = append(all, [2]string{strings.ToUpper(method), fill.Replace(path)})
		}
	}
	return append(all, [2]string{"POST", "/mcp"}, [2]string{"GET", "/mcp"})
}

// Two homes share a NATS server, each with an account. Nothing that belongs to one of them reads or
// changes anything of the other: no key of an actor, over any path and channel, and no user of NATS. Both
// homes have the same id, so that no name alone separates them.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	kb, err := nats.NkeyOptionFromSeed(writeSeed(t, seedB))
	if err != nil {
		t.Fatal(err)
	}
	var o nats.Options
	if err := kb(&o); err != nil {
		t.Fatal(err)
	}
	server := natsserver.Start(t, natsserver.Options{Sync: "always", More: fmt.Sprintf(accounts, userA, o.Nkey)})
	a, b := startTenant(t, server, seedA), startTenant(t, server, seedB)
	a.ask(onlyA)
	for range 3 {
		b.ask(onlyB)
	}
	last := b.refs[len(b.refs)-1] // home A has no thread with this ref
	n := 0
	for _, e := range endpoints(t, b.refs[0]) {
		n++
		if code, body := b.call(a.key, e[0], e[1], "{}"); code != http.StatusUnauthorized || strings.Contains(body, onlyB) {
			t.Errorf("the key of A at B: %s %s: %d %s", e[0], e[1], code, body)
		}
	}
	if n < 35 {
		t.Errorf("%d paths were found", n)
	}
	a.findsNothing(last)
	a.connectsMQTT(b)
	a.seesNoStream(server, b)
	for _, ref := range b.refs {
		if code, body := b.call(b.key, http.MethodGet, "/api/v1/exchanges/home/requests/"+ref, ""); code != http.StatusOK || !strings.Contains(body, `"status":"pending"`) || !strings.Contains(body, onlyB) {
			t.Errorf("home B has lost %s: %d %s", ref, code, body)
		}
	}
}

// findsNothing looks for the threads of another home at this one.
func (h *tenant) findsNothing(ref string) {
	h.Helper()
	const x = "/api/v1/exchanges/home/"
	for _, e := range [][3]string{
		{"GET", x + "requests/" + ref, ""},
		{"PATCH", x + "requests/" + ref, `{"mess": [{"cancel": {}}]}`},
		{"GET", x + "requests/" + ref + "/thread", ""},
		{"GET", x + "requests/" + ref + "/attachments/a.txt", ""},
		{"PUT", x + "requests/" + ref + "/attachments/a.txt", "text"},
		{"GET", x + "export/" + ref, ""},
	} {
		if code, body := h.call(h.key, e[0], e[1], e[2]); code != http.StatusNotFound || strings.Contains(body, onlyB) {
			h.Errorf("home A for a thread of B: %s %s: %d %s", e[0], e[1], code, body)
		}
	}
	if code, body := h.call(h.key, http.MethodGet, x+"requests/"+h.refs[0], ""); code != http.StatusOK || !strings.Contains(body, onlyA) {
		h.Errorf("home A for its own thread: %d %s", code, body)
	}
	for path, has := range map[string]string{x + "requests": onlyA, x + "status": "pending", x + "executors": "", x + "keys": "operator", "/api/v1/home": "", "/api/v1/stream": "", x + "events?after=0": ""} {
		ctx, cancel := context.WithTimeout(h.Context(), 2*time.Second)
		code, body := h.within(ctx, path)
		cancel()
		if code != http.StatusOK || strings.Contains(body, onlyB) || !strings.Contains(body, has) {
			h.Errorf("home A: %s: %d %s", path, code, body)
		}
	}
}

// within reads a path with the own key until ctx ends.
func (h *tenant) within(ctx context.Context, path string) (int, string) {
	h.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.Fatalf("%s: %v", path, err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body) // a stream ends with ctx
	return res.StatusCode, string(data)
}

// connectsMQTT connects to the broker of another home, and to the own one, with the key of this home.
func (h *tenant) connectsMQTT(other *tenant) {
	h.Helper()
	for _, test := range []struct {
		at   *tenant
		want byte // return code of MQTT 3.1.1; 0 accepts
	}{{other, 5}, {h, 0}} {
		conn, err := net.Dial("tcp", test.at.mqtt)
		if err != nil {
			h.Fatal(err)
		}
		body := append([]byte("\x00\x04MQTT\x04\xc2\x00\x3c"), mqttText("operator")...)
		body = append(append(body, mqttText("operator")...), mqttText(h.key)...)
		if _, err := conn.Write(append([]byte{0x10, byte(len(body))}, body...)); err != nil || len(body) > 127 {
			h.Fatal(err, len(body))
		}
		answer := make([]byte, 4)
		_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = io.ReadFull(bufio.NewReader(conn), answer)
		if err != nil || answer[0] != 0x20 || (answer[3] == 0) != (test.want == 0) {
			h.Errorf("MQTT with the key of A: %x, %v; want code %d", answer, err, test.want)
		}
		_ = conn.Close() // the test has its answer
	}
}

func mqttText(s string) []byte { return append([]byte{0, byte(len(s))}, s...) }

// seesNoStream uses the user of this home at the NATS server, against everything of another home.
func (h *tenant) seesNoStream(server *natsserver.Server, other *tenant) {
	h.Helper()
	mine, theirs := natsUser(h.T, server, h.seed), natsUser(h.T, server, other.seed)
	ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
	defer cancel()
	js, err := jetstream.New(mine)
	if err != nil {
		h.Fatal(err)
	}
	of, err := jetstream.New(theirs)
	if err != nil {
		h.Fatal(err)
	}
	kv, err := of.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "secrets"})
	if err == nil {
		_, err = kv.PutString(ctx, "key", onlyB)
	}
	if err != nil {
		h.Fatal(err)
	}
	before := streamState(ctx, h.T, of, "mess_home")
	quick, end := context.WithTimeout(ctx, 5*time.Second)
	defer end()
	for _, subject := range []string{"$SYS.REQ.SERVER.PING.VARZ", "$SYS.REQ.ACCOUNT.B.CONNZ", "$JS.B.API.STREAM.NAMES", "$JS.B.API.STREAM.INFO.mess_home"} {
		if _, err := mine.RequestWithContext(quick, subject, nil); !errors.Is(err, nats.ErrNoResponders) {
			h.Errorf("%s: %v, want no responders", subject, err)
		}
	}
	heard, err := mine.SubscribeSync(">")
	if err != nil {
		h.Fatal(err)
	}
	for _, subject := range []string{"mess.home.t.x", "mess.home.d.x", "mess.home.k.x", "mess.home.f"} {
		_, _ = js.Publish(ctx, subject, []byte("{}")) // it reaches the stream of A alone
	}
	other.ask(onlyB)
	s, err := js.Stream(ctx, "mess_home")
	if err != nil {
		h.Fatal(err)
	}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		if m, err := s.GetMsg(ctx, seq); err == nil && bytes.Contains(m.Data, []byte(onlyB)) {
			h.Errorf("the stream of A has sequence %d of B: %s", seq, m.Data)
		}
	}
	if err := s.Purge(ctx); err != nil { // the own one
		h.Logf("purge: %v", err)
	}
	for _, one := range []struct {
		what string
		err  error
		want error
	}{
		{"the key-value bucket", second(js.KeyValue(ctx, "secrets")), jetstream.ErrBucketNotFound},
		{"deleting the bucket", js.DeleteKeyValue(ctx, "secrets"), jetstream.ErrBucketNotFound},
		{"the stream of the bucket", second(js.Stream(ctx, "KV_secrets")), jetstream.ErrStreamNotFound},
		{"purging it", js.DeleteStream(ctx, "KV_secrets"), jetstream.ErrStreamNotFound},
		{"a consumer of it", second(js.CreateConsumer(ctx, "KV_secrets", jetstream.ConsumerConfig{})), jetstream.ErrStreamNotFound},
	} {
		if !errors.Is(one.err, one.want) {
			h.Errorf("%s of home B: %v, want %v", one.what, one.err, one.want)
		}
	}
	blobs, err := js.ObjectStore(ctx, "mess_home_blobs")
	if err != nil {
		h.Fatal(err)
	}
	if list, err := blobs.List(ctx); !errors.Is(err, jetstream.ErrNoObjectsFound) {
		h.Errorf("the attachments of A: %v, %v", list, err)
	}
	for names := js.StreamNames(ctx); ; {
		name, ok := <-names.Name()
		if !ok {
			break
		}
		if strings.HasPrefix(name, "KV_") {
			h.Errorf("A sees the stream %s", name)
		}
	}
	if now := streamState(ctx, h.T, of, "mess_home"); now.FirstSeq != before.FirstSeq || now.Msgs < before.Msgs {
		h.Errorf("the stream of B was %+v, and is %+v", before, now)
	}
	for {
		m, err := heard.NextMsg(100 * time.Millisecond)
		if err != nil {
			break
		}
		if bytes.Contains(m.Data, []byte(onlyB)) {
			h.Errorf("A hears %s: %s", m.Subject, m.Data)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func streamState(ctx context.Context, t *testing.T, js jetstream.JetStream, name string) jetstream.StreamState {
	t.Helper()
	s, err := js.Stream(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State
}

func natsUser(t *testing.T, server *natsserver.Server, seed string) *nats.Conn {
	t.Helper()
	o, err := nats.NkeyOptionFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(server.URL(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func writeSeed(t *testing.T, seed string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "user.nk")
	if err := os.WriteFile(file, []byte(seed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
