package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// exampleLamp is a switch that prints.
type exampleLamp struct {
	drivers.Base
	acted chan bool
}

func (b *exampleLamp) Start() error { b.MarkStarted(); return nil }

func (b *exampleLamp) Halt() error { b.StopVerbs(); return nil }

func (b *exampleLamp) Switch(ctx context.Context, on bool) error {
	return b.Do(ctx, func(context.Context) error { b.acted <- on; return nil })
}

// An executor with one device, in the same process as its exchange. messkit.Run adds the stop,
// the watchdog, lockouts and receipts to these parts.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	quiet := slog.New(slog.DiscardHandler)
	x, err := exchange.Open(ctx, exchange.DefaultConfig(), memory.New(), time.Now, quiet)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer j.Close()

	lamp := &exampleLamp{Base: drivers.NewBase("lamp"), acted: make(chan bool, 1)}
	cfg := agent.DefaultConfig()
	cfg.ID = "desk"
	words := resolver.New(catalog.Default(), []resolver.Device{{Device: capabilities.Device{Name: "lamp", Label: "lamp", Class: "light"}, Driver: lamp}})
	a := agent.New(cfg, x.As(exchange.Actor{ID: "desk", Roles: exchange.ExecutorRole}, "local"), words,
		[]device.Device{{Name: "lamp", Driver: lamp}}, policy.New(settings.DefaultConfig(), time.Now, quiet), j, time.Now, quiet)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()

	anna := x.As(exchange.Actor{ID: "anna", Roles: exchange.Requester}, "local")
	if _, err := anna.Send(ctx, mess.Message{Items: []mess.Item{&mess.Request{Intent: "turn on the lamp"}}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("on:", <-lamp.acted)
	stop()
	fmt.Println(<-ended)
	// Output:
	// on: true
	// <nil>
}
