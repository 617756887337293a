package console_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// peopleList is the answer about people, as far as tests read it.
type peopleList struct {
	People []struct {
		Actor, Name, Role string
		Ended             bool
		Browsers          []struct {
			ID, Name string
			This     bool
		}
	}
	Invitations []struct{ ID, Name, Role string }
}

func (f *rightsFixture) people() (v peopleList) {
	f.Helper()
	if err := json.Unmarshal([]byte(f.must(http.StatusOK, f.do(nil, http.MethodGet, "/console/people", ""))), &v); err != nil {
		f.Fatal(err)
	}
	return v
}

// person returns the browsers of a person, and whether there is the person.
func (v peopleList) person(actor string) (browsers []string, role string) {
	for _, p := range v.People {
		if p.Actor == actor {
			for _, b := range p.Browsers {
				browsers = append(browsers, b.ID)
			}
			return browsers, p.Role
		}
	}
	return nil, ""
}

// An invitation signs one browser in with its role, once. An operator can withdraw it before.
func TestInvitationGivesRole(t *testing.T) {
	f := newRights(t)
	token := f.invite(`{"name":"Ana","role":"resident"}`)
	ana := f.signIn(`{"link":"` + token + `"}`)
	if who := f.do(ana, http.MethodGet, "/console/who", "").text; !strings.Contains(who, `"role":"resident"`) || !strings.Contains(who, `"roles":["observer","requester"]`) {
		t.Error(who)
	}
	f.must(http.StatusUnauthorized, f.do(newBrowser(t), http.MethodPost, "/console/session", `{"link":"`+token+`"}`))

	second := f.invite(`{"name":"Ben","role":"viewer"}`)
	list := f.people()
	if len(list.Invitations) != 1 || list.Invitations[0].Name != "Ben" || list.Invitations[0].Role != "viewer" {
		t.Fatalf("%+v", list.Invitations)
	}
	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"withdraw","invitation":"`+list.Invitations[0].ID+`"}`))
	f.must(http.StatusNotFound, f.do(nil, http.MethodPost, "/console/people", `{"do":"withdraw","invitation":"`+list.Invitations[0].ID+`"}`))
	f.must(http.StatusUnauthorized, f.do(newBrowser(t), http.MethodPost, "/console/session", `{"link":"`+second+`"}`))

	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	for _, body := range []string{
		`{"name":"x","role":"king"}`, `{"name":"x","role":"guest"}`, `{"name":"x","role":"resident","areas":["hall"]}`, `{"name":"x","until":"2099-01-01T00:00:00Z"}`,
		`{"name":"x","role":"guest","until":"tomorrow"}`, `{"name":"x","role":"guest","areas":[],"until":"2099-01-01T00:00:00Z"}`,
	} {
		f.must(http.StatusBadRequest, f.do(nil, http.MethodPost, "/console/invite", body))
	}
	late := f.invite(`{"name":"x","role":"guest","until":"` + past + `"}`)
	f.must(http.StatusBadRequest, f.do(newBrowser(t), http.MethodPost, "/console/session", `{"link":"`+late+`"}`))
	f.must(http.StatusForbidden, f.do(nil, http.MethodPost, "/console/invite", `{"name":"x","role":"operator"}`)) // a program asks
	f.must(http.StatusForbidden, f.do(nil, http.MethodPost, "/console/people", `{"do":"change","actor":"ana","role":"operator"}`))
	f.must(http.StatusConflict, f.do(nil, http.MethodPost, "/console/invite", `{"name":"vm","role":"viewer"}`))
	f.must(http.StatusConflict, f.do(nil, http.MethodPost, "/console/invite", `{"name":"operator","role":"viewer"}`))
	f.must(http.StatusConflict, f.do(nil, http.MethodPost, "/console/invite", `{"name":"ana"}`))
}

// streamEnds reports when the stream of the home of a browser has ended.
func (f *rightsFixture) streamEnds(b *http.Client) <-chan struct{} {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.url+"/api/v1/stream", http.NoBody)
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Accept", "text/event-stream")
	res, err := b.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		f.Fatalf("%v %v", res, err)
	}
	lines, ended := bufio.NewScanner(res.Body), make(chan struct{})
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: home") {
		continue // the stream has begun after it
	}
	go func() {
		defer close(ended)
		defer res.Body.Close()
		for lines.Scan() {
			continue
		}
	}()
	return ended
}

func (f *rightsFixture) wait(what string, c <-chan struct{}) {
	f.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		f.Errorf("%s: it goes on", what)
	}
}

// The access of a guest ends at its date by itself, for calls and for an open stream. The person stays
// in the list, and a later date opens the same browser again.
func TestAccessEndsByItself(t *testing.T) {
	f := newRights(t)
	until := time.Now().Add(2 * time.Second).UTC()
	guest := f.signIn(`{"link":"` + f.invite(`{"name":"Gus","role":"guest","until":"`+until.Format(time.RFC3339Nano)+`"}`) + `"}`)
	ended := f.streamEnds(guest)
	f.wait("the stream of a guest", ended)
	if time.Now().Before(until) {
		t.Error("the stream has ended too early")
	}
	f.must(http.StatusUnauthorized, f.do(guest, http.MethodGet, "/console/who", ""))
	if list := f.people(); len(list.People) == 0 || !list.People[0].Ended {
		t.Errorf("%+v", list.People)
	}
	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"change","actor":"gus","role":"resident"}`))
	f.must(http.StatusOK, f.do(guest, http.MethodGet, "/console/who", ""))
}

// A change of the role, signing out and removing end the open streams of that person alone.
func TestChangedPeopleLoseStreams(t *testing.T) {
	f := newRights(t)
	ana := f.signIn(`{"link":"` + f.invite(`{"name":"Ana","role":"resident"}`) + `"}`)
	ben := f.signIn(`{"link":"` + f.invite(`{"name":"Ben","role":"viewer"}`) + `"}`)
	stays := f.streamEnds(ben)

	changed := f.streamEnds(ana)
	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"change","actor":"ana","role":"viewer"}`))
	f.wait("a stream under the earlier role", changed)
	f.must(http.StatusForbidden, f.do(ana, http.MethodPost, "/api/v1/devices/vm:lamp/switch-on", `{}`))

	var link struct{ Path string }
	if err := json.Unmarshal([]byte(f.must(http.StatusCreated, f.do(ana, http.MethodPost, "/console/link", `{}`))), &link); err != nil {
		t.Fatal(err)
	}
	tablet := f.signIn(`{"link":"` + strings.TrimPrefix(link.Path, "/#") + `"}`)
	signedOut := f.streamEnds(tablet)
	f.must(http.StatusOK, f.do(ana, http.MethodPost, "/console/browsers", `{"others":true}`))
	f.wait("a stream of a browser that was signed out", signedOut)
	f.must(http.StatusUnauthorized, f.do(tablet, http.MethodGet, "/console/who", ""))
	browsers, role := f.people().person("ana")
	if len(browsers) != 1 || role != "viewer" {
		t.Errorf("%v %s", browsers, role)
	}
	f.must(http.StatusNotFound, f.do(ben, http.MethodPost, "/console/browsers", `{"browser":"`+browsers[0]+`"}`)) // of another person
	f.must(http.StatusNotFound, f.do(nil, http.MethodPost, "/console/people", `{"do":"sign-out","actor":"ben","browser":"`+browsers[0]+`"}`))
	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"sign-out","actor":"ana","browser":"`+browsers[0]+`"}`))
	f.must(http.StatusUnauthorized, f.do(ana, http.MethodGet, "/console/who", ""))
	select {
	case <-stays:
		t.Error("the stream of another person has ended")
	default:
	}

	f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"remove","actor":"ben"}`))
	f.wait("a stream of a removed person", stays)
	if _, role := f.people().person("ben"); role != "" {
		t.Error("ben is still there")
	}
	for _, body := range []string{`{"do":"remove","actor":"operator"}`, `{"do":"change","actor":"operator","role":"viewer"}`} {
		if a := f.do(nil, http.MethodPost, "/console/people", body); a.code != http.StatusConflict {
			t.Errorf("%s: %d %s", body, a.code, a.text)
		}
	}
}

// A human executor is a person without access to the home.
func TestRemovedHelperLosesKey(t *testing.T) {
	f := newRights(t)
	phone := f.signIn(`{"link":"` + f.invite(`{"name":"Eva"}`) + `"}`)
	if browsers, role := f.people().person("eva"); role != "helper" || len(browsers) != 1 {
		t.Errorf("%v %s", browsers, role)
	}
	if text := f.must(http.StatusOK, f.do(nil, http.MethodPost, "/console/people", `{"do":"remove","actor":"eva"}`)); !strings.Contains(text, "stays in the list for now") {
		t.Error(text) // the exchange does not forget an executor that may act
	}
	f.must(http.StatusUnauthorized, f.do(phone, http.MethodGet, "/console/who", ""))
	if f.k.Has("eva") {
		t.Error("the key of a removed person is valid")
	}
}

// A restart keeps unused invitations with their role and their end, and links of sign-ins. It keeps
// neither a token nor a used or withdrawn one.
func TestInvitationsStayOverRestart(t *testing.T) {
	h := newHarness(t)
	const path = "/console/session"
	b, _ := h.signIn("op", operator)
	made := func(body string) string {
		t.Helper()
		return h.linkToken(h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", body))
	}
	ana := made(`{"name":"Ana","role":"guest","until":"2099-01-01T00:00:00Z","areas":["hall"],"entry":true}`)
	used, withdrawn := made(`{"name":"Ben","role":"viewer"}`), made(`{"name":"Cleo","role":"viewer"}`)
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, path, `{"link":"`+used+`"}`)
	var list peopleList
	if err := json.Unmarshal([]byte(h.wantStatus(http.StatusOK, b, http.MethodGet, "/console/people", "")), &list); err != nil || len(list.Invitations) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, i := range list.Invitations {
		if i.Name == "Cleo" {
			h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/people", `{"do":"withdraw","invitation":"`+i.ID+`"}`)
		}
	}
	sign := h.linkToken(h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/link", `{}`))
	h.start()
	docs := h.x.ChannelState("console-invitations")
	if len(docs) != 1 {
		t.Errorf("%d invitations are stored, want 1", len(docs))
	}
	for name, doc := range docs {
		if strings.Contains(name+string(doc), ana) {
			t.Error("the store has the token")
		}
	}
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, path, `{"link":"`+sign+`"}`)
	for _, token := range []string{used, withdrawn, sign} {
		h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodPost, path, `{"link":"`+token+`"}`)
	}
	after := h.wantStatus(http.StatusOK, b, http.MethodGet, "/console/people", "")
	if json.Unmarshal([]byte(after), &list) != nil || len(list.Invitations) != 1 || list.Invitations[0].Name != "Ana" || list.Invitations[0].Role != "guest" {
		t.Errorf("after a restart: %s", after)
	}
	h.wantStatus(http.StatusOK, h.browser(), http.MethodPost, path, `{"link":"`+ana+`"}`)
	if p, ok := h.k.Person("ana"); !ok || p.Role != "guest" || !p.Entry || len(p.Areas) != 1 || p.Until == nil || p.Until.Year() != 2099 {
		t.Errorf("%+v", p)
	}
	h.start()
	h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodPost, path, `{"link":"`+ana+`"}`)
}

// An invitation ends with its day, and the next one removes it from the store.
func TestInvitationEndsAfterItsDay(t *testing.T) {
	h := newHarness(t)
	b, _ := h.signIn("op", operator)
	token := h.linkToken(h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", `{"name":"Ana","role":"viewer"}`))
	for name, doc := range h.x.ChannelState("console-invitations") {
		var o mess.Object
		if err := json.Unmarshal(doc, &o); err != nil {
			t.Fatal(err)
		}
		late, err := json.Marshal(o.Set("ends", time.Now().Add(-time.Second).UTC().Format(time.RFC3339)))
		if err != nil {
			t.Fatal(err)
		}
		if err := h.x.SaveChannelState(t.Context(), "console-invitations", name, late); err != nil {
			t.Fatal(err)
		}
	}
	h.start()
	h.wantStatus(http.StatusUnauthorized, h.browser(), http.MethodPost, "/console/session", `{"link":"`+token+`"}`)
	h.wantStatus(http.StatusCreated, b, http.MethodPost, "/console/invite", `{"name":"Ben","role":"viewer"}`)
	if docs := h.x.ChannelState("console-invitations"); len(docs) != 1 {
		t.Errorf("%d invitations are stored, want 1", len(docs))
	}
}
