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

// onlineHeader is a header that ustreamer adds to snapshots, and to frames with
// ?extra_headers=1.
const onlineHeader = "X-Ustreamer-Online"

// stateBytes is far above the size of /state: 250 bytes and one line for each client.
const stateBytes = 256 << 10

// errOffline reports that the server sends a placeholder.
var errOffline = errors.New("the server has no camera and sends a placeholder; check that the camera is connected there")

func checkOnline(value string) error {
	if strings.EqualFold(value, "false") {
		return errOffline
	}
	return nil
}

// stateOf returns the address of the state of the server that sent resp, or nil. It
// recognizes ustreamer by its headers or by the cookie of its stream.
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

// online requests ustreamer's /state and returns an error if it has no camera. It does
// nothing if u is nil.
func (f *fetcher) online(ctx context.Context, u *url.URL) error {
	if u == nil {
		return nil
	}
	resp, err := f.get(ctx, u)
	if err != nil {
		return fmt.Errorf("state of the camera: %w (state_url: off disables this request)", err)
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
		return fmt.Errorf("%s has no result.source.online; set state_url to ustreamer's /state, or to off", shown(u))
	}
	if !*state.Result.Source.Online {
		return errOffline
	}
	return nil
}
