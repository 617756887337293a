package strictyaml_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/strictyaml"
)

type camera struct {
	URL     string        `yaml:"url"`
	Timeout time.Duration `yaml:"timeout"`
	Skip    int           `yaml:"skip"`
}

func (c camera) Validate() error {
	var errs []error
	if c.URL == "" {
		errs = append(errs, errors.New("url: is missing; write where the camera is"))
	}
	if c.Skip > 10 {
		errs = append(errs, errors.New("skip: is more than 10; write less"))
	}
	return errors.Join(errs...)
}

type base struct {
	Name string `yaml:"name"`
}

type config struct {
	base
	Level   slog.Level                 `yaml:"level"`
	Port    uint16                     `yaml:"port"`
	Scale   float64                    `yaml:"scale"`
	On      bool                       `yaml:"on"`
	Camera  camera                     `yaml:"camera"`
	More    *camera                    `yaml:"more"`
	Areas   []string                   `yaml:"areas"`
	Devices map[string]strictyaml.Node `yaml:"devices"`
	Free    any                        `yaml:"free"`
}

func defaults() config {
	return config{Port: 8420, Camera: camera{URL: "http://cam/", Timeout: 10 * time.Second}}
}

func TestDecodeOverDefaults(t *testing.T) {
	const text = `
name: 1234
level: WARN
scale: 0.5
on: true
camera: {timeout: 2m30s}
more: {url: "http://other/"}
areas: kitchen
free: {a: [1, x, null, true]}
`
	got := defaults()
	if err := strictyaml.Decode("c.yaml", []byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := config{
		base: base{Name: "1234"}, Level: slog.LevelWarn, Port: 8420, Scale: 0.5, On: true,
		Camera: camera{URL: "http://cam/", Timeout: 150 * time.Second}, More: &camera{URL: "http://other/"},
		Areas: []string{"kitchen"}, Free: map[string]any{"a": []any{1.0, "x", nil, true}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(config{}, base{})); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyDocumentKeepsDefaults(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "camera:\n", "---\n"} {
		got := defaults()
		if err := strictyaml.Decode("c.yaml", []byte(text), &got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(defaults(), got, cmp.AllowUnexported(config{}, base{})); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

// The error lists all mistakes, in the order of the lines.
func TestDecodeReportsEveryError(t *testing.T) {
	const text = `level: loud
port: 70000
scale: fast
on: yes
camera:
  url: ""
  skip: 11
more:
  tiemout: 3s
  timeout: 30
areas: {a: b}
prot: 1
hidden: x
`
	want := `c.yaml:1: level: slog: level string "loud": unknown name
c.yaml:2: port: 70000 is too large; write a smaller number
c.yaml:3: scale: is text; write a number
c.yaml:4: on: is text; write true or false
c.yaml:6: camera.url: is missing; write where the camera is
c.yaml:7: camera.skip: is more than 10; write less
c.yaml:9: more.tiemout: unknown key (did you mean timeout?); known keys: skip, timeout, url
c.yaml:9: more.url: is missing; write where the camera is
c.yaml:10: more.timeout: 30 has no unit; write 30s for seconds, 30m for minutes or 30ms for thousandths of a second
c.yaml:11: areas: is a mapping; write a list
c.yaml:12: prot: unknown key (did you mean port?); known keys: areas, camera, devices, free, level, more, name, on, port, scale
c.yaml:13: hidden: unknown key; known keys: areas, camera, devices, free, level, more, name, on, port, scale`
	got := defaults()
	err := strictyaml.Decode("c.yaml", []byte(text), &got)
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]string{
		"0": "", "90s": "", "1h2m": "",
		"-5s": "negative", "soon": "not a duration", "1.5": "no unit", "[1s]": "not a duration",
	} {
		got := defaults()
		err := strictyaml.Decode("", []byte("camera: {timeout: "+text+"}"), &got)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("timeout: %s: got %v, want %q", text, err, want)
		}
	}
}

// A package decodes its block later, and its errors have the same file, line and path.
func TestNodes(t *testing.T) {
	const text = `devices:
  fridge-cam:
    name: fridge
    pth: x
    url: http://cam/
  empty:
  wrong: 5
`
	var c config
	if err := strictyaml.Decode("c.yaml", []byte(text), &c); err != nil {
		t.Fatal(err)
	}
	common, rest := c.Devices["fridge-cam"].Split(base{})
	var b base
	if err := common.Decode(&b); err != nil || b.Name != "fridge" {
		t.Errorf("common part: %+v, %v", b, err)
	}
	var cam camera
	wantErr(t, rest.Decode(&cam), "c.yaml:4: devices.fridge-cam.pth: unknown key; known keys: skip, timeout, url")
	if cam.URL != "http://cam/" {
		t.Errorf("url is %q", cam.URL)
	}
	wantErr(t, c.Devices["empty"].Decode(&cam), "")
	common, rest = c.Devices["wrong"].Split(base{})
	wantErr(t, common.Decode(&b), "c.yaml:7: devices.wrong: is a number; write a mapping")
	wantErr(t, rest.Problem("pin", "is taken by %s", "lamp"), "c.yaml:7: devices.wrong.pin: is taken by lamp")
	if diff := cmp.Diff([]string{"name", "pth", "url"}, c.Devices["fridge-cam"].Keys()); diff != "" {
		t.Error(diff)
	}
	wantErr(t, strictyaml.Node{}.Decode(&camera{}), "url: is missing; write where the camera is")
}

func wantErr(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestSecondDocumentIsError(t *testing.T) {
	wantErr(t, strictyaml.Decode("c.yaml", []byte("port: 1\n---\nport: 2\n"), &config{}),
		"c.yaml:3: a second document begins here; put all in one")
	wantErr(t, strictyaml.Decode("c.yaml", []byte("port: [\n"), &config{}),
		"c.yaml:1: not YAML: did not find expected node content")
}

// Each mistake is one line, also with control characters in the name of a key.
func TestErrorIsOneLine(t *testing.T) {
	wantErr(t, strictyaml.Decode("c.yaml", []byte("\"on\\n\\e[2J\\t\": 1\n"), &struct {
		Port int `yaml:"port"`
	}{}), `c.yaml:1: on\n\x1b[2J\t: unknown key; known keys: port`)
}

// Replace changes only the texts of the named keys, and leaves the first node unchanged.
func TestReplace(t *testing.T) {
	var c config
	if err := strictyaml.Decode("c.yaml", []byte("devices: {a: {name: x, url: y, skip: 3, areas: [z]}}"), &c); err != nil {
		t.Fatal(err)
	}
	n := c.Devices["a"]
	got := n.Replace(func(s string) string { return "not " + s }, "name", "skip", "areas", "none")
	var is struct {
		base
		URL   string   `yaml:"url"`
		Skip  int      `yaml:"skip"`
		Areas []string `yaml:"areas"`
	}
	if err := got.Decode(&is); err != nil || is.Name != "not x" || is.URL != "y" || is.Skip != 3 || is.Areas[0] != "z" || got.File() != "c.yaml" || got.Line() != n.Line() {
		t.Errorf("%+v, %v", is, err)
	}
	if n.Sum() == got.Sum() {
		t.Error("the node was not replaced, or the original has changed")
	}
}

// A duplicate key hides no other problem.
func TestDuplicateKeyHidesNoError(t *testing.T) {
	wantErr(t, strictyaml.Decode("c.yaml", []byte("port: 1\nport: 2\non: 3\ncamera: {url: x, url: y, skip: 11}\n"), &config{}),
		`c.yaml:2: "port" is here twice, first on line 1; keep one
c.yaml:3: on: is a number; write true or false
c.yaml:4: "url" is here twice, first on line 4; keep one
c.yaml:4: camera.skip: is more than 10; write less`)
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("camera: {timeout: 5s}\ndevices: {a: {b: c}}"))
	f.Add([]byte("more: {skip: 1e3}\nfree: [[[]]]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := defaults()
		if err := strictyaml.Decode("f", data, &c); err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q does not name the file", err)
		}
	})
}

// The error lists the problems of several files file by file.
func TestErrorsAreGroupedByFile(t *testing.T) {
	err := strictyaml.Problems{{File: "b", Line: 1, Text: "x"}, {File: "a", Line: 2, Text: "y"}, {File: "b", Line: 3, Text: "z"}, {File: "a", Line: 1, Text: "w"}}.Err()
	if want := "a:1: w\na:2: y\nb:1: x\nb:3: z"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestSum(t *testing.T) {
	sum := func(text string) string {
		t.Helper()
		var doc struct {
			Devices map[string]strictyaml.Node `yaml:"devices"`
		}
		if err := strictyaml.Decode("x.yaml", []byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Devices["cam"].Sum()
	}
	is := sum("devices:\n  cam: {driver: v4l2cam, sees: [porch, '7'], n: 7}\n")
	for _, same := range []string{
		"# a comment\ndevices:\n  lamp: {}\n  cam:\n    sees:\n      - porch\n      - \"7\"\n    n: 7\n    driver: v4l2cam\n",
	} {
		if sum(same) != is {
			t.Errorf("%q has another sum", same)
		}
	}
	for _, other := range []string{
		"devices: {}\n", "devices:\n  cam: {}\n",
		"devices:\n  cam: {driver: v4l2cam, sees: [porch, 7], n: 7}\n", "devices:\n  cam: {driver: v4l2cam, sees: [porch], n: 7}\n",
		"devices:\n  cam: {driver: v4l2cam, sees: ['7', porch], n: 7}\n", "devices:\n  cam: {driver: v4l2cam, sees: [porch, '7'], m: 7}\n",
	} {
		if sum(other) == is {
			t.Errorf("%q has the same sum", other)
		}
	}
}
