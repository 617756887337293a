package safety

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// stopAll stops every executor of an exchange, and prints the confirmations.
func stopAll(ctx context.Context, a *output.Env, k *client.Client, reason string) error {
	return k.Call(func(x *httpclient.Client) error {
		answer, err := x.Send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Stop: &mess.Stop{Reason: reason}}}})
		if err != nil {
			return err
		}
		s, ok := stopTaken(answer)
		if !ok {
			return errors.New("the exchange does not know how to stop; messkit stop works at each executor's own place")
		}
		executors, err := awaitConfirmed(ctx, x, s.ID)
		if err != nil {
			return err
		}
		return printStopped(a, executors, s)
	})
}

// stopTaken returns the stop in the exchange's answer.
func stopTaken(answer mess.Message) (mess.Stop, bool) {
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok && len(ack.Stops) > 0 {
			return ack.Stops[0], true
		}
	}
	return mess.Stop{}, false
}

// awaitConfirmed waits until all executors have confirmed a stop and their drivers have
// answered, at most ReportWithin.
func awaitConfirmed(ctx context.Context, x *httpclient.Client, id string) ([]httpclient.Executor, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(ReportWithin); ; {
		executors, err := x.Executors(ctx)
		open := slices.ContainsFunc(executors, func(e httpclient.Executor) bool { return awaits(e, id) || halts(e) })
		if err != nil || !open || time.Now().After(end) {
			return executors, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return executors, nil
		}
	}
}

// awaits reports whether an executor has not confirmed a stop.
func awaits(e httpclient.Executor, id string) bool {
	return slices.ContainsFunc(e.Stopping, func(s mess.Stop) bool { return s.ID == id })
}

// halts reports whether an executor has stopped and waits for the result of a driver.
func halts(e httpclient.Executor) bool {
	return e.Stopped != nil && slices.ContainsFunc(e.Stopped.Devices, func(d mess.SafeDevice) bool { return d.State == string(policy.StatePending) })
}

// printStopped prints for each executor whether it has stopped. It returns an error if one has
// not.
func printStopped(a *output.Env, executors []httpclient.Executor, s mess.Stop) error {
	p := output.Printer{Out: a.Out}
	var failed bool
	if s.Ending > 0 {
		p.Printf("%s that waited: still ending; none of them can begin\n", output.Count(int(s.Ending), "request"))
	}
	for _, e := range executors {
		switch {
		case !slices.Contains(s.Executors, e.ID):
		case awaits(e, s.ID):
			failed = true
			p.Printf("%s: has not confirmed it; it stops when it receives the stop\n", output.Printable(e.ID))
		case e.Stopped == nil:
			p.Printf("%s: has confirmed it, and has cleared it since\n", output.Printable(e.ID))
		default:
			failed = failed || output.CountSafe(*e.Stopped) < len(e.Stopped.Devices)
			p.Printf("%s: stopped; %s\n", output.Printable(e.ID), output.SafeDevices(*e.Stopped))
		}
	}
	if p.Err == nil && failed {
		return output.ErrQuiet
	}
	return p.Err
}
