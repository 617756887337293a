package homeassistant

import (
	"context"
	"io"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// publishImages publishes the images that Home Assistant itself has requested, without retain.
func (h *Publisher) publishImages(executor string, e exchange.Envelope, m mess.Message) {
	capability, device := deviceOf(e)
	if capability != "take-photo" || executor == "" {
		return
	}
	for _, item := range m.Items {
		for _, entry := range messeaf.Content(item) {
			media, ok := entry.Media()
			if !ok || entry.Type != "image" || media.File == "" {
				continue
			}
			name := h.cfg.Root.Home(slugOf(executor), keyOf("image", device))
			h.cfg.Start(func(ctx context.Context, to Broker) { h.publishImage(ctx, to, e.Ref, media.File, name) })
		}
	}
}

// publishImage publishes one image.
func (h *Publisher) publishImage(ctx context.Context, to Broker, ref, file, name string) {
	r, _, err := h.cfg.Exchange.Attachment(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, ref, file)
	if err != nil {
		h.cfg.Log.Debug("publishing an image failed", "ref", ref, "err", err)
		return
	}
	data, err := io.ReadAll(r)
	_ = r.Close() // it was open for reading only
	if err == nil {
		err = to.Publish(ctx, name, data, false)
	}
	if err != nil {
		h.cfg.Log.Debug("publishing an image failed", "ref", ref, "err", err)
	}
}
