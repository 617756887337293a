package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

var _ drivers.Photographer = (*camera)(nil)

// photoBytes is what a picture may have.
const photoBytes = 16 << 20

// camera is an entity that gives pictures.
type camera struct {
	drivers.Life
	entity *entity
	link   *drivers.Link
	turn   sync.Mutex // held by Start and Halt
	open   bool       // guarded by turn
}

func newCamera(name string, e *entity) *camera {
	return &camera{Life: drivers.NewLife(name), entity: e, link: drivers.NewLink(e.web.Host())}
}

// Connection is a Gobot adaptor that does nothing.
func (c *camera) Connection() gobot.Connection { return c.link }

// Class is what it is to a person.
func (c *camera) Class() string { return "camera" }

// Start makes it ready; Home Assistant is not asked.
func (c *camera) Start() error {
	c.turn.Lock()
	defer c.turn.Unlock()
	if h := c.entity.hub; h != nil && !c.open {
		h.open(c.entity.cfg.Entity)
		c.open = true
	}
	c.Opened()
	return nil
}

// Halt ends pictures that are under way.
func (c *camera) Halt() error {
	c.Closed()
	c.turn.Lock()
	defer c.turn.Unlock()
	if c.open {
		c.entity.hub.close(c.entity.cfg.Entity)
		c.open = false
	}
	return nil
}

// Area is where it is, as Home Assistant has it.
func (c *camera) Area() string {
	if c.entity.hub == nil {
		return ""
	}
	return c.entity.hub.area(c.entity.cfg.Entity)
}

// Photo takes a picture.
func (c *camera) Photo(ctx context.Context) (drivers.Photo, error) {
	ctx, done, err := c.Begin(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer done()
	p, err := c.entity.photo(ctx)
	switch {
	case ctx.Err() != nil:
		return drivers.Photo{}, c.Ended(ctx)
	case err != nil:
		return drivers.Photo{}, fmt.Errorf("%s: %w", c.Name(), err)
	}
	return p, nil
}

func (e *entity) photo(ctx context.Context) (drivers.Photo, error) {
	if _, err := e.state(ctx); err != nil {
		return drivers.Photo{}, err // it would give the picture that it had last
	}
	at := e.now()
	a, err := e.web.Do(ctx, web.Call{Path: "/api/camera_proxy/" + url.PathEscape(e.cfg.Entity), Max: photoBytes})
	if err != nil {
		return drivers.Photo{}, err
	}
	mime := http.DetectContentType(a.Body)
	if mime != "image/jpeg" && mime != "image/png" {
		return drivers.Photo{}, errors.New("it gives neither JPEG nor PNG; does it show in Home Assistant?")
	}
	return drivers.Photo{Data: a.Body, MIME: mime, CapturedAt: at}, nil
}
