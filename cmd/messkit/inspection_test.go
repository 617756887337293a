package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// threadSummary is a thread in a list.
type threadSummary struct {
	Ref    string `json:"ref"`
	Intent string `json:"intent"`
}

// inspection compares an exchange after a power cut or a fault with its acknowledgements before.
type inspection struct {
	*apiClient
	mu       sync.Mutex
	problems []string
	threads  map[string]ackedThread // by ref, in their last known state
}

func (i *inspection) addProblem(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.problems = append(i.problems, fmt.Sprintf(format, args...))
}

// checkAll checks the exchange against the scenarios. intents contains the intents of all requests so far.
func (i *inspection) checkAll(scenarios []scenario, intents map[string]bool) {
	before, err := i.readList()
	if err != nil {
		i.addProblem("list: %v", err)
		return
	}
	i.checkList(before, intents)
	var g errgroup.Group
	g.SetLimit(8)
	for _, s := range scenarios {
		if s.acked > 0 {
			g.Go(func() error { i.checkScenario(s); return nil })
		}
	}
	_ = g.Wait() // never returns an error
	i.checkNewRefs(before, scenarios)
}

// stopWhenComplete stops the exchange as soon as all thread folders are complete, or when within is over.
func (i *inspection) stopWhenComplete(p *process, data string, within time.Duration) {
	i.problems = append(i.problems, waitForFolders(data, slices.Collect(maps.Values(i.threads)), within)...)
	i.client.CloseIdleConnections()
	if err := p.stop(); err != nil {
		i.addProblem("at its end: %v %s", err, &p.stderr)
	}
}

// readList reads all threads.
func (i *inspection) readList() ([]threadSummary, error) {
	var all []threadSummary
	for cursor := ""; ; {
		var page struct {
			Threads []threadSummary `json:"threads"`
			Cursor  string          `json:"cursor"`
		}
		if err := i.get(i.operator, "/requests?limit=1000&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Threads...)
		if cursor = page.Cursor; cursor == "" {
			return all, nil
		}
	}
}

// checkList checks that each ref and each intent occurs once, and that a test made each request.
func (i *inspection) checkList(all []threadSummary, requested map[string]bool) {
	refs, intents := map[string]bool{}, map[string]bool{}
	for _, t := range all {
		if refs[t.Ref] {
			i.addProblem("%s is listed twice", t.Ref)
		}
		if intents[t.Intent] {
			i.addProblem("%s has two threads", t.Intent)
		}
		if !requested[t.Intent] {
			i.addProblem("%s: nobody has asked for %q", t.Ref, t.Intent)
		}
		refs[t.Ref], intents[t.Intent] = true, true
	}
}

// checkScenario checks a thread: it has each acknowledged message once, and of the others at most the
// next ones in order. The same request returns the same ref, and the scenario can continue.
func (i *inspection) checkScenario(s scenario) {
	if !i.checkThread(s) {
		return
	}
	again := s
	again.acked = 0
	if code, note := again.takeStep(i.apiClient); code != http.StatusCreated {
		i.addProblem("%s: the same request again: %d", s.id, code)
	} else if note(); again.ref != s.ref {
		i.addProblem("%s: the same request again became %s, not %s", s.id, again.ref, s.ref)
	}
	if s.acked < len(s.steps) {
		i.continueScenario(s)
	}
}

// continueScenario takes the remaining steps. It skips a step without an acknowledgement if the exchange has
// stored its marker.
func (i *inspection) continueScenario(s scenario) {
	words, _, err := i.readThread(s)
	if err != nil {
		i.addProblem("%s: %v", s.id, err)
		return
	}
	for s.acked < len(s.steps) {
		if w := s.steps[s.acked].word; w != "" && slices.Contains(words, w) {
			s.acked++
			continue
		}
		code, note := s.takeStep(i.apiClient)
		if code != http.StatusOK {
			i.addProblem("%s: step %d after the start: %d", s.ref, s.acked, code)
			return
		}
		note()
	}
	i.checkThread(s)
}

// fullThread is the JSON of a thread.
type fullThread struct {
	Thread struct {
		Ref      string `json:"ref"`
		Status   string `json:"status"`
		Messages []struct {
			MESS json.RawMessage `json:"mess"`
		} `json:"messages"`
		Attachments []struct {
			Name string `json:"name"`
		} `json:"attachments"`
	} `json:"thread"`
}

// readThread reads a thread, and the markers of its scenario in its messages.
func (i *inspection) readThread(s scenario) (words []string, t fullThread, err error) {
	if err = i.get(i.operator, "/requests/"+s.ref, &t); err != nil {
		return nil, t, err
	}
	for _, m := range t.Thread.Messages {
		for n := range s.steps {
			if bytes.Contains(m.MESS, []byte(s.marker(n))) {
				words = append(words, s.marker(n))
			}
		}
	}
	return words, t, nil
}

// checkThread reports whether the thread has all acknowledged messages.
func (i *inspection) checkThread(s scenario) bool {
	words, t, err := i.readThread(s)
	if err != nil {
		i.addProblem("%s (%s) was acknowledged and cannot be read: %v", s.ref, s.id, err)
		return false
	}
	sent, least := s.markers(len(s.steps)), len(s.markers(s.acked))
	if len(words) < least || len(words) > len(sent) || !slices.Equal(words, sent[:len(words)]) {
		i.addProblem("%s: has the messages %v; acknowledged were %v", s.ref, words, sent[:least])
		return false
	}
	if want := s.expectedStatuses(len(words)); !slices.Contains(want, t.Thread.Status) {
		i.addProblem("%s: is %s with the messages %v", s.ref, t.Thread.Status, words)
	}
	if s.picture != "" && !bytes.Contains(t.Thread.Messages[0].MESS, []byte(s.picture)) {
		i.addProblem("%s: its picture is not what was sent", s.ref)
	}
	if s.file != "" && len(words) == len(sent) {
		i.checkAttachment(s, t)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.threads == nil {
		i.threads = map[string]ackedThread{}
	}
	i.threads[s.ref] = ackedThread{ref: s.ref, status: t.Thread.Status, words: words}
	return true
}

// checkAttachment checks that the attached file is complete.
func (i *inspection) checkAttachment(s scenario, t fullThread) {
	whole := 0
	for _, a := range t.Thread.Attachments { // the list includes the images in messages
		code, data, err := i.call(i.operator, http.MethodGet, "/requests/"+s.ref+"/attachments/"+a.Name, "")
		if err != nil || code != http.StatusOK || len(data) == 0 {
			i.addProblem("%s: its attachment %s: %d, %d bytes, %v", s.ref, a.Name, code, len(data), err)
		}
		if string(data) == s.file {
			whole++
		}
	}
	if whole != 1 {
		i.addProblem("%s: of its %d attachments %d are the file, want 1", s.ref, len(t.Thread.Attachments), whole)
	}
}

// markers returns the markers of the first n steps.
func (s *scenario) markers(n int) []string {
	var list []string
	for _, st := range s.steps[:n] {
		if st.word != "" {
			list = append(list, st.word)
		}
	}
	return list
}

// expectedStatuses returns the possible statuses of the thread after n messages.
func (s *scenario) expectedStatuses(n int) []string {
	var list []string
	for k, st := range s.steps {
		if len(s.markers(k+1)) == n {
			list = append(list, st.status)
		}
	}
	return list
}

// checkNewRefs checks that each new request gets a new ref.
func (i *inspection) checkNewRefs(before []threadSummary, scenarios []scenario) {
	given := map[string]string{}
	for _, t := range before {
		given[t.Ref] = t.Intent
	}
	for _, s := range scenarios {
		if other, ok := given[s.ref]; ok && s.acked > 0 && other != s.intent() {
			i.addProblem("%s was given to %s, and is now %s", s.ref, s.intent(), other)
		}
		if s.acked > 0 {
			given[s.ref] = s.intent()
		}
	}
	for n := range 5 {
		s := newScenario(fmt.Sprintf("after-%d", n), scriptAsked, false)
		code, note := s.takeStep(i.apiClient)
		note()
		if code != http.StatusCreated {
			i.addProblem("a new request: %d", code)
		} else if other, twice := given[s.ref]; twice {
			i.addProblem("%s was given to %s and again to %s", s.ref, other, s.intent())
		}
		given[s.ref] = s.intent()
	}
}
