package home_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// BenchmarkOneChange measures the memory for a request to one device and its cancel, until a follower
// has both events. The cost depends little on the number of the other devices.
func BenchmarkOneChange(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("devices=%d", n), func(b *testing.B) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			cfg := exchange.DefaultConfig()
			cfg.States = true
			x, err := exchange.Open(ctx, cfg, memory.New(), time.Now, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			go func() { _ = x.Run(ctx) }() // ends with ctx
			post := func(actor exchange.Actor, item string) mess.Ack {
				m, err := mess.ParseValidJSON([]byte(`{"MESS":[` + item + `]}`))
				if err != nil {
					b.Fatal(err)
				}
				answer, err := x.Post(ctx, exchange.Inbound{Actor: actor, Message: m})
				if err != nil {
					b.Fatal(err)
				}
				return mess.FirstAck(answer)
			}
			const each = 10 // devices of one executor
			for k := range n / each {
				var names, states []string
				for i := range each {
					name := fmt.Sprintf("lamp-%d", k*each+i)
					names = append(names, `"`+name+`"`)
					states = append(states, `{"device":"`+name+`","state":"on","area":"hall","readings":[{"quantity":"level","value":40,"unit":"%"}]}`)
				}
				vm := exchange.Actor{ID: fmt.Sprintf("vm-%d", k), Roles: exchange.ExecutorRole}
				post(vm, `{"config":{"executor":{"id":"`+vm.ID+`","capabilities":[{"switch-on":{"devices":[`+strings.Join(names, ",")+`]}}],"holding":[],"states":[`+strings.Join(states, ",")+`]}}}`)
			}
			events := make(chan home.Event, 16)
			go func() {
				_ = home.New(x, time.Now).Follow(ctx, operator, "", func(e home.Event) error { events <- e; return nil }) // ends with ctx
			}()
			<-events
			b.ReportAllocs()
			for b.Loop() {
				ref := post(operator, `{"request":{"intent":"turn on lamp 1","requires":[{"switch-on":{"devices":["lamp-1"]}}]}}`).Ref
				<-events
				post(operator, `{"cancel":{"re":"`+ref+`"}}`)
				<-events
			}
		})
	}
}
