package httpclient

import (
	"context"
	"encoding/json"
	"net/url"
	"time"
)

// History is the readings of a device.
type History struct {
	Device     string            `json:"device"` // EXECUTOR:DEVICE
	Step       string            `json:"step"`   // time between two points: 1m0s or 1h0m0s
	Quantities []QuantityHistory `json:"quantities"`
}

// QuantityHistory is the readings of one quantity. It has no point for a step without a reading.
type QuantityHistory struct {
	Quantity string  `json:"quantity"`
	Unit     string  `json:"unit,omitempty"`
	Points   []Point `json:"points"`
}

// Point is the readings within one step, in JSON a list: the begin in milliseconds since 1970, the
// last value, the least and the greatest.
type Point struct {
	At             time.Time
	Last, Min, Max float64
}

// MarshalJSON writes the list.
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([...]float64{float64(p.At.UnixMilli()), p.Last, p.Min, p.Max})
}

// UnmarshalJSON reads the list.
func (p *Point) UnmarshalJSON(data []byte) error {
	var list [4]float64
	if err := json.Unmarshal(data, &list); err != nil {
		return err
	}
	*p = Point{time.UnixMilli(int64(list[0])), list[1], list[2], list[3]}
	return nil
}

// History returns the readings of a device from a time on. device is EXECUTOR:DEVICE, or DEVICE if
// only one executor has it.
func (c *Client) History(ctx context.Context, device string, from time.Time) (h History, err error) {
	err = c.get(ctx, &h, url.Values{"from": {from.UTC().Format(time.RFC3339)}}, "devices", device, "history")
	return h, err
}
