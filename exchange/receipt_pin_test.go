package exchange_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// The exchange pins the first receipt key of an executor. A registration with another key succeeds,
// keeps the pinned key, and logs a warning.
func TestReceiptKeysArePinned(t *testing.T) {
	const one, other = "xc3tBbVKfzdPiwGkF3CFsw/Pgkb0G52LEjmIQyphbFA=", "WlEPvHr0d5GdGvNtXYiJr+vFU36NHWB4kO1OjllmWdI="
	cfg, first := exchange.DefaultConfig(), map[string]string{}
	cfg.Pin = func(executor, key string) (string, error) {
		if first[executor] == "" {
			first[executor] = key
		}
		return first[executor], nil
	}
	var log strings.Builder
	x, err := exchange.Open(t.Context(), cfg, memory.New(), time.Now, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	register := func(key any) error {
		_, err := x.Post(t.Context(), exchange.Inbound{
			Actor: exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}, Channel: "test",
			Message: mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{
				ID: "pi", Capabilities: []mess.Capability{{ID: "switch"}}, Extra: mess.Object{{Key: receipt.KeyField, Value: key}},
			}}}},
		})
		return err
	}
	for _, key := range []string{one, other} {
		if err := register(key); err != nil {
			t.Fatal(err)
		}
		if got, _ := x.Executors()[0].Extra.Get(receipt.KeyField); got != one {
			t.Errorf("with %s it is held to %v, want %s", key, got, one)
		}
		if warned := strings.Contains(log.String(), "changed the key"); warned != (key == other) {
			t.Errorf("with %s the log is %q", key, log.String())
		}
	}
	for _, key := range []any{"short", true, one + "\n"} {
		if err := register(key); !errors.Is(err, mess.Invalid) {
			t.Errorf("the key %v: %v, want invalid", key, err)
		}
	}
}
