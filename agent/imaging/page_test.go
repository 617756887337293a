package imaging_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// looks captures one image with a camera whose server answers with the results of next.
func looks(t *testing.T, next func() []byte) (unseen string, takes int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := imaging.NewCameras(picture.Fit, time.Now)
		s, err := r.Capture(t.Context(), "cam", picture.Limits{}, func(context.Context) (drivers.Photo, error) {
			takes++
			return drivers.Photo{Data: next(), MIME: "image/jpeg", CapturedAt: time.Now()}, nil
		})
		if err != nil {
			t.Error(err)
		}
		unseen = s.NothingVisible
	})
	return unseen, takes
}

// A page that a server sends instead of an image is no evidence, for any appearance and without
// a configured placeholder.
func TestPageImageIsNoEvidence(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	pages := drawnPages()
	if len(pages) != 30 {
		t.Fatalf("there are %d pages, want 30", len(pages))
	}
	plain := 0
	for _, p := range pages {
		data := p.JPEG()
		unseen, _ := looks(t, func() []byte { return data })
		if unseen == "" {
			t.Errorf("%s counts as a picture", p.Name)
		}
		if strings.Contains(unseen, "text on a plain background") {
			plain++
		}
	}
	if plain < 23 { // the others are smooth, and do not change
		t.Errorf("the structure of %d pages gives them away, want 23", plain)
	}
}

// Scenes count as images, also at night, in fog, and with strong compression; two in two
// hundred may fail.
func TestScenesCountAsImages(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	refused, more := 0, 0
	for n := range 200 {
		p, r := drawnScene(n), rand.New(rand.NewPCG(uint64(n), 1))
		unseen, takes := looks(t, func() []byte { return p.Again(r).JPEG() })
		if unseen != "" {
			refused++
			t.Logf("%s, quality %d: %s", p.Name, p.Quality, unseen)
		}
		if takes > 1 {
			more++
		}
	}
	t.Logf("%d refused, %d looked at twice", refused, more)
	if refused > 2 {
		t.Errorf("%d of 200 scenes do not count as pictures", refused)
	}
}

// A hanging camera repeats its last image; that is no evidence after an act.
func TestHangingCameraIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := drawnPages()[23] // smooth, and without words on a plain ground
		data := p.JPEG()
		r := imaging.NewCameras(picture.Fit, time.Now)
		for range 2 {
			s, err := r.Capture(t.Context(), "cam", picture.Limits{}, func(context.Context) (drivers.Photo, error) {
				return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: time.Now()}, nil
			})
			if err != nil || s.NothingVisible == "" {
				t.Errorf("%q, %v: it counts as a new picture", s.NothingVisible, err)
			}
			time.Sleep(time.Hour)
		}
	})
}
