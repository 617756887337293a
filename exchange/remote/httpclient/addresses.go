package httpclient

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// maxAddresses is the limit of the addresses of one exchange.
const maxAddresses = 16

// First returns the first address of a list.
func First(list string) string {
	first, _, _ := strings.Cut(list, ",")
	return strings.TrimRight(strings.TrimSpace(first), "/")
}

// All returns the addresses of a list.
func All(list string) (all []string) {
	for one := range strings.SplitSeq(list, ",") {
		all = append(all, First(one))
	}
	return all
}

// parseAddresses reads the addresses of an exchange, with commas between. Several ones have the same
// scheme and path: they are those of nodes that share a store. The errors do not show a password.
func parseAddresses(list string) (all []*url.URL, err error) {
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		if err := checkURL(one); err != nil {
			return nil, err
		}
		u, err := url.Parse(one)
		if err != nil {
			return nil, err
		}
		u.Path = strings.TrimRight(u.Path, "/")
		if len(all) > 0 && (u.Scheme != all[0].Scheme || u.Path != all[0].Path) {
			return nil, fmt.Errorf("url: %q differs from the first address in more than its host; all need the same scheme and path", one)
		}
		all = append(all, u)
	}
	if len(all) > maxAddresses {
		return nil, fmt.Errorf("url: there are %d addresses; write %d at most", len(all), maxAddresses)
	}
	return all, nil
}

// nameOf returns the hosts of addresses, for people.
func nameOf(all []*url.URL) string {
	var hosts []string
	for _, u := range all {
		hosts = append(hosts, u.Host)
	}
	return strings.Join(hosts, ", ")
}

// nodes sends each request to one of several nodes of an exchange. It stays at one until that fails. It
// is safe for concurrent use.
type nodes struct {
	next http.RoundTripper
	all  []*url.URL

	mu sync.Mutex
	at int // the node in use
}

// RoundTrip sends a request to the node in use. If the node does not answer, the next request goes to
// another one. A request that changes nothing, or that no node has got, goes there at once; another one
// could have had its effect, so its sender decides.
func (n *nodes) RoundTrip(r *http.Request) (res *http.Response, err error) {
	for tries := 0; ; tries++ {
		at, to := n.current()
		res, err = n.next.RoundTrip(aim(r, to))
		if err == nil && !isAbsent(res.StatusCode) {
			return res, nil
		}
		n.leave(at)
		if err == nil || tries+1 >= len(n.all) || r.Context().Err() != nil || !isRepeatable(r, err) {
			return res, err
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// isAbsent reports whether a node, or the proxy before it, says that the node does not serve.
func isAbsent(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// isRepeatable reports whether another node may get a request after an error.
func isRepeatable(r *http.Request, err error) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func (n *nodes) current() (at int, address *url.URL) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.at, n.all[n.at]
}

// leave has later requests go to another node, unless they do so already.
func (n *nodes) leave(at int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.at == at {
		n.at = (at + 1) % len(n.all)
	}
}

// move has later requests go to another node.
func (n *nodes) move() {
	at, _ := n.current()
	n.leave(at)
}

// aim returns a request for the node at an address.
func aim(r *http.Request, to *url.URL) *http.Request {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host, r.Host = to.Scheme, to.Host, to.Host
	return r
}
