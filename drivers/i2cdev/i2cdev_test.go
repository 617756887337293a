package i2cdev_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"gobot.io/x/gobot/v2/drivers/i2c"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/i2cdev"
	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
)

func env(name string) drivers.Env {
	return drivers.Env{Name: name, Log: slog.New(slog.DiscardHandler), Now: time.Now}
}

// board returns a bus with one chip of every kind.
func board() *i2ctest.Bus {
	mcp, pca := &i2ctest.Registers{}, &i2ctest.Registers{}
	mcp.Values[0], mcp.Values[1] = 0xff, 0xff // all inputs
	pca.Values[0], pca.Values[0xfe] = 0x11, 0x1e
	return &i2ctest.Bus{Chips: map[int]i2ctest.Chip{
		0x20: &i2ctest.Expander{Registers: mcp}, 0x40: pca, 0x44: &i2ctest.SHT3x{Celsius: 21.5, Percent: 48}, 0x48: &i2ctest.ADS1115{},
		0x76: i2ctest.BMP280(), 0x77: i2ctest.BME280(),
	}}
}

func values(t *testing.T, s drivers.Sensor) string {
	t.Helper()
	list, err := s.Read(t.Context())
	if err != nil {
		return err.Error()
	}
	var words []string
	for _, r := range list {
		words = append(words, fmt.Sprintf("%s %.6g %s", r.Quantity, r.Value, r.Unit))
	}
	return strings.Join(words, ", ")
}

func started(t *testing.T, d drivers.Device) drivers.Sensor {
	t.Helper()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	return d.(drivers.Sensor)
}

func TestBosch(t *testing.T) {
	b := board()
	bmp := started(t, i2cdev.NewBMP280(env("climate"), i2cdev.DefaultBoschConfig(), b))
	if got := values(t, bmp); got != "temperature 25.08 °C, pressure 1006.53 hPa" {
		t.Errorf("the datasheet's example reads as %s", got)
	}
	bme := started(t, i2cdev.NewBME280(env("climate"), i2cdev.DefaultBoschConfig(), b))
	if got := values(t, bme); !strings.Contains(got, "is not a BME280 (its id is 0x58), but a BMP280: use the driver i2c-bmp280") {
		t.Error(got)
	}
	b.With(func() { copy(b.Chips[0x76].(*i2ctest.Registers).Values[0xfa:], []byte{0x80, 0, 0}) })
	if got := values(t, bmp); got != "climate: the chip has no measurement after 100ms; check its supply" {
		t.Error(got)
	}
	b.With(func() { copy(b.Chips[0x76].(*i2ctest.Registers).Values[0xfa:], []byte{0xff, 0xff, 0xf0}) })
	if got := values(t, bmp); !strings.Contains(got, "outside of its range -40 to 85") {
		t.Error(got)
	}
	b.With(func() { delete(b.Chips, 0x76) })
	if got := values(t, bmp); got != "climate: address 0x76 on I2C bus 1: remote I/O error; check its wiring and supply, and that i2cdetect -y 1 shows it" {
		t.Error(got)
	}
	b.With(func() { b.Gone = true })
	if got := values(t, bmp); got != `climate: no I2C bus ""` {
		t.Error(got)
	}
}

func TestSHT3x(t *testing.T) {
	b := board()
	s := started(t, i2cdev.NewSHT3x(env("climate"), i2cdev.DefaultSHT3xConfig(), b))
	chip := b.Chips[0x44].(*i2ctest.SHT3x)
	for _, tt := range []struct {
		say, want string
	}{
		{"21.5 48 0", "temperature 21.5 °C, humidity 48 %"},
		{"-20 95.5 0", "temperature -20 °C, humidity 95.5 %"},
		{"21.5 48 1", "climate: address 0x44 on I2C bus 1: "},
	} {
		b.With(func() {
			if err := chip.Hear(tt.say); err != nil {
				t.Fatal(err)
			}
		})
		if got := values(t, s); got != tt.want && (!strings.HasSuffix(tt.want, ": ") || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %s, want %s", tt.say, got, tt.want)
		}
	}
}

// Gobot's own driver with the same input. If one of these cases fails, Gobot has corrected
// the error.
func TestGobotErrors(t *testing.T) {
	b := board()
	bus, err := b.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	b.Chips[0x44].(*i2ctest.SHT3x).Celsius = -20
	sht := i2c.NewSHT3xDriver(bus)
	if err := sht.Start(); err != nil {
		t.Fatal(err)
	}
	if c, _, err := sht.Sample(); err == nil && math.Abs(float64(c)+20) < 1 {
		t.Error("an SHT3x below 0 °C is right now")
	}
	mcp := i2c.NewMCP23017Driver(bus)
	if err := errors.Join(mcp.Start(), mcp.WriteGPIO(3, "B", 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.ReadGPIO(3, "B"); err != nil || b.Chips[0x20].(*i2ctest.Expander).Values[1]&8 == 0 {
		t.Errorf("reading a pin of an MCP23017 leaves it an output now: %v", err)
	}
	pca := b.Chips[0x40].(*i2ctest.Registers)
	pca.Values[0], pca.Values[8] = 0x01, 77
	if err := i2c.NewPCA9685Driver(bus).Start(); err != nil || pca.Values[0xfd] != 0 && pca.Values[0xfc] != 0 {
		t.Errorf("starting a PCA9685 leaves the others alone now: %v", err)
	}
	b.Chips[0x76] = &i2ctest.Registers{}
	if err := i2c.NewBMP280Driver(bus, i2c.WithAddress(0x76)).Start(); err != nil {
		t.Errorf("a BMP280's id is checked now: %v", err)
	}
}

// The level is set before the pin becomes an output.
func TestMCP23017LevelFirst(t *testing.T) {
	b := board()
	cfg := i2cdev.DefaultMCP23017Config()
	cfg.Pin, cfg.ActiveLow = "A0", true
	var order []byte
	b.Chips[0x20].(*i2ctest.Expander).Written = func(reg byte) { order = append(order, reg) }
	if err := i2cdev.NewMCP23017("pump", cfg, b).Start(); err != nil {
		t.Fatal(err)
	}
	const direction, latch = 0x00, 0x14
	level := strings.IndexByte(string(order), latch)
	if out := strings.LastIndexByte(string(order), direction); level < 0 || out < level {
		t.Errorf("the registers were written in the order %#x", order)
	}
}

// A second servo does not change the pulse of the first.
func TestPCA9685Neighbours(t *testing.T) {
	b := board()
	chip := b.Chips[0x40].(*i2ctest.Registers)
	cfg := i2cdev.DefaultPCA9685Config()
	cfg.Initial = "on"
	if err := i2cdev.NewPCA9685("first", cfg, b).Start(); err != nil {
		t.Fatal(err)
	}
	chip.Values[0xfc], chip.Values[0xfd] = 9, 9 // a write here changes all channels
	cfg.Channel = 1
	if err := i2cdev.NewPCA9685("second", cfg, b).Start(); err != nil {
		t.Fatal(err)
	}
	if chip.Values[0xfc] != 9 || chip.Values[0xfd] != 9 || chip.Values[8] != 410&0xff || chip.Values[12] != 410&0xff {
		t.Errorf("all %d %d, first %d, second %d", chip.Values[0xfc], chip.Values[0xfd], chip.Values[8], chip.Values[12])
	}
}

func TestADS1115(t *testing.T) {
	b := board()
	cfg := i2cdev.DefaultADS1115Config()
	cfg.Input, cfg.Quantity, cfg.Unit, cfg.Factor, cfg.Offset = 2, "moisture", "%", -50, 150
	s := started(t, i2cdev.NewADS1115(env("soil"), cfg, b))
	chip := b.Chips[0x48].(*i2ctest.ADS1115)
	chip.Raw[2] = 16000 // of 32768 at 4.096 V: 2 V
	if got := values(t, s); got != "moisture 50 %" {
		t.Error(got)
	}
	chip.Raw[2] = 32767
	if got := values(t, s); got != "soil: the voltage at input 2 exceeds 4.096 V; raise max_volts, or divide the voltage" {
		t.Error(got)
	}
}

func TestContextEndsMeasurement(t *testing.T) {
	s := started(t, i2cdev.NewBMP280(env("climate"), i2cdev.DefaultBoschConfig(), board()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	mcp := func(change func(*i2cdev.MCP23017Config)) error {
		c := i2cdev.DefaultMCP23017Config()
		c.Pin = "A1"
		change(&c)
		return c.Validate()
	}
	pca := func(change func(*i2cdev.PCA9685Config)) error {
		c := i2cdev.DefaultPCA9685Config()
		change(&c)
		return c.Validate()
	}
	ads := func(change func(*i2cdev.ADS1115Config)) error {
		c := i2cdev.DefaultADS1115Config()
		change(&c)
		return c.Validate()
	}
	for want, err := range map[string]error{
		"": errors.Join(mcp(func(*i2cdev.MCP23017Config) {}), pca(func(*i2cdev.PCA9685Config) {}), ads(func(*i2cdev.ADS1115Config) {}), i2cdev.DefaultBoschConfig().Validate(), i2cdev.DefaultSHT3xConfig().Validate()),
		"address: the chip does not support 0x50":            i2cdev.BoschConfig{At: i2cdev.At{Address: 0x50}}.Validate(),
		"address: 76 is 0x4c; write 0x76, the notation":      i2cdev.BoschConfig{At: i2cdev.At{Address: 76}}.Validate(),
		"address: the chip does not support 0x51":            i2cdev.SHT3xConfig{At: i2cdev.At{Address: 0x51}}.Validate(),
		`pin: "C1" is invalid`:                               mcp(func(c *i2cdev.MCP23017Config) { c.Pin = "C1" }),
		`safe: "yes" is unknown`:                             mcp(func(c *i2cdev.MCP23017Config) { c.Safe = "yes" }),
		"channel: 16 is not between 0 and 15":                pca(func(c *i2cdev.PCA9685Config) { c.Channel = 16 }),
		"frequency: 5 Hz is not between":                     pca(func(c *i2cdev.PCA9685Config) { c.Frequency = 5 }),
		"on: a pulse of 5ms is not":                          pca(func(c *i2cdev.PCA9685Config) { c.On = 5 * time.Millisecond }),
		"on: has the same pulse as off":                      pca(func(c *i2cdev.PCA9685Config) { c.On = c.Off }),
		"input: 4 is not between 0 and 3":                    ads(func(c *i2cdev.ADS1115Config) { c.Input = 4 }),
		"max_volts: 12 is not above 0":                       ads(func(c *i2cdev.ADS1115Config) { c.MaxVolts = 12 }),
		"quantity: is missing, or the unit is":               ads(func(c *i2cdev.ADS1115Config) { c.Unit = "" }),
		"factor: 0 with an offset of 1 gives no measurement": ads(func(c *i2cdev.ADS1115Config) { c.Factor, c.Offset = 0, 1 }),
	} {
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("Validate = %v, want %q", err, want)
		}
	}
}

// The error for a missing bus names the bus, not a chip.
func TestNoSuchBus(t *testing.T) {
	climate := i2cdev.NewBME280(env("climate"), i2cdev.BoschConfig{At: i2cdev.At{Bus: "9999", Address: 0x76}}, i2cdev.System{})
	if err := climate.Start(); err != nil {
		t.Fatal(err)
	}
	const want = "climate: no I2C bus 9999 (/dev/i2c-9999); enable I2C with "
	if _, err := climate.Read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, drivers.ErrNothingDone) {
		t.Errorf("%v, want %s", err, want)
	}
}

func FuzzObey(f *testing.F) {
	f.Add([]byte(`{"address":"0x20","port":{"pin":"A1"},"on":true}`))
	f.Add([]byte(`{"address":"0x40","port":{"channel":15,"on":1,"off":2,"frequency":50}}`))
	f.Add([]byte(`{"address":"0x40","port":{"channel":-1,"frequency":0}}`))
	f.Fuzz(func(t *testing.T, order []byte) {
		for _, obey := range []func(i2cdev.Buses, []byte) (bool, error){i2cdev.RunMCP23017Command, i2cdev.RunPCA9685Command} {
			if changed, err := obey(board(), order); err != nil && changed {
				t.Error("the command changed a register and failed")
			}
		}
	})
}

// If the bus is missing before the first message, the error is ErrNothingDone. If it
// vanishes later, the outcome is unknown.
func TestNothingDoneWithoutBus(t *testing.T) {
	b := board()
	lid := i2cdev.NewPCA9685("lid", i2cdev.DefaultPCA9685Config(), b)
	if err := lid.Start(); err != nil {
		t.Fatal(err)
	}
	b.With(func() { b.Gone = true })
	if err := lid.Switch(t.Context(), true); !errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
	b.With(func() { b.Gone = false; delete(b.Chips, 0x40) })
	if err := lid.Switch(t.Context(), true); err == nil || errors.Is(err, drivers.ErrNothingDone) {
		t.Error(err)
	}
}
