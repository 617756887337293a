package console_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
)

// saidIn has the packages and files whose sentences the page translates: those of the interpreter, of the safety
// policy, of the tasks with their results, and of the requests of a page.
var saidIn = []string{"capabilities/resolve", "capabilities/interpret", "capabilities/entity", "capabilities/timeexpr", "agent/policy", "agent/task", "agent/action", "exchange/transition/own.go", "exchange/home", "exchange/live"}

// unsaid has the texts of these packages that the page does not show: parts of other texts, names of
// states, calls of drivers, and what only the log, the configuration or the host shows.
var unsaid = []string{
	"Monday 2 January at 15:04:05", "words of ", " (this is the nearest thing that only looks)", " or the ", ", the ",
	"take a photo with the ", " with the ", "has no word that people can say", "reads as a number", "means a yes, a no or a stop",
	"reads as a word that names nothing", "reads as a time", "is an order, or the beginning of one", "wait for a condition",
	"sentence of the catalog", "words of a capability", "duration at the end", "one order for each of several things",
	"in the ", "in the %s", "to %s percent", "to %s degrees", "to %s kelvin", "(%d more lines)", "set the white", "set the temperature", "clean the spot",
	"read the white", "read the temperature", "read whether it stands still", "read its last trigger", "read whether it works",
	"find the print", "read whether it is safe", "%s: the driver failed in %q: %v\n%s", "in its dock", "Before the program restarted: ",
	"The exchange has not taken the pictures: ", "whether it is there", "whether something is there", "%s: %s %v to %v %s", "; it read back as ",
	"%s %s: shall I %s?", "%s (%s); check the devices, and then run on the host: messkit arm %s", "%s: %s: %s", "until told otherwise",
	"The %s has been %s.", "The %s has printed %s%s.", "The picture of %v again%s. It is not new, and shows how it was then.",
	"it is switched off again in %v%s, by %s", "%w; it stands still", "%w; it stood still just now, and may still act",
	"%w; it read back as %s just now, and may still act", "%w; the agent cannot stop it", "away from its dock", " (measured %v ago)", // the file has them in other forms
}

// goTexts returns the texts of three words and more in a package or a file, without those of its log.
func goTexts(t *testing.T, dir string) map[string]string {
	t.Helper()
	pattern := filepath.Join("..", "..", "..", filepath.FromSlash(dir))
	if !strings.HasSuffix(dir, ".go") {
		pattern = filepath.Join(pattern, "*.go")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(dir, files, err)
	}
	texts := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "verbs.go" { // the words of requests
			continue
		}
		set := token.NewFileSet()
		source, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(source, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Warn", "Error", "Info", "Debug", "MustCompile"}, f.Sel.Name) {
					return false
				}
			}
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				if value, err := strconv.Unquote(text.Value); err == nil && len(strings.Fields(value)) >= 3 {
					texts[value] = set.Position(text.Pos()).String()
				}
			}
			return true
		})
	}
	return texts
}

var (
	saidLine = regexp.MustCompile(`(?m)^  '((?:[^'\\]|\\.)+)': '((?:[^'\\]|\\.)*)',$`)
	goVerb   = regexp.MustCompile(`%(?:\.\d+|0\d)?[a-z]`)
	saidMark = regexp.MustCompile(`%(\d)[!|]?`)
)

// saidFiles returns the sentences of each language but English, with their texts.
func saidFiles(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("page/js/text/??.js")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		language := strings.TrimSuffix(filepath.Base(file), ".js")
		if language == "en" {
			continue // the server has the sentences in English
		}
		all[language] = map[string]string{}
		for _, m := range saidLine.FindAllStringSubmatch(readPage(t, "js/text/said."+language+".js"), -1) {
			key := strings.ReplaceAll(m[1], `\'`, "'")
			if _, twice := all[language][key]; twice {
				t.Errorf("said.%s.js has the sentence %q twice", language, key)
			}
			all[language][key] = m[2]
		}
	}
	return all
}

// Each sentence of the server has a text in each language, with all of its values, and no file has a
// sentence that the server does not have.
func TestSentencesHaveTexts(t *testing.T) {
	source := map[string]string{}
	for _, dir := range saidIn {
		for text, at := range goTexts(t, dir) {
			source[text] = at
		}
	}
	for _, c := range catalog.Default().Capabilities {
		source[c.Description] = "the catalog"
	}
	for language, texts := range saidFiles(t) {
		var keys strings.Builder
		for key, text := range texts {
			keys.WriteString(key + "\n")
			count := len(goVerb.FindAllString(key, -1))
			used := map[string]bool{}
			for _, m := range saidMark.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
				if n, _ := strconv.Atoi(m[1]); n < 1 || n > count {
					t.Errorf("said.%s.js: %q has no value %s", language, key, m[0])
				}
			}
			if len(used) != count {
				t.Errorf("said.%s.js: %q has %d values, and its text %q has %d", language, key, count, text, len(used))
			}
		}
		for text, at := range source {
			if !strings.Contains(keys.String(), strings.TrimSpace(text)) && !slices.Contains(unsaid, text) && !isPhrase(t, text) {
				t.Errorf("said.%s.js: there is no text for %q of %s", language, text, at)
			}
		}
	}
}

// Each capability that a button can ask for has a label.
func TestVerbsHaveTexts(t *testing.T) {
	needsSentence := []string{"check-visual", "watch-sensor", "wait", "repeat"}
	english := textsOf(t, "en")
	for _, c := range catalog.Default().Capabilities {
		if english["verb."+c.ID] == "" && !slices.Contains(needsSentence, c.ID) {
			t.Errorf("en.js: there is no label verb.%s", c.ID)
		}
	}
}

// isPhrase reports whether a text is of the phrases of plans, which have texts of their own.
func isPhrase(t *testing.T, text string) bool {
	t.Helper()
	for key, phrase := range textsOf(t, "en") {
		if (strings.HasPrefix(key, "act.") || strings.HasPrefix(key, "then.")) && phrase == text {
			return true
		}
	}
	return false
}
