package unit_test

import (
	"testing"

	"github.com/messkit/messkit/internal/unit"
)

func TestValueIsConvertedToUnitOfPlan(t *testing.T) {
	for _, c := range []struct {
		quantity string
		value    float64
		unit     string
		want     float64
		wantUnit string
		ok       bool
	}{
		{"temperature", 293, "K", 19.85, "°C", true},
		{"temperature", 77, "°F", 25, "°C", true},
		{"bed temperature", 212, "°F", 100, "°C", true},
		{"temperature", 21.5, "°C", 21.5, "°C", true},
		{"temperature", 21.5, "", 21.5, "", true},
		{"pressure", 95000, "Pa", 950, "hPa", true},
		{"pressure", 1.01325, "bar", 1013.25, "hPa", true},
		{"pressure", 1013, "mbar", 1013, "hPa", true},
		{"pressure", 14.5, "psi", 999.739807509, "hPa", true},
		{"power", 1.2, "kW", 1200, "W", true},
		{"power", 1200, "VA", 1200, "VA", false},
		{"energy", 3.6, "MJ", 1, "kWh", true},
		{"energy", 2500, "Wh", 2.5, "kWh", true},
		{"voltage", 230500, "mV", 230.5, "V", true},
		{"current", 500, "mA", 500, "mA", true},
		{"signal", 70, "%", 70, "%", true},
		{"temperature", 20, "lx", 20, "lx", false},
		{"water level", 40, "cm", 40, "cm", true},
	} {
		got, in, ok := unit.ForPlan(c.quantity, c.value, c.unit)
		if got != c.want || in != c.wantUnit || ok != c.ok {
			t.Errorf("%s %v %s: got %v %s %v, want %v %s %v", c.quantity, c.value, c.unit, got, in, ok, c.want, c.wantUnit, c.ok)
		}
	}
}

func TestEachQuantityHasUnitOfPlan(t *testing.T) {
	if len(unit.All()) < 20 {
		t.Errorf("only %v", unit.All())
	}
	for _, q := range []string{"temperature", "humidity", "power", "energy", "voltage", "illuminance", "pressure"} {
		units := unit.Of(q)
		if len(units) == 0 || unit.OfPlan(q) != units[0] {
			t.Errorf("%s has the units %v", q, units)
			continue
		}
		if v, in, ok := unit.ForPlan(q, 5, units[0]); v != 5 || in != units[0] || !ok {
			t.Errorf("%s: %v %s %v", q, v, in, ok)
		}
	}
}
