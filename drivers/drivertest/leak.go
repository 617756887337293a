package drivertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

func leavesNoGoroutine(ctx context.Context, b *bench) error {
	before := goroutines()
	d, err := b.started()
	if err != nil {
		return err
	}
	if err := errors.Join(b.checkVerbs(ctx, d), b.must("Halt", d.Halt)); err != nil {
		return err
	}
	left := b.waitForGoroutines(before)
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("%d goroutines remain:\n%s", len(left), strings.Join(left, "\n\n"))
}

// waitForGoroutines waits until there are no goroutines except those in before, or until the limit,
// and returns the stacks of the others. A goroutine may need a moment to end.
func (b *bench) waitForGoroutines(before map[string]string) []string {
	deadline := time.NewTimer(b.limit)
	defer deadline.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		left := since(before)
		if len(left) == 0 {
			return left
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return left
		}
	}
}

func since(before map[string]string) []string {
	var left []string
	for id, stack := range goroutines() {
		if _, ok := before[id]; !ok {
			left = append(left, stack)
		}
	}
	return left
}

// goroutines returns the stack of every goroutine by its number.
func goroutines() map[string]string {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	all := map[string]string{}
	for _, stack := range strings.Split(string(buf[:n]), "\n\n") {
		id, _, _ := strings.Cut(stack, " [") // "goroutine 7 [running]:"
		all[id] = stack
	}
	return all
}
