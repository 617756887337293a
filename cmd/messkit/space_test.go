package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// A full disk is not another messkit.
func TestHintWhereThereIsNoSpace(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("log: %w", syscall.ENOSPC), "no space left for /data"},
		{errors.Join(errors.New("log"), fmt.Errorf("write: %w", syscall.ENOSPC)), "no space left for /data"},
		{errors.New("locked"), "another messkit may use /data"},
	} {
		h, ok := errors.AsType[*hinted](notOpened(tt.err, "/data"))
		if !ok || !strings.Contains(h.hint, tt.want) {
			t.Errorf("notOpened(%v): %+v, want the hint %q", tt.err, h, tt.want)
		}
	}
}
