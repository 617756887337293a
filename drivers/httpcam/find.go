package httpcam

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/drivers"
)

// server is a camera server that may run on this machine, where it is by
// default.
type server struct {
	name  string
	probe string // what is asked for
	is    func(*http.Response) bool
	url   string // what the driver is to use
}

var servers = []server{
	{"ustreamer", "http://127.0.0.1:8080/state", isUstreamer, "http://127.0.0.1:8080/snapshot"},
	{"motion", "http://127.0.0.1:8081/", isStream, "http://127.0.0.1:8081/"},
}

// Find looks for camera servers on this machine.
func Find(ctx context.Context) []drivers.Found { return find(ctx, servers) }

func find(ctx context.Context, servers []server) []drivers.Found {
	found := make([]drivers.Found, len(servers))
	var g errgroup.Group
	for i, s := range servers {
		g.Go(func() error {
			if s.there(ctx) {
				found[i] = drivers.Found{Name: s.name + "-camera", Where: s.name + " at " + s.url, Config: map[string]string{"url": s.url}}
			}
			return nil
		})
	}
	_ = g.Wait() // no server is no error
	list := found[:0]
	for _, f := range found {
		if f.Name != "" {
			list = append(list, f)
		}
	}
	return list
}

func (s server) there(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.probe, nil)
	if err != nil {
		return false
	}
	t := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10} // and no proxy: it is here
	res, err := t.RoundTrip(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK && s.is(res)
}

// isUstreamer looks for what ustreamer's /state has: {"ok": true, "result":
// {"encoder": {...}, "source": {"online": ...}}}.
func isUstreamer(res *http.Response) bool {
	var v struct {
		OK     bool `json:"ok"`
		Result struct {
			Source struct {
				Online *bool `json:"online"`
			} `json:"source"`
		} `json:"result"`
	}
	err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&v)
	return err == nil && v.OK && v.Result.Source.Online != nil
}

func isStream(res *http.Response) bool {
	return strings.HasPrefix(res.Header.Get("Content-Type"), "multipart/x-mixed-replace")
}
