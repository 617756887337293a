package reference

import (
	"encoding/json"
	"testing"

	"github.com/messkit/messkit/mess"
)

// For any response of a server, the decoder does not panic, and every message keeps its
// position.
func FuzzLooseThread(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"ref":"a","status":"in-progress","executor_id":null,"created_at":1700000000,"updated_at":"2026-11-21T02:23:24+00:00"}`,
		`{"status":{"a":1},"messages":[{"from":"a","mess":[{"request":{"intent":"x"}}]},{"from":7,"mess":"hello"},{"mess":{"cancel":[]}},{}]}`,
		`{"messages":[{"mess":[{"v":"1.0.0"},{"status":{"code":"in-progress"}}]}],"priority":[],"created_at":-1e300}`,
		`{"messages":[{"mess":[{"status":[]},{"reply":{"confirm":"true"}},7,null,[[]]]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var l looseThread
		if json.Unmarshal(data, &l) != nil {
			return
		}
		is := l.thread()
		if len(is.Messages) != len(l.Messages) {
			t.Errorf("%d messages of %d", len(is.Messages), len(l.Messages))
		}
		r, _ := asked(is)
		_, _ = window(is, r)
		_ = begunBy(is, "a")
		_ = cancelledAfter(is, "a", len(is.Messages)+7)
		_, _ = lastStatusOf(is, "a", inCode(mess.Claimed))
	})
}
