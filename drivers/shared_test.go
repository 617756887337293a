package drivers_test

import (
	"errors"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestSharedMakesOnce(t *testing.T) {
	var s drivers.Shared
	made := 0
	for range 3 {
		got, err := s.Get("bus", func() (any, error) { made++; return made, nil })
		if err != nil || got != 1 {
			t.Fatalf("Get = %v, %v, want 1", got, err)
		}
	}
}

func TestSharedTriesAgainAfterAnError(t *testing.T) {
	var s drivers.Shared
	absent := errors.New("no bus")
	if _, err := s.Get("bus", func() (any, error) { return nil, absent }); !errors.Is(err, absent) {
		t.Errorf("err = %v, want %v", err, absent)
	}
	if got, err := s.Get("bus", func() (any, error) { return 1, nil }); err != nil || got != 1 {
		t.Errorf("Get = %v, %v after the bus came", got, err)
	}
}
