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
	*door
	mu       sync.Mutex
	problems []string
	threads  map[string]ackedThread // by ref, in their last known state
}

func (i *inspection) found(format string, args ...any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.problems = append(i.problems, fmt.Sprintf(format, args...))
}

// all checks the exchange against the stories. told contains the intents of all requests so far.
func (i *inspection) all(stories []story, told map[string]bool) {
	before, err := i.list()
	if err != nil {
		i.found("list: %v", err)
		return
	}
	i.lists(before, told)
	var g errgroup.Group
	g.SetLimit(8)
	for _, s := range stories {
		if s.acked > 0 {
			g.Go(func() error { i.story(s); return nil })
		}
	}
	_ = g.Wait() // never returns an error
	i.refs(before, stories)
}

// ends stops the exchange as soon as all thread folders are complete, or when within is over.
func (i *inspection) ends(p *process, data string, within time.Duration) {
	i.problems = append(i.problems, settled(data, slices.Collect(maps.Values(i.threads)), within)...)
	i.client.CloseIdleConnections()
	if err := p.stop(); err != nil {
		i.found("at its end: %v %s", err, &p.stderr)
	}
}

// list reads all threads.
func (i *inspection) list() ([]threadSummary, error) {
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

// lists checks that each ref and each intent occurs once, and that a test made each request.
func (i *inspection) lists(all []threadSummary, told map[string]bool) {
	refs, intents := map[string]bool{}, map[string]bool{}
	for _, t := range all {
		if refs[t.Ref] {
			i.found("%s is listed twice", t.Ref)
		}
		if intents[t.Intent] {
			i.found("%s has two threads", t.Intent)
		}
		if !told[t.Intent] {
			i.found("%s: nobody has asked for %q", t.Ref, t.Intent)
		}
		refs[t.Ref], intents[t.Intent] = true, true
	}
}

// story checks a thread: it has each acknowledged message once, and of the others at most the
// next ones in order. The same request returns the same ref, and the story can continue.
func (i *inspection) story(s story) {
	if !i.thread(s) {
		return
	}
	again := s
	again.acked = 0
	if code, note := again.take(i.door); code != http.StatusCreated {
		i.found("%s: the same request again: %d", s.id, code)
	} else if note(); again.ref != s.ref {
		i.found("%s: the same request again became %s, not %s", s.id, again.ref, s.ref)
	}
	if s.acked < len(s.steps) {
		i.goOn(s)
	}
}

// goOn takes the remaining steps. It skips a step without an acknowledgement if the exchange has
// stored its word.
func (i *inspection) goOn(s story) {
	words, _, err := i.read(s)
	if err != nil {
		i.found("%s: %v", s.id, err)
		return
	}
	for s.acked < len(s.steps) {
		if w := s.steps[s.acked].word; w != "" && slices.Contains(words, w) {
			s.acked++
			continue
		}
		code, note := s.take(i.door)
		if code != http.StatusOK {
			i.found("%s: step %d after the start: %d", s.ref, s.acked, code)
			return
		}
		note()
	}
	i.thread(s)
}

// wholeThread is the JSON of a thread.
type wholeThread struct {
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

// read reads a thread, and the words of its story in its messages.
func (i *inspection) read(s story) (words []string, t wholeThread, err error) {
	if err = i.get(i.operator, "/requests/"+s.ref, &t); err != nil {
		return nil, t, err
	}
	for _, m := range t.Thread.Messages {
		for n := range s.steps {
			if bytes.Contains(m.MESS, []byte(s.word(n))) {
				words = append(words, s.word(n))
			}
		}
	}
	return words, t, nil
}

// thread reports whether the thread has all acknowledged messages.
func (i *inspection) thread(s story) bool {
	words, t, err := i.read(s)
	if err != nil {
		i.found("%s (%s) was acknowledged and cannot be read: %v", s.ref, s.id, err)
		return false
	}
	told, least := s.words(len(s.steps)), len(s.words(s.acked))
	if len(words) < least || len(words) > len(told) || !slices.Equal(words, told[:len(words)]) {
		i.found("%s: has the messages %v; acknowledged were %v", s.ref, words, told[:least])
		return false
	}
	if want := s.statuses(len(words)); !slices.Contains(want, t.Thread.Status) {
		i.found("%s: is %s with the messages %v", s.ref, t.Thread.Status, words)
	}
	if s.picture != "" && !bytes.Contains(t.Thread.Messages[0].MESS, []byte(s.picture)) {
		i.found("%s: its picture is not what was sent", s.ref)
	}
	if s.file != "" && len(words) == len(told) {
		i.attachment(s, t)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.threads == nil {
		i.threads = map[string]ackedThread{}
	}
	i.threads[s.ref] = ackedThread{ref: s.ref, status: t.Thread.Status, words: words}
	return true
}

// attachment checks that the attached file is complete.
func (i *inspection) attachment(s story, t wholeThread) {
	whole := 0
	for _, a := range t.Thread.Attachments { // the list includes the images in messages
		code, data, err := i.call(i.operator, http.MethodGet, "/requests/"+s.ref+"/attachments/"+a.Name, "")
		if err != nil || code != http.StatusOK || len(data) == 0 {
			i.found("%s: its attachment %s: %d, %d bytes, %v", s.ref, a.Name, code, len(data), err)
		}
		if string(data) == s.file {
			whole++
		}
	}
	if whole != 1 {
		i.found("%s: of its %d attachments %d are the file, want 1", s.ref, len(t.Thread.Attachments), whole)
	}
}

// words returns the words of the first n steps.
func (s *story) words(n int) []string {
	var list []string
	for _, st := range s.steps[:n] {
		if st.word != "" {
			list = append(list, st.word)
		}
	}
	return list
}

// statuses returns the possible statuses of the thread after n messages.
func (s *story) statuses(n int) []string {
	var list []string
	for k, st := range s.steps {
		if len(s.words(k+1)) == n {
			list = append(list, st.status)
		}
	}
	return list
}

// refs checks that each new request gets a new ref.
func (i *inspection) refs(before []threadSummary, stories []story) {
	given := map[string]string{}
	for _, t := range before {
		given[t.Ref] = t.Intent
	}
	for _, s := range stories {
		if other, ok := given[s.ref]; ok && s.acked > 0 && other != s.intent() {
			i.found("%s was given to %s, and is now %s", s.ref, s.intent(), other)
		}
		if s.acked > 0 {
			given[s.ref] = s.intent()
		}
	}
	for n := range 5 {
		s := newStory(fmt.Sprintf("after-%d", n), plotAsked, false)
		code, note := s.take(i.door)
		note()
		if code != http.StatusCreated {
			i.found("a new request: %d", code)
		} else if other, twice := given[s.ref]; twice {
			i.found("%s was given to %s and again to %s", s.ref, other, s.intent())
		}
		given[s.ref] = s.intent()
	}
}
