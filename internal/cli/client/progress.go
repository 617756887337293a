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

// barWidth is the width of the bar, in columns.
const barWidth = 20

// inPlace reports whether a message has progress alone, which the last line of the terminal
// shows.
func inPlace(m mess.Message) bool {
	for _, item := range m.Items {
		s, ok := item.(*mess.Status)
		if !ok || s.Code != mess.InProgress || s.Partial != nil {
			return false
		}
	}
	return len(m.Items) > 0
}

// redraws sends each second, and after a change of the terminal's size, to request a new drawing
// of the line. Without a terminal it never sends.
func (f *Follower) redraws() (<-chan struct{}, func()) {
	again, done := make(chan struct{}), make(chan struct{})
	if f.live == nil {
		return again, func() {}
	}
	resized, forget := terminal.Resized()
	tick := time.NewTicker(time.Second)
	go func() { // ends with stop
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

// draw shows the progress while no question is open.
func (f *Follower) draw() error {
	if f.live == nil || f.asking != nil {
		return nil
	}
	s, in := mess.LastStatus(f.thread.Messages)
	return f.live.Draw(progressLine(f.thread.Status, s, time.Since(f.began), output.TimeLeft(s, in.Received, time.Now())))
}

// progressLine returns one line: a bar for a known percentage, the elapsed time, the state, and
// the executor's text.
func progressLine(code mess.Code, s *mess.Status, elapsed time.Duration, left string) string {
	seconds := int(elapsed.Seconds())
	words := []string{fmt.Sprintf("%d:%02d", seconds/60, seconds%60), output.WithSpaces(code)}
	if s != nil && s.Code == code {
		if s.ProgressPct != nil {
			words = slices.Insert(words, 0, fmt.Sprintf("%s %3.0f %%", terminal.Bar(*s.ProgressPct/100, barWidth), *s.ProgressPct))
		}
		words = append(words, output.NonEmpty(s.Message, left)...)
	}
	return "  " + strings.Join(words, "  ")
}
