package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// barWidth is that of a bar, in columns.
const barWidth = 20

// inPlace reports whether a message tells nothing but how far the executor is,
// which the line at the end of the terminal shows.
func inPlace(m mess.Message) bool {
	for _, item := range m.Items {
		s, ok := item.(*mess.Status)
		if !ok || s.Code != mess.InProgress || s.Partial != nil {
			return false
		}
	}
	return len(m.Items) > 0
}

// redraws says when the line is to be drawn again: each second, and when the
// terminal has another size. It says nothing where there is none.
func (f *follower) redraws() (<-chan struct{}, func()) {
	again, done := make(chan struct{}), make(chan struct{})
	if f.live == nil {
		return again, func() {}
	}
	resized, forget := terminal.Resized()
	tick := time.NewTicker(time.Second)
	go func() { // until stop
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			case <-resized:
			}
			select {
			case again <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	return again, func() { close(done); tick.Stop(); forget() }
}

// draw shows how far it is, while nobody is asked anything.
func (f *follower) draw() error {
	if f.live == nil || f.asking != nil {
		return nil
	}
	s, in := output.LastStatus(f.thread.Messages)
	return f.live.Draw(progressLine(f.thread.Status, s, time.Since(f.began), output.TimeLeft(s, in.Received, time.Now())))
}

// progressLine is one line: a bar where it is known how much is done, how long it
// has taken, the state, and what the executor says.
func progressLine(code mess.Code, s *mess.Status, elapsed time.Duration, left string) string {
	seconds := int(elapsed.Seconds())
	words := []string{fmt.Sprintf("%d:%02d", seconds/60, seconds%60), output.InWords(code)}
	if s != nil && s.Code == code {
		if s.ProgressPct != nil {
			words = slices.Insert(words, 0, fmt.Sprintf("%s %3.0f %%", terminal.Bar(*s.ProgressPct/100, barWidth), *s.ProgressPct))
		}
		words = append(words, output.NonEmpty(s.Message, left)...)
	}
	return "  " + strings.Join(words, "  ")
}
