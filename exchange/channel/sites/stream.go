package sites

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// attemptTime is the time limit of one request to the servers.
const attemptTime = 5 * time.Second

// servers is a connection to the servers of one side.
type servers struct {
	nc *nats.Conn
	js jetstream.JetStream
}

// connect connects to the servers. Without one it returns at once, and connects later.
func connect(a natslink.Address, o natslink.Options) (s servers, err error) {
	o.Dial = attemptTime
	if s.nc, err = a.Connect(o, nats.RetryOnFailedConnect(true), nats.IgnoreAuthErrorAbort()); err != nil {
		return s, err
	}
	s.js, err = jetstream.New(s.nc)
	return s, err
}

// inboxConfig returns the settings of the inbox of a site. A message replaces the earlier one of its subject.
func (n names) inboxConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.inbox(), Description: "requests for the site " + n.site, Subjects: []string{n.any()},
		Storage: jetstream.FileStorage, Replicas: replicas, Discard: jetstream.DiscardNew, AllowRollup: true,
	}
}

// open opens a stream, or makes it.
func (s servers) open(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("the stream %s: %w", want.Name, err)
	}
	is := stream.CachedInfo().Config
	switch {
	case (is.Mirror == nil) != (want.Mirror == nil) || want.Mirror != nil && (is.Mirror.Name != want.Mirror.Name || is.Mirror.External == nil || is.Mirror.External.APIPrefix != apiOf(want.Mirror.Domain)):
		return nil, fmt.Errorf("the stream %s has another source than the configuration says; remove it with nats stream rm, and it is made anew", want.Name)
	case !is.AllowRollup || is.AllowDirect || is.MirrorDirect || is.MaxAge > 0 || is.MaxMsgs > 0 || is.Storage != jetstream.FileStorage:
		return nil, fmt.Errorf("the stream %s has other settings than messkit makes, and could lose requests; remove it with nats stream rm while no request waits", want.Name)
	}
	return stream, nil
}

// apiOf returns the beginning of the subjects of the API of JetStream in a domain.
func apiOf(domain string) string { return "$JS." + domain + ".API" }

// lastOf returns the last message of a subject, nil for none.
func lastOf(ctx context.Context, s jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	m, err := s.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// publish stores a message in place of the earlier ones of its subject, if the last one has this sequence; 0
// for none. It reports whether that was so. After an error the message may be stored all the same.
func (s servers) publish(ctx context.Context, subject string, after uint64, data []byte) (ok bool, err error) {
	m := nats.NewMsg(subject)
	m.Data = data
	m.Header.Set("Nats-Rollup", "sub")
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(after, 10))
	_, err = s.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	if api, is := errors.AsType[*jetstream.APIError](err); is && natslink.IsConflict(api) {
		return false, nil
	}
	return err == nil, err
}

// unavailable returns an error of the servers for a client.
func unavailable(err error) error {
	if e, ok := errors.AsType[*mess.Error](err); ok {
		return e
	}
	return mess.Errorf(mess.Unavailable, "the NATS servers of this exchange do not answer now (%v); try again with the same id", err)
}
