package thread

import (
	"context"
	"errors"
)

// errLevel ends a feed when ReadAll has reached the present.
var errLevel = errors.New("level with the store")

// ReadAll calls fn with each change of a store after a position, up to the present. It returns the
// error of fn, of the store or of ctx.
func ReadAll(ctx context.Context, s Store, after Pos, fn func(Change) error) error {
	return readAll(ctx, s.Feed, after, fn)
}

// ReadEnvelopes works like ReadAll from the beginning of the feed. It may leave out what
// EnvelopeFeeder.FeedEnvelopes leaves out.
func ReadEnvelopes(ctx context.Context, s Store, fn func(Change) error) error {
	feed := s.Feed
	if f, ok := s.(EnvelopeFeeder); ok {
		feed = f.FeedEnvelopes
	}
	return readAll(ctx, feed, "", fn)
}

func readAll(ctx context.Context, feed func(context.Context, Pos, func(Change) error) error, after Pos, fn func(Change) error) error {
	err := feed(ctx, after, func(c Change) error {
		if err := fn(c); err != nil || !c.Level {
			return err
		}
		return errLevel
	})
	if errors.Is(err, errLevel) {
		return nil
	}
	return errors.Join(err, ctx.Err())
}
