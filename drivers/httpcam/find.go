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

// server describes a camera server that may run on this host at its default address.
type server struct {
	name  string
	probe string // address of the search request
	is    func(*http.Response) bool
	url   string // address for the driver
}

var servers = []server{
	{"ustreamer", "http://127.0.0.1:8080/state", isUstreamer, "http://127.0.0.1:8080/snapshot"},
	{"motion", "http://127.0.0.1:8081/", isStream, "http://127.0.0.1:8081/"},
}

// Find searches for camera servers on this host.
func Find(ctx context.Context) []drivers.FoundDevice { return find(ctx, servers) }

func find(ctx context.Context, servers []server) []drivers.FoundDevice {
	found := make([]drivers.FoundDevice, len(servers))
	var g errgroup.Group
	for i, s := range servers {
		g.Go(func() error {
			if s.there(ctx) {
				found[i] = drivers.FoundDevice{Name: s.name + "-camera", Where: s.name + " at " + s.url, Config: map[string]string{"url": s.url}}
			}
			return nil
		})
	}
	_ = g.Wait() // an absent server is not an error
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
	t := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10} // without a proxy, because the server is local
	res, err := t.RoundTrip(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK && s.is(res)
}

// isUstreamer checks for the structure of ustreamer's /state: {"ok": true, "result":
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
