package exchange_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// A requester and an executor in the same process as the exchange.
func Example() {
	ctx := context.Background()
	x, err := exchange.Open(ctx, exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	desk := x.As(exchange.Actor{ID: "desk", Roles: exchange.ExecutorRole}, "local")
	anna := x.As(exchange.Actor{ID: "anna", Roles: exchange.Requester}, "local")

	if _, err := desk.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "desk"}}}}); err != nil {
		fmt.Println(err)
	}
	answer, err := anna.Send(ctx, mess.Message{Items: []mess.Item{&mess.Request{Intent: "turn on the lamp"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ref := answer.Items[0].(*mess.Ack).Ref
	if _, err := desk.Send(ctx, mess.Message{Items: []mess.Item{&mess.Status{Re: mess.Refs{ref}, Code: mess.Claimed}}}); err != nil {
		fmt.Println(err)
	}
	thread, err := x.Thread(ctx, exchange.Actor{ID: "anna", Roles: exchange.Requester}, ref)
	fmt.Println(thread.Status, thread.Executor, err)
	// Output: claimed desk <nil>
}
