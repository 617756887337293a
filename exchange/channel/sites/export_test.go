package sites

import "github.com/messkit/messkit/mess"

// OpenOrder reads a signed order for the site cabin, for the fuzz test.
func OpenOrder(data, secret []byte) (requester, id string, m mess.Message, err error) {
	o, err := openOrder(data, names{"mess", "cabin"}, secret)
	return o.Requester, o.ID, o.message, err
}

// ReadReceipt reads a receipt, and returns the status that it means.
func ReadReceipt(data []byte) (mess.Code, error) {
	r, err := readReceipt(data)
	return r.Outcome.status(), err
}
