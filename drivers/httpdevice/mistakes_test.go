package httpdevice_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The driver reports all errors in a user's template and in the configuration at once, each
// with its line.
func TestAllErrorsOfOwnFamily(t *testing.T) {
	dir := t.TempDir()
	const text = `with:
  speed: {default: "9", match: "^[1-5]$"}
  odd: {default: "a", match: "[a-z"}
  level: {default: "1"}
  a-b: {default: "1"}
switch:
  on: [{post: "/fan", json: {speed: "{sped}"}, expect: {run..ning: "true"}}]
  off: [{post: "/fan", json: {run: "{Run}"}, expect: {running: "{how}"}}]
  on_for: {unit: 1s, min: 24h, max: 1h, calls: [{post: "/fan", json: {off_after: "{for}"}}]}
  state: {get: /fan, value: ".running", on: [on, idle], off: [idle]}
  dim: {calls: [{post: "/fan", json: {level: "{level}"}}], get: /fan, value: "level.", full: 100}
readings:
  - {quantity: power, get: /fan, value: watts}
  - {quantity: power, unit: W, get: /fan, value: meters.0.watts}
  - {quantity: bed temperature, unit: bananas, get: /fan, value: a..b}
  - {quantity: flow, unit: bananas, get: /fan, value: "meters[0].flow"}
  - {quantity: pieces made, get: /fan, value: "{where}"}
`
	if err := os.WriteFile(filepath.Join(dir, "bad.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := open("family: bad\nfamilies: " + dir + "\nurl: ftp://x\nsafe: dim")
	if err == nil {
		t.Fatal("the configuration is accepted, want an error")
	}
	file := filepath.Join(dir, "bad.yaml")
	for _, want := range []string{
		"home.yaml:3: url: ", `home.yaml:4: safe: "dim" is unknown`,
		file + `:2: with.speed.default: "9" does not match ^[1-5]$`,
		file + ":3: with.odd.match: error parsing regexp: missing closing ]: `[a-z`\n",
		file + ":4: with.level: messkit sets {level} itself",
		file + ":5: with.a-b: {a-b} is not a valid placeholder; use only letters, digits and _",
		file + ":7: switch.on: {sped} has no value", file + `:7: switch.on.expect: "run..ning" has a dot without a key next to it`,
		file + ":8: switch.off: {Run} has no value", file + ":8: switch.off.expect: {how} has no value",
		file + ":9: switch.on_for.max: is missing or less than min",
		file + `:10: switch.state.value: ".running" has a dot`, file + `:10: switch.state: "idle" is a word for on and for off`,
		file + `:11: switch.dim.value: "level." has a dot`,
		file + ":13: readings[0].unit: is missing; the units of power are W, kW",
		file + `:14: readings[1].quantity: "power" is also the quantity of readings[0]`,
		file + `:15: readings[2].unit: "bananas" is not a unit of bed temperature; write °C`, file + `:15: readings[2].value: "a..b" has a dot`,
		file + `:16: readings[3].unit: "bananas" is unknown; known: %`, file + `:16: readings[3].value: "meters[0].flow" has brackets`,
		file + ":17: readings[4].value: {where} has no value",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

// The error for an invalid value describes the valid values, also if the template has no
// description.
func TestInvalidValue(t *testing.T) {
	dir := t.TempDir()
	const text = `with:
  speed: {match: "[1-5]"}
  name: {default: ""}
switch: {on: [{post: "/{name}/{speed}"}], off: [{post: /}], state: {get: /}}
`
	if err := os.WriteFile(filepath.Join(dir, "fan.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for with, want := range map[string]string{
		"{speed: 9}":            `with: speed: "9" is invalid; write a value that matches [1-5]`,
		"{name: x}":             "with: speed is missing: write a value that matches [1-5]",
		"{speed: 3, name: a/b}": `with: name: "a/b" is invalid; write a value that matches [A-Za-z0-9._:-]*`,
	} {
		if _, err := open("family: fan\nfamilies: " + dir + "\nurl: http://x\nwith: " + with); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", with, err, want)
		}
	}
	if _, err := open("family: fan\nfamilies: " + dir + "\nurl: http://x\nwith: {speed: 3}"); err != nil {
		t.Error(err)
	}
}
