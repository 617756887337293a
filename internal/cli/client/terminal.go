package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/messkit/messkit/internal/cli/output"
)

// YesOrNo reads a confirmation. An empty text means no.
func YesOrNo(text string) (yes, ok bool) {
	switch strings.ToLower(text) {
	case "y", "yes":
		return true, true
	case "n", "no", "":
		return false, true
	}
	return false, false
}

// ReadYes asks the person at the terminal for yes or no. An empty line means no.
func ReadYes(a *output.Env, question string) (*bool, error) {
	in := bufio.NewReader(a.In)
	for {
		fmt.Fprintf(a.Out, "  %s [y/N] ", question)
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil, errors.New("no answer; messkit sent nothing")
		} else if err != nil {
			return nil, err
		}
		if yes, ok := YesOrNo(strings.TrimSpace(line)); ok {
			return &yes, nil
		}
		fmt.Fprintln(a.Out, "  write y or n")
	}
}

// ReadLine reads a line until ctx ends.
func ReadLine(ctx context.Context, r *bufio.Reader) (string, error) {
	k := keyboard{in: r, lines: make(chan typedLine, 1)}
	k.read(nil)
	select {
	case <-ctx.Done():
		return "", errors.New("nothing was written")
	case l := <-k.lines:
		if errors.Is(l.err, io.EOF) {
			return "", errors.New("the input ended before the last answer; messkit wrote nothing")
		}
		return l.text, l.err
	}
}
