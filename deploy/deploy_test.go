// Package deploy_test checks the files for Prometheus and Grafana.
package deploy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/internal/test/promtool"
)

// ownMetric is a metric in an expression, with the suffixes of a histogram.
var ownMetric = regexp.MustCompile(`\b(?:messkit|process|go)_[a-z_]+\b`)

// checkMetrics checks that the page of the metrics has every metric of an expression.
func checkMetrics(t *testing.T, expr string) {
	t.Helper()
	page, err := os.ReadFile("../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	names := ownMetric.FindAllString(expr, -1)
	if len(names) == 0 && !strings.HasPrefix(expr, "up{") {
		t.Errorf("%s has no metric of messkit", expr)
	}
	for _, name := range names {
		histogram := strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")
		if !strings.Contains(string(page), "| `"+name+"` |") && !strings.Contains(string(page), "| `"+histogram+"` | histogram |") {
			t.Errorf("%s: docs/reference/metrics.md has no %s", expr, name)
		}
	}
}

// rules is the file of the alert rules.
type rules struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func TestAlertRules(t *testing.T) {
	file, err := os.Open("messkit.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	strict := yaml.NewDecoder(file)
	strict.KnownFields(true)
	var r rules
	if err := strict.Decode(&r); err != nil || len(r.Groups) != 1 || len(r.Groups[0].Rules) < 5 {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, one := range r.Groups[0].Rules {
		checkMetrics(t, one.Expr)
		if one.For == "" || one.Labels["severity"] == "" || one.Annotations["summary"] == "" || one.Annotations["description"] == "" {
			t.Errorf("%s has no time, severity, summary or description", one.Alert)
		}
	}
	promtool.Rules(t, file.Name())
}

// dashboard is what the test reads of the dashboard.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Targets []struct{ Expr string }
	}
}

// Every query of the dashboard is an expression that promtool accepts, with metrics that exist.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("grafana-dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil || len(d.Panels) < 10 {
		t.Fatalf("%v: %d panels", err, len(d.Panels))
	}
	ids := map[int]bool{}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var all []rule
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
			t.Errorf("panel %d has an id that another one has, no title or no query", p.ID)
		}
		ids[p.ID] = true
		for _, q := range p.Targets {
			checkMetrics(t, q.Expr)
			all = append(all, rule{"x", strings.ReplaceAll(q.Expr, "$__rate_interval", "1m")})
		}
	}
	out, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": all}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, out, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool.Rules(t, file, "--lint=none")
}
