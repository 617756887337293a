// Package onvif takes images with ONVIF cameras. It requests the media service, the
// profiles and the address of the snapshot (GetCapabilities, GetProfiles, GetSnapshotUri;
// www.onvif.org, core and media specifications), and fetches the image from that address.
//
// Not supported: H.264 and H.265 streams, cameras without snapshots, camera movement (PTZ),
// events.
package onvif

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var _ drivers.Photographer = (*Camera)(nil)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "onvif", Class: "camera", About: "ONVIF camera: finds the address of its snapshot itself", Open: drivers.NewFactory(DefaultConfig, New), Discover: Discover}
}

// Camera is one camera.
type Camera struct {
	drivers.Passive
	cfg  Config
	web  *httpclient.Client // client for the host without a path
	path string             // path of the device service
	link *drivers.Connection
	now  func() time.Time
}

// New returns a camera for a valid configuration. It uses no network.
func New(env drivers.Env, cfg Config) (*Camera, error) {
	path := devicePath
	if u, err := url.Parse(cfg.URL); err == nil && strings.Trim(u.Path, "/") != "" {
		path = u.EscapedPath()
		u.Path, u.RawPath = "", ""
		cfg.URL = u.String()
	}
	client, err := httpclient.New(cfg.Config, "")
	if err != nil {
		return nil, err
	}
	return &Camera{Passive: drivers.NewPassive(env.Name), cfg: cfg, web: client, path: path, link: drivers.NewConnection(client.Host()), now: env.Now}, nil
}

// Connection returns the host of the device.
func (c *Camera) Connection() *drivers.Connection { return c.link }

// Photo takes an image.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, &c.Base, c.photo)
}

// photo requests the address each time, because it may contain a session.
func (c *Camera) photo(ctx context.Context) (drivers.Photo, error) {
	address, err := c.snapshotURI(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	client, path, err := c.at(address)
	if err != nil {
		return drivers.Photo{}, err
	}
	return client.Photo(ctx, httpclient.Call{Path: path, Accept: "image/jpeg"}, c.now(), "the snapshot is neither JPEG nor PNG; check its address in a browser")
}

// devicePath is the default path of the device service (core specification, §5.1.1), for a
// url without a path. Cameras with another path announce it.
const devicePath = "/onvif/device_service"

func (c *Camera) snapshotURI(ctx context.Context) (string, error) {
	login, err := c.login(ctx)
	if err != nil {
		return "", err
	}
	r, err := call(ctx, c.web, c.path, login(), `<GetCapabilities xmlns="`+deviceNS+`"><Category>Media</Category></GetCapabilities>`)
	if err != nil {
		return "", err
	}
	media, path, err := c.at(r.Body.Capabilities.Media)
	if err != nil {
		return "", fmt.Errorf("address of the media service: %w", err)
	}
	r, err = call(ctx, media, path, login(), `<GetProfiles xmlns="`+mediaNS+`"/>`)
	if err != nil {
		return "", err
	}
	token, err := c.choose(r.Body.Profiles.List)
	if err != nil {
		return "", err
	}
	r, err = call(ctx, media, path, login(), `<GetSnapshotUri xmlns="`+mediaNS+`"><ProfileToken>`+escaped(token)+`</ProfileToken></GetSnapshotUri>`)
	if err != nil {
		return "", err
	}
	uri := strings.TrimSpace(r.Body.Snapshot.URI)
	if uri == "" {
		return "", errors.New("the camera reports no snapshot address; use the driver httpcam with its stream")
	}
	return uri, nil
}

// login returns a function that makes login headers with the time of the camera, because
// the camera rejects other times.
func (c *Camera) login(ctx context.Context) (func() string, error) {
	account := c.web.Secrets().Account
	if account.User == "" {
		return func() string { return "" }, nil
	}
	asked := c.now()
	r, err := call(ctx, c.web, c.path, "", `<GetSystemDateAndTime xmlns="`+deviceNS+`"/>`)
	if err != nil {
		return nil, err
	}
	ahead := time.Duration(0)
	if t := r.Body.Time.UTC; t != nil {
		ahead = time.Date(t.Year, time.Month(t.Month), t.Day, t.Hour, t.Minute, t.Second, 0, time.UTC).Sub(asked)
	}
	return func() string { return header(account, c.now().Add(ahead)) }, nil
}

func (c *Camera) choose(list []profile) (token string, err error) {
	var names []string
	for _, p := range list {
		if p.Token != "" && (c.cfg.Profile == "" || c.cfg.Profile == p.Token || c.cfg.Profile == p.Name) {
			return p.Token, nil
		}
		names = append(names, p.Name)
	}
	if len(list) == 0 {
		return "", errors.New("the camera has no profile; create one for images in the camera, and check the permissions of the user")
	}
	return "", fmt.Errorf("the camera has no profile %q; its profiles: %q", c.cfg.Profile, names[:min(len(names), 20)])
}

// at returns a client for an address that the camera reports. The address must be on the
// same host, because no other host may get the password.
func (c *Camera) at(address string) (*httpclient.Client, string, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	home, _ := url.Parse(c.cfg.URL) // Validate has parsed it
	switch {
	case err != nil || !slices.Contains([]string{"http", "https"}, u.Scheme):
		return nil, "", errors.New("the camera reports an invalid address")
	case u.Hostname() != home.Hostname():
		return nil, "", fmt.Errorf("the camera refers to another host (%s), which does not get the password; if that is the camera, set url to it", u.Hostname())
	case home.Scheme == "https" && u.Scheme != "https":
		return nil, "", errors.New("the camera refers from https to http; enable or disable https for all services of the camera")
	}
	cfg := c.cfg.Config
	cfg.URL = (&url.URL{Scheme: u.Scheme, Host: u.Host}).String()
	client, err := httpclient.New(cfg, "")
	path := u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return client, path, err
}
