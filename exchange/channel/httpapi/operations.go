package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/access"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/mess"
)

func (c *call) health() error {
	h := map[string]any{"status": "ok"}
	if c.cfg.Health != nil {
		h = c.cfg.Health()
	}
	h["service"], h["version"], h["exchange_id"] = "mess-exchange", c.cfg.Version, c.x.ID()
	c.writeJSON(http.StatusOK, h)
	return nil
}

// alive answers that the process lives. A supervisor starts the program again when it does not answer.
func (c *call) alive() error {
	c.writeText(http.StatusOK, "ok\n")
	return nil
}

// ready answers whether the program can serve now what it should, with the reasons why not.
func (c *call) ready() error {
	var why []string
	if c.cfg.Unready != nil {
		why = c.cfg.Unready(c.r.Context())
	}
	if one := c.x.Unready(); one != "" {
		why = append(why, one)
	}
	if len(why) > 0 {
		c.w.Header().Set("Retry-After", retryUnavailable)
		c.writeText(http.StatusServiceUnavailable, strings.Join(why, "\n")+"\n")
		return nil
	}
	c.writeText(http.StatusOK, "ok\n")
	return nil
}

// metrics returns the metrics in the text format of Prometheus. A local process of the exchange's user
// or of root needs no key; every other client needs one of an observer or operator.
func (c *call) metrics() error {
	here := false
	if c.r.Header.Get("Authorization") == "" {
		here, _ = c.isLocalUser() // an error of the system means no
	}
	if !here {
		if err := c.authenticate(c.x.ID()); err != nil {
			return err
		}
		if err := access.Check(c.actor, c.r.Method, "/metrics"); err != nil {
			return err
		}
	}
	var t metrics.Text
	c.x.WriteMetrics(&t)
	c.requests.Write(&t)
	if c.cfg.Metrics != nil {
		c.cfg.Metrics(&t)
	}
	c.writeFresh(http.StatusOK, metrics.ContentType, t.Bytes())
	return nil
}

// writeText answers with plain text, which no client keeps.
func (c *transport) writeText(code int, text string) {
	c.writeFresh(code, "text/plain; charset=utf-8", []byte(text))
}

// writeFresh answers with bytes that are other ones each time, so that they have no ETag.
func (c *transport) writeFresh(code int, mimeType string, data []byte) {
	h := c.w.Header()
	h["Content-Type"], h["Content-Length"] = []string{mimeType}, []string{strconv.Itoa(len(data))}
	c.w.WriteHeader(code)
	_, _ = c.w.Write(data) // the client has disconnected if it fails
}

// webhooks returns the delivery log.
func (c *call) webhooks() error {
	if c.cfg.Webhooks == nil {
		return errNoPath
	}
	c.writeJSON(http.StatusOK, map[string]any{"deliveries": c.cfg.Webhooks(c.actor)})
	return nil
}

// status returns the status of the program, for operators.
func (c *call) status() error {
	if c.cfg.Status == nil {
		return errNoPath
	}
	c.writeJSON(http.StatusOK, c.cfg.Status())
	return nil
}

// stop stops executors: {why, executors}, both optional. It returns when the stop is on the
// disk. GET executors shows who has confirmed it. There is no path that resets a stop.
func (c *call) stop() error {
	s, err := c.readStop()
	if err != nil {
		return err
	}
	answer, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Stop: &s}}})
	if err == nil {
		c.writeJSON(http.StatusAccepted, mess.FirstAck(answer).Stops[0])
	}
	return err
}

// readStop reads a stop. A long reason is no error.
func (c *requestBody) readStop() (s mess.Stop, err error) {
	data, yaml, err := c.readBody()
	switch {
	case err != nil || len(bytes.TrimSpace(data)) == 0:
		return s, err
	case !yaml:
		return s, hintYAML(mess.ReadJSON(data, &s))
	}
	body, err := mess.ParseObject(data)
	if err != nil {
		return s, err
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: "stop", Value: body}}}}})
	if err != nil {
		return s, err
	}
	return *m.Items[0].(*mess.Config).Stop, nil
}

// drain makes executors take no new tasks, and resume ends that: {why, executors}, both
// optional. It returns when the order is on the disk. GET executors shows the status of each
// executor.
func (c *call) drain() error {
	return c.order("hold", func(ack mess.Ack) any { return ack.Drain })
}

func (c *call) resume() error {
	return c.order("resume", func(ack mess.Ack) any { return ack.Resume })
}

// postOrder posts the body as an order to executors.
func (c *call) postOrder(name string) (mess.Ack, error) {
	body, err := c.readObject()
	if err != nil {
		return mess.Ack{}, err
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: name, Value: body}}}}})
	if err != nil {
		return mess.Ack{}, err
	}
	answer, err := c.post(m)
	if err != nil {
		return mess.Ack{}, err
	}
	return mess.FirstAck(answer), nil
}

// showHome returns the devices of all executors as one home.
func (c *call) showHome() error {
	d, err := c.home.Document(c.r.Context(), c.actor)
	if err != nil {
		return err
	}
	c.writeJSON(http.StatusOK, d)
	return nil
}

// point is a point of a chart: the begin in milliseconds since 1970, the last value, the least and the
// greatest.
type point [4]float64

// quantityHistory is the readings of one quantity.
type quantityHistory struct {
	Quantity string  `json:"quantity"`
	Unit     string  `json:"unit,omitempty"`
	Points   []point `json:"points"`
}

// floorMap answers with the map of a robot.
func (c *call) floorMap(id string) error {
	d, err := c.home.Device(id)
	if err != nil {
		return err
	}
	none := mess.Errorf(mess.NotFound, "map: the %s has no map here; its driver draws none, or its executor runs in another program", d.Name)
	if c.cfg.Map == nil {
		return none
	}
	m, err := c.cfg.Map(c.r.Context(), d.Executor, d.Device)
	switch {
	case err != nil:
		return mess.Errorf(mess.Unavailable, "map: %v", err)
	case m == nil:
		return none
	}
	c.writeJSON(http.StatusOK, m)
	return nil
}

// history returns the readings of a device from a time (24 hours ago) until another one (now).
func (c *call) history(id string) error {
	if c.cfg.History == nil {
		return errNoPath
	}
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	d, err := c.home.Device(id)
	if err != nil {
		return err
	}
	to := time.Now()
	from := to.Add(-24*time.Hour + time.Minute)
	for name, at := range map[string]*time.Time{"from": &from, "to": &to} {
		if text := q.Get(name); text != "" {
			if *at, err = mess.Time(text).Time(); err != nil {
				return mess.Errorf(mess.Invalid, "%s: %v", name, err)
			}
		}
	}
	step, all, err := c.cfg.History(d.Executor, d.Device, from, to)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(slices.Clone(all), func(s history.Series) bool {
		name := home.QuantityName(s.Quantity)
		return name != s.Quantity && slices.ContainsFunc(all, func(o history.Series) bool { return o.Quantity == name })
	})
	list := make([]quantityHistory, len(all))
	for i, s := range all {
		list[i] = quantityHistory{s.Quantity, s.Unit, make([]point, len(s.Points))}
		for k, p := range s.Points {
			list[i].Points[k] = point{float64(p.At.UnixMilli()), p.Last, p.Min, p.Max}
		}
	}
	c.writeJSON(http.StatusOK, map[string]any{
		"device": d.ID, "from": mess.TimeOf(from.UTC()), "to": mess.TimeOf(to.UTC()), "step": step.String(), "quantities": list,
	})
	return nil
}

// pastTasks returns the last threads of a device.
func (c *call) pastTasks(id string) error {
	d, list, err := c.home.Past(c.r.Context(), c.actor, id)
	if err != nil {
		return err
	}
	c.writeJSON(http.StatusOK, map[string]any{"device": d.ID, "tasks": list})
	return nil
}

// maxOrder is the limit of the arguments of a verb, in bytes.
const maxOrder = 4 << 10

// operate makes a request for a verb of a device. The body has the arguments.
func (c *call) operate(id, verb string) error {
	if err := c.checkLength(maxOrder); err != nil {
		return err
	}
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxOrder)
	args, err := c.readObject()
	if err != nil {
		return err
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	o, err := c.home.Order(c.actor, id, verb, args)
	if err != nil {
		return err
	}
	o.Request.ID = key
	ack, err := c.threadOf(o)
	if err != nil {
		return err
	}
	c.home.Made(o, ack.Ref)
	c.w.Header().Set("Location", base+c.x.ID()+"/requests/"+url.PathEscape(ack.Ref))
	c.writeJSON(http.StatusAccepted, map[string]any{"ref": ack.Ref, "status": ack.Status, "device": o.Device, "verb": o.Verb})
	return nil
}

// idempotencyKey returns the Idempotency-Key of a request, "" for none. It may have quotes.
func (c *transport) idempotencyKey() (string, error) {
	header := c.r.Header.Get("Idempotency-Key")
	key := strings.Trim(header, `"`)
	if header != "" && !mess.ValidID(key) {
		return "", mess.Errorf(mess.Invalid, "Idempotency-Key: %.60q is not a key; use letters, digits and . _ : @ -, at most 128", key)
	}
	return key, nil
}

// threadOf makes the thread of an order, or finds the one that the same Idempotency-Key has made.
func (c *call) threadOf(o *home.Order) (mess.Ack, error) {
	answer, err := c.postAllowed(mess.Message{Items: []mess.Item{&o.Request}}, true) // package home has allowed the order
	if err == nil {
		return mess.FirstAck(answer), nil
	}
	r, ok := errors.AsType[*mess.Error](err)
	if !ok || o.Request.ID == "" || !errors.Is(r, mess.Conflict) || r.Ref == "" {
		return mess.Ack{}, err
	}
	t, readErr := c.x.Thread(c.r.Context(), c.actor, r.Ref)
	if readErr != nil {
		return mess.Ack{}, readErr
	}
	if !o.IsRepeatOf(t.Request()) {
		return mess.Ack{}, err
	}
	return mess.Ack{Ref: t.Ref, Status: t.Status}, nil
}

// pictureBoundary separates the pictures of a live picture (RFC 2046 section 5.1.1).
const pictureBoundary = "messkit-picture"

// livePicture shows the live picture of a camera until the client disconnects, its key ends, the
// executor rejects a picture or the time of one viewing is over.
func (c *call) livePicture(id string) error {
	if c.r.Method != http.MethodGet {
		return &httpError{http.StatusMethodNotAllowed, "this path has no HEAD; it takes pictures"}
	}
	if err := c.moveToPool(true); err != nil {
		return err
	}
	ctx, cancel, out := c.openStream()
	defer cancel()
	view, err := c.live.Begin(ctx, c.actor, id, c.post)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", base+c.x.ID()+"/requests/"+url.PathEscape(view.Ref))
	c.setStreamHeader("multipart/x-mixed-replace; boundary=" + pictureBoundary)
	_ = out.send(nil) // the header; the next write notices a disconnect
	why := view.Stream(ctx, func(data []byte, mime string) error {
		part := fmt.Appendf(nil, "--%s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", pictureBoundary, mime, len(data))
		return out.send(append(append(part, data...), "\r\n"...))
	})
	if err := view.Close(why); err != nil {
		c.log().Warn("the thread of a live picture has no note of its end", "ref", view.Ref, "err", err)
	}
	if ctx.Err() == nil {
		_ = out.send([]byte("--" + pictureBoundary + "--\r\n")) // the client has gone if it fails
	}
	return nil
}
