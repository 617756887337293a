package drivers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
)

func open(drivers.Env, func(any) error) (drivers.Device, error) { return nil, errors.New("no device") }

func kinds(names ...string) []drivers.Kind {
	var ks []drivers.Kind
	for _, n := range names {
		ks = append(ks, drivers.Kind{Name: n, Open: open})
	}
	return ks
}

func TestLookupFindsEveryKind(t *testing.T) {
	r := drivers.NewRegistry(kinds("sim-lamp", "httpcam", "sim-camera"))
	var got []string
	for _, k := range r.Kinds() {
		got = append(got, k.Name)
		if found, err := r.Lookup(k.Name); err != nil || found.Name != k.Name {
			t.Errorf("Lookup(%q) = %q, %v", k.Name, found.Name, err)
		}
	}
	if diff := cmp.Diff([]string{"httpcam", "sim-camera", "sim-lamp"}, got); diff != "" {
		t.Errorf("Kinds (-want +got):\n%s", diff)
	}
}

func TestLookupUnknownNamesTheNearest(t *testing.T) {
	r := drivers.NewRegistry(kinds("sim-lamp", "httpcam", "sim-camera"))
	const known = "; known drivers: httpcam, sim-camera, sim-lamp"
	for _, tt := range []struct{ name, want string }{
		{"sim-lmap", `unknown driver "sim-lmap"; did you mean "sim-lamp"?` + known},
		{"SimLamp", `unknown driver "SimLamp"; did you mean "sim-lamp"?` + known},
		{"http_cam", `unknown driver "http_cam"; did you mean "httpcam"?` + known},
		{"sim-cameras", `unknown driver "sim-cameras"; did you mean "sim-camera"?` + known},
		{"toaster", `unknown driver "toaster"` + known},
		{"", `unknown driver ""` + known},
	} {
		_, err := r.Lookup(tt.name)
		if err == nil || err.Error() != tt.want {
			t.Errorf("Lookup(%q) = %v, want %s", tt.name, err, tt.want)
		}
		if _, ok := errors.AsType[*drivers.UnknownKindError](err); !ok {
			t.Errorf("Lookup(%q) is a %T", tt.name, err)
		}
	}
}

// The name of a relay or of a chip leads to its driver if there is exactly one.
func TestLookupByPurpose(t *testing.T) {
	list := kinds("gpiorelay", "i2c-bme280", "onewire", "sim-sensor", "roombaoi")
	list[2].About, list[3].About, list[4].About = "DS18B20 thermometer on the 1-Wire bus", "simulated thermometer", "robot with a wire"
	r := drivers.NewRegistry(list)
	for name, want := range map[string]string{
		"relay": "gpiorelay", "BME280": "i2c-bme280", "ds18b20": "onewire", "thermometer": "onewire", "toaster": "", "bus": "", "wire": "",
	} {
		_, err := r.Lookup(name)
		if e, ok := errors.AsType[*drivers.UnknownKindError](err); !ok || e.Nearest != want {
			t.Errorf("Lookup(%q) means %q, want %q", name, e.Nearest, want)
		}
	}
}

func TestLookupInEmptyRegistry(t *testing.T) {
	if _, err := drivers.NewRegistry(nil).Lookup("httpcam"); err == nil {
		t.Error("an empty registry found httpcam")
	}
}

func TestKindsIsACopy(t *testing.T) {
	r := drivers.NewRegistry(kinds("a", "b"))
	slices.Reverse(r.Kinds())
	if _, err := r.Lookup("a"); err != nil {
		t.Error(err)
	}
}

func TestNewRegistryPanicsOnInvalidKinds(t *testing.T) {
	for name, ks := range map[string][]drivers.Kind{
		"taken twice": kinds("lamp", "camera", "lamp"),
		"no name":     kinds(""),
		"no open":     {{Name: "lamp"}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			drivers.NewRegistry(ks)
		})
	}
}

func FuzzLookup(f *testing.F) {
	r := drivers.NewRegistry(kinds("httpcam", "sim-camera", "sim-lamp"))
	for _, s := range []string{"", "sim-lamp", "smi-lamp", "\xff\xfe", "ſim-lamp"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		k, err := r.Lookup(name)
		if (err == nil) != (k.Name == name && name != "") {
			t.Errorf("Lookup(%q) = %q, %v", name, k.Name, err)
		}
		if e, ok := errors.AsType[*drivers.UnknownKindError](err); ok && e.Nearest != "" && !slices.Contains(e.Known, e.Nearest) {
			t.Errorf("Lookup(%q): %q is near but not known", name, e.Nearest)
		}
	})
}
