// Package resolve takes the readings of a request to one plan, a question or a refusal: it
// finds the devices that can do it, fills the parameters, asks which of several is meant, and
// says why nothing can be done. It reads one order; package interpret cuts a text into orders.
package resolve
