// Package resolve makes one plan, question or refusal of the hypotheses of a request. It finds
// the devices, fills the parameters, asks which of several devices the requester means, and
// says why no device can do the request. It reads one order. Package interpret divides a text
// into orders.
package resolve
