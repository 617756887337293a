package mcp

import (
	"context"
	"errors"
	"io"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// Serve serves one client over a pair of streams, until the client closes its
// end or ctx ends. A line that is no message is answered with an error, and the
// session goes on.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		s.follow(ctx)
		return nil
	})
	to := &shared{WriteCloser: out}
	err := s.mcp.Run(ctx, &sdk.IOTransport{Reader: newLines(&ending{in, s.end}, to), Writer: to, MaxLineLength: -1}) // lines have their limit
	ended := ctx.Err() != nil
	cancel()
	_ = g.Wait() // it has no error
	if ended || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil // the client has gone
	}
	return err
}

// ending is an input at whose end nothing is waited for any more.
type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}
