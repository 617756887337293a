package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/phrase"
	"github.com/messkit/messkit/exchange"
)

// readPage returns a file of the folder page.
func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("page", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var (
	textLine   = regexp.MustCompile(`(?m)^  '([^']+)': '(.*)',$`)
	textUse    = regexp.MustCompile(`\bt\(([^)]*)`)
	quotedKey  = regexp.MustCompile(`'([a-z]+(?:\.[a-z_]+)?)'`)
	namedUse   = regexp.MustCompile(`\bnamed\('([a-z]+)'`)
	keyPrefix  = regexp.MustCompile("`([a-z]+)\\.\\$\\{")
	textValue  = regexp.MustCompile(`\{\w+\}`)
	importFrom = regexp.MustCompile(`\b(?:from|import\(?)"(\./[^"]+|/[^"]+)"`)
)

// textsOf returns the texts of a language by key.
func textsOf(t *testing.T, language string) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, m := range textLine.FindAllStringSubmatch(readPage(t, "js/text/"+language+".js"), -1) {
		if _, twice := list[m[1]]; twice {
			t.Errorf("%s.js has the key %s twice", language, m[1])
		}
		list[m[1]] = m[2]
	}
	if len(list) == 0 {
		t.Fatalf("%s.js has no texts", language)
	}
	return list
}

// scripts returns the scripts of the page, without the library and the texts.
func scripts(t *testing.T) (files []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("page"), "js", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".js") && !strings.HasPrefix(name, "js/text/") {
			files = append(files, name)
		}
		return err
	})
	if err != nil || !slices.Contains(files, "js/home/tile.js") {
		t.Fatal(files, err)
	}
	return files
}

// Each text exists in both languages with the same values, the page uses each key, and it uses no
// other keys.
func TestTextsAreComplete(t *testing.T) {
	english, german := textsOf(t, "en"), textsOf(t, "de")
	for key, text := range english {
		translated, ok := german[key]
		if !ok {
			t.Errorf("de.js: the key %s is missing", key)
			continue
		}
		want, got := textValue.FindAllString(text, -1), textValue.FindAllString(translated, -1)
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(want, got) {
			t.Errorf("de.js: %s has the values %q, want %q", key, got, want)
		}
	}
	for key := range german {
		if _, ok := english[key]; !ok {
			t.Errorf("en.js: the key %s is missing", key)
		}
	}

	files := scripts(t)
	known := func(key string) bool {
		return english[key] != "" || english[key+".one"] != "" && english[key+".other"] != ""
	}
	used, kinds := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		source := readPage(t, file)
		for _, m := range textUse.FindAllStringSubmatch(source, -1) {
			for _, key := range quotedKey.FindAllStringSubmatch(m[1], -1) {
				if strings.Contains(key[1], ".") && !known(key[1]) {
					t.Errorf("%s: there is no text for the key %s", file, key[1])
				}
			}
		}
		for _, key := range quotedKey.FindAllStringSubmatch(source, -1) {
			used[key[1]] = true
		}
		for _, m := range append(namedUse.FindAllStringSubmatch(source, -1), keyPrefix.FindAllStringSubmatch(source, -1)...) {
			kinds[m[1]] = true
		}
	}
	for key := range english {
		kind, _, _ := strings.Cut(key, ".")
		base := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
		if !used[base] && !kinds[kind] {
			t.Errorf("en.js: no part of the page uses the key %s", key)
		}
	}
}

// The page has words for each phrase of a plan, with consequences where the phrase has some.
func TestPageHasWordsOfPhrases(t *testing.T) {
	english := textsOf(t, "en")
	all, withEffect := phrase.Codes()
	var got, gotEffect []string
	for key := range english {
		switch kind, code, _ := strings.Cut(key, "."); kind {
		case "act":
			got = append(got, code)
		case "then":
			gotEffect = append(gotEffect, code)
		}
	}
	slices.Sort(got)
	slices.Sort(gotEffect)
	if !slices.Equal(got, all) || !slices.Equal(gotEffect, withEffect) {
		t.Errorf("en.js has act.* for %q and then.* for %q, want %q and %q", got, gotEffect, all, withEffect)
	}
}

// homePhrases returns the words of requests for verbs, from the source of the home.
func homePhrases(t *testing.T) map[string][]string {
	t.Helper()
	source, err := parser.ParseFile(token.NewFileSet(), "../../home/verbs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	ast.Inspect(source, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Names[0].Name != "phrases" {
			return true
		}
		for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
			entry := e.(*ast.KeyValueExpr)
			verb, _ := strconv.Unquote(entry.Key.(*ast.BasicLit).Value)
			for _, one := range entry.Value.(*ast.CompositeLit).Elts {
				text, _ := strconv.Unquote(one.(*ast.BasicLit).Value)
				all[verb] = append(all[verb], text)
			}
		}
		return false
	})
	if len(all) < 30 {
		t.Fatalf("%d verbs have words", len(all))
	}
	return all
}

// The page has a text in its language for each request that a control makes.
func TestPageHasTextsOfRequests(t *testing.T) {
	for _, language := range []string{"en", "de"} {
		texts := textsOf(t, language)
		for verb, list := range homePhrases(t) {
			for _, phrase := range list {
				given := append(textValue.FindAllString(phrase, -1), "{device}")
				fits := func(key string) bool {
					return texts[key] != "" && !slices.ContainsFunc(textValue.FindAllString(texts[key], -1), func(v string) bool { return !slices.Contains(given, v) })
				}
				if !fits("act."+verb) && !fits("asked."+verb) {
					t.Errorf("%s.js has neither act.%s nor asked.%s for %q", language, verb, verb, phrase)
				}
			}
		}
	}
}

// The page has the languages of the notices that the exchange sends to addresses.
func TestPageHasLanguagesOfNotices(t *testing.T) {
	files, err := filepath.Glob("page/js/text/??.js")
	if err != nil || len(files) != len(exchange.NotificationLanguages()) {
		t.Fatal(files, err)
	}
	for _, language := range exchange.NotificationLanguages() {
		if !strings.Contains(readPage(t, "js/text/text.js"), " "+language+": '") {
			t.Errorf("text.js: languages lacks %s", language)
		}
	}
}

// makesHTML are the ways to make HTML from a text that only the library has.
var makesHTML = []string{"innerHTML", "dangerouslySet"}

// Only js/html.js imports the library: its templates remove hidden characters from each text. No other
// script makes HTML from a text.
func TestTemplatesCleanTexts(t *testing.T) {
	for _, file := range scripts(t) {
		for _, bad := range makesHTML {
			if strings.Contains(readPage(t, file), bad) {
				t.Errorf("%s has %q", file, bad)
			}
		}
		direct := strings.Contains(readPage(t, file), "vendor/htm-preact")
		if direct != (file == "js/html.js") {
			t.Errorf("%s imports the library: %t; components import js/html.js", file, direct)
		}
	}
}

// The library of the Home view is the released file: htm 3.1.1 with Preact, from
// htm/preact/standalone.module.js of its npm package. Its licenses lie next to it.
func TestVendoredLibraryIsReleasedFile(t *testing.T) {
	for name, want := range map[string]string{
		"htm-preact-standalone.module.js": "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7",
		"htm-LICENSE.txt":                 "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f",
		"preact-LICENSE.txt":              "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4",
	} {
		sum := sha256.Sum256([]byte(readPage(t, "vendor/"+name)))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has the SHA-256 %s, want %s", name, got, want)
		}
	}
}

// maxFirstLoad limits the compressed files of the first load, in bytes.
const maxFirstLoad = 120 << 10

// TestFirstLoadIsSmall adds up the files that a browser loads for the page, compressed as the
// server sends them. It loads no script that another script names, except the texts.
func TestFirstLoadIsSmall(t *testing.T) {
	all := zippedFiles(t)
	total := 0
	for _, name := range []string{"index.html", "app.css", "icon.svg", "js/theme.js", "js/console.js", "js/text/de.js"} {
		data := all["page/"+name]
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil || len(data) == 0 {
			t.Fatal(name, err)
		}
		_, _ = z.Write(data) // a buffer takes all bytes
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, b.Len())
		total += b.Len()
		for _, m := range importFrom.FindAllStringSubmatch(string(data), -1) {
			if !strings.HasPrefix(m[1], "./text/") || path.Ext(name) != ".js" {
				t.Errorf("%s loads %s: a browser waits for one file after the other", name, m[1])
			}
		}
	}
	if total > maxFirstLoad {
		t.Errorf("the first load is %d bytes, want at most %d", total, maxFirstLoad)
	}
}

// Each language of text.js is one of theme.js, which begins to load its texts.
func TestPageLoadsTextsOfItsLanguage(t *testing.T) {
	languages := regexp.MustCompile(`(?m)^const languages = \{(.*)\}$`).FindStringSubmatch(readPage(t, "js/text/text.js"))
	first := regexp.MustCompile(`\[('en'.*?)\]\.includes`).FindStringSubmatch(readPage(t, "js/theme.js"))
	if languages == nil || first == nil {
		t.Fatal(languages, first)
	}
	var named []string
	for _, m := range regexp.MustCompile(`(\w+): '`).FindAllStringSubmatch(languages[1], -1) {
		named = append(named, "'"+m[1]+"'")
	}
	if got := strings.Join(named, ", "); got != first[1] {
		t.Errorf("text.js has the languages %s, and theme.js %s", got, first[1])
	}
}
