package drivers_test

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

// lamp is a switch that prints.
type lamp struct{ drivers.Base }

func (l *lamp) Start() error { l.MarkStarted(); return nil }

func (l *lamp) Halt() error { l.StopVerbs(); fmt.Println("off, which is safe"); return nil }

func (l *lamp) Switch(ctx context.Context, on bool) error {
	return l.Do(ctx, func(context.Context) error { fmt.Println("on:", on); return nil })
}

func ExampleBase() {
	var d drivers.Switch = &lamp{drivers.NewBase("lamp")}
	fmt.Println(d.Switch(context.Background(), true))
	_ = d.(drivers.Device).Start()
	_ = d.Switch(context.Background(), true)
	_ = d.(drivers.Device).Halt()
	// Output:
	// lamp: not started; start it first
	// on: true
	// off, which is safe
}

func ExampleDecode() {
	cfg := struct {
		Pin   int    `yaml:"pin"`
		Level string `yaml:"level"`
	}{Level: "high"}
	fmt.Println(drivers.Decode("home.yaml", []byte("pin: 17"), &cfg), cfg.Pin, cfg.Level)
	fmt.Println(drivers.Decode("home.yaml", []byte("pim: 17"), &cfg))
	// Output:
	// <nil> 17 high
	// home.yaml:1: pim: unknown key (did you mean pin?); known keys: level, pin
}
