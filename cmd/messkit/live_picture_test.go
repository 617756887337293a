package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/chromium"
)

// countingCamera is a camera in the network. It counts its pictures, and each has another color.
type countingCamera struct {
	*httptest.Server
	pictures atomic.Int64
}

func startCountingCamera(t *testing.T) *countingCamera {
	c := &countingCamera{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := c.pictures.Add(1)
		img := image.NewRGBA(image.Rect(0, 0, 1000, 600))
		for y := range 600 {
			for x := range 1000 {
				img.Set(x, y, color.RGBA{uint8(n * 40), uint8(x / 4), uint8(y / 3), 255})
			}
		}
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, nil); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write(b.Bytes()) // the program may have ended
	}))
	t.Cleanup(c.Close)
	return c
}

// rests waits until the camera takes no pictures.
func (c *countingCamera) rests(t *testing.T) {
	t.Helper()
	const quiet = 7 * time.Second // longer than the longest pause between two pictures
	since, last := time.Now(), c.pictures.Load()
	for end := time.Now().Add(patience); time.Since(since) < quiet; time.Sleep(50 * time.Millisecond) {
		if n := c.pictures.Load(); n != last {
			since, last = time.Now(), n
		}
		if time.Now().After(end) {
			t.Fatalf("the camera still takes pictures: %d", last)
		}
	}
}

// newer waits until the page shows pictures of the camera that it did not show before.
func (c *countingCamera) newer(p *chromium.Tab) {
	before := ""
	for range 3 {
		p.Until(fmt.Sprintf(`(() => { const e = document.querySelector(".live img"); return e?.naturalWidth === 800 && e.src.startsWith("blob:") && e.src !== %q })()`, before))
		p.Eval(`document.querySelector(".live img").src`, &before)
	}
}

// The page of a camera shows its live picture. The camera takes pictures while somebody watches, and
// only then: the end of the viewing, of the page, and a stop end that.
func TestLivePicture(t *testing.T) {
	if testing.Short() {
		t.Skip("this test needs a browser and the built program")
	}
	t.Parallel() // it mostly waits: for pictures that do not come
	c := startCountingCamera(t)
	file := filepath.Join(t.TempDir(), "camera.yaml")
	text := "devices:\n  door-cam: {driver: httpcam, mode: snapshot, url: " + c.URL + "/snapshot.jpg, sees: [front door], area: porch}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := startMesskitWith(t, []string{"--config", file}, inWindows)
	for _, size := range windowSizes {
		p := h.openHome(size.width, size.height)
		p.Until(tile("door-cam", "a"))
		p.Eval(tile("door-cam", "h3 a")+".click()", nil)
		p.Until(`document.querySelector('.device [data-live="off"]')`)
		before := c.pictures.Load()
		c.rests(t)
		if n := c.pictures.Load(); n != before {
			t.Errorf("%d pictures before anybody watches", n-before)
		}
		p.Click(".device [data-live]", "")
		c.newer(p)
		h.checkAccessibility(p, "live-"+size.name)
		h.checkWidths(p, "live-"+size.name, size.width, size.height)
		h.saveScreenshot(p, "live-"+size.name)

		// The end of the viewing ends the pictures, and so does another page.
		p.Click(".device [data-live]", "")
		p.Until(`document.querySelector('.device [data-live="off"]') && !document.querySelector(".live")`)
		c.rests(t)
		p.Click(".device [data-live]", "")
		c.newer(p)
		p.Click(".backhome a", "")
		c.rests(t)
		if faults := p.Faults(); len(faults) > 0 {
			t.Errorf("in the page: %q", faults)
		}
	}

	// Each viewing is one thread with a note of its end.
	threads := homeView{h, nil}.threads()
	if len(threads) != 4 {
		t.Errorf("%d threads for 4 viewings", len(threads))
	}
	thread := h.waitStatus(threads[0], "completed")
	if !strings.Contains(thread, "live picture from ") || !strings.Contains(thread, "it ended: the viewer has left") {
		t.Errorf("no note of the end in %s", thread)
	}

	// A stop ends the live picture, and there is no new one.
	p := h.openHome(1280, 800)
	p.Until(tile("door-cam", "a"))
	p.Eval(tile("door-cam", "h3 a")+".click()", nil)
	p.Click(".device [data-live]", "")
	c.newer(p)
	h.api(http.MethodPost, "/stop", `{"why":"smoke"}`)
	p.Until(`document.querySelector('.device [data-live="ended"]') && document.querySelector(".device").textContent.includes("smoke")`)
	c.rests(t)
	before := c.pictures.Load()
	p.Click(".device [data-live]", "")
	p.Until(`document.querySelector('.device [data-live="ended"]')`)
	if n := c.pictures.Load(); n != before {
		t.Errorf("%d pictures during the stop", n-before)
	}
}
