package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/drivers/all"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/internal/cli"
	"github.com/messkit/messkit/internal/cli/output"
)

// These patterns find the configurations, requests, error messages and files on the page of a
// driver. The program must accept or print them.
var (
	pageYAML     = regexp.MustCompile("(?s)```yaml\n(.*?)```")
	pageRequests = regexp.MustCompile("`messkit ask \"([^\"]+)\"")
	pageMessages = regexp.MustCompile(`"([^"]+)"`)
	pageSecrets  = regexp.MustCompile(`/etc/messkit/([a-z.-]+)`)
	pagePrograms = regexp.MustCompile(`\[/(usr|opt)/[\w/.-]+`)
	pageQuotes   = regexp.MustCompile("`([^`]+)`")
)

// driverPage is the documentation page of a driver.
type driverPage struct {
	name, text string
	devices    []string // complete configurations
	templates  []string // the others: each is the file of a family
}

func driverPages(t *testing.T) []driverPage {
	t.Helper()
	files, err := filepath.Glob("../../docs/drivers/*.md")
	if err != nil || len(files) < 17 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	var list []driverPage
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		p := driverPage{name: strings.TrimSuffix(filepath.Base(f), ".md"), text: string(text)}
		for _, m := range pageYAML.FindAllStringSubmatch(p.text, -1) {
			if strings.HasPrefix(m[1], "devices:") {
				p.devices = append(p.devices, m[1])
			} else {
				p.templates = append(p.templates, m[1])
			}
		}
		list = append(list, p)
	}
	return list
}

// section returns the text below a heading.
func (p driverPage) section(heading string) string {
	_, rest, _ := strings.Cut(p.text, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// write writes a configuration, and creates the files that it names.
func (p driverPage) write(t *testing.T, config string) (file string) {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string, mode fs.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, m := range pageSecrets.FindAllStringSubmatch(config, -1) {
		put(m[1], "secret\n", 0o600)
	}
	program := put("program", "#!/bin/true\n", 0o700)
	config = strings.ReplaceAll(config, "/etc/messkit", dir)
	return put("messkit.yaml", pagePrograms.ReplaceAllString(config, "["+program), 0o600)
}

// runCommand runs a command of the program, and returns its output.
func runCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	var out bytes.Buffer
	a := &output.Env{Out: &out, Err: &out}
	root := cli.NewRoot(a)
	root.SetArgs(args)
	err := root.Execute()
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), err
}

// Every configuration is valid, and with it every request becomes a plan.
func TestDriverPagesAreValid(t *testing.T) {
	calculates(t)
	asked := 0
	for _, p := range driverPages(t) {
		t.Run(p.name, func(t *testing.T) {
			if len(p.devices) == 0 {
				t.Fatal("the page has no complete configuration")
			}
			for _, config := range p.devices {
				if out, err := runCommand(t, "check", p.write(t, config)); err != nil || !strings.Contains(out, "nothing wrong") {
					t.Errorf("%s\n%s", config, out)
				}
			}
			for _, text := range p.templates {
				dir := t.TempDir()
				if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				where := "url: http://192.168.1.40"
				if p.name == "mqttdevice" {
					where = "broker: mqtt://192.168.1.5, with: {name: a}"
				}
				if out, err := runCommand(t, "check", p.write(t, "devices:\n  mine: {driver: "+p.name+", family: own, families: "+dir+", "+where+"}\n")); err != nil {
					t.Errorf("%s\n%s", text, out)
				}
			}
			var message []string
			for _, row := range firstColumn(p.text, "| say |") {
				for _, m := range pageMessages.FindAllStringSubmatch(row, -1) {
					message = append(message, m[1])
				}
			}
			if m := pageRequests.FindStringSubmatch(p.text); m != nil {
				message = append(message, m[1])
			}
			if len(message) < 2 {
				t.Error("the page has too few example requests")
			}
			for _, request := range message {
				if request == "print benchy" {
					continue // only the printer knows its files
				}
				asked++
				if out, err := runCommand(t, "plan", "--config", p.write(t, p.devices[0]), request); err != nil || !strings.Contains(out, "\nrisk  ") {
					t.Errorf("%q: %v\n%s", request, err, out)
				}
			}
		})
	}
	if asked < 60 {
		t.Errorf("%d sentences on all pages; the test looks for the wrong thing", asked)
	}
}

// A configuration without its secret files leads to an error for every missing file, with its
// line and a remedy.
func TestMissingSecretFileIsReported(t *testing.T) {
	missing := 0
	for _, p := range driverPages(t) {
		for _, config := range p.devices {
			file := p.write(t, config)
			for _, m := range pageSecrets.FindAllStringSubmatch(config, -1) {
				missing++
				if err := os.Remove(filepath.Join(filepath.Dir(file), m[1])); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			out, err := runCommand(t, "check", file)
			for _, m := range pageSecrets.FindAllStringSubmatch(config, -1) {
				if err == nil || !strings.Contains(out, m[1]+": no such file or directory; write the ") {
					t.Errorf("%s: %s is missing, and the output of check is\n%s", p.name, m[1], out)
				}
			}
		}
	}
	if missing < 8 {
		t.Errorf("%d secrets on all pages; the test looks for the wrong thing", missing)
	}
}

// firstColumn returns the first column of the table with that header.
func firstColumn(text, header string) []string {
	_, rest, found := strings.Cut(text, "\n"+header)
	if !found {
		return nil
	}
	var rows []string
	for _, line := range strings.Split(rest, "\n")[2:] { // skip the rest of the header and the line below it
		if !strings.HasPrefix(line, "|") {
			break
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), " | ")
		rows = append(rows, first)
	}
	return rows
}

// The page of a driver names every key of the driver, and has all sections for troubleshooting.
func TestDriverPagesAreComplete(t *testing.T) {
	pages := driverPages(t)
	unused := map[string][]string{ // shared keys that these drivers reject
		"homeassistant": {"username", "password", "password_file"}, "onvif": {"token", "token_file"}, "valetudo": {"token", "token_file"},
	}
	for _, k := range all.Kinds() {
		i := slices.IndexFunc(pages, func(p driverPage) bool { return p.name == k.Name })
		if i < 0 {
			family, _, _ := strings.Cut(k.Name, "-")
			i = slices.IndexFunc(pages, func(p driverPage) bool { return p.name == family })
		}
		if i < 0 {
			t.Errorf("%s has no page", k.Name)
			continue
		}
		out, _ := runCommand(t, "check", pages[i].write(t, "devices:\n  x:\n    driver: "+k.Name+"\n    nonsense: 1\n"))
		_, rest, found := strings.Cut(out, "nonsense: unknown key; known keys: ")
		keys, _, _ := strings.Cut(rest, "; and those of all devices: ")
		if !found {
			t.Errorf("%s: %s", k.Name, out)
		}
		for _, key := range strings.Split(keys, ", ") {
			if !strings.Contains(pages[i].text, "`"+key+"`") && !strings.Contains(pages[i].text, "`"+key+": ") && !slices.Contains(unused[k.Name], key) {
				t.Errorf("%s: the key %s is not on its page", k.Name, key)
			}
		}
	}
	for _, p := range pages {
		for _, heading := range []string{"Ask", "Errors", "Known limits", "Tested with", "Quality"} {
			if p.section(heading) == "" && (heading != "Ask" || firstColumn(p.text, "| say |") == nil) {
				t.Errorf("%s: there is nothing under %q", p.name, heading)
			}
		}
		if p.section("Configuration") == "" && p.section("Set up") == "" && p.name != "sim" {
			t.Errorf("%s: how is it set up?", p.name)
		}
	}
}

// The configuration rejects a second device with the same camera, which would always be busy.
func TestSecondDeviceOfCameraIsRejected(t *testing.T) {
	for _, c := range []struct{ one, two, wantText string }{
		{"v4l2cam, device: /dev/video0", "v4l2cam, device: /dev/video0", "devices.b.device: the camera /dev/video0 is that of a; no two devices can have one"},
		{"v4l2cam", "v4l2cam, width: 640, height: 480", "devices.b.device: the only camera is that of a; no two devices can have one"},
		{"v4l2cam, device: /dev/video0", "v4l2cam, device: /dev/video2", ""},
		{"rpicam", "rpicam, camera: 0", "devices.b.camera: camera 0 of rpicam-still is that of a; no two devices can have one"},
		{"rpicam", "rpicam, camera: 1", ""},
	} {
		file := driverPage{}.write(t, "devices:\n  a: {driver: "+c.one+", sees: [hall]}\n  b: {driver: "+c.two+", sees: [porch]}\n")
		if out, err := runCommand(t, "check", file); (err == nil) != (c.wantText == "") || !strings.Contains(out, c.wantText) {
			t.Errorf("%s and %s: %s", c.one, c.two, out)
		}
	}
}

// The page of a driver names all its families and their parameters.
func TestDriverPagesNameTemplates(t *testing.T) {
	for name, families := range map[string]fs.FS{"httpdevice": httpdevice.Families(), "mqttdevice": mqttdevice.Families()} {
		page, err := os.ReadFile("../../docs/drivers/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		list, err := fs.Glob(families, "*.yaml")
		if err != nil || len(list) < 12 {
			t.Fatalf("%d families, %v", len(list), err)
		}
		for _, file := range list {
			text, err := fs.ReadFile(families, file)
			var template struct {
				With map[string]any `yaml:"with"`
			}
			if err = cmp.Or(err, yaml.Unmarshal(text, &template)); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if family := strings.TrimSuffix(file, ".yaml"); !strings.Contains(string(page), "`"+family+"`") {
				t.Errorf("%s: the family %s is not on its page", name, family)
			}
			for key := range template.With {
				if !regexp.MustCompile("[`{ ]" + key + "[`:]").Match(page) {
					t.Errorf("%s: %s has %s, which is not on its page", name, file, key)
				}
			}
		}
	}
}

// The source code contains every error message in the tables of the pages.
func TestDriverPagesQuoteMessages(t *testing.T) {
	var sources strings.Builder
	for _, dir := range []string{"../../drivers", "../../capabilities", "../../internal/board", "../../internal/process", "../../internal/strictyaml", "../../internal/secret"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") {
				return err
			}
			text, err := os.ReadFile(name)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := sources.String()
	// The source code does not contain variable parts and messages of the operating system.
	filled := regexp.MustCompile(`"[^"]*"|\.\.\.|\d+[a-z%]*|[\w.]*(benchy|my-fan|fan\.yaml|zigbee2mqtt|light\.hal)[\w/.]*|light\.\w+|on=\w+|clean_spot|lstat|no such file or directory|permission denied|no space left on device|is cleaning|mjpeg|yuyv or nv|pBAA|\(not Authorized\)`)
	quoted := 0
	for _, p := range driverPages(t) {
		for _, row := range firstColumn("\n"+p.section("Errors"), "| it says |") {
			for _, m := range pageQuotes.FindAllStringSubmatch(row, -1) {
				long := ""
				for _, piece := range filled.Split(m[1], -1) {
					if piece = strings.Trim(piece, " ;:,()"); len(piece) > len(long) {
						long = piece
					}
				}
				quoted++
				if !strings.Contains(got, long) {
					t.Errorf("%s: no output contains %q (of %q)", p.name, long, m[1])
				}
			}
		}
	}
	if quoted < 90 {
		t.Errorf("%d messages on all pages; the test looks for the wrong thing", quoted)
	}
}
