package picture_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/disintegration/imaging"

	"github.com/messkit/messkit/internal/picture"
)

// judged returns results of Fit for pictures of each way and kind, by name. It makes them once.
func judged(t *testing.T) map[string]picture.Picture {
	t.Helper()
	if allJudged == nil {
		allJudged = judge(t)
	}
	return allJudged
}

var allJudged map[string]picture.Picture

func judge(t *testing.T) map[string]picture.Picture {
	t.Helper()
	out := map[string]picture.Picture{}
	for _, size := range []image.Point{{1, 1}, {9, 300}, {333, 251}, {640, 480}} {
		img := scene(size.X, size.Y, 14)
		gray := as(image.NewGray(img.Bounds()), img)
		for name, data := range map[string][]byte{
			"photo": jpegOf(t, img, 96), "gray": jpegOf(t, gray, 96), "png": pngOf(t, as(image.NewNRGBA64(img.Bounds()), img)),
			"turned": withEXIF(jpegOf(t, img, 96), 6, littleEndian), "drawn": pngOf(t, screen(size.X, size.Y)),
		} {
			for _, lim := range []picture.Limits{{MaxBytes: 5 << 10}, {MaxBytes: 30_000}, {MaxPx: 100}, {MaxBytes: 5 << 20}} {
				p, _ := fit(t, data, lim)
				out[fmt.Sprintf("%s %v %+v", name, size, lim)] = p
			}
		}
	}
	for _, name := range []string{"progressive.jpg", "422.jpg", "1x4.jpg", "restarts.jpg", "cmyk.jpg", "lossy.webp"} {
		for _, lim := range []picture.Limits{{}, {MaxPx: 30}} {
			p, _ := fit(t, fixture(t, name), lim)
			out[fmt.Sprintf("%s %+v", name, lim)] = p
		}
	}
	return out
}

// screen draws a picture of lines of one color, and letters.
func screen(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.RGBA{250, 250, 250, 255}
			if y < h/4 && x < w/4 {
				c = color.RGBA{230, 20, 20, 255}
			} else if (x*7+y*13)%29 == 0 && y%20 < 9 {
				c = color.RGBA{20, 20, uint8(x), 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func TestLibjpegReadsResult(t *testing.T) {
	if testing.Short() {
		t.Skip("a quick run makes few pictures")
	}
	if _, err := exec.LookPath("djpeg"); err != nil {
		t.Skip("SKIP: djpeg is not there (apt-get install libjpeg-turbo-progs)")
	}
	for name, p := range judged(t) {
		if p.MIME != "image/jpeg" {
			continue
		}
		cmd := exec.Command("djpeg", "-ppm")
		var out, stderr bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p.Data), &out, &stderr
		if err := cmd.Run(); err != nil || stderr.Len() > 0 {
			t.Errorf("%s: djpeg: %v, %s", name, err, stderr.Bytes())
		}
		if want := fmt.Sprintf("%d %d\n", p.Width, p.Height); !bytes.Contains(out.Bytes()[:min(out.Len(), 20)], []byte(want)) {
			t.Errorf("%s: size from djpeg is %q, want %q", name, out.Bytes()[:min(out.Len(), 20)], want)
		}
	}
}

// page is a page whose script reports, for each picture, the size and the mean of red.
const page = `<body>%s<script>
onload = () => {
  const lines = [];
  for (const i of document.images) {
    if (!i.naturalWidth) { lines.push(i.alt + '=broken'); continue; }
    const c = document.createElement('canvas'), x = c.getContext('2d');
    c.width = i.naturalWidth; c.height = i.naturalHeight;
    x.drawImage(i, 0, 0);
    const d = x.getImageData(0, 0, c.width, c.height).data;
    let sum = 0;
    for (let k = 0; k < d.length; k += 4) sum += d[k];
    lines.push(i.alt + '=' + c.width + 'x' + c.height + '=' + Math.round(sum * 4 / d.length));
  }
  document.body.textContent = lines.join(';') + ';' + 'done'.toUpperCase();
};
</script></body>`

func TestChromiumReadsResult(t *testing.T) {
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("SKIP: chromium is not there (apt-get install chromium)")
	}
	all := judged(t)
	var names, tags []string
	for name, p := range all {
		tags = append(tags, fmt.Sprintf(`<img alt="%d" src="data:%s;base64,%s">`, len(names), p.MIME, base64.StdEncoding.EncodeToString(p.Data)))
		names = append(names, name)
	}
	file := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(file, fmt.Appendf(nil, page, strings.Join(tags, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=60000", "--dump-dom", "file://"+file).Output()
	if err != nil || !bytes.Contains(out, []byte(";DONE")) {
		t.Fatalf("chromium: %v, %.300s", err, out)
	}
	seen := 0
	for _, m := range regexp.MustCompile(`(\d+)=(broken|\d+x\d+)=?(\d*);`).FindAllStringSubmatch(string(out), -1) {
		i, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		p := all[names[i]]
		seen++
		if want := fmt.Sprintf("%dx%d", p.Width, p.Height); m[2] != want {
			t.Errorf("%s: size from chromium is %s, want %s", names[i], m[2], want)
			continue
		}
		if got, err := strconv.Atoi(m[3]); err != nil || got-redness(t, p.Data) > 3 || redness(t, p.Data)-got > 3 {
			t.Errorf("%s: chromium sees a red of %s, want %d", names[i], m[3], redness(t, p.Data))
		}
	}
	if seen != len(all) {
		t.Errorf("chromium saw %d of %d pictures", seen, len(all))
	}
}

// redness returns the mean of a picture's red.
func redness(t *testing.T, data []byte) int {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	m, sum := imaging.Clone(img), 0
	for i := 0; i < len(m.Pix); i += 4 {
		sum += int(m.Pix[i])
	}
	return (sum + len(m.Pix)/8) / (len(m.Pix) / 4)
}
