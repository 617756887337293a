package mailbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Exchange is the actor id of the exchange (MESSE-AF 2.1, "Actor Types").
const Exchange = "exchange"

// Orders returns a message with only its orders: a stop, a drain and a resume. Each has an id. others
// is the number of items that it leaves out.
func Orders(m mess.Message) (_ mess.Message, others int) {
	var orders []mess.Item
	for _, item := range m.Items {
		cfg, ok := item.(*mess.Config)
		if !ok || cfg.Stop == nil && cfg.Drain == nil && cfg.Resume == nil {
			others++
			continue
		}
		if cfg.Stop != nil {
			cfg.Stop.ID = cmp.Or(cfg.Stop.ID, m.ID)
		}
		for _, h := range []*mess.DrainOrder{cfg.Drain, cfg.Resume} {
			if h != nil {
				h.ID = cmp.Or(h.ID, m.ID)
			}
		}
		orders = append(orders, &mess.Config{ID: cfg.ID, Stop: cfg.Stop, Drain: cfg.Drain, Resume: cfg.Resume})
	}
	m.Items = orders
	return m, others
}

// ExecutorOf returns the executor's own data in a message, or nil.
func ExecutorOf(m mess.Message) *mess.Executor {
	for _, item := range m.Items {
		if cfg, ok := item.(*mess.Config); ok && cfg.Executor != nil {
			return cfg.Executor
		}
	}
	return nil
}

// ReadFile reads a file of at most most bytes, and describes it for a message.
func ReadFile(name, mime string, data io.Reader, most int64) (mess.Media, []byte, error) {
	all, err := io.ReadAll(io.LimitReader(data, most+1))
	if err != nil {
		return mess.Media{}, nil, fmt.Errorf("%s: %w", name, err)
	}
	if int64(len(all)) > most {
		return mess.Media{}, nil, mess.Errorf(mess.TooLarge, "%s: larger than %d bytes, which is the most that this exchange takes", name, most)
	}
	sum, size := sha256.Sum256(all), int64(len(all))
	return mess.Media{File: messeaf.SafeName(name), MIME: mime, Size: &size, SHA256: hex.EncodeToString(sum[:])}, all, nil
}

// HasFile reports whether an answer is for the file with a digest.
func HasFile(answer mess.Message, sum string) bool {
	for _, item := range answer.Items {
		if a, ok := item.(*mess.Ack); ok {
			v, _ := a.Extra.Get("attachment")
			o, _ := v.(mess.Object)
			got, _ := o.Get("sha256")
			if got == sum {
				return true
			}
		}
	}
	return false
}

// Refusal returns the error in an answer; nil if it has none.
func Refusal(m mess.Message) error {
	if len(m.Items) != 1 {
		return nil
	}
	a, ok := m.Items[0].(*mess.Ack)
	if !ok {
		return nil
	}
	code, _ := a.Extra.Get("why")
	word, ok := code.(string)
	if !ok {
		return nil
	}
	text, _ := a.Extra.Get("error")
	holder, _ := a.Extra.Get("executor_id")
	r := &mess.Error{Code: mess.ErrorCode(word), Ref: a.Ref, Status: a.Status}
	r.Text, _ = text.(string)
	r.Holder, _ = holder.(string)
	legal, _ := a.Extra.Get("legal")
	list, _ := legal.([]any)
	for _, l := range list {
		if s, ok := l.(string); ok {
			r.Allowed = append(r.Allowed, mess.Code(s))
		}
	}
	return r
}
