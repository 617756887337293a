package all_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/internal/strictyaml"
)

// readers lists each driver that reads HTTP answers, with a verb that reads one. A new
// driver of this type needs an entry here.
var readers = []struct {
	name, driver, config string
	follows              bool // the driver follows redirects
	believes             bool // the driver accepts a status of 200 with any body, because a readback follows
	ask                  func(context.Context, drivers.Device) error
}{
	{"httpcam picture", "httpcam", "username: user\npassword: sesame\nmode: snapshot", true, false, photo},
	{"httpcam stream", "httpcam", "username: user\npassword: sesame\nmode: stream", true, false, photo},
	{"onvif", "onvif", "username: user\npassword: sesame", false, false, photo},
	{"homeassistant state", "homeassistant", "token: sesame\nlive: false\nentity: switch.pump\nsafe: keep", false, false, func(ctx context.Context, d drivers.Device) error {
		_, err := d.(drivers.SwitchReader).On(ctx)
		return err
	}},
	{"homeassistant call", "homeassistant", "token: sesame\nlive: false\nentity: switch.pump\nsafe: keep", false, false, turn},
	{"homeassistant camera", "homeassistant", "token: sesame\nlive: false\nentity: camera.door", false, false, photo},
	{"httpdevice read", "httpdevice", "username: admin\npassword: sesame\nfamily: shelly-gen2\nsafe: keep", false, false, measure},
	{"httpdevice call", "httpdevice", "username: admin\npassword: sesame\nfamily: shelly-gen2\nsafe: keep", false, true, turn},
	{"moonraker", "printer", "token: sesame\nserver: moonraker\nsafe: keep", false, false, observe},
	{"octoprint", "printer", "token: sesame\nserver: octoprint\nsafe: keep", false, false, observe},
	{"prusalink", "printer", "token: sesame\nserver: prusalink\nsafe: keep", false, false, observe},
	{"valetudo", "valetudo", "username: user\npassword: sesame\nsafe: keep", false, false, observe},
	{"valetudo map", "valetudo", "username: user\npassword: sesame\nsafe: keep", false, false, func(ctx context.Context, d drivers.Device) error {
		_, err := d.(drivers.Mapper).Map(ctx)
		return err
	}},
	{"valetudo rooms", "valetudo", "username: user\npassword: sesame\nsafe: keep", false, false, func(ctx context.Context, d drivers.Device) error {
		_, err := d.(drivers.AreaLister).Areas(ctx)
		return err
	}},
}

func photo(ctx context.Context, d drivers.Device) error {
	_, err := d.(drivers.Photographer).Photo(ctx)
	return err
}

func turn(ctx context.Context, d drivers.Device) error { return d.(drivers.Switch).Switch(ctx, true) }

func measure(ctx context.Context, d drivers.Device) error {
	_, err := d.(drivers.Sensor).Read(ctx)
	return err
}

func observe(ctx context.Context, d drivers.Device) error {
	_, err := d.(drivers.Observer).Observe(ctx)
	return err
}

// mostBytes is the largest number of bytes that a server may send during one verb: an image
// and the socket buffers of two hosts.
const mostBytes = 48 << 20

// hostile lists servers with invalid answers. sent counts the bytes that they have sent.
var hostile = map[string]func(w http.ResponseWriter, r *http.Request, sent *atomic.Int64, elsewhere string){
	"a body without end": func(w http.ResponseWriter, _ *http.Request, sent *atomic.Int64, _ string) {
		flood(w, bytes.Repeat([]byte("[[[[[[[["), 1<<13), sent)
	},
	"a picture without end": func(w http.ResponseWriter, _ *http.Request, sent *atomic.Int64, _ string) {
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write([]byte("\xff\xd8\xff\xe0"))
		flood(w, bytes.Repeat([]byte{0}, 1<<16), sent)
	},
	"a stream that has no frame": func(w http.ResponseWriter, _ *http.Request, sent *atomic.Int64, _ string) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
		flood(w, bytes.Repeat([]byte("--frame\r\nX: y\r\n"), 1<<12), sent)
	},
	"headers without end": func(w http.ResponseWriter, _ *http.Request, sent *atomic.Int64, _ string) {
		conn, out, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = out.WriteString("HTTP/1.1 200 OK\r\n")
		flood(out, bytes.Repeat([]byte("X-A: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n"), 1<<10), sent)
	},
	"an answer that never ends": func(w http.ResponseWriter, r *http.Request, _ *atomic.Int64, _ string) {
		w.Header().Set("Content-Type", "image/jpeg")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte("\xff\xd8\xff\xe0"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	},
	"no answer": func(_ http.ResponseWriter, r *http.Request, _ *atomic.Int64, _ string) {
		<-r.Context().Done()
	},
	"many bytes in few": func(w http.ResponseWriter, _ *http.Request, _ *atomic.Int64, _ string) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb())
	},
	"a redirect to another": func(w http.ResponseWriter, r *http.Request, _ *atomic.Int64, elsewhere string) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusFound)
	},
	"a log-in at another": func(w http.ResponseWriter, r *http.Request, _ *atomic.Int64, elsewhere string) {
		http.Redirect(w, r, elsewhere+"/login", http.StatusTemporaryRedirect)
	},
	"a redirect to itself": func(w http.ResponseWriter, r *http.Request, _ *atomic.Int64, _ string) {
		http.Redirect(w, r, r.URL.Path, http.StatusMovedPermanently)
	},
	"a challenge without end": func(w http.ResponseWriter, _ *http.Request, _ *atomic.Int64, _ string) {
		w.Header().Set("WWW-Authenticate", `Digest realm="a", nonce="b", qop="auth", stale=true`)
		w.WriteHeader(http.StatusUnauthorized)
	},
}

func flood(w interface{ Write([]byte) (int, error) }, data []byte, sent *atomic.Int64) {
	for sent.Load() < 4*mostBytes {
		n, err := w.Write(data)
		sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// bomb is a compressed list of 64 million zeros in some 60 kilobytes.
var bomb = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for range 64 {
		_, _ = z.Write(bytes.Repeat([]byte("0,"), 1<<19))
	}
	_ = z.Close() // a write to a buffer cannot fail
	return b.Bytes()
})

// No server makes a driver read forever, wait forever, or send a secret to another host.
// Each case ends with an error that names the device and contains no secret.
func TestHostileServers(t *testing.T) {
	for _, c := range readers {
		for what, serve := range hostile {
			t.Run(c.name+"/"+what, func(t *testing.T) {
				t.Parallel()
				var visits, asked, sent atomic.Int64
				other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					visits.Add(1)
					if text := fmt.Sprint(r.Header, r.URL); strings.Contains(text, "sesame") || r.Header.Get("Authorization") != "" {
						t.Errorf("the other server received the secret: %s", text)
					}
					w.Header().Set("WWW-Authenticate", `Basic realm="a"`)
					w.WriteHeader(http.StatusUnauthorized)
				}))
				t.Cleanup(other.Close)
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice that the client has closed the connection
					serve(w, r, &sent, other.URL)
				}))
				t.Cleanup(server.Close)
				timeout := "20s"
				if strings.Contains(what, "never") || what == "no answer" {
					timeout = "200ms"
				}
				err := answered(t, c.driver, "url: "+server.URL+"/x\ntimeout: "+timeout+"\n"+c.config, c.ask)
				switch {
				case err == nil && c.believes && what == "many bytes in few": // which the driver has not decompressed
				case err == nil:
					t.Error("the driver accepts a hostile answer, want an error")
				case !strings.HasPrefix(err.Error(), "it: "):
					t.Errorf("an error without the device's name: %v", err)
				case strings.Contains(err.Error(), "sesame"), len(err.Error()) > 1000:
					t.Errorf("%d bytes: %.2000v", len(err.Error()), err)
				}
				if n := sent.Load(); n > mostBytes {
					t.Errorf("the driver has read %d MB", n>>20)
				}
				if n := asked.Load(); n > 12 {
					t.Errorf("the driver sent %d requests, want 12 at most", n)
				}
				if n := visits.Load(); n > 0 && !c.follows {
					t.Errorf("another server was asked %d times", n)
				}
			})
		}
	}
}

// answered opens a device and calls one verb.
func answered(t *testing.T, driver, config string, ask func(context.Context, drivers.Device) error) error {
	t.Helper()
	kinds := all.Kinds()
	kind := kinds[slices.IndexFunc(kinds, func(k drivers.Kind) bool { return k.Name == driver })]
	env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	d, err := kind.Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(config), out) })
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Halt() }) // an error has no reader here
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err = ask(ctx, d)
	if ctx.Err() != nil {
		t.Errorf("the driver waits for longer than its timeout: %v", err)
	}
	return err
}
