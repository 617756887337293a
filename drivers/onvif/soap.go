package onvif

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha1" // the ONVIF core specification, §5.9.1, knows nothing else
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/httpclient"
)

// Namespaces of the requests.
const (
	deviceNS = "http://www.onvif.org/ver10/device/wsdl"
	mediaNS  = "http://www.onvif.org/ver10/media/wsdl"
)

const envelope = `<?xml version="1.0" encoding="UTF-8"?>
<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">%s<s:Body>%s</s:Body></s:Envelope>`

// security is a UsernameToken (WS-Security UsernameToken Profile 1.0, §3.1): the password
// is in a digest with a nonce and the time of the camera.
const security = `<s:Header><Security xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd" s:mustUnderstand="1"><UsernameToken>` +
	`<Username>%s</Username>` +
	`<Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest">%s</Password>` +
	`<Nonce EncodingType="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary">%s</Nonce>` +
	`<Created xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">%s</Created>` +
	`</UsernameToken></Security></s:Header>`

// header returns the login header of an account at the time of the camera.
func header(a httpclient.Account, at time.Time) string {
	if a.User == "" {
		return ""
	}
	nonce := []byte(rand.Text())
	created := at.UTC().Format("2006-01-02T15:04:05.000Z")
	return fmt.Sprintf(security, escaped(a.User), digest(nonce, created, string(a.Password)), base64.StdEncoding.EncodeToString(nonce), created)
}

// digest returns Base64(SHA-1(nonce + created + password)).
func digest(nonce []byte, created, password string) string {
	sum := sha1.Sum([]byte(string(nonce) + created + password))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func escaped(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a write to a buffer cannot fail
	return b.String()
}

// reply contains the fields of all answers; the fields of other answers are empty.
type reply struct {
	XMLName xml.Name `xml:"Envelope"`
	Body    struct {
		Fault *struct {
			Reason struct {
				Text string `xml:"Text"`
			} `xml:"Reason"`
			Code struct {
				Sub struct {
					Value string `xml:"Value"`
				} `xml:"Subcode"`
			} `xml:"Code"`
		} `xml:"Fault"`
		Time struct {
			UTC *dateTime `xml:"SystemDateAndTime>UTCDateTime"`
		} `xml:"GetSystemDateAndTimeResponse"`
		Capabilities struct {
			Media string `xml:"Capabilities>Media>XAddr"`
		} `xml:"GetCapabilitiesResponse"`
		Profiles struct {
			List []profile `xml:"Profiles"`
		} `xml:"GetProfilesResponse"`
		Snapshot struct {
			URI string `xml:"MediaUri>Uri"`
		} `xml:"GetSnapshotUriResponse"`
	} `xml:"Body"`
}

type dateTime struct {
	Hour   int `xml:"Time>Hour"`
	Minute int `xml:"Time>Minute"`
	Second int `xml:"Time>Second"`
	Year   int `xml:"Date>Year"`
	Month  int `xml:"Date>Month"`
	Day    int `xml:"Date>Day"`
}

// profile is one image configuration of a camera.
type profile struct {
	Token string `xml:"token,attr"`
	Name  string `xml:"Name"`
}

func parse(data []byte) (reply, error) {
	var r reply
	d := xml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&r); err != nil {
		return reply{}, errors.New("the answer is not SOAP; check that it is an ONVIF camera, and that ONVIF is enabled in it")
	}
	f := r.Body.Fault
	if f == nil {
		return r, nil
	}
	fault := strings.TrimSpace(f.Reason.Text + " " + f.Code.Sub.Value)
	if strings.Contains(f.Code.Sub.Value, "ActionNotSupported") {
		return reply{}, faultError(fmt.Sprintf("the camera does not support the request: %.120q; without snapshots use the driver httpcam with its stream", fault))
	}
	return reply{}, faultError(fmt.Sprintf("the camera rejects the request: %.120q; check user, password and permissions in ONVIF", fault))
}

// faultError is a SOAP fault (SOAP 1.2 part 1, §5.4).
type faultError string

func (e faultError) Error() string { return string(e) }

// call sends one request.
func call(ctx context.Context, c *httpclient.Client, path, head, body string) (reply, error) {
	a, err := c.Do(ctx, httpclient.Call{Method: "POST", Path: path, Type: "application/soap+xml; charset=utf-8", Body: fmt.Appendf(nil, envelope, head, body)})
	if no, ok := errors.AsType[*httpclient.StatusError](err); ok { // a fault has status 400 or 500 (SOAP 1.2 part 2, table 20)
		if _, fault := parse(no.Body); errors.As(fault, new(faultError)) {
			return reply{}, fault
		}
	}
	if err != nil {
		return reply{}, err
	}
	return parse(a.Body)
}
