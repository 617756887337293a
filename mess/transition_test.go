package mess_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess"
)

// modeled is a transition in the model.
type modeled struct {
	From, To []string
	By       string
}

var (
	oneLine   = regexp.MustCompile(`(?m)^inline (T\d+)(_\w+)\(.*}$`)
	calls     = regexp.MustCompile(`(T\d+_\w+|reported|ENDS)\(`)
	froms     = regexp.MustCompile(`FROM\((\w+)\)`)
	tos       = regexp.MustCompile(`TO\((\w+)\)`)
	processes = regexp.MustCompile(`(?ms)^proctype (\w+)\(.*?^}`)
)

// model reads the transitions of the model: their statuses, and the process that executes
// them.
func model(t *testing.T) map[string]modeled {
	t.Helper()
	data, err := os.ReadFile("../docs/model/execution.pml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), "WORKING ", "(FROM(in_progress) || FROM(held)) ")
	by := takers(text)
	found := map[string]modeled{}
	for line := range strings.SplitSeq(text, "\ninline ") {
		body, _, _ := strings.Cut("inline "+line, "\n}")
		m := regexp.MustCompile(`^inline ((T\d+)_\w+)\(`).FindStringSubmatch(body)
		if m == nil {
			continue
		}
		if oneLine.MatchString(body) {
			body, _, _ = strings.Cut(body, "\n")
		}
		if i := strings.Index(body, "#ifdef LATE_WINS"); i >= 0 {
			body = body[:i]
		}
		one := found[m[2]]
		one.From, one.To = append(one.From, words(froms, body)...), append(one.To, words(tos, body)...)
		one.By = join(one.By, by[m[1]])
		found[m[2]] = one
	}
	return found
}

// takers maps each step to the party of the process that executes it.
func takers(text string) map[string]string {
	parties := map[string]mess.Party{"Executor": mess.ByExecutor, "Requester": mess.ByRequester, "Exchange": mess.ByExchange}
	within := map[string][]string{"reported": {"T8_end", "T13_stopped", "T14_late"}, "ENDS": {"T7_done"}}
	by := map[string]string{}
	for _, p := range processes.FindAllStringSubmatch(text, -1) {
		for _, c := range calls.FindAllStringSubmatch(p[0], -1) {
			steps, ok := within[c[1]]
			if !ok {
				steps = []string{c[1]}
			}
			for _, s := range steps {
				if who, known := parties[p[1]]; known {
					by[s] = join(by[s], who.String())
				}
			}
		}
	}
	return by
}

func words(re *regexp.Regexp, text string) []string {
	var list []string
	for _, m := range re.FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Replace(m[1], "nothing", "", 1))
	}
	return list
}

func join(a, b string) string {
	list := strings.FieldsFunc(a+"|"+b, func(r rune) bool { return r == '|' })
	return strings.Join(set(list), "|")
}

func set(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// The model and the code have the same transitions.
func TestModelMatchesTransitions(t *testing.T) {
	got, want := map[string]modeled{}, map[string]modeled{}
	for name, m := range model(t) {
		got[name] = modeled{set(m.From), set(m.To), m.By}
	}
	for _, tr := range mess.Transitions {
		var m modeled
		for _, c := range tr.From {
			m.From = append(m.From, string(c))
		}
		for _, c := range tr.To {
			m.To = append(m.To, string(c))
		}
		want[tr.Name] = modeled{set(m.From), set(m.To), join(tr.By.String(), "")}
	}
	if len(want) != 14 {
		t.Errorf("%d transitions, want T1 to T14", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mess.Transitions and the model differ (-code +model):\n%s", diff)
	}
}

// The state machine allows each named transition.
func TestTransitionsAreLegalSteps(t *testing.T) {
	for _, tr := range mess.Transitions {
		for _, from := range tr.From {
			legal := slices.ContainsFunc(tr.To, func(to mess.Code) bool {
				return from == "" || mess.Step(from, to, tr.By) == nil
			})
			if !legal {
				t.Errorf("%s: no step from %q to any of %q by the %s", tr.Name, from, tr.To, tr.By)
			}
		}
	}
}
