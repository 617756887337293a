package httpcam

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// onlineHeader is what ustreamer adds to snapshots, and to frames with
// ?extra_headers=1.
const onlineHeader = "X-Ustreamer-Online"

// stateBytes is far above what /state has: 250 bytes and one line a client.
const stateBytes = 256 << 10

// errOffline: the server answers, but with a placeholder.
var errOffline = errors.New("the server runs, but its camera is gone, and it sends a placeholder; is the camera plugged in there?")

func checkOnline(value string) error {
	if strings.EqualFold(value, "false") {
		return errOffline
	}
	return nil
}

// stateOf returns the address to ask about the server that gave resp; nil for
// none. ustreamer is known by its headers, or by the cookie of its stream.
func (c Config) stateOf(resp *http.Response) (*url.URL, error) {
	switch {
	case c.StateURL == Off:
		return nil, nil
	case c.StateURL != "":
		return url.Parse(c.StateURL)
	case resp.Header.Get(onlineHeader) != "" || !fromUstreamer(resp.Header):
		return nil, nil
	}
	return resp.Request.URL.Parse("state")
}

func fromUstreamer(h http.Header) bool {
	for key := range h {
		if strings.HasPrefix(key, "X-Ustreamer-") {
			return true
		}
	}
	return slices.ContainsFunc(h.Values("Set-Cookie"), func(c string) bool { return strings.HasPrefix(c, "stream_client=") })
}

// online asks ustreamer's /state whether it has a camera. A nil u is not asked.
func (f *fetcher) online(ctx context.Context, u *url.URL) error {
	if u == nil {
		return nil
	}
	resp, err := f.get(ctx, u)
	if err != nil {
		return fmt.Errorf("whether the camera is online: %w (state_url: off does without)", err)
	}
	defer drain(resp)
	var state struct {
		Result struct {
			Source struct {
				Online *bool `json:"online"`
			} `json:"source"`
		} `json:"result"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, stateBytes)).Decode(&state)
	if err != nil || state.Result.Source.Online == nil {
		return fmt.Errorf("%s does not say result.source.online; set state_url to ustreamer's /state, or to off", shown(u))
	}
	if !*state.Result.Source.Online {
		return errOffline
	}
	return nil
}
