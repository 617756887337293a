package httpcam_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpcam"
	"github.com/messkit/messkit/internal/strictyaml"
)

func decode(t *testing.T, yaml string) (httpcam.Config, error) {
	t.Helper()
	cfg := httpcam.DefaultConfig()
	err := strictyaml.Decode("home.yaml", []byte(yaml), &cfg)
	return cfg, err
}

func TestConfigFromYAML(t *testing.T) {
	const yaml = `
url: https://cam/snap?user=1
mode: snapshot
username: me
password: open sesame
timeout: 90s
max_bytes: 2048
max_pixels: 100
state_url: off
skip_frames: 2
`
	cfg, err := decode(t, yaml)
	if err != nil {
		t.Fatal(err)
	}
	two := 2
	want := httpcam.Config{
		URL: "https://cam/snap?user=1", Mode: "snapshot", Username: "me", Password: "open sesame", Timeout: 90 * time.Second,
		MaxBytes: 2048, MaxPixels: 100, StateURL: "off", SkipFrames: &two,
	}
	if diff := cmp.Diff(want, cfg); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigMistakes(t *testing.T) {
	for yaml, want := range map[string]string{
		"mode: auto":                         "url: is missing; write the address of the snapshot or stream of the camera",
		"url: rtsp://cam/":                   "url: is not an address of the form http://host/path; see the manual of the camera",
		"url: cam.local/snap":                "url: is not an address of the form http://host/path; see the manual of the camera",
		"url: http://me:secret@cam/":         "url: has a user name; move it to username, and the rest to password",
		"url: http://me:secret@%zz/":         "url: is not an address of the form http://host/path; see the manual of the camera",
		"url: http://c/\nstate_url: on":      "state_url: is not an address of the form http://host/path; see the manual of the camera",
		"url: http://c/\nmode: video":        `mode: "video" is unknown; known: auto, snapshot, stream`,
		"url: http://c/\npassword: secret":   "username: is missing; a password needs a user name",
		"url: http://c/\nusername: a:secret": "username: has a colon or a control character; rename the user in the camera",
		"url: http://c/\nusername: a\npassword: secret\npassword_file: b": "password_file: excludes password; remove one of them",
		"url: http://c/\ntimeout: 0s":                                     "timeout: 0s is not between 10ms and 10m0s",
		"url: http://c/\nmax_bytes: 3":                                    "max_bytes: 3 is too small for an image; write at least 1024",
		"url: http://c/\nmax_pixels: 0":                                   "max_pixels: 0 is too small for an image; omit the key for 64000000",
		"url: http://c/\nskip_frames: -1":                                 "skip_frames: -1 is not between 0 and 100",
		"url: http://c/\nskip_frames: 1000":                               "skip_frames: 1000 is not between 0 and 100",
	} {
		_, err := decode(t, yaml)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q:\n got %v\nwant %s", yaml, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error contains the secret: %v", yaml, err)
		}
	}
}

func TestNewValidates(t *testing.T) {
	_, err := httpcam.New(drivers.Env{Name: "door-cam", Log: quiet, Now: time.Now}, httpcam.DefaultConfig())
	if err == nil || !strings.HasPrefix(err.Error(), "door-cam: url: is missing") {
		t.Error(err)
	}
}

func TestSecretIsNotPrinted(t *testing.T) {
	cfg := httpcam.DefaultConfig()
	cfg.Password = "open sesame"
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("config", "password", cfg.Password, "cfg", cfg)
	slog.New(slog.NewTextHandler(&out, nil)).Info("config", "password", cfg.Password, "cfg", cfg)
	if err := json.NewEncoder(&out).Encode(cfg); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb+verb, cfg, &cfg.Password)
	}
	fmt.Fprintln(&out, cfg.Password.String())
	for _, leak := range []string{"sesame", fmt.Sprintf("%x", "sesame")} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("the password is in %s", out.String())
		}
	}
	if !strings.Contains(out.String(), "***") {
		t.Error("*** is nowhere")
	}
}

func TestOpen(t *testing.T) {
	env := drivers.Env{Name: "door-cam", Log: quiet, Now: time.Now}
	open := func(yaml string) (drivers.Device, error) {
		return httpcam.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
	}
	d, err := open("url: http://cam:81/snap")
	if err != nil {
		t.Fatal(err)
	}
	if d.Name() != "door-cam" || d.(drivers.Connected).Connection().Name() != "cam:81" {
		t.Errorf("name %q, connection %q", d.Name(), d.(drivers.Connected).Connection().Name())
	}
	d.(*httpcam.Camera).SetName("porch-cam")
	if _, err := d.(drivers.Photographer).Photo(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "porch-cam: ") {
		t.Errorf("the new name is not in %v", err)
	}
	file := filepath.Join(t.TempDir(), "none")
	_, err = open("url: http://cam/\nusername: me\npassword_file: " + file)
	if err == nil || !strings.HasPrefix(err.Error(), "door-cam: password_file: ") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a password file: %v", err)
	}
	if _, err = open("url: http://cam/\npath: x"); err == nil {
		t.Error("an unknown key is accepted, want an error")
	}
}
