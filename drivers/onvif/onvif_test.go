package onvif_test

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/onvif"
	"github.com/messkit/messkit/internal/strictyaml"
)

// fake simulates a camera by ONVIF's core and media specifications. Its clock is five
// minutes ahead, and it rejects passwords of another time.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	snapshot string // snapshot address instead of its own
	text     string // answer instead of an image
	user     string // user with permission
	token    string // token of its first profile
	device   string // path of its device service
	status   int    // status of a fault
	nonces   map[string]bool
	now      func() time.Time
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{user: "me & you", token: "P&1", device: "/onvif/device_service", status: http.StatusOK, nonces: map[string]bool{}, now: func() time.Time { return time.Now().Add(5 * time.Minute) }}
	f.mu.Lock() // another program may send requests
	defer f.mu.Unlock()
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

type request struct {
	Token struct {
		Username string
		Password string
		Nonce    string
		Created  string
	} `xml:"Header>Security>UsernameToken"`
	Body struct {
		Inner string `xml:",innerxml"`
	} `xml:"Body"`
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.URL.Path == "/snap" {
		f.picture(w, r)
		return
	}
	var q request
	data, err := io.ReadAll(r.Body)
	if err != nil || xml.Unmarshal(data, &q) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	body := func(s string) {
		_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:tds="http://www.onvif.org/ver10/device/wsdl" xmlns:trt="http://www.onvif.org/ver10/media/wsdl" xmlns:tt="http://www.onvif.org/ver10/schema"><SOAP-ENV:Body>%s</SOAP-ENV:Body></SOAP-ENV:Envelope>`, s)
	}
	at := f.now().UTC()
	switch asks := q.Body.Inner; {
	case r.URL.Path != "/onvif/media_service" && r.URL.EscapedPath() != f.device:
		w.WriteHeader(http.StatusNotFound)
	case strings.Contains(asks, "GetSystemDateAndTime"):
		body(fmt.Sprintf(`<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>NTP</tt:DateTimeType><tt:UTCDateTime><tt:Time><tt:Hour>%d</tt:Hour><tt:Minute>%d</tt:Minute><tt:Second>%d</tt:Second></tt:Time><tt:Date><tt:Year>%d</tt:Year><tt:Month>%d</tt:Month><tt:Day>%d</tt:Day></tt:Date></tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>`,
			at.Hour(), at.Minute(), at.Second(), at.Year(), at.Month(), at.Day()))
	case !f.allowed(q, at):
		w.WriteHeader(f.status)
		body(`<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode><SOAP-ENV:Value>ter:NotAuthorized</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason><SOAP-ENV:Text xml:lang="en">Sender not Authorized</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>`)
	case strings.Contains(asks, "GetCapabilities"):
		body(`<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Media><tt:XAddr>` + f.URL + `/onvif/media_service</tt:XAddr></tt:Media></tds:Capabilities></tds:GetCapabilitiesResponse>`)
	case strings.Contains(asks, "GetProfiles"):
		body(`<trt:GetProfilesResponse><trt:Profiles token="` + strings.ReplaceAll(f.token, "&", "&amp;") + `" fixed="true"><tt:Name>main</tt:Name></trt:Profiles><trt:Profiles token="P2"><tt:Name>small</tt:Name></trt:Profiles></trt:GetProfilesResponse>`)
	case strings.Contains(asks, "GetSnapshotUri"):
		token := "1"
		if strings.Contains(asks, "<ProfileToken>P2<") {
			token = "2"
		}
		uri := f.URL + "/snap?profile=" + token + "&amp;session=x"
		if f.snapshot != "" {
			uri = f.snapshot
		}
		body(`<trt:GetSnapshotUriResponse><trt:MediaUri><tt:Uri>` + uri + `</tt:Uri><tt:InvalidAfterConnect>false</tt:InvalidAfterConnect></trt:MediaUri></trt:GetSnapshotUriResponse>`)
	default:
		w.WriteHeader(http.StatusBadRequest)
	}
}

// allowed checks a token of the UsernameToken profile: the digest, the present time, and a
// new nonce.
func (f *fake) allowed(q request, at time.Time) bool {
	nonce, err := base64.StdEncoding.DecodeString(q.Token.Nonce)
	created, terr := time.Parse(time.RFC3339, q.Token.Created)
	if err != nil || terr != nil || len(nonce) < 16 || f.nonces[string(nonce)] || at.Sub(created).Abs() > time.Minute {
		return false
	}
	f.nonces[string(nonce)] = true
	sum := sha1.Sum([]byte(string(nonce) + q.Token.Created + "open sesame"))
	return q.Token.Username == f.user && q.Token.Password == base64.StdEncoding.EncodeToString(sum[:])
}

func (f *fake) picture(w http.ResponseWriter, r *http.Request) {
	if user, password, _ := r.BasicAuth(); user != f.user || password != "open sesame" {
		w.Header().Set("WWW-Authenticate", `Basic realm="camera"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if f.text != "" {
		_, _ = io.WriteString(w, f.text)
		return
	}
	size := 8
	if r.URL.Query().Get("profile") == "2" {
		size = 4
	}
	var b bytes.Buffer
	_ = jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, size, size)), nil) // a write to a buffer cannot fail
	_, _ = w.Write(b.Bytes())
}

func open(yaml string) (drivers.Device, error) {
	env := drivers.Env{Name: "door-cam", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	return onvif.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
}

const login = "\nusername: me & you\npassword: open sesame\n"

func photo(t *testing.T, yaml string) (drivers.Photo, error) {
	t.Helper()
	d, err := open(yaml)
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
	}()
	return d.(drivers.Photographer).Photo(t.Context())
}

func TestConformance(t *testing.T) {
	f := newFake(t)
	drivertest.Run(t, func(t *testing.T) drivers.Device {
		d, err := open("url: " + f.URL + login)
		if err != nil {
			t.Fatal(err)
		}
		return d
	})
}

func TestProfiles(t *testing.T) {
	f := newFake(t)
	for profile, want := range map[string]int{"": 8, "main": 8, "small": 4, "P2": 4, "'P&1'": 8} {
		p, err := photo(t, "url: "+f.URL+login+"profile: "+profile)
		if err != nil {
			t.Errorf("%s: %v", profile, err)
			continue
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(p.Data))
		if err != nil || c.Width != want {
			t.Errorf("%s: %d pixels, %v", profile, c.Width, err)
		}
	}
	_, err := photo(t, "url: "+f.URL+login+"profile: large")
	if err == nil || !strings.Contains(err.Error(), `the camera has no profile "large"; its profiles: ["main" "small"]`) {
		t.Error(err)
	}
}

// The device service of some cameras has another path, which url contains.
func TestDeviceServiceElsewhere(t *testing.T) {
	f := newFake(t)
	for _, one := range []struct{ url, device string }{{"", "/onvif/device_service"}, {"/", "/onvif/device_service"}, {"/onvif/services", "/onvif/services"}, {"/a%20b/", "/a%20b/"}} {
		f.device = one.device
		if _, err := photo(t, "url: "+f.URL+one.url+login); err != nil {
			t.Errorf("%s: %v", one.url, err)
		}
	}
	if _, err := photo(t, "url: "+f.URL+login); err == nil || !strings.Contains(err.Error(), "/onvif/device_service answers 404; the device has no such page") {
		t.Error(err)
	}
}

// The driver sends the password only to the host of the camera, and its errors do not
// contain it.
func TestBadCameras(t *testing.T) {
	f := newFake(t)
	for _, c := range []struct{ config, snapshot, text, want string }{
		{strings.Replace(login, "sesame", "secret", 1), "", "", `the camera rejects the request: "Sender not Authorized ter:NotAuthorized"; check user`},
		{login, "http://elsewhere.example/snap", "", "the camera refers to another host (elsewhere.example), which does not get the password"},
		{login, "ftp://127.0.0.1/", "", "an invalid address"},
		{login, "", "<html>", "the snapshot is neither JPEG nor PNG"},
	} {
		f.snapshot, f.text = c.snapshot, c.text
		_, err := photo(t, "url: "+f.URL+c.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	f.text = ""
	for _, status := range []int{http.StatusBadRequest, http.StatusInternalServerError} { // status of a SOAP fault
		f.status = status
		if _, err := photo(t, "url: "+f.URL+strings.Replace(login, "sesame", "secret", 1)); err == nil || !strings.Contains(err.Error(), `the camera rejects the request: "Sender not Authorized ter:NotAuthorized"; check user`) {
			t.Errorf("a fault with %d: %v", status, err)
		}
	}
	f.snapshot = "\n  " + f.URL + "/snap?profile=1\n"
	if _, err := photo(t, "url: "+f.URL+login); err != nil {
		t.Errorf("an address in lines of its own: %v", err)
	}
	for _, body := range []string{"welcome", "<html><body>log in</body></html>"} {
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		defer page.Close()
		if _, err := photo(t, "url: "+page.URL+login); err == nil || !strings.Contains(err.Error(), "the answer is not SOAP") {
			t.Error(err)
		}
	}
}

func TestSlowCamera(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices a disconnect after it has read the body
		<-r.Context().Done()
	}))
	defer s.Close()
	d, err := open("url: " + s.URL + login)
	if err != nil || d.Start() != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.(drivers.Photographer).Photo(ctx); err == nil || !strings.HasPrefix(err.Error(), "door-cam: ") {
		t.Error(err)
	}
}

func TestConfigMistakes(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"username: a", "url: is missing"},
		{"url: http://x\ntoken: a", "token: ONVIF has no tokens"},
		{"url: http://x\npassword: a", "username: is missing"},
		{"url: http://x\nprofil: a", "profil: unknown key (did you mean profile?)"},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
