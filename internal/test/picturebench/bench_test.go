// Package picturebench compares messkit picture fit with other programs, on the same photographs
// in one run: make bench-picture. It contains only tests.
package picturebench

import (
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/disintegration/imaging"
)

const budget = 512_000

// A method is a command that makes IN fit, as OUT.
type method struct {
	name    string
	command []string
}

// methods returns the usual methods. jpegoptim keeps all pixels. ImageMagick and sharp shrink to
// 2048 pixels, and search for the quality.
func methods(messkit, sharp string) []method {
	return []method{
		{"messkit", []string{messkit, "picture", "fit", "IN", "OUT"}},
		{"jpegoptim", []string{"sh", "-c", "exec jpegoptim -q -o --size=500 --stdout 'IN' > 'OUT'"}},
		{"ImageMagick, 2048", []string{"convert-im6.q16", "IN", "-auto-orient", "-strip", "-resize", "2048x2048>", "-define", "jpeg:extent=512000B", "OUT"}},
		{"sharp, 2048", []string{"node", sharp, "IN", "OUT", "2048", "0"}},
		{"sharp with mozjpeg, 2048", []string{"node", sharp, "IN", "OUT", "2048", "1"}},
	}
}

// cost contains the measurements of one run.
type cost struct {
	cpu, wall float64 // seconds
	memory    float64 // peak resident memory, MB
	bytes     float64
	quality   float64 // SSIMULACRA2

	megapixels float64 // of the photograph
}

// The limits for messkit.
const (
	cpuOfJpegoptim = 0.30
	cpuOfSharp     = 0.50
	mostMemory     = 60.0  // MB, for up to 24 megapixels, including the file
	mostOf48       = 120.0 // MB, for 48 megapixels
)

// Indexes of methods.
const (
	messkit = iota
	jpegoptim
	imageMagick
	sharp
	mozjpeg
)

func TestBenchPicture(t *testing.T) {
	binary, script := os.Getenv("MESSKIT_BENCH_PICTURE"), os.Getenv("MESSKIT_BENCH_SHARP")
	if binary == "" || script == "" {
		t.Skip("SKIP: a benchmark, of minutes; make bench-picture runs it")
	}
	dir := t.TempDir()
	all := methods(binary, script)
	var text strings.Builder
	for _, s := range collect(t, dir) {
		var rows [][]cost
		for _, name := range s.photos {
			rows = append(rows, photograph(t, all, name, dir))
		}
		text.WriteString(report(t, s, all, rows))
	}
	text.WriteString(of48(t, all[messkit], dir))
	t.Logf("\n%s", text.String())
	if doc := os.Getenv("MESSKIT_BENCH_DOC"); doc != "" {
		write(t, doc, text.String())
	}
}

// rounds is the number of runs of each method. The smallest time counts. The methods take turns,
// so that a busy machine affects them all.
const rounds = 2

// photograph measures all methods with one photograph.
func photograph(t *testing.T, all []method, name, dir string) []cost {
	t.Helper()
	costs := make([]cost, len(all))
	for round := range rounds {
		for i, m := range all {
			c := m.run(t, name, filepath.Join(dir, fmt.Sprint(i)))
			if round == 0 {
				costs[i] = c
			}
			costs[i].cpu, costs[i].wall, costs[i].memory = min(costs[i].cpu, c.cpu), min(costs[i].wall, c.wall), max(costs[i].memory, c.memory)
		}
	}
	whole := open(t, name)
	original, size := middle(whole, image.Point{}), whole.Bounds().Size()
	for i, m := range all {
		c := &costs[i]
		c.quality = ssimulacra2(original, middle(open(t, filepath.Join(dir, fmt.Sprint(i)+".jpg")), size))
		c.megapixels = float64(size.X*size.Y) / 1e6
		t.Logf("%-40s %-26s %.3f s CPU, %.2f s, %4.0f MB, %6.0f bytes, %6.2f", filepath.Base(name), m.name, c.cpu, c.wall, c.memory, c.bytes, c.quality)
	}
	return costs
}

// report returns the results for a set as tables, and checks the limits for messkit.
func report(t *testing.T, s set, all []method, rows [][]cost) string {
	t.Helper()
	var b strings.Builder
	n := float64(len(rows))
	sums := make([]cost, len(all))
	over := make([]int, len(all))
	least, most := rows[0][0].megapixels, 0.0
	for _, row := range rows {
		least, most = min(least, row[0].megapixels), max(most, row[0].megapixels)
		for i, c := range row {
			a := &sums[i]
			a.cpu, a.bytes, a.quality, a.memory = a.cpu+c.cpu, a.bytes+c.bytes, a.quality+c.quality, max(a.memory, c.memory)
			if c.bytes > budget {
				over[i]++
			}
		}
	}
	fmt.Fprintf(&b, "Of %s (%d, of %.0f to %.0f megapixels), the means:\n\n", s.title, len(rows), least, most)
	b.WriteString("| | CPU | of it, messkit takes | peak memory | bytes | over the budget | SSIMULACRA2 |\n|---|---|---|---|---|---|---|\n")
	for i, c := range sums {
		name, part := all[i].name, fmt.Sprintf("%.2f", sums[messkit].cpu/c.cpu)
		if i == messkit {
			name, part = "**"+name+"**", ""
		}
		fmt.Fprintf(&b, "| %s | %.2f s | %s | %.0f MB | %.0f | %d of %d | %.1f |\n", name, c.cpu/n, part, c.memory, c.bytes/n, over[i], len(rows), c.quality/n)
	}
	b.WriteString("\nEach of them:\n\n| | megapixels | CPU | of jpegoptim's | of sharp's | peak memory | bytes | SSIMULACRA2 | sharp's with mozjpeg |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, row := range rows {
		c := row[messkit]
		fmt.Fprintf(&b, "| %s | %.1f | %.2f s | %.2f | %.2f | %.0f MB | %.0f | %.1f | %.1f |\n", title(s.photos[i]), c.megapixels, c.cpu, c.cpu/row[jpegoptim].cpu, c.cpu/row[sharp].cpu, c.memory, c.bytes, c.quality, row[mozjpeg].quality)
	}
	b.WriteString("\n")
	within(t, "CPU, of jpegoptim's", sums[messkit].cpu/sums[jpegoptim].cpu, cpuOfJpegoptim)
	within(t, "CPU, of sharp's", sums[messkit].cpu/sums[sharp].cpu, cpuOfSharp)
	within(t, "SSIMULACRA2 below sharp's with mozjpeg", (sums[mozjpeg].quality-sums[messkit].quality)/n, 0)
	within(t, "peak memory, MB", sums[messkit].memory, mostMemory)
	within(t, "pictures over the budget", float64(over[messkit]), 0)
	return b.String()
}

func within(t *testing.T, name string, value, most float64) {
	t.Helper()
	if value > most {
		t.Errorf("%s: %.2f, at most %.2f", name, value, most)
	}
}

// title returns a photograph's name, without its common parts.
func title(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".jpg")
	if name == "2560x1600" {
		name = filepath.Base(filepath.Dir(filepath.Dir(filepath.Dir(path))))
	}
	name, _, _ = strings.Cut(name, "_by_")
	return name
}

// of48 measures messkit alone, with 48 megapixels.
func of48(t *testing.T, m method, dir string) string {
	t.Helper()
	in := filepath.Join(dir, "48.jpg")
	if err := os.WriteFile(in, phone(t, found(t, known[:1])[0], 8000, 6000, 4, 6), 0o644); err != nil {
		t.Fatal(err)
	}
	c := m.run(t, in, filepath.Join(dir, "48-out"))
	within(t, "peak memory of 48 megapixels, MB", c.memory, mostOf48)
	within(t, "bytes of 48 megapixels", c.bytes, budget)
	return fmt.Sprintf("One of 48 megapixels, made as those of a telephone: %.2f s, and at most %.0f MB of memory.\n", c.cpu, c.memory)
}

// write writes the tables into a page, between two comments.
func write(t *testing.T, page, tables string) {
	t.Helper()
	const begin, end = "<!-- make bench-picture writes from here -->\n", "<!-- to here -->\n"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, also := strings.Cut(rest, end)
	if !ok || !also {
		t.Fatalf("%s has no place for the tables", page)
	}
	if err := os.WriteFile(page, []byte(head+begin+"\n"+tables+"\n"+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (m method) run(t *testing.T, in, out string) cost {
	t.Helper()
	out += ".jpg"
	args := make([]string, len(m.command))
	for i, a := range m.command {
		args[i] = strings.NewReplacer("IN", in, "OUT", out).Replace(a)
	}
	var c cost
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), measured+"=1", "GOMAXPROCS=1", "MAGICK_THREAD_LIMIT=1", "VIPS_CONCURRENCY=1", "OMP_NUM_THREADS=1")
	output, err := cmd.CombinedOutput()
	if n, _ := fmt.Sscan(string(output), &c.cpu, &c.wall, &c.memory); err != nil || n != 3 {
		t.Fatalf("%s: %v: %s", m.name, err, output)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	c.bytes = float64(info.Size())
	return c
}

// measured is the environment variable that makes this program run and measure another one. A
// process starts with the peak memory of its parent, so the parent must be small.
const measured = "MESSKIT_BENCH_MEASURED"

func TestMain(m *testing.M) {
	if os.Getenv(measured) == "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	began := time.Now()
	if output, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("%v: %s", err, output)
		os.Exit(1)
	}
	cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	fmt.Println(cpu.Seconds(), time.Since(began).Seconds(), float64(u.Maxrss)/1024)
}

// side is the width and height of the compared middle part, in pixels.
const side = 1_600

// middle returns the middle of a picture, after scaling to the given size.
func middle(img image.Image, of image.Point) image.Image {
	if b := img.Bounds(); of != (image.Point{}) && b.Size() != of {
		img = imaging.Resize(img, of.X, of.Y, imaging.CatmullRom)
	}
	return imaging.CropCenter(img, side, side)
}
